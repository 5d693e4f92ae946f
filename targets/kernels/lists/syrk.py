"""Symmetric rank-k update, C := alpha A A^T + beta C.

Only the lower half of C is computed; it is overwritten.
Usage: python syrk.py [n]
"""

import sys


def syrk(alpha, beta, A, C):
    n, m = len(A), len(A[0])
    for i in range(n):
        for j in range(i + 1):
            C[i][j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i][j] += alpha * A[i][k] * A[j][k]
    return C


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n + 20)] for i in range(n)]
    C = [[(7 * i + 2 * j + 3) % 83 / 83 for j in range(n)] for i in range(n)]
    return 1.5, 1.2, A, C


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 340
    C = syrk(*data(n))
    show("C", C)


if __name__ == "__main__":
    main()
