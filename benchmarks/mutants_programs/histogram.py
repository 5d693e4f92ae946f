"""Histogram of integers with the under- and overflow kept apart."""

import numpy as np


def count(values, bins, low, width):
    counts = np.zeros(bins, dtype=np.int64)
    outside = 0
    for i in range(len(values)):
        k = (values[i] - low) // width
        if 0 <= k < bins:
            counts[k] += 1
        else:
            outside += 1
    return counts, outside


rng = np.random.default_rng(7)
total = np.zeros(12, dtype=np.int64)
for part in range(8):
    counts, outside = count(rng.integers(-20, 140, 4000), 12, 0, 10)
    total += counts
    print(part, outside)
print(total)
