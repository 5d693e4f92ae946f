"""Source and destination are two views of one array, one element apart."""

import numpy as np


def blend(dst, src, a):
    for i in range(len(dst)):
        dst[i] = a * src[i] + (1 - a) * dst[i]


def shift_add(target, source):
    n, m = target.shape
    for i in range(n):
        for j in range(m):
            target[i, j] = target[i, j] + source[i, j] // 2


buffer = np.arange(250_000, dtype=float)
blend(buffer[1:], buffer[:-1], 0.25)
print(repr(float(buffer[1])), repr(float(buffer[1000])), repr(float(buffer[-1])))
blend(buffer[:-1], buffer[1:], 0.25)
print(repr(float(buffer[0])), repr(float(buffer[1000])), repr(float(buffer.sum())))

grid = np.arange(360_000).reshape(600, 600)
shift_add(grid[1:, :], grid[:-1, :])
print(int(grid[5, 5]), int(grid[-1, -1]), int(grid.sum()))
other = np.arange(250_000, dtype=float)
blend(other, other[::-1], 0.5)
print(repr(float(other[0])), repr(float(other[-1])))
