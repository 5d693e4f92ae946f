"""A callback looks at the array while the loop is in the middle of it."""

import numpy as np


class Monitor:
    def __init__(self):
        self.log = []

    def __call__(self, grid, i):
        self.log.append((i, float(grid.sum()), int(np.count_nonzero(grid))))
        if i == 200:
            grid[310] = 1000.0


def fill(grid, callback):
    n, m = grid.shape
    for i in range(n):
        for j in range(m):
            grid[i, j] += i * 0.5 + j * 0.25
        if i % 100 == 0:
            callback(grid, i)


monitor = Monitor()
grid = np.zeros((400, 1200))
fill(grid, monitor)
for entry in monitor.log:
    print(entry)
print(repr(float(grid[310].sum())), repr(float(grid[-1, -1])))
