"""In a loop that stays, ``np.add(x, y, out=a)`` in place of ``a[:] = x + y``: no copy is made."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_cases import Case, check, check_products

HEAD = "import numpy as np\n\n\n"
rng = np.random.default_rng(23)
X, Y = rng.random(50), rng.random(50)
GRID = rng.random((50, 40))

ROD = """\
def k(old, new, steps):
    n = len(old)
    for step in range(steps):
        for i in range(1, n - 1):
            new[i] = 0.25 * (old[i - 1] + 2.0 * old[i] + old[i + 1])
        for i in range(1, n - 1):
            old[i] = new[i] / 1.5
    return old
"""
COLUMNS = """\
def k(grid, weights, rounds):
    rows, cols = grid.shape
    for turn in range(rounds):
        for c in range(1, cols):
            for r in range(rows):
                grid[r, c] = weights[r] - grid[r, c - 1]
    return grid
"""
COUNTS = """\
def k(table, extra):
    for row in range(1, len(table)):
        for col in range(table.shape[1]):
            table[row, col] = table[row - 1, col] + extra[col]
    return table
"""


@pytest.mark.parametrize(
    ("text", "observed", "lines"),
    [
        (
            ROD,
            (X, Y, 5),
            ("np.multiply(0.25, old[:-2] + 2.0 * old[1:-1] + old[2:], out=new[1:-1])",),
        ),
        (ROD, (X, Y, 5), ("np.divide(new[1:-1], 1.5, out=old[1:-1])",)),
        (COLUMNS, (GRID, X, 3), ("grid[:, c] = weights - grid[:, c - 1]",)),
        (
            COUNTS,
            (rng.integers(0, 9, (40, 50)), rng.integers(0, 9, 50)),
            ("np.add(table[row - 1], extra, out=table[row])",),
        ),
    ],
)
def test_the_result_goes_where_it_belongs(
    text: str, observed: tuple[object, ...], lines: tuple[str, ...]
) -> None:
    after = check(Case(HEAD + text, observed, ()))
    assert all(line in after for line in lines)


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        # an array that is written over while it is read
        (ROD.replace("old[i - 1] + 2.0 * old[i]", "new[i + 1] + old[i]"), (X, Y, 5)),
        # integers into floats
        (ROD, (X, Y.astype(np.float32), 5)),
        (COLUMNS, (GRID, np.arange(50), 3)),
        (COUNTS, (rng.random((40, 50)), rng.integers(0, 9, 50))),
        (COUNTS, (rng.integers(0, 9, (40, 50)), np.arange(50) % 2 == 0)),
    ],
)
def test_of_other_types_and_of_what_is_read_itself(text: str, observed: tuple[object, ...]) -> None:
    check(Case(HEAD + text, observed, ()))


def test_what_runs_once_stays_an_assignment() -> None:
    text = "def k(a, b, out):\n    for i in range(len(a)):\n        out[i] = a[i] + b[i]\n"
    assert "out[:] = a + b" in check(Case(HEAD + text, (X, Y, np.zeros(50)), ()))


def test_a_long_expression_stays_readable() -> None:
    sides = "old[i - 1] * 0.5 + old[i + 1] * 0.25 - old[i] * 0.125 + new[i] * 0.0625"
    text = HEAD + ROD.replace("0.25 * (old[i - 1] + 2.0 * old[i] + old[i + 1])", sides + " + 1.0")
    after = check(Case(text, (X, Y, 5), ()))
    assert "new[1:-1] = (" in after
    assert "np.divide(new[1:-1], 1.5, out=old[1:-1])" in after


def test_a_diagonal_has_no_place_to_write_into() -> None:
    """c[np.arange(..), np.arange(..)] is a copy: what is written there would be lost."""
    text = """\
def k(a, c):
    n = len(a)
    for i in range(2, n - 2):
        for j in range(i - 2, i + 3):
            for t in range(a.shape[1]):
                c[i, j] += a[i, t] * a[j, t]
    return c
"""
    after = check_products(HEAD + text, (GRID, rng.random((50, 50))))
    assert "c[np.arange(2, n - 2), np.arange(j + 2, j + n - 2)] = (" in after
