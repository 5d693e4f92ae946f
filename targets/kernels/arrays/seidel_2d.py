"""Gauss-Seidel smoothing on a grid, nine points, in place.

Each point uses the new values of those before it.
Usage: python seidel_2d.py [n]
"""

import sys

import numpy as np


def seidel_2d(A, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                along = A[i, j - 1] + A[i, j] + A[i, j + 1]
                below = A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                A[i, j] = (above + along + below) / 9.0
    return A


def data(n):
    A = np.fromfunction(lambda i, j: i * (j + 2) % 61 / 61, (n, n), dtype=int)
    return A, 20


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 290
    A = seidel_2d(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
