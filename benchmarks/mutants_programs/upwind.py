"""Upwind advection with a velocity of either sign, in a nested function."""

import numpy as np


def run(c, velocity, dx, dt, steps):
    def step(c):
        new = np.zeros(len(c))
        for i in range(1, len(c) - 1):
            if velocity[i] > 0.0:
                gradient = (c[i] - c[i - 1]) / dx
            else:
                gradient = (c[i + 1] - c[i]) / dx
            new[i] = c[i] - dt * velocity[i] * gradient
        new[0] = new[1]
        new[-1] = new[-2]
        return new

    for t in range(steps):
        c = step(c)
    return c


x = np.linspace(0.0, 1.0, 1500)
c = run(np.exp(-200.0 * (x - 0.4) ** 2), np.cos(5.0 * x), x[1] - x[0], 2e-4, 20)
print(c.sum(), c.max(), c[::300])
