"""Keeps each state of a logistic map lattice in a list."""

import numpy as np


def iterate(start, r, eps, steps):
    history = [start]
    u = start
    for t in range(steps):
        new = np.zeros_like(u)
        for i in range(len(u)):
            left = u[i - 1]
            new[i] = (1.0 - eps) * r * u[i] * (1.0 - u[i]) + eps * left
        history.append(new)
        u = new
    return history


frames = iterate(np.random.default_rng(19).random(700), 3.7, 0.1, 25)
frames += iterate(np.random.default_rng(23).random(701), 3.9, 0.2, 25)
print(len(frames), sum(f.sum() for f in frames), frames[10][:4])
