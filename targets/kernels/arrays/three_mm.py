"""Three matrix products (3mm), G := (A B) (C D).

Both factors are kept in matrices of their own.
Usage: python three_mm.py [n]
"""

import sys

import numpy as np


def three_mm(A, B, C, D):
    n, p = A.shape
    m = B.shape[1]
    r = C.shape[1]
    q = D.shape[1]
    E = np.zeros((n, m))
    F = np.zeros((m, q))
    G = np.zeros((n, q))
    for i in range(n):
        for j in range(m):
            for k in range(p):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(m):
        for j in range(q):
            for k in range(r):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(n):
        for j in range(q):
            for k in range(m):
                G[i, j] += E[i, k] * F[k, j]
    return G


def data(n):
    A = np.fromfunction(lambda i, j: (i * j + 1) % 97 / 97, (n, n + 10), dtype=int)
    B = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n + 10, n + 5), dtype=int)
    C = np.fromfunction(lambda i, j: (7 * i + 2 * j + 3) % 83 / 83, (n + 5, n + 20), dtype=int)
    D = np.fromfunction(
        lambda i, j: (2 * i * j + 3 * i + 1) % 101 / 101, (n + 20, n + 15), dtype=int
    )
    return A, B, C, D


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 110
    G = three_mm(*data(n))
    show("G", G)


if __name__ == "__main__":
    main()
