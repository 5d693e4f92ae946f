"""Gauss-Seidel sweeps in place until the largest change is small."""

import numpy as np


def sweep(phi, rho, h2):
    largest = 0.0
    for i in range(1, phi.shape[0] - 1):
        for j in range(1, phi.shape[1] - 1):
            old = phi[i, j]
            phi[i, j] = 0.25 * (
                phi[i - 1, j] + phi[i + 1, j] + phi[i, j - 1] + phi[i, j + 1] + h2 * rho[i, j]
            )
            change = abs(phi[i, j] - old)
            if change > largest:
                largest = change
    return largest


rng = np.random.default_rng(71)
phi = np.zeros((34, 31))
rho = rng.normal(size=(34, 31))
for it in range(14):
    worst = sweep(phi, rho, 0.01)
print(worst, phi.sum(), phi[10, 10])
