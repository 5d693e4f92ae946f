"""LU factorisation without pivoting, A = L U.

A is overwritten by both factors; the diagonal of L is 1 and not stored.
Usage: python lu.py [n]
"""

import sys


def lu(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i][j] -= A[i][k] * A[k][j]
            A[i][j] /= A[j][j]
        for j in range(i, n):
            for k in range(i):
                A[i][j] -= A[i][k] * A[k][j]
    return A


def data(n):
    A = [[(i * j + 2 * i + 1) % 97 / 97 + n * (i == j) for j in range(n)] for i in range(n)]
    return (A,)


def show(name, values):
    values = [value for row in values for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 460
    A = lu(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
