"""Gauss-Seidel smoothing on a grid, nine points, in place.

Each point uses the new values of those before it.
Usage: python seidel_2d.py [n]
"""

import sys


def seidel_2d(A, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1]
                along = A[i][j - 1] + A[i][j] + A[i][j + 1]
                below = A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]
                A[i][j] = (above + along + below) / 9.0
    return A


def data(n):
    A = [[i * (j + 2) % 61 / 61 for j in range(n)] for i in range(n)]
    return A, 20


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 640
    A = seidel_2d(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
