"""General matrix product, C := alpha A B + beta C.

A is n x p, B is p x m, C is n x m; C is overwritten.
Usage: python gemm.py [n]
"""

import sys

import numpy as np


def gemm(alpha, beta, A, B, C):
    n, m = C.shape
    p = A.shape[1]
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
        for k in range(p):
            for j in range(m):
                C[i, j] += alpha * A[i, k] * B[k, j]
    return C


def data(n):
    A = np.fromfunction(lambda i, j: (i * j + 1) % 97 / 97, (n, n + 10), dtype=int)
    B = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n + 10, n + 20), dtype=int)
    C = np.fromfunction(lambda i, j: (7 * i + 2 * j + 3) % 83 / 83, (n, n + 20), dtype=int)
    return 1.5, 1.2, A, B, C


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 140
    C = gemm(*data(n))
    show("C", C)


if __name__ == "__main__":
    main()
