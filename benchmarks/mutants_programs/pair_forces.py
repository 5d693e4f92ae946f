"""Softened gravity between all pairs, each body's sum by itself."""

from math import sqrt

import numpy as np


def accelerations(pos, mass, eps):
    n = pos.shape[0]
    acc = np.zeros((n, 3))
    for i in range(n):
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(n):
            if i == j:
                continue
            dx = pos[j, 0] - pos[i, 0]
            dy = pos[j, 1] - pos[i, 1]
            dz = pos[j, 2] - pos[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + eps * eps
            w = mass[j] / (r2 * sqrt(r2))
            ax += w * dx
            ay += w * dy
            az += w * dz
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az
    return acc


rng = np.random.default_rng(91)
pos, vel = rng.normal(size=(60, 3)), np.zeros((60, 3))
mass = rng.random(60)
for step in range(6):
    vel += 0.01 * accelerations(pos, mass, 0.05)
    pos += 0.01 * vel
print(pos.sum(), vel[0])
