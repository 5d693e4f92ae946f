"""Loop variables and temporaries are read after the loop, also after no pass at all."""

import numpy as np


def scan(x, limit):
    i = -1
    peak = None
    for i in range(len(x)):
        d = x[i] - x[i - 1]
        if d > limit:
            peak = i
    try:
        return i, peak, float(d)
    except UnboundLocalError:
        return i, peak, "no pass"


x = np.cumsum(np.random.default_rng(4).normal(size=150_000))
for start in range(8):
    print(scan(x[start:], 4.0))
print(scan(x[:0], 4.0))
print(scan(x[:1], 4.0))
for row in range(3):
    for col in range(row):
        last = (row, col)
print(row, col, last)
