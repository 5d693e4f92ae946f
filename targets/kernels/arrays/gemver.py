"""Rank-2 update and two matrix-vector products (gemver).

A := A + u1 v1^T + u2 v2^T;  x := beta A^T y + z;  w := alpha A x.
Usage: python gemver.py [n] [calls]
"""

import sys

import numpy as np


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    n = len(y)
    x = np.zeros(n)
    w = np.zeros(n)
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] += beta * A[j, i] * y[j]
    for i in range(n):
        x[i] += z[i]
    for i in range(n):
        for j in range(n):
            w[i] += alpha * A[i, j] * x[j]
    return w


def data(n):
    A = np.fromfunction(lambda i, j: (i * j + 1) % 97 / 97, (n, n), dtype=int)
    i = np.arange(n)
    u1 = i % 7 / 7
    v1 = (i + 1) % 5 / 5
    u2 = (i + 2) % 9 / 9
    v2 = (i + 3) % 8 / 8
    y = (i + 4) % 6 / 6
    z = (i + 5) % 10 / 10
    return 1.5, 1.2, A, u1, v1, u2, v2, y, z


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    alpha, beta, A, u1, v1, u2, v2, y, z = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 19
    for _ in range(calls):
        w = gemver(alpha, beta, A, u1, v1, u2, v2, y, z)
    show("w", w)


if __name__ == "__main__":
    main()
