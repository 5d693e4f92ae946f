"""Array code on data that were not there when it was written: guards hold, or results are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")

ADD = """\
def f(x, total):
    for value in x:
        total += value
    return total
"""
ADD_LARGE = """\
def f(x, limit):
    total = 0
    for i in range(len(x)):
        if x[i] > limit:
            total += x[i]
    return total
"""
ADD_GRID = """\
def f(x, total):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total = total + x[i, j] * 2
    return total
"""


def check(text: str, observed: tuple[Any, ...], others: list[tuple[Any, ...]]) -> str:
    """The rewrite, after it gave what the original gives on all arguments."""
    region = region_for(text, "f", observed)
    match = emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    for args in (observed, *others):
        assert_same(run(text, "f", args), run(after, "f", args), compare_warnings=False)
    return after


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_a_sum_of_narrow_integers_wraps_in_their_own_type(dtype: str) -> None:
    x = (np.arange(300) % 100).astype(dtype)
    assert f"sum(dtype=np.{dtype})" in check(ADD, (x, 0), [(x[:0], 0), (x, 7), (x, 2**62)])
    check(ADD_GRID, (x.reshape(15, 20), 0), [(x.reshape(20, 15).T, 3)])


@pytest.mark.parametrize("total", [0, 0.0, np.int64(0), np.float32(0)], ids=repr)
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64", "bool"])
def test_the_type_that_a_sum_starts_with_decides(dtype: str, total: Any) -> None:
    x = (np.arange(300) % 7).astype(dtype)
    starts = [0, 0.5, True, 1j, np.uint8(4), np.int64(3), np.float32(0.1), np.float64(0.1)]
    region = region_for(ADD, "f", (x, total))
    if isinstance(emit(region), Match):
        check(ADD, (x, total), [(x, start) for start in starts])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float64"])
def test_a_sum_that_nothing_is_added_to_keeps_its_type(dtype: str) -> None:
    x = (np.arange(300) % 5).astype(dtype)
    check(ADD_LARGE, (x, 1), [(x, 9), (x[:0], 1), (x, -1)])


def test_a_list_is_summed_from_a_numpy_scalar() -> None:
    x = [0.1, 0.25, 0.7] * 100
    check(ADD, (x, 0.0), [(x, np.float64(0)), (x, np.float32(1)), (x, 1), ([], 0.0)])


SCALE = """\
def f(x, k):
    out = [0.0] * len(x)
    for i in range(len(x)):
        out[i] = x[i] * k + 1
    return out
"""
INVERT = """\
import numpy as np


def f(x, k):
    out = np.zeros(len(x), dtype=int)
    for i in range(len(x)):
        out[i] = (not x[i]) + k
    return out
"""


def test_a_numpy_float_is_not_taken_for_a_python_float() -> None:
    x = [0.1, 0.25, 0.7] * 100
    check(SCALE, (x, 3.0), [(x, k) for k in (np.float64(0.1), np.float32(0.1), 3, True, 1j)])


def test_true_is_not_taken_for_one() -> None:
    x = np.arange(300) % 4
    check(INVERT, (x, 3), [(x, True), (x, np.int64(1)), (x, -2)])


COMBINE = """\
def f(a, b, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = a[i, j] * 0.5 + b[i, j]
"""


def test_of_two_loops_the_one_along_the_rows_becomes_an_axis() -> None:
    """Where temporaries of the whole array would leave the cache; a column costs a line each."""
    large = np.zeros((700, 700))
    region = region_for(COMBINE, "f", (large, large + 1, large + 2))
    match = emit(region)
    assert isinstance(match, Match)
    after = apply_edits(region.source, match.edits).decode()
    assert "np.add(a[i] * 0.5, b[i], out=out[i])" in after
    assert "out[:, j]" not in after


NARROW = """\
import numpy as np


def f(x, k):
    out = np.zeros(len(x), dtype=np.{stored})
    for i in range(len(x)):
        out[i] = {value}
    return out
"""


@pytest.mark.parametrize("stored", ["uint8", "int8", "int32", "float32", "bool"])
@pytest.mark.parametrize("value", ["x[i] + i", "x[i] * k", "-x[i] - k", "max(0, min(255, x[i]))"])
@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_an_integer_that_does_not_fit_still_raises(stored: str, value: str, dtype: str) -> None:
    x = (np.arange(300) % 9).astype(dtype)
    text = NARROW.format(stored=stored, value=value)
    if isinstance(emit(region_for(text, "f", (x[:40], 3))), Match):
        others = [(x, k) for k in (0, 1, 100, 250, -1, 2**31, 2.5, True)]
        check(text, (x[:40], 3), [*others, (x * 20, 3), (x[:0], 3)])


DRAWDOWN = """\
def f(values):
    peak, worst = 1.0, 0.0
    for v in values:
        if v > peak:
            peak = v
        if peak - v > worst:
            worst = peak - v
    return worst
"""


def test_a_reason_names_nothing_that_is_not_in_the_program() -> None:
    """A loop over values has an index for us only."""
    refusal = emit(region_for(DRAWDOWN, "f", (np.linspace(3.0, 1.0, 300),)))
    assert isinstance(refusal, Refusal)
    assert "needs the peak of the one before" in refusal.reason
    assert "_" not in refusal.reason
