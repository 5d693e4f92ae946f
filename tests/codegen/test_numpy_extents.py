"""What is tested of sizes: equalities where they held, and nothing that never did."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from numpy_cases import Case, check, check_products

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

rng = np.random.default_rng(31)
A, X, Y = rng.random((40, 40)), rng.random(40), rng.random(40)
ADD = "def k(a, x, y, n):\n    for i in range(n):\n        y[i] = a[i, 3] * x[i]\n"
UPDATE = "def k(x, y, n):\n    for i in range(n):\n        y[i] = {update}\n"


def test_arrays_as_long_as_the_loop_are_taken_whole() -> None:
    others = [(A, X, Y, 39), (A, X[:30], Y, 40), (A, X, Y[:30], 30), (A[:9], X[:9], Y[:9], 9)]
    after = check(Case(ADD, (A, X, Y, 40), [*others, (A, X, Y, 0), (A, X, Y, -1)]))
    assert "x.shape == (n,)" in after
    assert "y[:] = a[:, 3] * x" in after


def test_longer_arrays_are_cut() -> None:
    after = check(Case(ADD, (A, X, Y, 35), [(A, X[:35], Y[:35], 35), (A, X, Y, 40)]))
    assert "y[:n] = a[:n, 3] * x[:n]" in after


def test_a_matrix_is_as_wide_as_it_is_high() -> None:
    text = """\
def k(a, x):
    n = len(x)
    for i in range(n):
        for j in range(n):
            x[i] += a[i, j]
"""
    after = check_products(text, (A, X), (A[:, :9], X[:9]), (A, X[:9]), (A[:9, :9], X[:9]))
    assert "a.shape == (n, n)" in after
    assert "a.ndim" not in after


@pytest.mark.parametrize(
    ("update", "line"),
    [
        ("y[i] + x[i]", "y += x\n"),
        ("3.0 * y[i]", "y *= 3.0\n"),
        ("y[i] / (x[i] + 1.0)", "y /= x + 1.0\n"),
    ],
)
def test_a_parameter_is_updated_in_place(update: str, line: str) -> None:
    after = check(Case(UPDATE.format(update=update), (X, Y, 40), [(X, Y, 9)]))
    assert f"        {line}" in after


def test_a_chain_of_updates_is_one_statement_each() -> None:
    text = UPDATE.format(update="0.5 * y[i] + x[i] - x[i] * x[i]")
    after = check(Case(text, (X, Y, 40), [(X, X, 40)]))
    assert "y *= 0.5\n        y += x\n        y -= x * x\n" in after


def test_a_later_term_may_read_what_the_first_has_changed() -> None:
    text = "def k(x, y, n):\n    for i in range(n - 1):\n        y[i] = y[i] + x[i] - y[i + 1]\n"
    after = check(Case(text, (X, Y, 40), [(X, X, 40)]))
    assert "+=" not in after


def test_a_single_precision_element_is_rounded_once() -> None:
    """float32 + float64 + float64 is rounded when it is stored, not after each addition."""
    text = UPDATE.format(update="y[i] + x[i] + x[i]")
    after = check(Case(text, (X, Y.astype(np.float32), 40), []))
    assert "+=" not in after


def test_a_global_is_not_made_a_local() -> None:
    """``y += x`` in a function that only reads the global y raises UnboundLocalError."""
    text = """\
import numpy as np

y = np.linspace(0.0, 1.0, 40)


def k(x):
    for i in range(len(x)):
        y[i] = y[i] + x[i]
    return y.copy()
"""
    assert "y[:] += x\n" in check(Case(text, (X,), [(X[:9],)]))


def test_a_test_that_never_held_is_not_relied_on() -> None:
    """The sum of the last row has no terms: all rows at once would need one each."""
    text = """\
import numpy as np

def k(t):
    n = len(t)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = t[i, j - 1]
            for m in range(i + 1, j):
                best = max(best, t[i, m] + t[m + 1, j])
            t[i, j] = best
    return t
"""
    whole = rng.random((40, 40))
    after = check(Case(text, (whole,), [(whole[:1, :1],), (whole[:0, :0],), (whole[:2, :2],)]))
    assert "0 >= n" not in after
    assert ".size:" in after


def test_the_largest_array_sets_the_order_of_the_axes() -> None:
    text = """\
def k(a, r, q):
    m, n = a.shape
    for k in range(n):
        for j in range(k + 1, n):
            r[k, j] = 0.5 * q[j]
            for i in range(m):
                a[i, j] = a[i, j] - a[i, k] * r[k, j]
"""
    after = check(Case(text, (A, A + 1.0, X), [(A[:9], A.copy(), X)]))
    assert "a_columns[k + 1:, :] -= a_columns[k] * r[k, k + 1:, None]" in after
