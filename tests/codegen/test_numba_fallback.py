"""Compiled loops on data that was never observed: the guards' other branch, and result types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen import numba_cpu
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

SUM_ABOVE = """\
def f(x, lim):
    c = 0
    for i in range(len(x)):
        if x[i] > lim:
            c += x[i]
    return c
"""
LARGEST = """\
def f(x, lo):
    best = lo
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
    return best
"""
FIVE = np.arange(5)


@pytest.mark.parametrize(
    ("text", "observed", "others"),
    [
        (
            SUM_ABOVE,
            (FIVE, 1),
            # The loop in Python gives one result, the kernel that and a flag.
            [(FIVE, 0.5), (FIVE, np.int64(1)), (FIVE, -1), (FIVE[:0], 1), (FIVE * 1.0, 1)],
        ),
        (
            LARGEST,
            (FIVE * 1.0, -1.0),
            # Nothing is larger than NaN: the result is the float that came in.
            [(FIVE * 1.0, 9.0), (FIVE * 1.0, float("nan")), (FIVE[:0] * 1.0, 1.0), (FIVE, -1.0)],
        ),
    ],
)
def test_other_data(text: str, observed: tuple[Any, ...], others: list[tuple[Any, ...]]) -> None:
    region = region_for(text, "f", observed)
    match = numba_cpu.emit(region, parallel=False)
    assert isinstance(match, Match), match
    assert match.safe
    after = apply_edits(region.source, match.edits).decode()
    for arguments in [observed, *others]:
        assert_same(run(text, "f", arguments), run(after, "f", arguments))


@pytest.mark.parametrize(
    ("power", "arguments", "reason"),
    [
        ("k ** x[i]", (np.ones(4, np.float32), 3.0, np.zeros(4, np.float32)), "float32"),
        ("x[i] ** k", ([1.0, 2.0], 3.0, [0.0, 0.0]), "exponent"),
    ],
)
def test_powers_that_differ(power: str, arguments: tuple[Any, ...], reason: str) -> None:
    text = f"def f(x, k, o):\n    for i in range(len(x)):\n        o[i] = {power}\n    return o\n"
    answer = numba_cpu.emit(region_for(text, "f", arguments), parallel=False)
    assert isinstance(answer, Refusal)
    assert reason in answer.reason


@pytest.mark.parametrize("whole", ["int", "math.floor", "round"])
def test_whole_numbers_that_may_not_fit_64_bits(whole: str) -> None:
    """int(1e300) is a large int, int(nan) and int(inf) raise: compiled code would go on."""
    text = (
        "import math\n"
        "def f(x, r, n):\n"
        "    counts = [0] * 8\n"
        "    last = 0\n"
        "    for i in range(n):\n"
        "        x = r * x * (1 - x)\n"
        f"        last = {whole}(x * 8)\n"
        "        counts[min(max(last, 0), 7)] += 1\n"
        "    return counts, last\n"
    )
    region = region_for(text, "f", (0.3, 3.7, 100))
    match = numba_cpu.emit(region, parallel=False)
    assert isinstance(match, Match), match
    assert match.safe
    after = apply_edits(region.source, match.edits).decode()
    # From r = 4.5 on, x leaves [0, 1] and outgrows 64 bits, then becomes infinite.
    for r, n in [(3.7, 100), (4.5, 9), (4.5, 14), (4.5, 60), (float("nan"), 3), (float("inf"), 3)]:
        assert_same(run(text, "f", (0.3, r, n)), run(after, "f", (0.3, r, n)))
