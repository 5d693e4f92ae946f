"""Triple loop over arrays, integer and float."""

import numpy as np


def multiply(a, b):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p), dtype=a.dtype)
    for i in range(n):
        for j in range(p):
            for k in range(m):
                c[i, j] += a[i, k] * b[k, j]
    return c


rng = np.random.default_rng(29)
a, b = rng.random((21, 18)), rng.random((18, 23))
print(multiply(a, b).sum(), multiply(a, b)[3, 4])
a, b = rng.integers(-9, 9, (21, 18)), rng.integers(-9, 9, (18, 23))
print(multiply(a, b).sum(), multiply(a, b)[3, 4])
