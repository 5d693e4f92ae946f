"""Jacobi smoothing on a grid, five points.

Two grids take turns; the rim is held fixed.
Usage: python jacobi_2d.py [n]
"""

import sys

import numpy as np


def jacobi_2d(A, B, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
    return A


def data(n):
    A = np.fromfunction(lambda i, j: i * (j + 2) % 61 / 61, (n, n), dtype=int)
    B = np.fromfunction(lambda i, j: i * (j + 3) % 67 / 67, (n, n), dtype=int)
    return A, B, 20


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 280
    A = jacobi_2d(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
