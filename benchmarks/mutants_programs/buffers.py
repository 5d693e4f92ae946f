"""Array statements in a time loop: every operator makes an array of its own."""

import numpy as np


def shallow(h, speed, dt, g, steps):
    energy = []
    for t in range(steps):
        flux = h * speed
        h = h - dt * (np.roll(flux, -1) - np.roll(flux, 1))
        speed = speed - dt * g * (np.roll(h, -1) - np.roll(h, 1))
        energy.append(float((0.5 * h * speed**2).sum()))
    return h, speed, energy


x = np.linspace(0.0, 1.0, 6000)
h, speed = 1.0 + 0.1 * np.exp(-50.0 * (x - 0.5) ** 2), np.zeros(6000)
for k in range(3):
    h, speed, energy = shallow(h, speed, 0.05, 1.0, 120)
    print(h.max(), speed.min(), energy[-1])
