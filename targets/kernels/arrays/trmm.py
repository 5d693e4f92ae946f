"""Product with a triangular matrix, B := alpha A^T B.

A is unit lower triangular: its diagonal is 1 and not read. B is overwritten.
Usage: python trmm.py [n]
"""

import sys

import numpy as np


def trmm(alpha, A, B):
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]
    return B


def data(n):
    A = np.fromfunction(lambda i, j: (i * j + 1) % 97 / 97, (n, n), dtype=int)
    B = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n, n + 20), dtype=int)
    return 1.5, A, B


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    B = trmm(*data(n))
    show("B", B)


if __name__ == "__main__":
    main()
