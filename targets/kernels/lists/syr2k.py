"""Symmetric rank-2k update, C := alpha (A B^T + B A^T) + beta C.

Only the lower half of C is computed; it is overwritten.
Usage: python syr2k.py [n]
"""

import sys


def syr2k(alpha, beta, A, B, C):
    n, m = len(A), len(A[0])
    for i in range(n):
        for j in range(i + 1):
            C[i][j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k]
    return C


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n + 20)] for i in range(n)]
    B = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n + 20)] for i in range(n)]
    C = [[(7 * i + 2 * j + 3) % 83 / 83 for j in range(n)] for i in range(n)]
    return 1.5, 1.2, A, B, C


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 280
    C = syr2k(*data(n))
    show("C", C)


if __name__ == "__main__":
    main()
