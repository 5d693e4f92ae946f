"""Normal equations applied to a vector, y := A^T (A x).

Called again and again, as the power method for the largest singular value does.
Usage: python atax.py [n] [calls]
"""

import sys


def atax(A, x):
    m, n = len(A), len(A[0])
    y = [0.0] * n
    for i in range(m):
        t = 0.0
        for j in range(n):
            t += A[i][j] * x[j]
        for j in range(n):
            y[j] += A[i][j] * t
    return y


def data(n):
    A = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n)] for i in range(n + 20)]
    x = [1 + i % 13 / 13 for i in range(n)]
    return A, x


def show(name, values):
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    A, x = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 130
    for _ in range(calls):
        y = atax(A, x)
        largest = max(y)
        x = [value / largest for value in y]
    show("y", y)


if __name__ == "__main__":
    main()
