"""Grows an array by one row and one number at a time."""

import numpy as np


def orbit(r, x, steps):
    values = np.array([])
    for _ in range(steps):
        x = r * x * (1 - x)
        values = np.append(values, x)
    return values


def track(position, velocity, steps):
    rows = position[None, :]
    for k in range(steps):
        velocity = velocity + 0.01 * np.array([velocity[1], -velocity[0]])
        position = position + velocity
        rows = np.vstack((rows, position))
    return rows


for k in range(3):
    values = orbit(3.6 + 0.1 * k, 0.3, 900)
    print(values.sum(), len(values))
    rows = track(np.array([0.0, 1.0]), np.array([0.1, 0.02 * k]), 700)
    print(rows.shape, rows[-1])
