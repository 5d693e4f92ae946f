"""An object array: every element is what it is."""

import numpy as np


def running(items):
    out = np.empty(len(items), dtype=object)
    acc = items[0] * 0
    for i in range(len(items)):
        acc = acc + items[i]
        out[i] = acc
    return out


mixed = np.array([1, 2.5, True, 3 + 4j, 2**70] * 250_000, dtype=object)
out = running(mixed)
print(out[0], out[1], out[4], type(out[0]).__name__, type(out[1]).__name__)
print(out[-1])
words = np.array(["ab", "c", ""] * 3000, dtype=object)
print(len(running(words)[-1]), running(words)[2])
ints = np.array([3**40, -(2**80), 7] * 250_000, dtype=object)
print(running(ints)[-1])
