"""Variables that are ``None`` at first, and variables that hold tuples."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, check
from test_numba_cpu import _private_cache

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="none_best",
        text="""\
def none_best(xs):
    best = None
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            d = abs(xs[i] - xs[j])
            if best is None or d < best:
                best = d
    return best
""",
        seen="([random.random() for _ in range(50)],)",
        others=(
            "([],)",
            "([1.0],)",
            "([1, 2.5, 7],)",
            "([float('nan')] * 3,)",
        ),
    ),
    Case(
        name="none_pair",
        text="""\
def none_pair(xs):
    best = float("inf")
    pair = None
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            d = abs(xs[i] - xs[j])
            if d < best:
                best = d
                pair = (i, j)
    return best, pair
""",
        seen="([random.random() for _ in range(50)],)",
        others=(
            "([],)",
            "([2.0],)",
            "([2, 3.0],)",
        ),
    ),
    Case(
        name="nearest",
        text="""\
def nearest(xs, qs):
    total = 0
    for q in qs:
        best = None
        best_d = None
        for i, x in enumerate(xs):
            d = (x - q) ** 2
            if best_d is None or d < best_d:
                best_d = d
                best = i
        if best is not None:
            total += best
    return total
""",
        seen="([random.random() for _ in range(50)], [random.random() for _ in range(9)])",
        others=(
            "([], [0.5])",
            "([0.5], [])",
            "([float('nan')], [0.5])",
        ),
    ),
    Case(
        name="tuple_best",
        text="""\
def tuple_best(xs, target):
    best = (0, 0, 0)
    for i in range(len(xs)):
        s = 0
        for j in range(i, len(xs)):
            s += xs[j]
            if s > best[0] and s < target:
                best = (s, i, j)
    top, a, b = best
    return top, a, b, best
""",
        seen="([random.randint(0, 99) for _ in range(50)], 40)",
        others=(
            "([], 40)",
            "([3], 40)",
            "([3.5, 2], 40)",
        ),
    ),
    Case(
        name="prev_none",
        text="""\
def prev_none(xs):
    prev = None
    runs = 0
    for x in xs:
        if prev is not None and x > prev:
            runs += 1
        prev = x
    return runs, prev
""",
        seen="([random.randint(0, 99) for _ in range(50)],)",
        others=(
            "([],)",
            "([3],)",
            "([3, 3],)",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
