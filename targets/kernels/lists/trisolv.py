"""Solves the lower triangular system L x = b by forward substitution.

Called once for every right-hand side.
Usage: python trisolv.py [n] [calls]
"""

import sys


def trisolv(L, b):
    n = len(b)
    x = [0.0] * n
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i][j] * x[j]
        x[i] = x[i] / L[i][i]
    return x


def data(n):
    L = [[(i + n - j + 1) % 61 / n * (j <= i) + 2 * (i == j) for j in range(n)] for i in range(n)]
    b = [1 + i % 29 / 29 for i in range(n)]
    return L, b


def show(name, values):
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    L, b = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 443
    for _ in range(calls):
        x = trisolv(L, b)
        b = [value + 1 for value in x]
    show("x", x)


if __name__ == "__main__":
    main()
