"""np.append and np.vstack in loops: late pieces change the type, misfits end it, views go stale."""

import numpy as np


def orbit(n, late):
    values = np.array([], dtype=np.int64)
    for i in range(n):
        values = np.append(values, i if i < late else i + 0.5)
    return values


def track(steps, breadth):
    position = np.zeros(3)
    path = np.zeros((1, 3))
    for k in range(steps):
        position += 0.5
        path = np.vstack((path, position[:breadth] if k == steps - 1 else position))
    return path


def lengths(n):
    x = np.array([1.0])
    seen = 0
    for i in range(n):
        x = np.append(x, x[-1] * 0.5 + i)
        seen += x.size
    return x, seen


for late in (10**9, 6000, 0):
    values = orbit(9000, late)
    print(values.dtype, repr(values[-1]), values.shape)
print(track(4000, 3).shape, repr(float(track(4000, 3).sum())))
try:
    track(500, 2)
except ValueError as error:
    print(type(error).__name__)
x, seen = lengths(6000)
print(repr(float(x[-1])), seen)
