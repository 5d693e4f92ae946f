"""Symmetric rank-k update, C := alpha A A^T + beta C.

Only the lower half of C is computed; it is overwritten.
Usage: python syrk.py [n]
"""

import sys

import numpy as np


def syrk(alpha, beta, A, C):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]
    return C


def data(n):
    A = np.fromfunction(lambda i, j: (i * j + 1) % 97 / 97, (n, n + 20), dtype=int)
    C = np.fromfunction(lambda i, j: (7 * i + 2 * j + 3) % 83 / 83, (n, n), dtype=int)
    return 1.5, 1.2, A, C


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 170
    C = syrk(*data(n))
    show("C", C)


if __name__ == "__main__":
    main()
