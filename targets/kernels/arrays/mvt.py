"""Two matrix-vector products, x1 := x1 + A y1 and x2 := x2 + A^T y2.

Both vectors are updated in place.
Usage: python mvt.py [n] [calls]
"""

import sys

import numpy as np


def mvt(x1, x2, y1, y2, A):
    n = len(x1)
    for i in range(n):
        for j in range(n):
            x1[i] += A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] += A[j, i] * y2[j]
    return x1, x2


def data(n):
    i = np.arange(n)
    x1 = i % 7 / 7
    x2 = (i + 1) % 9 / 9
    y1 = (i + 3) % 11 / 11
    y2 = (i + 4) % 13 / 13
    A = np.fromfunction(lambda i, j: (2 * i * j + 3 * i + 1) % 101 / 101, (n, n), dtype=int)
    return x1, x2, y1, y2, A


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    x1, x2, y1, y2, A = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 41
    for _ in range(calls):
        x1, x2 = mvt(x1, x2, y1, y2, A)
    show("x1", x1)
    show("x2", x2)


if __name__ == "__main__":
    main()
