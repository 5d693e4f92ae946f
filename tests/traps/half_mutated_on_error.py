"""An index error in the middle: what was written before it stays, and is printed."""

import numpy as np


def scatter(out, index, values):
    for k in range(len(index)):
        out[index[k]] = values[k] + k


rng = np.random.default_rng(10)
index = rng.integers(0, 1000, 100_000)
values = rng.normal(size=100_000)
out = np.zeros(1000)
for _ in range(8):
    scatter(out, index, values)
print(repr(float(out.sum())))
index[20_000] = 1000
out[:] = 0
try:
    scatter(out, index, values)
except IndexError as error:
    print(type(error).__name__, error)
print(repr(float(out.sum())), repr(float(out[-1])))
index[20_000] = -1000
scatter(out, index, values)
print(repr(float(out.sum())), repr(float(out[0])))
