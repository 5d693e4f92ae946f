"""Variables that are read behind a loop which may have left them without a value."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="settled",
        text="""\
def settled(xs, most):
    for rounds in range(1, most + 1):
        change = 0.0
        for i in range(1, len(xs)):
            new = 0.5 * (xs[i] + xs[i - 1])
            change += abs(new - xs[i])
            xs[i] = new
        if change < 1e-3:
            break
    return rounds, change
""",
        seen="([random.random() for _ in range(30)], 40)",
        others=("([1.0, 2.0], 0)", "([], 3)", "([1, 2], 3)", "([1.0], -1)"),
        contains=("if 1 < most + 1:", "rounds = 0"),
    ),
    Case(
        name="closest",
        text="""\
def closest(xs):
    best = 1e300
    for i in range(len(xs)):
        for j in range(i):
            d = abs(xs[i] - xs[j])
            if d < best:
                best = d
                left, right = i, j
                found = xs[i]
    return best, left, right, found
""",
        seen="([random.random() for _ in range(30)],)",
        others=("([],)", "([1.0],)", "([1.0, 2.0],)", "([float('nan')] * 4,)"),
        contains=("    del found, left, right",),
    ),
    Case(
        name="last_ones",
        text="""\
def last_ones(xs):
    for x in xs:
        total = 0.0
        for y in xs:
            total += y * x
            if total > 5.0:
                where = x
        if total < 0:
            continue
        last = total
    print(last)
    return x, total, where
""",
        seen="([random.random() for _ in range(30)],)",
        others=("([],)", "([1.0],)", "([-1.0, 2.0],)", "([9.0, -2.0],)"),
        contains=("if len(xs) > 0:", "del last", "del where"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_names_without_a_value_stay_without_one(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


KEPT = (
    Case(
        name="caught",
        text="""\
def caught(xs, k):
    try:
        for x in xs:
            for y in xs:
                if y > 0.5:
                    where = 1.0 / (y - k)
    except ZeroDivisionError:
        return where
    return where
""",
        seen="([random.random() for _ in range(30)], 2.0)",
    ),
    Case(
        name="from_before",
        text="""\
def from_before(tables):
    out = []
    for xs in tables:
        for x in xs:
            if x > 0.5:
                last = x
        out.append(last)
    return out
""",
        seen="([[0.75] * 30, [random.random() / 2 for _ in range(30)]],)",
    ),
)


@pytest.mark.parametrize("case", KEPT, ids=str)
def test_older_values_are_not_lost(case: Case, tmp_path: Path) -> None:
    found = answer(case, tmp_path)
    assert isinstance(found, Refusal) or "del " not in found[0]
    if not isinstance(found, Refusal):
        check(case, tmp_path)
