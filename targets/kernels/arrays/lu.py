"""LU factorisation without pivoting, A = L U.

A is overwritten by both factors; the diagonal of L is 1 and not stored.
Usage: python lu.py [n]
"""

import sys

import numpy as np


def lu(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def data(n):
    A = np.fromfunction(
        lambda i, j: (i * j + 2 * i + 1) % 97 / 97 + n * (i == j), (n, n), dtype=int
    )
    return (A,)


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 260
    A = lu(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
