"""Large arrays in loops that stay: one operation after the other, in memory that is made once."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from numpy_cases import Case, Cases, check

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

rng = np.random.default_rng(8)
LINE, OTHER = rng.random(5000), rng.random(5000)
GRID, FIELD = rng.random((70, 72)), rng.random((70, 72))
SMALL = [(LINE[:n].copy(), OTHER[:n].copy(), 2) for n in (0, 1, 2, 3, 40)]

CASES = Cases()
CASES.add(
    "np.multiply(0.5, work, out=b[1:-1])",
    """\
def k(a, b, steps):
    for t in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1] - a[i])
        for i in range(1, len(a) - 1):
            a[i] = 0.5 * (b[i - 1] + b[i + 1] - b[i])
""",
    (LINE, OTHER, 3),
    [*SMALL, (LINE, OTHER[:-1], 2), (LINE, LINE, 2)],
)
CASES.add(
    "v[1:] -= work",
    """\
def k(v, p, steps):
    for t in range(steps):
        for i in range(1, len(v)):
            v[i] = v[i] - 0.25 * (p[i] - p[i - 1])
        for i in range(len(v) - 1):
            p[i] -= 0.5 * (v[i + 1] - v[i]) / (1.0 + v[i] * v[i])
""",
    (LINE, OTHER, 3),
    SMALL,
)
CASES.add(
    "bend = np.empty((n - 2, m - 2))",
    """\
def k(u, f, steps):
    n, m = u.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                bend = u[i - 1, j] + u[i + 1, j] - 2.0 * u[i, j]
                f[i, j] = f[i, j] + 0.1 * bend + (bend - 1.0) * (bend - 1.0)
        for i in range(n):
            for j in range(m):
                u[i, j] = u[i, j] + f[i, j]
""",
    (GRID, FIELD, 3),
    [(GRID[:n].copy(), FIELD[:n].copy(), 2) for n in (0, 1, 2, 3)] + [(GRID, FIELD[:, ::-1], 1)],
)


@pytest.mark.parametrize("line", CASES)
def test_in_steps(line: str) -> None:
    after = check(CASES[line])
    assert f"{line}\n" in after, after
    made = [row for row in after.splitlines() if "np.empty(" in row]
    assert made and all(row.startswith("        ") and row[8] != " " for row in made)


SHORT = CASES["np.multiply(0.5, work, out=b[1:-1])"].text


def test_short_arrays_are_computed_in_one_expression() -> None:
    assert "work" not in check(Case(SHORT, (LINE[:500].copy(), OTHER[:500].copy(), 3), SMALL))


def test_memory_is_made_for_a_shape_that_stays() -> None:
    """Rows that become shorter need other memory each time."""
    text = """\
def k(a, b):
    for t in range(3):
        for i in range(t, len(a)):
            b[i] = 0.5 * (a[i] + b[i] * a[i] - 1.0)
"""
    assert "work" not in check(Case(text, (LINE, OTHER), [args[:2] for args in SMALL]))


def test_single_precision_is_rounded_after_each_operation() -> None:
    args = (LINE.astype(np.float32), OTHER.astype(np.float32), 2)
    assert "work" not in check(Case(SHORT, args, SMALL))


def _expression(random_: random.Random, depth: int) -> str:
    if depth == 0 or random_.random() < 0.2:
        return random_.choice(["a[i]", "a[i - 1]", "b[i]", "b[i + 1]", "s", "0.5", "c"])
    one, two = (_expression(random_, depth - 1) for _ in range(2))
    return f"({one} {random_.choice('+-*')} {two})"


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions(seed: int) -> None:
    """Both sides of an operation may be long, the same, or single numbers."""
    random_ = random.Random(seed)
    first, second = (_expression(random_, 4) for _ in range(2))
    text = f"""\
def k(a, b, s):
    for t in range(2):
        for i in range(1, len(a) - 1):
            c = a[i] - s * b[i]
            b[i] = 0.1 * {first.replace("b[i + 1]", "b[i]")}
        for i in range(1, len(a) - 1):
            c = a[i] - s * b[i]
            a[i] = 0.1 * {second.replace("a[i - 1]", "a[i]")}
"""
    others = [(LINE[:n].copy(), OTHER[:n].copy(), 0.25) for n in (1, 2, 3, 50)]
    check(Case(text, (LINE, OTHER, 0.25), others))
