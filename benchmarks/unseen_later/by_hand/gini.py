"""Differences of sorted values are sums of ranks; pairs are compared a row at a time."""

import numpy as np


def incomes(n):
    values = []
    x = 123457
    for _ in range(n):
        x = (x * 69069 + 1) % 2**32
        u = (x + 0.5) / 2**32
        values.append(1000.0 / u**0.6)
    return np.array(values)


def gini(values):
    n = len(values)
    diff = 2 * ((2 * np.arange(n) - n + 1) * np.sort(values)).sum()
    return diff / (2 * n * n * values.mean())


def theil(values):
    relative = values / values.mean()
    return (relative * np.log(relative)).mean()


def rank_correlation(xs, ys):
    n = len(xs)
    ys = ys[np.argsort(xs)]
    difference = 0
    for i in range(n - 1):
        rest = ys[i + 1 :]
        difference += np.count_nonzero(rest > ys[i]) - np.count_nonzero(rest < ys[i])
    return difference / (n * (n - 1) / 2)


people = incomes(7500)
print("gini %.8f" % gini(people))
print("theil %.8f" % theil(people))
some = people[:6600]
spending = some**0.8 * (1 + 0.3 * ((np.arange(len(some)) * 31) % 17 / 17))
print("kendall %.8f" % rank_correlation(some, spending))
