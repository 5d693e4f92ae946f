"""Element-wise loops, conditions, strides, other orders.

Each case is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Cases, check

rng = np.random.default_rng(11)
cases = Cases()
case = cases.add


def normal(*shape):
    return rng.standard_normal(shape)


def bits(*shape):
    return rng.integers(0, 2, shape)


case(
    "saxpy",
    """
def k(a, x, y):
    for i in range(len(x)):
        y[i] = a * x[i] + y[i]
""",
    (2.0, normal(1000), normal(1000)),
    [(2.0, normal(n), normal(n)) for n in (0, 1, 2, 7)]
    + [
        (2.0, normal(5), normal(7)),
        (3, normal(5), normal(5)),
        (2.0, normal(5).astype(np.float32), normal(5)),
    ],
)
case(
    "poly",
    """
def k(x, out):
    for i in range(x.shape[0]):
        v = x[i]
        r = 0.0
        r = r * v + 1.5
        r = r * v - 2.0
        r = r * v + 0.25
        out[i] = r
""",
    (normal(1000), normal(1000)),
    [(normal(0), normal(0)), (normal(3), normal(3))],
)
case(
    "swap",
    """
def k(a, b):
    for i in range(len(a)):
        t = a[i]
        a[i] = b[i]
        b[i] = t
""",
    (normal(1000), normal(1000)),
    [(normal(3), normal(3))],
)
case(
    "swap2",
    """
def k(a, b):
    for i in range(len(a)):
        a[i], b[i] = b[i], a[i]
""",
    (normal(1000), normal(1000)),
    [(normal(3), normal(3))],
)
case(
    "clip",
    """
def k(x, lo, hi):
    for i in range(len(x)):
        if x[i] < lo:
            x[i] = lo
        elif x[i] > hi:
            x[i] = hi
""",
    (normal(1000), -0.5, 0.5),
    [(np.array([np.nan, 1, -1, 0.2]), -0.5, 0.5), (normal(0), 0.0, 1.0)],
)
case(
    "thresh",
    """
def k(img, t, out):
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            if img[i, j] > t:
                out[i, j] = 255
            else:
                out[i, j] = 0
""",
    (rng.integers(0, 255, (30, 40)).astype(np.uint8), 100, np.zeros((30, 40), np.uint8)),
    [(np.zeros((0, 3), np.uint8), 5, np.zeros((0, 3), np.uint8))],
)
case(
    "f32",
    """
def k(x, y, a):
    for i in range(len(x)):
        y[i] = a * x[i] + i * x[i] - 1
""",
    (normal(1000).astype(np.float32), normal(1000).astype(np.float32), 0.3),
    [(normal(5).astype(np.float32), normal(5).astype(np.float32), np.float64(0.3))],
)
case(
    "u8wrap",
    """
def k(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] + y[i]
""",
    tuple(rng.integers(0, 100, 1000).astype(np.uint8) for _ in range(3)),
)
case(
    "enumer",
    """
def k(xs, out):
    for i, x in enumerate(xs):
        out[i] = x * i
""",
    (normal(1000), normal(1000)),
    [(normal(0), normal(0)), (normal(3), normal(3)), (normal(3), normal(2))],
)
case(
    "nested",
    """
def k(a, b, out):
    for row in range(a.shape[0]):
        w = b[row] * 2.0
        for col in range(a.shape[1]):
            out[row, col] = a[row, col] * w + col
""",
    (normal(30, 40), normal(30), normal(30, 40)),
)
case(
    "gather",
    """
def k(out, a, idx):
    for i in range(len(idx)):
        out[i] = a[idx[i]] * 2.0
""",
    (np.zeros(1000), normal(10), rng.integers(0, 10, 1000)),
)
case(
    "transpose",
    """
import numpy as np
def k(a):
    n, m = a.shape
    b = np.empty((m, n))
    for i in range(n):
        for j in range(m):
            b[j, i] = a[i, j]
    return b
""",
    (normal(30, 40),),
    [(normal(0, 3),), (normal(1, 1),)],
)
case(
    "reversed",
    """
def k(x, y):
    n = len(x)
    for i in range(n - 1, -1, -1):
        y[i] = x[n - 1 - i]
""",
    (normal(1000), normal(1000)),
    [(normal(0), normal(0)), (normal(3), normal(3)), (normal(3), normal(4))],
)
case(
    "stride",
    """
def k(x, y):
    for i in range(0, len(x) - 1, 2):
        y[i] = x[i] + x[i + 1]
""",
    (normal(1000), normal(1000)),
    [(normal(n), normal(n)) for n in (0, 1, 2, 3, 5)],
)
case(
    "triang",
    """
def k(a):
    n = len(a)
    for i in range(n):
        for j in range(i):
            a[i, j] = a[i, j] * 2.0 + 1.0
""",
    (normal(40, 40),),
    [(normal(0, 0),), (normal(1, 1),), (normal(3, 3),)],
)
case(
    "outer",
    """
import numpy as np
def k(x, y):
    out = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j] = x[i] * y[j]
    return out
""",
    (normal(30), normal(40)),
    [(normal(0), normal(3)), (normal(1), normal(1))],
)
case(
    "flip",
    """
def k(a, b):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            b[i, m - 1 - j] = a[i, j]
""",
    (normal(20, 30), normal(20, 30)),
    [(normal(0, 0), normal(0, 0)), (normal(1, 2), normal(1, 2))],
)
case(
    "invert",
    """
import numpy as np
def k(img):
    h, w, c = img.shape
    out = np.zeros_like(img)
    for y in range(h):
        for x in range(w):
            for q in range(c):
                out[y, x, q] = 255 - img[y, x, q]
    return out
""",
    (rng.integers(0, 255, (20, 30, 3)).astype(np.uint8),),
)
case(
    "rgb",
    """
import numpy as np
def k(img):
    h, w, _ = img.shape
    out = np.zeros((h, w), dtype=np.uint8)
    for y in range(h):
        for x in range(w):
            r, g, b = img[y, x, 0], img[y, x, 1], img[y, x, 2]
            out[y, x] = int(0.299 * r + 0.587 * g + 0.114 * b)
    return out
""",
    (rng.integers(0, 255, (20, 30, 3)).astype(np.uint8),),
)
case(
    "gauss",
    """
import math
import numpy as np
def k(x, mu, sigma):
    out = np.zeros(len(x))
    for i in range(len(x)):
        z = (x[i] - mu) / sigma
        out[i] = math.exp(-0.5 * z * z) / (sigma * math.sqrt(2 * math.pi))
    return out
""",
    (normal(1000), 0.1, 2.0),
    [(normal(3), 0.0, -1.0), (normal(0), 0.0, 1.0)],
)
case(
    "sinlog",
    """
import math
import numpy as np
def k(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = math.sin(x[i]) + math.log(x[i])
    return out
""",
    (rng.random(1000) + 0.1,),
    [(rng.random(3),), (np.array([1.0, np.inf]),)],
)
case(
    "safe_div",
    """
import numpy as np
def k(a, b):
    out = np.zeros(len(a))
    for i in range(len(a)):
        if b[i] != 0:
            out[i] = a[i] / b[i]
        else:
            out[i] = -1.0
    return out
""",
    (normal(1000), rng.integers(0, 3, 1000).astype(float)),
    [(normal(3), np.zeros(3)), (normal(2), np.array([np.nan, 1]))],
)
case(
    "dist1",
    """
import math
def k(xs, ys, px, py, out):
    for i in range(len(xs)):
        out[i] = math.hypot(xs[i] - px, ys[i] - py)
""",
    (normal(1000), normal(1000), 0.1, 0.2, normal(1000)),
)
case(
    "linspace",
    """
import numpy as np
import math
def k(n):
    dx = 1.0 / n
    out = np.zeros(n)
    for i in range(n):
        x = (i + 0.5) * dx
        out[i] = 4.0 / (1.0 + x * x)
    return out
""",
    (1000,),
    [(1,), (3,)],
)
case(
    "ints",
    """
def k(n):
    s = 0
    for i in range(n):
        if i % 3 == 0 or i % 5 == 0:
            s += i
    return s
""",
    (10000,),
    [(0,), (3,)],
)


case(
    "saved before a condition",
    """
def k(a, b):
    for i in range(len(a)):
        t = a[i]
        if i > 0:
            a[i] = 0.0
        b[i] = t
""",
    (normal(1000), normal(1000)),
    [(normal(1), normal(1))],
)
case(
    "saved before an inner loop",
    """
def k(a, b):
    for i in range(a.shape[0]):
        t = a[i, 0]
        for j in range(a.shape[1]):
            a[i, j] = 0.5 * t + j
        b[i] = t
""",
    (normal(40, 30), normal(40)),
    [(normal(1, 1), normal(1)), (normal(3, 0), normal(3))],
)
case(
    "scalar changed on one side, used with its old value",
    """
def k(a, b):
    for i in range(len(a)):
        s = a[i] * 2.0 + 1.0
        d = s * s - 3.0 * s
        if i < 5:
            s = s + 100.0
        elif a[i] > 0:
            s -= 7.0
        b[i] = d + s
""",
    (normal(1000), normal(1000)),
    [(normal(6), normal(6)), (normal(4), normal(4))],
)
case(
    "two stores under one condition that read each other's array",
    """
def k(a, b):
    for i in range(len(a)):
        if a[i] > b[i]:
            t = a[i]
            a[i] = b[i]
            b[i] = t
""",
    (normal(1000), normal(1000)),
)
case(
    "condition on an array that the branch overwrites",
    """
def k(a, b):
    for i in range(len(a)):
        if a[i] > 0:
            a[i] = -1.0
            b[i] = 2.0
        else:
            b[i] = a[i]
""",
    (normal(1000), normal(1000)),
)
case(
    "list elements outside the inner loop",
    """
def k(w, x):
    out = [0.0] * len(x)
    for q in range(len(w)):
        c = w[q] / 3.0
        for i in range(len(x)):
            out[i] += c * x[i]
    return out
""",
    (normal(4).tolist(), normal(500).tolist()),
)


@pytest.mark.parametrize("name", cases)
def test_elementwise_stay_the_same(name):
    check(cases[name])
