"""Histograms and look-ups that run out of bounds: the words of the exception, and what it left."""

import numpy as np


def fill(counts, where):
    for i in range(len(where)):
        counts[where[i]] += 1
    return counts


def pick(table, where):
    total = 0
    for k in where:
        total += table[k] % 7
    return total


def attempt(function, *args):
    try:
        print(function.__name__, function(*args))
    except (IndexError, ZeroDivisionError, TypeError, ValueError) as error:
        print(function.__name__, type(error).__name__, error, error.__cause__, error.__context__)


rng = np.random.default_rng(5)
where = rng.integers(0, 8, 300_000)
attempt(fill, np.zeros(8, dtype=int), where)
attempt(fill, [0] * 8, where.tolist())
attempt(pick, list(range(40)), where.tolist())
for bad in (8, -8, -9):
    some = np.append(where[:5], bad)
    counts, listed = np.zeros(8, dtype=int), [0] * 8
    attempt(fill, counts, some)
    attempt(fill, listed, some.tolist())
    attempt(pick, list(range(8)), some.tolist())
    print(counts, listed)
attempt(fill, np.zeros(8), where[:9].astype(float))
attempt(fill, (0, 0), [1])
