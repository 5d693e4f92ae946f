"""Library functions, conversions to integers.

Each case is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Cases, check

rng = np.random.default_rng(9)
cases = Cases()
case = cases.add


def normal(*shape):
    return rng.standard_normal(shape)


case(
    "gray",
    """
import numpy as np
def k(img):
    h, w, c = img.shape
    g = np.zeros((h, w))
    for i in range(h):
        for j in range(w):
            g[i, j] = 0.2126 * img[i, j, 0] + 0.7152 * img[i, j, 1] + 0.0722 * img[i, j, 2]
    return g
""",
    (rng.integers(0, 255, (20, 30, 3)).astype(np.uint8),),
)
case(
    "meshfun",
    """
import numpy as np
import math
def k(n, m):
    z = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            x = -2 + 4 * i / n
            y = -2 + 4 * j / m
            z[i, j] = math.sin(x) * math.cos(y) + x * y
    return z
""",
    (30, 40),
    [(1, 1), (0, 3)],
)
case(
    "haversine",
    """
import math
def k(lat, lon, out):
    for i in range(len(lat)):
        a = math.sin(lat[i] / 2) ** 2 + math.cos(lat[i]) * math.sin(lon[i] / 2) ** 2
        out[i] = 2 * 6371.0 * math.asin(math.sqrt(a))
""",
    (rng.random(500), rng.random(500), normal(500)),
)
case(
    "quant",
    """
import numpy as np
def k(x, levels):
    out = np.zeros(len(x), dtype=int)
    for i in range(len(x)):
        out[i] = int(x[i] * levels)
    return out
""",
    (rng.random(500), 8),
)


@pytest.mark.parametrize("name", cases)
def test_functions_stay_the_same(name):
    check(cases[name])
