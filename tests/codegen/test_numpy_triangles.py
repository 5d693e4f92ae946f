"""Triangles of matrices: sums of uneven rows, updates under one mask, both halves at once.

Every case is compared up to rounding on the observed arguments and on other sizes, layouts, types
and values; the expected line shows that the form was taken.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gpuadvise.codegen.numpy_backend import emit_products
from gpuadvise.model import Match

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import region_for
from numpy_cases import Case, check, check_products

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

HEAD = "import math\nimport numpy as np\n\n\n"
rng = np.random.default_rng(21)
A, B, C = rng.random((40, 40)), rng.random((40, 40)), rng.random((40, 40))
WIDE = rng.random((40, 30))
X, Y = rng.random(40), rng.random(40)

LOWER_TIMES_VECTOR = """\
def k(tri, x):
    rows = tri.shape[0]
    out = np.zeros(rows)
    for r in range(rows):
        acc = 0.0
        for c in range(r + 1):
            acc += tri[r, c] * x[c]
        out[r] = acc
    return out
"""
UPPER_WEIGHTS = """\
def k(w, data, out):
    n, m = out.shape
    for i in range(n):
        for j in range(m):
            total = 0.0
            for p in range(i, n):
                total += 2.0 * w[i, p] * data[p, j]
            out[i, j] = out[i, j] + total
    return out
"""
ROW_SUMS = """\
def k(a):
    n = len(a)
    s = np.zeros(n)
    for i in range(n):
        for j in range(i):
            s[i] -= a[i, j]
    return s
"""
SHIFTED = """\
def k(a, x, y):
    n = len(y)
    for i in range(2, n):
        t = 0.0
        for j in range(1, i - 1):
            t += a[i, j] * x[j]
        y[i] = t
    return y
"""
LATER_ROWS = """\
def k(a, x):
    n = len(x)
    for i in range(n):
        for j in range(i + 1, n):
            x[i] += a[i, j] * x[j]
        x[i] = x[i] / 3.0
    return x
"""


@pytest.mark.parametrize(
    ("text", "observed", "line"),
    [
        (LOWER_TIMES_VECTOR, (A, X), "out[:] = np.tril(tri) @ x"),
        (UPPER_WEIGHTS, (A, B, C), "total = np.triu(2.0 * w) @ data"),
        (ROW_SUMS, (A,), "s[1:] = -np.tril(a[1:, :-1]).sum(axis=1)"),
        (SHIFTED, (A, X, Y), "y[2:] = np.tril(a[2:, 1:-2], -1) @ x[1:-2]"),
        (LATER_ROWS, (A, X), "x += np.triu(a, 1) @ x"),
    ],
)
def test_uneven_rows_are_one_product(
    text: str, observed: tuple[np.ndarray, ...], line: str
) -> None:
    short = tuple(a[:2, :2].copy() if a.ndim == 2 else a[:2].copy() for a in observed)
    none = tuple(a[:0, :0].copy() if a.ndim == 2 else a[:0].copy() for a in observed)
    assert line in check_products(HEAD + text, observed, short, none)


def test_a_zero_is_not_multiplied_with_infinity() -> None:
    """The last element takes no part in the first rows, whatever it is."""
    for odd in (np.inf, np.nan):
        x = X.copy()
        x[-1] = odd
        after = check_products(HEAD + LOWER_TIMES_VECTOR, (A, X), (A, x))
    assert "np.isfinite(x).all()" in after


def test_the_masked_factor_need_not_be_finite() -> None:
    upper = A.copy()
    upper[3, 30] = np.nan
    after = check_products(HEAD + LOWER_TIMES_VECTOR, (A, X), (upper, X))
    assert "np.isfinite(tri)" not in after


def test_a_factor_that_the_loop_changes_first_is_not_tested_in_front() -> None:
    text = """\
def k(a, x, steps):
    n = len(x)
    y = np.zeros(n)
    for t in range(steps):
        for i in range(n):
            s = 0.0
            for j in range(i):
                s += a[i, j] * x[j]
            y[i] = s
        for i in range(n):
            x[i] = x[i] / y[i]
    return x
"""
    after = check_products(HEAD + text, (A, X, 3), (A, X * 0.0, 2))
    assert "isfinite" not in after


def test_rows_that_start_behind_the_first_column() -> None:
    """The first column has no term, and no triangle cuts it off."""
    text = """\
def k(a, x, y):
    n = len(x)
    for i in range(n):
        for j in range(1, i):
            y[i] += a[i, j] * x[j]
        for j in range(i, n - 1):
            y[i] -= a[j, i] * x[j]
    return y
"""
    after = check_products(HEAD + text, (A, X, Y), (A[:2], X[:2], Y), (A[:3], X[:3], Y[:3]))
    assert "np.tril(a[:, 1:-1], -2) @ x[1:-1]" in after


RANK_K = """\
def k(c, a, alpha, beta):
    n, m = a.shape
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for p in range(m):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, p] * a[j, p]
    return c
"""
RANK_2K = """\
def k(c, a, b, s):
    n, m = a.shape
    for i in range(n):
        for j in range(i):
            c[i, j] = c[i, j] / s
        for j in range(i):
            for p in range(m):
                c[i, j] -= a[i, p] * b[j, p] + b[i, p] * a[j, p]
    return c
"""
BOTH_HALVES = """\
def k(d):
    rows, cols = d.shape
    c = np.zeros((cols, cols))
    for p in range(cols):
        for q in range(p, cols):
            for r in range(rows):
                c[p, q] += d[r, p] * d[r, q]
            c[p, q] /= rows - 1.0
            c[q, p] = c[p, q]
    return c
"""
BUT_THE_DIAGONAL = """\
def k(x):
    n = x.shape[0]
    g = np.zeros((n, n))
    for i in range(n - 1):
        g[i, i] = 1.0
        for j in range(i + 1, n):
            for t in range(x.shape[1]):
                g[i, j] += x[i, t] * x[j, t]
            g[j, i] = g[i, j]
    return g
"""
NOT_SYMMETRIC = """\
def k(x, w):
    n = x.shape[0]
    g = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            for t in range(x.shape[1]):
                g[i, j] += x[i, t] * x[j, t] * w[i]
            g[j, i] = g[i, j]
    return g
"""


@pytest.mark.parametrize(
    ("text", "observed", "line"),
    [
        (RANK_K, (B, WIDE, 1.5, 1.2), "np.copyto(c, c * beta + alpha * (a @ a.T), where=mask)"),
        (RANK_2K, (B, WIDE, WIDE + 1.0, 2.5), "/ s - (a @ b[:-1, :].T + b @ a[:-1, :].T)"),
        (BOTH_HALVES, (WIDE,), "c[:] = d.T @ d / (rows - 1.0)"),
        (BUT_THE_DIAGONAL, (WIDE,), "np.copyto(g, x @ x.T, where=mask)"),
        (NOT_SYMMETRIC, (WIDE, X), "np.copyto(g.T, g, where=mask)"),
    ],
)
def test_updates_of_a_triangle(text: str, observed: tuple[object, ...], line: str) -> None:
    one = tuple(a[:1].copy() if isinstance(a, np.ndarray) else a for a in observed)
    assert line in check_products(HEAD + text, observed, one)


def test_mirror_images_are_computed_once() -> None:
    text = RANK_2K.replace("range(i)", "range(i + 1)")
    after = check_products(HEAD + text, (B, WIDE, WIDE + 1.0, 2.5))
    assert "product = a @ b.T\n" in after
    assert "np.copyto(c, c / s - (product + product.T), where=mask)" in after


def test_an_update_that_reads_its_neighbour_stays_apart() -> None:
    """Joined, c[i, j + 1] would be read before it is divided."""
    text = RANK_2K.replace("-= a[i, p] * b[j, p] + b[i, p] * a[j, p]", "-= c[i, j + 1] * a[i, p]")
    after = check_products(HEAD + text, (B, WIDE, WIDE, 2.5))
    assert "np.copyto(c[:, :-1], c[:, :-1] / s, where=mask)" in after


SYMMETRIC_PRODUCT = """\
def k(C, A, B, alpha, beta):
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            t = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                t += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * t
    return C
"""


def test_rows_that_are_scaled_later_stay_in_order() -> None:
    """C[k, j] is scaled after some of its terms were added, and before the others."""
    text = SYMMETRIC_PRODUCT.replace("C[k, j] +=", "C[m - 1 - k, j] +=")
    after = check_products(HEAD + text, (WIDE.copy(), A, WIDE + 1.0, 1.5, 1.2))
    assert "for i in range(m):" in after.partition("else:")[0]


def test_only_the_first_update_of_zeros_is_an_assignment() -> None:
    text = """\
def k(a, b, x):
    y = np.zeros(len(a))
    for i in range(len(a)):
        for j in range(len(x)):
            y[i] += a[i, j] * x[j]
        for j in range(len(x)):
            y[i] += b[i, j] * x[j]
    return y
"""
    after = check_products(HEAD + text, (A, B, X))
    assert "y[:] = a @ x\n" in after
    assert "y += b @ x\n" in after


def test_a_diagonal() -> None:
    text = """\
def k(a, d):
    n = len(d)
    for i in range(n):
        d[i] = a[i, i] + a[i, i + 1]
        a[i, i + 1] = 1.0
    return a, d
"""
    other = [(A, X), (A[:, :30].copy(), X), (A[:1], X[:1]), (A[:0], X[:0])]
    after = check(Case(HEAD + text, (rng.random((40, 41)), X), other))
    assert "d[:] = a[:, :n].diagonal() + a[:, 1:n + 1].diagonal()" in after
    assert "a[np.arange(n), np.arange(1, n + 1)] = 1.0" in after


@pytest.mark.parametrize("test", ["d[i] < a[i, i]", "d[i] > 3"])
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_a_diagonal_under_a_condition(test: str, dtype: str) -> None:
    """a[np.arange(n), np.arange(n)] is a copy: nothing may be written into it."""
    text = f"""\
def k(a, d):
    n = len(d)
    for i in range(n):
        if {test}:
            a[i, i] = d[i]
    return a
"""
    a, d = (A * 9).astype(dtype), (X * 9).astype(dtype)
    after = check(Case(HEAD + text, (a, d), [(a[:, :30].copy(), d), (a[:0], d[:0])]))
    assert "a.diagonal())" in after


def test_an_anti_diagonal_is_not_written() -> None:
    text = "def k(a):\n    n = len(a)\n    for i in range(n):\n        a[i, n - 1 - i] = 2.0\n"
    assert not isinstance(emit_products(region_for(HEAD + text, "k", (A,))), Match)


def test_a_root_of_what_was_never_negative() -> None:
    """math.sqrt raises below zero: squares that are added up do not get there."""
    text = """\
def k(data, mean):
    n, m = data.shape
    spread = np.zeros(m)
    for j in range(m):
        for i in range(n):
            spread[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        spread[j] = math.sqrt(spread[j] / n)
    return spread
"""
    none = np.zeros((0, 40)), Y
    assert "np.sqrt(spread / n)" in check(Case(HEAD + text, (A, X), [none]))
    for change in ("np.zeros(m) - 1.0", "np.full(m, -1.0)"):
        other = text.replace("np.zeros(m)", change)
        assert not isinstance(emit_products(region_for(HEAD + other, "k", (A, X))), Match) or (
            "np.sqrt(" not in check_products(HEAD + other, (A, X))
        )
