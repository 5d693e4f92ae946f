"""Several particles in one cell: the sums add up, the last writer wins."""

import numpy as np


def deposit(cells, weights, n):
    density = np.zeros(n)
    last = np.full(n, -1)
    for p in range(len(cells)):
        c = cells[p]
        density[c] += weights[p]
        last[c] = p
    return density, last


rng = np.random.default_rng(12)
cells = rng.integers(0, 500, 1_200_000)
weights = rng.random(1_200_000)
density, last = deposit(cells, weights, 500)
print(repr(float(density[0])), repr(float(density.sum())), last[:6].tolist(), int(last.sum()))
