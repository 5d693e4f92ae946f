"""All digits of a running sum are printed: its order shows."""

import math

import numpy as np

x = np.random.default_rng(3).normal(size=100_000) * 10.0 ** np.arange(100_000) ** 0.14


def total(values):
    s = 0.0
    for v in values:
        s += v
    return s


def norm(values):
    s = 0.0
    for i in range(len(values)):
        s = s + values[i] * values[i]
    return math.sqrt(s)


for start in range(6):
    print(repr(float(total(x[start:]))))
    print(repr(norm(x[start:])))
f = x.astype(np.float32)
acc = np.float32(0)
for v in f:
    acc += v
print(repr(acc))
