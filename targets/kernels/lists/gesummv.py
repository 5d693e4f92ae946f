"""Sum of two matrix-vector products, y := alpha A x + beta B x.

Called once for every vector of a series.
Usage: python gesummv.py [n] [calls]
"""

import sys


def gesummv(alpha, beta, A, B, x):
    n = len(x)
    y = [0.0] * n
    for i in range(n):
        t = 0.0
        s = 0.0
        for j in range(n):
            t += A[i][j] * x[j]
            s += B[i][j] * x[j]
        y[i] = alpha * t + beta * s
    return y


def data(n):
    A = [[(i * j + 1) % 97 / 97 for j in range(n)] for i in range(n)]
    B = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n)] for i in range(n)]
    x = [i % 19 / 19 for i in range(n)]
    return 1.5, 1.2, A, B, x


def show(name, values):
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    alpha, beta, A, B, x = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 184
    for _ in range(calls):
        y = gesummv(alpha, beta, A, B, x)
        largest = max(y)
        x = [value / largest for value in y]
    show("y", y)


if __name__ == "__main__":
    main()
