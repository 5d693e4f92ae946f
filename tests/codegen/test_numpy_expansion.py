"""A scratch row that every iteration fills anew gets one row for each iteration."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from numpy_cases import Case, check, check_products

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

HEAD = "import numpy as np\n\n\n"
rng = np.random.default_rng(12)
T, W = rng.random((6, 7, 40)), rng.random(40)
M = rng.random((40, 40))

SCALED = """\
def k(T, w):
    a, b, c = T.shape
    line = np.zeros(c)
    for i in range(a):
        for j in range(b):
            for t in range(c):
                line[t] = T[i, j, t] * w[t]
            for t in range(c):
                T[i, j, t] = line[t] - line[t] * line[t]
    return T
"""
CONTRACTED = """\
def k(x, m):
    rows, cols = x.shape
    sums = np.zeros(cols)
    for r in range(rows):
        for c in range(cols):
            sums[c] = 0.0
            for t in range(cols):
                sums[c] += x[r, t] * m[t, c]
        for c in range(cols):
            x[r, c] = sums[c]
    return x
"""


def test_a_row_for_every_iteration() -> None:
    other = [(T[:1], W), (T[:0], W), (T[..., :1].copy(), W[:1]), (T, W[:9])]
    after = check(Case(HEAD + SCALED, (T, W), other))
    assert "lines = T * w\n" in after
    assert "T[:] = lines - lines * lines\n" in after


def test_a_product_that_overwrites_its_factor() -> None:
    after = check_products(HEAD + CONTRACTED, (M, M + 1.0), (M[:1].copy(), M), (M, M[:9]))
    assert "all_sums = x @ m\n" in after
    assert "x[:] = all_sums\n" in after


def test_the_terms_one_by_one_keep_every_bit() -> None:
    after = check(Case(HEAD + CONTRACTED, (M, M + 1.0), [(M[:1].copy(), M), (M, M)]))
    assert "all_sums = np.empty((rows, cols))" in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return T\n", "    return T, line\n"),  # the last row is read
        ("T[i, j, t] = line[t] -", "T[i, j, t] = line[0] -"),
        ("line[t] = T[i, j, t] * w[t]", "line[t] = T[i, j, t] * line[t]"),
        ("for t in range(c):", "for t in range(1, c):"),
        ("line = np.zeros(c)", "line = np.zeros(c, dtype=np.float32)"),
        ("    a, b, c = T.shape\n", "    a, b, c = T.shape\n    show = lambda: line\n"),
    ],
)  # fmt: skip
def test_a_row_that_someone_else_sees(old: str, new: str) -> None:
    text = SCALED.replace(old, new, 1)
    assert text != SCALED
    assert "lines" not in check(Case(HEAD + text, (T, W), []))
