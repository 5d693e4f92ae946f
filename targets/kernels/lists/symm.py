"""Product with a symmetric matrix, C := alpha A B + beta C.

Only the lower half of A is stored and read; C is overwritten.
Usage: python symm.py [n]
"""

import sys


def symm(alpha, beta, A, B, C):
    m, n = len(C), len(C[0])
    for i in range(m):
        for j in range(n):
            t = 0.0
            for k in range(i):
                C[k][j] += alpha * B[i][j] * A[i][k]
                t += B[k][j] * A[i][k]
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * t
    return C


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n)] for i in range(n)]
    B = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n + 20)] for i in range(n)]
    C = [[(7 * i + 2 * j + 3) % 83 / 83 for j in range(n + 20)] for i in range(n)]
    return 1.5, 1.2, A, B, C


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 290
    C = symm(*data(n))
    show("C", C)


if __name__ == "__main__":
    main()
