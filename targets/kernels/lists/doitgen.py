"""Contraction of a tensor with a matrix (multiresolution kernel).

A[r, q, p] := sum over s of A[r, q, s] C[s, p], through a row of scratch space.
Usage: python doitgen.py [n]
"""

import sys


def doitgen(A, C):
    nr, nq, ns = len(A), len(A[0]), len(A[0][0])
    row = [0.0] * ns
    for r in range(nr):
        for q in range(nq):
            for p in range(ns):
                row[p] = 0.0
                for s in range(ns):
                    row[p] += A[r][q][s] * C[s][p]
            for p in range(ns):
                A[r][q][p] = row[p]
    return A


def data(n):
    A = [
        [[(i * j + 3 * k + 1) % 97 / 97 for k in range(n + 10)] for j in range(n + 5)]
        for i in range(n)
    ]
    C = [[(3 * i + 5 * j + i * j) % 89 / 89 for j in range(n + 10)] for i in range(n + 10)]
    return A, C


def show(name, values):
    values = [value for plane in values for row in plane for value in row]
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 58
    A = doitgen(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
