"""Sums that start as the integer 0 and become floats, or not, as the data want it."""

import numpy as np


def weighted(weights, marks):
    total = 0
    count = 0
    history = [0]
    for k in range(len(weights)):
        if marks[k] > 0:
            total += weights[k]
            count += 1
        history.append(total)
    return total, count, history


def best_score(scores):
    best = 0
    for s in scores:
        if s > best:
            best = s
    return best


w = [0.1 * (k % 13) for k in range(1_800_000)]
none = [-1] * len(w)
some = [1 if k % 3 == 0 else 0 for k in range(len(w))]
for marks in (none, some):
    total, count, history = weighted(w, marks)
    print(repr(total), count, [repr(h) for h in history[:5]], type(history[-1]).__name__)
print(repr(best_score([-2.5, -1.5])), repr(best_score([1, 2.5, 2])), repr(best_score([])))
a = np.zeros(4, dtype=int)
for k in range(4):
    a[k] = 2.9 * k
print(a.tolist())
