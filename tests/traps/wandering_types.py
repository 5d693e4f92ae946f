"""Accumulators that are int, float or numpy.float64 as the data have it, and zeros with a sign."""

import numpy as np


def net(x):
    c = 0.0
    for i in range(len(x)):
        if x[i] > 1:
            c += 1
        else:
            c -= x[i]
    return c


def best(x, low):
    top = low
    for i in range(len(x)):
        if x[i] > top:
            top = x[i]
    return top


def last(x):
    v = 0
    for v in x:
        pass
    return v


def damp(x):
    t = 0
    out = []
    for i in range(len(x)):
        out.append(-t)
        t = x[i] * 0
    return out


def tail_sum(x, n, m):
    s = 1
    for i in range(1, n - 1):
        s = 0
        for j in range(i, m):
            s += x[j] * 0.5
    return s


def say(*values):
    print(*(f"{type(v).__name__}:{v!r}" for v in values))


x = np.random.default_rng(2).normal(1, 1, 25_000)
for start in range(5):
    say(net(x[start:]), best(x[start:], 0.5), last(x[start:]), sum(damp(x[start:])))
    say(best(np.arange(25_000), -1.5 - start))
say(net(x), net(x[:0]), net(np.array([2.0])), net(np.array([2.0, 0.5])), net([2.0]))
say(best(x, 0.5), best(x, 9.5), best(x, float("nan")), best(x[:0], 1), best(np.arange(5), 2.5))
say(best(np.arange(25_000), -1.5), last(x), last(x[:0]), last([True]), last(range(3)))
say(*damp(x)[:2], sum(damp(x)), *damp([1.0, -2.0, 3.0]), *damp([0.0, -0.0]))
y = x[:500].tolist()
say(tail_sum(y, 500, 500), tail_sum(y, 500, 400), tail_sum(y, 2, 5), tail_sum(y, 5, 0))
