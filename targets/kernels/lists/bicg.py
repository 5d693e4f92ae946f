"""The two products of a biconjugate gradient step, s := A^T r and q := A p.

Called once a step of the iteration.
Usage: python bicg.py [n] [calls]
"""

import sys


def bicg(A, p, r):
    n, m = len(A), len(A[0])
    s = [0.0] * m
    q = [0.0] * n
    for i in range(n):
        for j in range(m):
            s[j] += r[i] * A[i][j]
            q[i] += A[i][j] * p[j]
    return s, q


def data(n):
    A = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n)] for i in range(n + 20)]
    p = [i % 11 / 11 for i in range(n)]
    r = [i % 17 / 17 for i in range(n + 20)]
    return A, p, r


def show(name, values):
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    A, p, r = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 122
    for _ in range(calls):
        s, q = bicg(A, p, r)
        largest = max(s)
        p = [value / largest for value in s]
        largest = max(q)
        r = [value / largest for value in q]
    show("s", s)
    show("q", q)


if __name__ == "__main__":
    main()
