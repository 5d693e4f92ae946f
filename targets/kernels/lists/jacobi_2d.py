"""Jacobi smoothing on a grid, five points.

Two grids take turns; the rim is held fixed.
Usage: python jacobi_2d.py [n]
"""

import sys


def jacobi_2d(A, B, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j])
    return A


def data(n):
    A = [[i * (j + 2) % 61 / 61 for j in range(n)] for i in range(n)]
    B = [[i * (j + 3) % 67 / 67 for j in range(n)] for i in range(n)]
    return A, B, 20


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 630
    A = jacobi_2d(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
