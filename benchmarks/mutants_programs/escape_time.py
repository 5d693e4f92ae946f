"""Escape times of a Julia set with an early exit."""

import numpy as np


def julia(cx, cy, n, limit):
    counts = np.zeros((n, n), dtype=np.int32)
    for row in range(n):
        for col in range(n):
            x = 3.0 * col / n - 1.5
            y = 3.0 * row / n - 1.5
            k = 0
            while k < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                k += 1
            counts[row, col] = k
    return counts


for angle in range(4):
    counts = julia(0.7885 * np.cos(angle), 0.7885 * np.sin(angle), 40, 30)
    print(counts.sum(), counts[20, 7:12])
