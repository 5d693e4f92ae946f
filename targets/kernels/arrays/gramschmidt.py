"""QR factorisation by the modified Gram-Schmidt process.

The columns of Q are orthonormal, R is upper triangular, A is used up.
Usage: python gramschmidt.py [n]
"""

import math
import sys

import numpy as np


def gramschmidt(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += A[i, k] * A[i, k]
        R[k, k] = math.sqrt(norm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0.0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]
    return Q, R


def data(n):
    A = np.fromfunction(
        lambda i, j: (i * j + 3 * i + 1) % 97 / 97 + 10 * (i == j), (n + 20, n), dtype=int
    )
    return (A,)


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 160
    Q, R = gramschmidt(*data(n))
    show("Q", Q)
    show("R", R)


if __name__ == "__main__":
    main()
