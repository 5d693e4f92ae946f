"""Prints and counts from inside the function that holds the loop."""

import numpy as np

calls = 0


def energy(x, k):
    global calls
    calls += 1
    total = np.zeros(len(x))
    for i in range(len(x)):
        total[i] = 0.5 * k * x[i] * x[i] + 0.1 * x[i] * x[i] * x[i] * x[i]
    print("call", calls, "largest", total.max())
    return total


rng = np.random.default_rng(71)
for t in range(8):
    e = energy(rng.normal(size=2500), 1.0 + 0.1 * t)
print(calls, e.sum())
