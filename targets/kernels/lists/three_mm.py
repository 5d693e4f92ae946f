"""Three matrix products (3mm), G := (A B) (C D).

Both factors are kept in matrices of their own.
Usage: python three_mm.py [n]
"""

import sys


def three_mm(A, B, C, D):
    n, p = len(A), len(A[0])
    m = len(B[0])
    r = len(C[0])
    q = len(D[0])
    E = [[0.0] * m for _ in range(n)]
    F = [[0.0] * q for _ in range(m)]
    G = [[0.0] * q for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for k in range(p):
                E[i][j] += A[i][k] * B[k][j]
    for i in range(m):
        for j in range(q):
            for k in range(r):
                F[i][j] += C[i][k] * D[k][j]
    for i in range(n):
        for j in range(q):
            for k in range(m):
                G[i][j] += E[i][k] * F[k][j]
    return G


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n + 10)] for i in range(n)]
    B = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n + 5)] for i in range(n + 10)]
    C = [[(7 * i + 2 * j + 3) % 83 / 83 for j in range(n + 20)] for i in range(n + 5)]
    D = [[(2 * i * j + 3 * i + 1) % 101 / 101 for j in range(n + 15)] for i in range(n + 20)]
    return A, B, C, D


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 190
    G = three_mm(*data(n))
    show("G", G)


if __name__ == "__main__":
    main()
