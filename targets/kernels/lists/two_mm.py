"""Two matrix products in a row (2mm), D := alpha A B C + beta D.

The product of A and B is kept in a matrix of its own; D is overwritten.
Usage: python two_mm.py [n]
"""

import sys


def two_mm(alpha, beta, A, B, C, D):
    n, p = len(A), len(A[0])
    m = len(B[0])
    q = len(C[0])
    AB = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for k in range(p):
                AB[i][j] += alpha * A[i][k] * B[k][j]
    for i in range(n):
        for j in range(q):
            D[i][j] *= beta
            for k in range(m):
                D[i][j] += AB[i][k] * C[k][j]
    return D


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n + 30)] for i in range(n)]
    B = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n + 10)] for i in range(n + 30)]
    C = [[(7 * i + 2 * j + 3) % 83 / 83 for j in range(n + 20)] for i in range(n + 10)]
    D = [[(2 * i * j + 3 * i + 1) % 101 / 101 for j in range(n + 20)] for i in range(n)]
    return 1.5, 1.2, A, B, C, D


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    D = two_mm(*data(n))
    show("D", D)


if __name__ == "__main__":
    main()
