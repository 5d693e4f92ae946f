"""max() and comparisons with NaN depend on the order of the values."""

import numpy as np

rng = np.random.default_rng(1)
data = rng.normal(size=80_000)
data[::1000] = np.nan


def largest(values):
    best = values[0]
    for v in values:
        best = max(best, v)
    return best


def smallest(values):
    low = 1e9
    where = -1
    for i in range(len(values)):
        if values[i] < low:
            low = values[i]
            where = i
    return low, where


for start in range(5):
    some = data[start:]
    print(largest(some), largest(some[1:]), largest(some[::-1]))
    low, where = smallest(some)
    print(float(low), where)
