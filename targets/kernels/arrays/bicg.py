"""The two products of a biconjugate gradient step, s := A^T r and q := A p.

Called once a step of the iteration.
Usage: python bicg.py [n] [calls]
"""

import sys

import numpy as np


def bicg(A, p, r):
    n, m = A.shape
    s = np.zeros(m)
    q = np.zeros(n)
    for i in range(n):
        for j in range(m):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]
    return s, q


def data(n):
    A = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n + 20, n), dtype=int)
    i = np.arange(n)
    p = i % 11 / 11
    i = np.arange(n + 20)
    r = i % 17 / 17
    return A, p, r


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    A, p, r = data(n)
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 37
    for _ in range(calls):
        s, q = bicg(A, p, r)
        largest = max(s.tolist())
        p = s / largest
        largest = max(q.tolist())
        r = q / largest
    show("s", s)
    show("q", q)


if __name__ == "__main__":
    main()
