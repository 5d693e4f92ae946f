"""Draws that depend on earlier draws: their number and order are the result."""

import random

import numpy as np


def walk(steps):
    position = 0
    for _ in range(steps):
        if random.random() < 0.5:
            position += 1
        elif random.random() < 0.1:
            position -= random.randint(1, 5)
    return position


def accept(rng, n):
    kept = 0.0
    for _ in range(n):
        x = rng.normal()
        if x > 0 and rng.uniform() < 0.3:
            kept += x
    return kept


random.seed(99)
print(walk(2_000_000), repr(random.random()))
rng = np.random.default_rng(99)
print(repr(accept(rng, 500_000)), repr(rng.uniform()))
