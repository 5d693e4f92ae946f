"""Accumulators: kept order, counts, extremes.

Each case is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Cases, check

rng = np.random.default_rng(4)
cases = Cases()
case = cases.add


def normal(*shape):
    return rng.standard_normal(shape)


def bits(*shape):
    return rng.integers(0, 2, shape)


case(
    "matmul",
    """
import numpy as np
def k(a, b):
    n, p = a.shape
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for q in range(p):
                s += a[i, q] * b[q, j]
            c[i, j] = s
    return c
""",
    (normal(20, 15), normal(15, 30)),
    [
        (normal(1, 1), normal(1, 1)),
        (normal(0, 3), normal(3, 2)),
        (normal(2, 0), normal(0, 2)),
        (normal(3, 2), normal(4, 5)),
    ],
)
case(
    "matmul2",
    """
def k(a, b, c):
    for i in range(len(a)):
        for j in range(len(b[0])):
            for q in range(len(b)):
                c[i, j] += a[i, q] * b[q, j]
""",
    (normal(20, 15), normal(15, 30), normal(20, 30)),
    [(normal(1, 1), normal(1, 1), normal(1, 1)), (normal(3, 2), normal(2, 5), normal(2, 5))],
)
case(
    "atax",
    """
import numpy as np
def k(A, x):
    m, n = A.shape
    y = np.zeros(n)
    for i in range(m):
        tmp = 0.0
        for j in range(n):
            tmp += A[i, j] * x[j]
        for j in range(n):
            y[j] += A[i, j] * tmp
    return y
""",
    (normal(30, 40), normal(40)),
    [(normal(1, 1), normal(1)), (normal(2, 3), normal(3))],
)
case(
    "pairwise",
    """
import numpy as np
def k(p):
    n, d = p.shape
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for q in range(d):
                diff = p[i, q] - p[j, q]
                s += diff * diff
            D[i, j] = np.sqrt(s)
    return D
""",
    (normal(30, 3),),
    [(normal(0, 3),), (normal(1, 2),)],
)
case(
    "pairwisemath",
    """
import numpy as np
import math
def k(x, y):
    n = len(x)
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            dx = x[i] - x[j]
            dy = y[i] - y[j]
            D[i, j] = math.sqrt(dx * dx + dy * dy)
    return D
""",
    (normal(30), normal(30)),
    [(normal(0), normal(0)), (normal(1), normal(1)), (normal(3), normal(2))],
)
case(
    "mean",
    """
import numpy as np
def k(x):
    n, m = x.shape
    mean = np.zeros(m)
    for j in range(m):
        for i in range(n):
            mean[j] += x[i, j]
        mean[j] /= n
    return mean
""",
    (normal(50, 40),),
    [(normal(1, 1),)],
)
case(
    "sum",
    """
def k(x):
    s = 0.0
    for v in x:
        s += v * v
    return s
""",
    (normal(1000),),
    [(normal(0),), (normal(1),), (normal(1001),), (normal(5).astype(np.float32),)],
)
case(
    "sum2d",
    """
def k(x):
    total = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j]
    return total
""",
    (rng.integers(0, 100, (30, 40)),),
    [(rng.integers(0, 9, (0, 3)),), (normal(3, 3),)],
)
case(
    "count",
    """
def k(x, t):
    n = 0
    for v in x:
        if v > t:
            n += 1
    return n
""",
    (normal(1000), 0.5),
    [(normal(0), 0.1), (np.array([np.nan, 3.0]), 0.5)],
)
case(
    "argmin",
    """
def k(x):
    best = x[0]
    at = 0
    for i in range(1, len(x)):
        if x[i] < best:
            best = x[i]
            at = i
    return best, at
""",
    (normal(1000),),
    [
        (np.array([np.nan, 1.0, -1.0, -1.0]),),
        (np.array([2.0, np.nan, 1.0]),),
        (normal(1),),
        (np.array([0.0, -0.0]),),
    ],
)
case(
    "variance",
    """
def k(x):
    n = len(x)
    mean = 0.0
    for v in x:
        mean += v
    mean /= n
    return mean
""",
    (normal(1000),),
)
case(
    "var2",
    """
def k(x, mean):
    var = 0.0
    for i in range(len(x)):
        var += (x[i] - mean) ** 2
    return var / len(x)
""",
    (normal(1000), 0.1),
)
case(
    "trap",
    """
def k(y, h):
    area = 0.0
    for i in range(len(y) - 1):
        area += 0.5 * (y[i] + y[i + 1]) * h
    return area
""",
    (normal(1000), 0.1),
    [(normal(1), 0.1), (normal(0), 0.1), (normal(2), 0.1)],
)
case(
    "pi",
    """
def k(n):
    dx = 1.0 / n
    s = 0.0
    for i in range(n):
        x = (i + 0.5) * dx
        s += 4.0 / (1.0 + x * x)
    return s * dx
""",
    (1000,),
    [(1,), (3,)],
)
case(
    "mask2",
    """
import numpy as np
def k(a):
    n = len(a)
    total = 0.0
    pos = 0
    for i in range(n):
        if a[i] > 0:
            total += a[i]
            pos += 1
    return total, pos
""",
    (normal(1000),),
    [(-np.ones(3),), (normal(0),)],
)
case(
    "anyneg",
    """
def k(a):
    found = False
    for i in range(len(a)):
        if a[i] < -3:
            found = True
    return found
""",
    (normal(1000),),
    [(normal(0),), (np.array([-4.0]),)],
)
case(
    "nbody",
    """
import numpy as np
def k(pos, mass, acc):
    n = len(pos)
    for i in range(n):
        for j in range(n):
            if i != j:
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                d2 = dx * dx + dy * dy + 0.01
                inv = 1.0 / (d2 * np.sqrt(d2))
                acc[i, 0] += mass[j] * dx * inv
                acc[i, 1] += mass[j] * dy * inv
""",
    (normal(40, 2), normal(40), np.zeros((40, 2))),
)


@pytest.mark.parametrize("name", cases)
def test_sums_stay_the_same(name):
    check(cases[name])
