"""Solves the lower triangular system L x = b by forward substitution.

Called once for every right-hand side.
Usage: python trisolv.py [n] [calls]
"""

import sys

import numpy as np


def trisolv(L, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    return x


def data(n):
    L = np.fromfunction(
        lambda i, j: (i + n - j + 1) % 61 / n * (j <= i) + 2 * (i == j), (n, n), dtype=int
    )
    i = np.arange(n)
    b = 1 + i % 29 / 29
    return L, b


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    L, b = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 159
    for _ in range(calls):
        x = trisolv(L, b)
        b = x + 1
    show("x", x)


if __name__ == "__main__":
    main()
