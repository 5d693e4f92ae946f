"""The table by anti-diagonals: all cells of one are independent."""

import math
import sys

import numpy as np


def signal(n, speed, phase):
    return [math.sin(speed * k / n + phase) + 0.3 * math.cos(3.1 * speed * k / n) for k in range(n)]


def dtw_diagonals(x, y, window):
    n, m = len(x), len(y)
    diagonals = np.full((n + m + 1, n + 1), np.inf)
    diagonals[0, 0] = 0.0
    x = np.array(x)
    backwards = np.array(y)[::-1].copy()
    for d in range(2, n + m + 1):
        lo = max(1, d - m, -((window - d) // 2))
        hi = min(n, d - 1, (d + window) // 2)
        if lo > hi:
            continue
        above, before, here = diagonals[d - 1], diagonals[d - 2], diagonals[d]
        out = here[lo : hi + 1]
        np.minimum(above[lo - 1 : hi], above[lo : hi + 1], out=out)
        np.minimum(out, before[lo - 1 : hi], out=out)
        start = m - d + lo
        out += np.abs(x[lo - 1 : hi] - backwards[start : start + hi - lo + 1])
    return diagonals


def path_length(diagonals, n, m):
    i, j = n, m
    steps = 0
    while i > 0 and j > 0:
        d = i + j
        slanted, up, left = diagonals[d - 2, i - 1], diagonals[d - 1, i - 1], diagonals[d - 1, i]
        best = min(slanted, up, left)
        if best == slanted:
            i, j = i - 1, j - 1
        elif best == up:
            i -= 1
        else:
            j -= 1
        steps += 1
    return steps


n = int(sys.argv[1]) if len(sys.argv) > 1 else 2600
reference = signal(n, 24.0, 0.0)
for phase in (0.4, 0.9, 1.3):
    other = signal(n + 40, 22.0, phase)
    D = dtw_diagonals(reference, other, n // 2)
    length = path_length(D, n, n + 40)
    print("phase %.1f  distance %.6f  path %d" % (phase, D[-1, -1], length))
