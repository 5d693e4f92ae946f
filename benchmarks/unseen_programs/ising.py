"""Two-dimensional Ising model, Metropolis, checkerboard sweeps."""

import sys

import numpy as np

np.random.seed(12)


def sweep(spins, beta):
    n = spins.shape[0]
    accepted = 0
    for colour in (0, 1):
        for i in range(n):
            for j in range((i + colour) % 2, n, 2):
                s = spins[i, j]
                nb = (
                    spins[(i + 1) % n, j]
                    + spins[i, (j + 1) % n]
                    + spins[(i - 1) % n, j]
                    + spins[i, (j - 1) % n]
                )
                cost = 2 * s * nb
                if cost <= 0:
                    u = 0.0
                else:
                    u = np.random.random()
                if cost <= 0 or u < np.exp(-beta * cost):
                    spins[i, j] = -s
                    accepted += 1
    return accepted


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for temperature in (1.5, 2.27, 3.5):
        spins = np.random.choice([-1, 1], size=(n, n))
        accepted = 0
        magnetisation = []
        for step in range(60):
            accepted += sweep(spins, 1.0 / temperature)
            magnetisation.append(abs(spins.mean()))
        print(
            f"T={temperature}: |m| {np.mean(magnetisation[10:]):.6f}, "
            f"accepted {accepted / (n * n * 60):.6f}"
        )


main()
