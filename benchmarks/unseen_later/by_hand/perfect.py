"""Divisors are dealt out to their multiples, as in a sieve."""

import numpy as np

limit = 260000
numbers = np.arange(limit)
sums = np.ones(limit, dtype=np.int64)
for d in range(2, int(limit**0.5) + 1):
    sums[d * d :: d] += d + numbers[d : (limit - 1) // d + 1]
    sums[d * d] -= d

numbers = numbers[2:]
sums = sums[2:]
ratio = sums / numbers
best = int(ratio.argmax())
print("perfect:", numbers[sums == numbers].tolist())
print("abundant:", np.count_nonzero(sums > numbers), end=" ")
print("deficient:", 1 + np.count_nonzero(sums < numbers))
print("richest:", numbers[best], round(float(ratio[best]), 6))
