"""Clusters by hooking roots and halving paths, for all bonds of the grid at once."""

import random

import numpy as np


def uniform(count):
    """The next numbers of ``random.random()``: NumPy's older generator is the same one."""
    _, state, _ = random.getstate()
    twister = np.random.RandomState()
    twister.set_state(("MT19937", state[:-1], state[-1]))
    values = twister.random_sample(count)
    _, words, position, *_ = twister.get_state()
    random.setstate((3, (*words.tolist(), position), None))
    return values


def label(grid):
    """For each cell the smallest cell of its cluster."""
    n = len(grid)
    cells = np.arange(n * n, dtype=np.int32).reshape(n, n)
    right = grid[:, 1:] & grid[:, :-1]
    below = grid[1:] & grid[:-1]
    a = np.concatenate((cells[:, :-1][right], cells[:-1][below]))
    b = np.concatenate((cells[:, 1:][right], cells[1:][below]))
    parent = cells.ravel().copy()
    while len(a):
        low, high = np.minimum(a, b), np.maximum(a, b)
        parent[high] = low
        while True:
            above = parent[parent]
            if (above == parent).all():
                break
            parent = above
        a, b = parent[a], parent[b]
        apart = a != b
        a, b = a[apart], b[apart]
    return parent.reshape(n, n)


def main():
    random.seed(11)
    n = 260
    for p in (0.5, 0.55, 0.58, 0.6, 0.62, 0.65):
        count = 0
        biggest = 0
        trials = 16
        for _ in range(trials):
            grid = uniform(n * n).reshape(n, n) < p
            roots = label(grid)
            count += np.isin(roots[-1][grid[-1]], roots[0][grid[0]]).any()
            biggest = max(biggest, np.bincount(roots[grid]).max())
        print(p, count / trials, biggest)


main()
