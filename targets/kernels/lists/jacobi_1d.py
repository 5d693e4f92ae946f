"""Jacobi smoothing on a line, three points.

Two vectors take turns; both ends are held fixed.
Usage: python jacobi_1d.py [n]
"""

import sys


def jacobi_1d(A, B, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])
    return A


def data(n):
    A = [(i + 2) * 7 % 53 / 53 for i in range(n)]
    B = [(i + 3) * 5 % 59 / 59 for i in range(n)]
    return A, B, 200


def show(name, values):
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 69400
    A = jacobi_1d(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
