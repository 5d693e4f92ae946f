"""Levinson-Durbin recursion for a symmetric Toeplitz system.

Solves T y = -r, where T has 1 on the diagonal and r[k - 1] on the k-th side diagonal.
Usage: python durbin.py [n]
"""

import sys


def durbin(r):
    n = len(r)
    y = [0.0] * n
    z = [0.0] * n
    y[0] = -r[0]
    alpha = -r[0]
    beta = 1.0
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


def data(n):
    r = [1 / (i + 3) for i in range(n)]
    return (r,)


def show(name, values):
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5900
    y = durbin(*data(n))
    show("y", y)


if __name__ == "__main__":
    main()
