"""Cholesky factorisation, A = L L^T.

The lower half of A is overwritten by L.
Usage: python cholesky.py [n]
"""

import math
import sys

import numpy as np


def cholesky(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])
    return A


def data(n):
    A = np.fromfunction(lambda i, j: 1 / (1 + abs(i - j)) + n * (i == j), (n, n), dtype=int)
    return (A,)


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 320
    A = cholesky(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
