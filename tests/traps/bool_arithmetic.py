"""Truth values that are added, compared and stored: bool, np.bool_ and int are three things."""

import numpy as np


def majority(votes):
    n, m = votes.shape
    won = np.zeros(n, dtype=bool)
    margin = []
    for i in range(n):
        yes = votes[i, 0]
        for j in range(1, m):
            yes = yes + votes[i, j]
        won[i] = yes
        margin.append(yes)
    return won, margin


def parity(bits):
    p = False
    for b in bits:
        p = p ^ b
    return p


def count_true(flags):
    c = False
    for f in flags:
        c += f
    return c


rng = np.random.default_rng(8)
votes = rng.random((8_000, 9)) < 0.3
for start in range(10):
    won, margin = majority(votes[start:])
print(won.sum(), margin[:3], type(margin[0]).__name__)
flags = [bool(v) for v in votes.ravel()]
for start in range(10):
    print(parity(flags[start:]), count_true(flags[start:]))
print(type(parity(flags)).__name__, count_true([]))
print(parity(votes[:, 0]), type(parity(votes[:, 0])).__name__)
