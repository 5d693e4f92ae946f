"""Dot product and squared norm in one pass, and where the largest product is."""

import numpy as np


def products(a, b):
    dot = 0.0
    norm = 0.0
    best = a[0] * b[0]
    where = 0
    for i in range(len(a)):
        p = a[i] * b[i]
        dot += p
        norm += a[i] * a[i]
        if p > best:
            best = p
            where = i
    return dot, norm, best, where


rng = np.random.default_rng(13)
a = rng.normal(size=6000)
for k in range(8):
    b = rng.normal(size=6000)
    print(products(a, b))
