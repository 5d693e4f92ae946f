"""Heat in a square by alternating directions implicitly (ADI).

Each half step solves tridiagonal systems along one direction; the rim is held at 1.
Usage: python adi.py [n]
"""

import sys

import numpy as np


def adi(u, steps):
    n = len(u)
    v = np.zeros((n, n))
    p = np.zeros((n, n))
    q = np.zeros((n, n))
    mul1 = 0.02 * n * n / steps
    mul2 = 0.01 * n * n / steps
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for t in range(steps):
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                rhs = -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1]
                q[i, j] = (rhs - a * q[i, j - 1]) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                rhs = -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j]
                q[i, j] = (rhs - d * q[i, j - 1]) / (d * p[i, j - 1] + e)
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


def data(n):
    u = np.fromfunction(lambda i, j: (i + n - j) / n, (n, n), dtype=int)
    return u, 20


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 170
    u = adi(*data(n))
    show("u", u)


if __name__ == "__main__":
    main()
