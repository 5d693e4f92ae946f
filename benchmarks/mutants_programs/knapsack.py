"""0/1 knapsack on one row of integers, filled backwards."""

import numpy as np


def best_value(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for item in range(len(weights)):
        w = weights[item]
        v = values[item]
        for room in range(capacity, w - 1, -1):
            taken = best[room - w] + v
            if taken > best[room]:
                best[room] = taken
    return best[capacity]


gen = np.random.default_rng(83)
for trial in range(4):
    weights = gen.integers(3, 40, 45)
    values = gen.integers(1, 100, 45)
    print(trial, best_value(weights, values, 400))
