"""Inequality measures of synthetic incomes and a Lorenz curve; pairwise definition."""

import statistics


def incomes(n):
    values = []
    x = 123457
    for _ in range(n):
        x = (x * 69069 + 1) % 2**32
        u = (x + 0.5) / 2**32
        values.append(1000.0 / u**0.6)
    return values


def gini(values):
    n = len(values)
    diff = 0.0
    for a in values:
        for b in values:
            diff += abs(a - b)
    return diff / (2 * n * n * statistics.mean(values))


def theil(values):
    from math import log

    mu = statistics.mean(values)
    return sum(v / mu * log(v / mu) for v in values) / len(values)


def rank_correlation(xs, ys):
    concordant = discordant = 0
    n = len(xs)
    for i in range(n - 1):
        for j in range(i + 1, n):
            s = (xs[i] - xs[j]) * (ys[i] - ys[j])
            if s > 0:
                concordant += 1
            elif s < 0:
                discordant += 1
    return (concordant - discordant) / (n * (n - 1) / 2)


people = incomes(7500)
print("gini %.8f" % gini(people))
print("theil %.8f" % theil(people))
spending = [v**0.8 * (1 + 0.3 * ((i * 31) % 17 / 17)) for i, v in enumerate(people[:6600])]
print("kendall %.8f" % rank_correlation(people[:6600], spending))
