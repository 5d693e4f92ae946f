"""Normal equations applied to a vector, y := A^T (A x).

Called again and again, as the power method for the largest singular value does.
Usage: python atax.py [n] [calls]
"""

import sys

import numpy as np


def atax(A, x):
    m, n = A.shape
    y = np.zeros(n)
    for i in range(m):
        t = 0.0
        for j in range(n):
            t += A[i, j] * x[j]
        for j in range(n):
            y[j] += A[i, j] * t
    return y


def data(n):
    A = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n + 20, n), dtype=int)
    i = np.arange(n)
    x = 1 + i % 13 / 13
    return A, x


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    A, x = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 47
    for _ in range(calls):
        y = atax(A, x)
        largest = max(y.tolist())
        x = y / largest
    show("y", y)


if __name__ == "__main__":
    main()
