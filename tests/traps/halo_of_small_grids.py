"""Neighbours by negative index and by modulo, on grids down to one cell, and rolled copies."""

import numpy as np


def life(grid):
    rows, columns = grid.shape
    fresh = np.zeros((rows, columns), dtype=grid.dtype)
    for i in range(rows):
        for j in range(columns):
            around = (
                grid[i - 1, j - 1]
                + grid[i - 1, j]
                + grid[i - 1, (j + 1) % columns]
                + grid[i, j - 1]
                + grid[i, (j + 1) % columns]
                + grid[(i + 1) % rows, j - 1]
                + grid[(i + 1) % rows, j]
                + grid[(i + 1) % rows, (j + 1) % columns]
            )
            if around == 3:
                fresh[i, j] = 1
            if grid[i, j] == 1 and around == 2:
                fresh[i, j] = 1
    return fresh


def lag(series, back):
    out = np.zeros(len(series))
    for i in range(len(series)):
        out[i] = series[i - back] - series[(i + 5) % len(series)]
    return out


def diffuse(field, steps):
    for _ in range(steps):
        total = np.roll(field, 1, 0) + np.roll(field, -1, 0)
        total = total + np.roll(field, 1, 1) + np.roll(field, -1, 1)
        field = field + 0.2 * (total - 4.0 * field)
    return field


rng = np.random.default_rng(7)
grid = rng.integers(0, 2, (100, 100))
for _ in range(6):
    grid = life(grid)
print(int(grid.sum()))
for shape in ((1, 1), (1, 4), (2, 2), (3, 1), (0, 3)):
    for kind in (np.int64, np.uint8, bool):
        small = rng.integers(0, 2, shape).astype(kind)
        print(shape, small.dtype, life(small).tolist())
print(life(np.full((3, 3), 77, dtype=np.int8)).tolist())
series = rng.random(40_000)
for back in range(1, 5):
    print(repr(float(lag(series, back).sum())))
for n, back in ((1, 1), (2, 1), (3, 3), (3, -2), (6, 4)):
    try:
        print(lag(series[:n], back).tolist())
    except IndexError as error:
        print(error)
print(repr(float(diffuse(rng.random((300, 300)), 40).sum())))
print(diffuse(np.array([[1.0, np.nan], [-0.0, 2.0]]), 1).tolist())
