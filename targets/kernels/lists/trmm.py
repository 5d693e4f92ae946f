"""Product with a triangular matrix, B := alpha A^T B.

A is unit lower triangular: its diagonal is 1 and not read. B is overwritten.
Usage: python trmm.py [n]
"""

import sys


def trmm(alpha, A, B):
    m, n = len(B), len(B[0])
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i][j] += A[k][i] * B[k][j]
            B[i][j] = alpha * B[i][j]
    return B


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n)] for i in range(n)]
    B = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n + 20)] for i in range(n)]
    return 1.5, A, B


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 360
    B = trmm(*data(n))
    show("B", B)


if __name__ == "__main__":
    main()
