"""One colour at a time; numbers are drawn for the cells that need one, in their order."""

import sys

import numpy as np

np.random.seed(12)


def sweep(spins, beta):
    n = spins.shape[0]
    rows, columns = np.indices(spins.shape)
    accepted = 0
    for colour in (0, 1):
        cells = (rows + columns) % 2 == colour
        around = (
            np.roll(spins, -1, 0)
            + np.roll(spins, -1, 1)
            + np.roll(spins, 1, 0)
            + np.roll(spins, 1, 1)
        )
        cost = 2 * spins[cells] * around[cells]
        flip = cost <= 0
        dear = ~flip
        flip[dear] = np.random.random(int(dear.sum())) < np.exp(-beta * cost[dear])
        spins[cells] = np.where(flip, -spins[cells], spins[cells])
        accepted += int(flip.sum())
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
