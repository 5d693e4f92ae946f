"""Windows of one size, whose borders are known for that size only.

Each case is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness import region_for
from numpy_cases import Cases, check

from gpuadvise.loopnest.ir import Nest
from gpuadvise.loopnest.specialised import specialised

rng = np.random.default_rng(5)
cases = Cases()
case = cases.add


def normal(*shape):
    return rng.standard_normal(shape)


SIZES = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (1, 7), (6, 2))
SEEN = ("kh == 3", "half == 1", "radius == 1", "reach == 1")
KERNELS = ((1, 1), (2, 2), (3, 5), (5, 5), (4, 3), (3, 3))
case(
    "zeros around",
    """
import numpy as np
def k(img, kernel):
    h, w = img.shape
    kh, kw = kernel.shape
    out = np.zeros_like(img)
    for r in range(h):
        for c in range(w):
            total = 0.0
            for i in range(kh):
                for j in range(kw):
                    rr = r + i - kh // 2
                    cc = c + j - kw // 2
                    if rr < 0 or rr >= h or cc < 0 or cc >= w:
                        continue
                    total += img[rr, cc] * kernel[i, j]
            out[r, c] = total
    return out
""",
    (normal(40, 50), normal(3, 3)),
    [
        *((normal(*size), normal(3, 3)) for size in SIZES),
        *((normal(30, 20), normal(*size)) for size in KERNELS),
    ],
)
case(
    "lists",
    """
def k(img, kernel):
    h = len(img)
    w = len(img[0])
    half = len(kernel) // 2
    out = [[0.0] * w for _ in range(h)]
    for r in range(h):
        for c in range(w):
            s = 0.0
            for di in range(-half, half + 1):
                for dj in range(-half, half + 1):
                    if 0 <= r + di < h and 0 <= c + dj < w:
                        s += img[r + di][c + dj] * kernel[di + half][dj + half]
            out[r][c] = s
    return out
""",
    (normal(40, 50).tolist(), normal(3, 3).tolist()),
    [
        *((normal(*size).tolist(), normal(3, 3).tolist()) for size in SIZES),
        *((normal(9, 8).tolist(), normal(n, n).tolist()) for n in (1, 2, 4, 5)),
    ],
)
case(
    "mean of what is there",
    """
import numpy as np
def k(img, radius):
    h, w = img.shape
    out = np.zeros((h, w))
    for y in range(h):
        for x in range(w):
            total = 0.0
            count = 0
            for dy in range(-radius, radius + 1):
                for dx in range(-radius, radius + 1):
                    if 0 <= y + dy < h and 0 <= x + dx < w:
                        total += img[y + dy, x + dx]
                        count += 1
            out[y, x] = total / count
    return out
""",
    (normal(40, 50), 1),
    [*((normal(*size), 1) for size in SIZES), *((normal(9, 8), n) for n in (0, 2, 3, 20))],
)
case(
    "around the end, of another type",
    """
def k(cells, reach, found):
    for i in range(len(cells)):
        near = 0
        for at in range(i - reach, i + reach + 1):
            if cells[at % len(cells)] > 0:
                near += reach
        found[i] = near
    return found
""",
    (normal(400), 1, [0] * 400),
    [(normal(40), n, [0] * 40) for n in (np.uint8(1), np.int64(1), np.float64(1.0), 1.0, True)],
)


@pytest.mark.parametrize("name", cases)
def test_windows_of_the_size_seen(name):
    after = check(cases[name])
    assert any(f"and {size}\n" in after for size in SEEN)


def test_nothing_to_specialise():
    text = "def k(a, n):\n    for i in range(n):\n        a[i] = a[i] + 1.0\n"
    nest = region_for(text, "k", (np.zeros(5), 5)).nest
    assert isinstance(nest, Nest) and specialised(nest) is None


def test_large_windows_are_not_written_out():
    text = (
        "def k(a, n, out):\n    for i in range(a.shape[0] - 8):\n        for j in range(n):\n"
        "            for m in range(n):\n                out[i] += a[i + j] * a[i + m]\n"
    )
    regions = [region_for(text, "k", (np.ones(20), n, np.zeros(20))) for n in (5, 6)]
    found = [specialised(r.nest) for r in regions if isinstance(r.nest, Nest)]
    assert len(found) == 2 and found[0] is not None and found[1] is None
