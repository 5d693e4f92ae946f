"""Two matrix products in a row (2mm), D := alpha A B C + beta D.

The product of A and B is kept in a matrix of its own; D is overwritten.
Usage: python two_mm.py [n]
"""

import sys

import numpy as np


def two_mm(alpha, beta, A, B, C, D):
    n, p = A.shape
    m = B.shape[1]
    q = C.shape[1]
    AB = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(p):
                AB[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(n):
        for j in range(q):
            D[i, j] *= beta
            for k in range(m):
                D[i, j] += AB[i, k] * C[k, j]
    return D


def data(n):
    A = np.fromfunction(lambda i, j: (i * j + 1) % 97 / 97, (n, n + 30), dtype=int)
    B = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n + 30, n + 10), dtype=int)
    C = np.fromfunction(lambda i, j: (7 * i + 2 * j + 3) % 83 / 83, (n + 10, n + 20), dtype=int)
    D = np.fromfunction(lambda i, j: (2 * i * j + 3 * i + 1) % 101 / 101, (n, n + 20), dtype=int)
    return 1.5, 1.2, A, B, C, D


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    D = two_mm(*data(n))
    show("D", D)


if __name__ == "__main__":
    main()
