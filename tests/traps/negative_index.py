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


x = np.sin(np.arange(1_500_000) * 0.01) + 1e-3 * np.arange(1_500_000)
d = ring_difference(x)
print(repr(float(d[0])), repr(float(d[1])), repr(float(d[-1])))
for lag in (1, 7):
    print(lag, repr(float(lagged(x[:700_000], lag))))
