"""Largest and smallest elements of windows: in place, from the first element on."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import assert_same, chain_for, run
from test_restated_arrays import Case, answer

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.patch import apply_edits

WINDOWS = """\
def windows(xs, n):
    highs, lows = [], []
    for i in range(n, len(xs) + 1):
        part = xs[i - n : i]
        highs.append(max(part))
        lows.append(min(part))
    return highs, lows
"""
NEAREST = """\
def nearest(xs, ys):
    found = []
    for x in xs:
        best = 10**6
        for y in ys:
            gap = abs(x - y)
            if gap < best:
                best = gap
        found.append(best)
    return found
"""
ROWS = """\
import numpy as np


def rows(table):
    tops = np.zeros(len(table))
    for i in range(len(table)):
        top = table[i, 0]
        for j in range(1, table.shape[1]):
            if table[i, j] > top:
                top = table[i, j]
        tops[i] = top
    return tops
"""
XS = "[1.5, -2.0, 0.25, 4.0, 4.0, 7.5, 3.25, 0.5, 2.0] * 20"
NAN = "float('nan')"


@pytest.mark.parametrize(
    ("text", "seen", "others", "contains"),
    [
        (
            WINDOWS,
            f"({XS}, 5)",
            (
                "([], 5)",
                "([1.0, 2.0], 5)",
                "([0.0, -0.0, 0.0, -0.0, -0.0, 1.0, -0.0] * 4, 2)",
                "([0.0, 1.0, -1.0, 0.0, 0.0] * 4, 3)",
                f"([1.0, {NAN}, 2.0, 3.0, {NAN}, 5.0], 2)",
                "([1.0, float('inf'), 2.0, -float('inf')] * 3, 2)",
                "([3, 1, 2, 5, 4], 2)",
                "([1.0, 2.0, 3.0], 0)",
                "([1.0, 2.0, 3.0], 1)",
                "([1.0, 2.0, 3.0], -1)",
            ),
            ("np.maximum(", "np.minimum(", "range(-n + 1, 0)"),
        ),
        (
            NEAREST,
            "([3, 17, -5, 40] * 30, [9, 2, -8, 33, 21])",
            (
                "([], [1])",
                "([1], [])",
                "([3, 17], [10**30])",
                "([3.5, 17], [1, 2])",
                "([True, 2], [0, 3])",
            ),
            ("np.minimum(best, gap, out=best)",),
        ),
        (
            ROWS,
            "(np.random.default_rng(3).normal(0.0, 1.0, (200, 7)),)",
            (
                "(np.where(np.random.default_rng(4).random((9, 5)) < 0.5, 0.0, -0.0),)",
                "(np.array([[1.0, np.nan, 2.0], [np.nan, 1.0, 0.5]]),)",
                "(np.zeros((3, 1)),)",
                "(np.zeros((0, 4)),)",
                "(np.arange(12).reshape(3, 4),)",
                "(np.random.default_rng(3).random((6, 7))[::2, ::-1],)",
            ),
            ("np.maximum(top, table[:, j], out=top)", "np.signbit(table)"),
        ),
    ],
    ids=("windows", "nearest", "rows"),
)
def test_in_place(
    text: str, seen: str, others: tuple[str, ...], contains: tuple[str, ...], tmp_path: Path
) -> None:
    """NaN, zeros of both signs and other types: the loop itself, or the same."""
    name = text[text.index("def ") + 4 :].partition("(")[0]
    found = answer(name, Case(text, seen=seen.removesuffix(")").removesuffix(",")), tmp_path)
    if isinstance(found, Refusal):  # nothing to restate
        region = chain_for(text, name, inputs=f"import numpy as np\nargs = {seen}")[0]
        match = emit(region)
        assert isinstance(match, Match), match
        after = apply_edits(region.source, match.edits).decode()
    else:
        after, match = found
    assert match.safe and match.exactness is Exactness.BITS
    for wanted in contains:
        assert wanted in after, after
    for arguments in (seen, *others):
        inputs = f"import numpy as np\nargs = {arguments}"
        one = run(text, name, inputs=inputs, folder=tmp_path)
        two = run(after, name, inputs=inputs, folder=tmp_path)
        assert_same(one, two, compare_warnings=False)
