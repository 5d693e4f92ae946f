"""Loops that print: what they show is kept, and printed behind them."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="relax",
        text="""\
def relax(xs, steps, every):
    for t in range(steps):
        total = 0.0
        for i in range(1, len(xs) - 1):
            xs[i] = 0.5 * (xs[i - 1] + xs[i + 1])
            total += xs[i]
        if t % every == 0:
            print(t, "%.3f" % total)  # progress
    return xs
""",
        seen="([random.random() for _ in range(30)], 10, 3)",
        others=("([], 3, 1)", "([1.0, 2.0, 3.0], 3, 0)", "([1, 2, 3], 3, 1)"),
        contains=("for shown_t, shown_total in zip(printed_t, printed_total):",),
    ),
    Case(
        name="several",
        text="""\
def several(n, k):
    x = 0.5
    for t in range(n):
        x = 3.7 * x * (1.0 - x)
        if t % 4 == 0:
            print(f"step {t:5d}: x = {x:.6f}, twice {2 * x:8.3e}", end=";\\n")
        elif x > 0.9:
            print("high", x, round(x, 3), x)
        if t == 7:
            print("seven")
        x += 1.0 / (t - k)
    return x
""",
        seen="(40, -3)",
        others=("(0, 1)", "(20, 9)", "(20, 0)", "(2, 0.5)"),
        contains=("elif which == 1:", "= next("),
    ),
    Case(
        name="nothing",
        text="""\
def nothing(n):
    x = 0.5
    for t in range(n):
        x = 3.7 * x * (1.0 - x)
        if x > 0.9:
            print("high", end=" ", sep="")
    return x
""",
        seen="(40,)",
        others=("(0,)", "(2,)"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_lines_in_the_same_order(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_that_lines_come_late_is_said(tmp_path: Path) -> None:
    found = answer(CASES[0], tmp_path)
    assert not isinstance(found, Refusal)
    assert any("appears when the loop has ended" in text for text in found[1].differences)


LEFT_ALONE = {
    "to_a_file": "print(t, x, file=out)",
    "computed_format": 'print(f"{x:{width}}")',
    "whole_number_of_a_float": 'print("%d" % x)',
    "an_object": "print(out, x)",
}


@pytest.mark.parametrize("call", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_may_raise_or_go_elsewhere_stays(call: str, tmp_path: Path) -> None:
    text = f"""\
import sys


def stays(n, out, width):
    x = 0.5
    for t in range(n):
        x = 3.7 * x * (1.0 - x)
        if t % 10 == 0:
            {call}
    return x
"""
    case = Case(name="stays", text=text, seen="(40, __import__('sys').stdout, 9)")
    assert isinstance(answer(case, tmp_path), Refusal)
