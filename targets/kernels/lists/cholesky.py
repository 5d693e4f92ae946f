"""Cholesky factorisation, A = L L^T.

The lower half of A is overwritten by L.
Usage: python cholesky.py [n]
"""

import math
import sys


def cholesky(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i][j] -= A[i][k] * A[j][k]
            A[i][j] /= A[j][j]
        for k in range(i):
            A[i][i] -= A[i][k] * A[i][k]
        A[i][i] = math.sqrt(A[i][i])
    return A


def data(n):
    A = [[1 / (1 + abs(i - j)) + n * (i == j) for j in range(n)] for i in range(n)]
    return (A,)


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 570
    A = cholesky(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
