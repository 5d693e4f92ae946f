"""Sum of two matrix-vector products, y := alpha A x + beta B x.

Called once for every vector of a series.
Usage: python gesummv.py [n] [calls]
"""

import sys

import numpy as np


def gesummv(alpha, beta, A, B, x):
    n = len(x)
    y = np.zeros(n)
    for i in range(n):
        t = 0.0
        s = 0.0
        for j in range(n):
            t += A[i, j] * x[j]
            s += B[i, j] * x[j]
        y[i] = alpha * t + beta * s
    return y


def data(n):
    A = np.fromfunction(lambda i, j: (i * j + 1) % 97 / 97, (n, n), dtype=int)
    B = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n, n), dtype=int)
    i = np.arange(n)
    x = i % 19 / 19
    return 1.5, 1.2, A, B, x


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    alpha, beta, A, B, x = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 51
    for _ in range(calls):
        y = gesummv(alpha, beta, A, B, x)
        largest = max(y.tolist())
        x = y / largest
    show("y", y)


if __name__ == "__main__":
    main()
