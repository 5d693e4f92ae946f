"""Nussinov's algorithm: most base pairs of a folded RNA strand.

Bases are numbered 0 to 3; two of them pair if their numbers add up to 3.
Usage: python nussinov.py [n]
"""

import sys

import numpy as np


def pairs(a, b):
    return 1 if a + b == 3 else 0


def nussinov(seq):
    n = len(seq)
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                best = max(best, table[i + 1, j - 1] + pairs(seq[i], seq[j]))
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def data(n):
    i = np.arange(n)
    seq = (i * i + i // 3) % 4
    return (seq,)


def show(name, values):
    values = values.ravel().tolist()
    print(name, sum(values), values[0], values[len(values) // 3], values[-1])


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 320
    table = nussinov(*data(n))
    show("table", table)


if __name__ == "__main__":
    main()
