"""-0.0, infinities and overflow warnings are part of the output."""

import math
import warnings

import numpy as np


def signs(values):
    out = np.zeros(len(values))
    for i in range(len(values)):
        v = values[i]
        if v >= 0:
            out[i] = v * -0.0
        else:
            out[i] = 0.0 / v
    return out


def safe_log(values):
    total = 0.0
    for v in values:
        try:
            total += math.log(v)
        except ValueError:
            total -= 1.0
    return total


x = np.linspace(-2, 2, 120_001)
for _ in range(6):
    s = signs(x)
print(int(np.signbit(s).sum()), math.copysign(1, s[0]), math.copysign(1, s[-1]))
for start in range(4):
    print(repr(safe_log(x[start:])))
print(repr(safe_log([0.5, 0.0, -1.0, math.inf])))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    big = np.float64(1e300)
    for _ in range(3):
        big = big * big
    big = np.float32(3e38)
    big += big
print(big, [str(w.message).split(" in ")[0] for w in caught])
