"""Solves A x = b by LU factorisation and two triangular systems.

A is overwritten by its factors.
Usage: python ludcmp.py [n]
"""

import sys


def ludcmp(A, b):
    n = len(b)
    x = [0.0] * n
    y = [0.0] * n
    for i in range(n):
        for j in range(i):
            w = A[i][j]
            for k in range(j):
                w -= A[i][k] * A[k][j]
            A[i][j] = w / A[j][j]
        for j in range(i, n):
            w = A[i][j]
            for k in range(i):
                w -= A[i][k] * A[k][j]
            A[i][j] = w
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= A[i][j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= A[i][j] * x[j]
        x[i] = w / A[i][i]
    return x


def data(n):
    A = [[(i * j + 2 * i + 1) % 97 / 97 + n * (i == j) for j in range(n)] for i in range(n)]
    b = [1 + i % 23 / 23 for i in range(n)]
    return A, b


def show(name, values):
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 470
    x = ludcmp(*data(n))
    show("x", x)


if __name__ == "__main__":
    main()
