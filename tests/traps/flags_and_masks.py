"""Numbers used as truth values: 2 is true, and yet no bit of it is in True."""

import numpy as np

VERBOSE, STRICT = 2, 4


def select(ages, incomes, mode, default):
    chosen = np.zeros(len(ages), dtype=bool)
    total = 0
    for i in range(len(ages)):
        if ages[i] > 30 and (incomes[i] > 2000.0 and mode):
            chosen[i] = True
        elif mode or ages[i] < 18:
            total += 1
        if not (default or incomes[i] < 500.0):
            total -= 1
    return chosen, total


def first_or(values, fallback, out):
    for i in range(len(values)):
        out[i] = values[i] or fallback


rng = np.random.default_rng(11)
ages = rng.integers(0, 90, 50_000)
incomes = rng.random(50_000) * 4000.0
for mode in (0, VERBOSE, STRICT, VERBOSE | STRICT, 0.5):
    for default in (0, 8):
        chosen, total = select(ages, incomes, mode, default)
        print(mode, default, int(chosen.sum()), total, type(total).__name__)
out = np.zeros(50_000)
for limit in range(1000, 1008):
    first_or(np.where(incomes < limit, 0.0, incomes), -7.5, out)
print(repr(float(out.sum())))
