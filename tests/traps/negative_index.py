"""Index -1 is the last element, on purpose and at both ends."""

import numpy as np


def ring_difference(x):
    d = np.empty_like(x)
    for i in range(len(x)):
        d[i] = x[i] - x[i - 1]
    return d


def lagged(x, lag):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i - lag]
    return s


x = np.sin(np.arange(120_000) * 0.01) + 1e-3 * np.arange(120_000)
for start in range(6):
    d = ring_difference(x[start:])
print(repr(float(d[0])), repr(float(d[1])), repr(float(d[-1])))
for lag in range(1, 8):
    print(lag, repr(float(lagged(x[:90_000], lag))))
