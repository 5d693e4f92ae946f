"""Contraction of a tensor with a matrix (multiresolution kernel).

A[r, q, p] := sum over s of A[r, q, s] C[s, p], through a row of scratch space.
Usage: python doitgen.py [n]
"""

import sys

import numpy as np


def doitgen(A, C):
    nr, nq, ns = A.shape
    row = np.zeros(ns)
    for r in range(nr):
        for q in range(nq):
            for p in range(ns):
                row[p] = 0.0
                for s in range(ns):
                    row[p] += A[r, q, s] * C[s, p]
            for p in range(ns):
                A[r, q, p] = row[p]
    return A


def data(n):
    A = np.fromfunction(
        lambda i, j, k: (i * j + 3 * k + 1) % 97 / 97, (n, n + 5, n + 10), dtype=int
    )
    C = np.fromfunction(lambda i, j: (3 * i + 5 * j + i * j) % 89 / 89, (n + 10, n + 10), dtype=int)
    return A, C


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 37
    A = doitgen(*data(n))
    show("A", A)


if __name__ == "__main__":
    main()
