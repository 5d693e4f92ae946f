"""Parts of lists in hot loops: as positions where they are only gone through, else as lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="rolling",
        sums_floats=True,
        text="""\
def rolling(series, window):
    means, spread, sizes = [], [], []
    for i in range(window, len(series) + 1):
        chunk = series[i - window : i]
        mean = sum(chunk) / window
        var = 0.0
        for x in chunk:
            var += (x - mean) ** 2
        means.append(mean)
        spread.append(max(chunk) - min(chunk) + var)
        sizes.append(len(chunk))
    return means, spread, sizes
""",
        seen="([random.random() for _ in range(60)], 20)",
        others=(
            "([1.0, 2.0], 5)",
            "([1, 2, 3], 2)",
            "([1.0] * 9, 1)",
            "([], 1)",
            "([1.0] * 9, 2.0)",
            "((1.0, 2.0, 3.0), 2)",
            "([1.0, 2.0, 3.0], -1)",
            "([1.0, float('nan'), 3.0, 2.0], 2)",
            "([1.0, 2.0, 3.0], 0)",
        ),
        contains=("range(i - window, i):", "window >= 0"),
    ),
    Case(
        name="anywhere",
        sums_floats=True,
        text="""\
def anywhere(xs, n, w):
    total = 0.5
    for i in range(n):
        lo = i // 2 - 3
        for x in xs[lo : i + w]:
            total += x
        part = xs[-w:]
        part[0] = total
        xs[i] = part[-1] + sum(y * y for y in xs[i - 2 : -1])
        total += len(xs[w - i : n - w])
    return total, xs
""",
        seen="([random.random() for _ in range(30)], 30, 3)",
        others=(
            "([1.0, 2.0, 3.0], 3, 1)",
            "([1.0, 2.0, 3.0], 3, 0)",
            "([1.0, 2.0, 3.0], 5, 2)",
            "([1.0, 2.0, 3.0, 4.0], 4, -2)",
            "([1.0, 2.0, 3.0, 4.0], 4, 2.0)",
            "([1, 2, 3, 4], 4, 2)",
        ),
        contains=(".append(xs[",),
    ),
    Case(
        name="rows",
        text="""\
def rows(grid, k):
    best = 0.0
    for i in range(len(grid)):
        for j in range(k):
            if max(grid[i][j : j + 3]) > best:
                best = max(grid[i][j : j + 3])
    return best
""",
        seen="([[random.random() for _ in range(9)] for _ in range(9)], 7)",
        others=("([], 3)", "([[1.0, 2.0], [3.0]], 1)", "([[1.0, 2.0]], 3)", "([(1.0, 2.0)], 1)"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_parts(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_a_part_that_is_read_behind_the_loop_stays(tmp_path: Path) -> None:
    text = """\
def stays(xs):
    total = 0.0
    for i in range(len(xs)):
        part = xs[i : i + 3]
        for x in part:
            total += x
    return total, part
"""
    found = answer(Case("stays", text, "([random.random() for _ in range(30)],)"), tmp_path)
    assert isinstance(found, Refusal) or "part = xs[i : i + 3]" in found[0]
