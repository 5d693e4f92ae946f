"""The same stream of draws, taken in blocks."""

import random

import numpy as np

random.seed(2024)
_, state, _ = random.getstate()
stream = np.random.RandomState()
stream.set_state(("MT19937", state[:-1], state[-1]))


def sample(n, block=100_000):
    hits = 0
    sums = np.zeros(3)
    for first in range(0, n, block):
        x, y, z = stream.random_sample((min(block, n - first), 3)).T.copy()
        x *= 3
        x += 1
        y *= 7
        y -= 3
        z *= 2
        z -= 1
        r = np.sqrt(x * x + y * y) - 3.0
        inside = z * z + r * r <= 1.0
        hits += np.count_nonzero(inside)
        sums += [x[inside].sum(), y[inside].sum(), z[inside].sum()]
    return hits, sums


n = 5000000
box = 3 * 7 * 2
hits, sums = sample(n)
vol = box * hits / n
print("volume %.5f" % vol)
print("centre %.5f %.5f %.5f" % tuple(sums / hits))
