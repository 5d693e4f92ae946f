"""General matrix product, C := alpha A B + beta C.

A is n x p, B is p x m, C is n x m; C is overwritten.
Usage: python gemm.py [n]
"""

import sys


def gemm(alpha, beta, A, B, C):
    n, m = len(C), len(C[0])
    p = len(A[0])
    for i in range(n):
        for j in range(m):
            C[i][j] *= beta
        for k in range(p):
            for j in range(m):
                C[i][j] += alpha * A[i][k] * B[k][j]
    return C


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n + 10)] for i in range(n)]
    B = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n + 20)] for i in range(n + 10)]
    C = [[(7 * i + 2 * j + 3) % 83 / 83 for j in range(n + 20)] for i in range(n)]
    return 1.5, 1.2, A, B, C


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 270
    C = gemm(*data(n))
    show("C", C)


if __name__ == "__main__":
    main()
