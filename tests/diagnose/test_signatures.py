"""Loops that are entered with several types: one signature is rewritten for, the rest counted."""

from __future__ import annotations

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.diagnose.signatures import joined
from gpuadvise.loopnest.ir import Nest
from gpuadvise.model import Match, Refusal, SiteObservation
from gpuadvise.observe.gather import MAX_GROUPS, Gathered
from gpuadvise.patch import apply_edits

SCALE = """\
import numpy as np


def scale(x, k):
    for i in range(len(x)):
        x[i] = x[i] * k
    return x


def main(n):
    scale([1, 2, 3], 2)
    scale([0.5] * n, 1.5)
    scale([0.25] * n, 2.5)
    scale(np.arange(3.0), 2.0)


main(50)
"""


def test_the_signature_with_most_work_is_lowered_and_the_others_are_counted() -> None:
    region = region_for(SCALE, "scale", ([1.5, 2.5], 3.0))
    assert isinstance(region.nest, Nest)
    seen = region.observation
    assert seen is not None
    # two calls in main and the one above; the list of ints and the array are left
    assert (seen.entries, seen.others, seen.kinds) == (3, 2, 3)
    assert seen.values["x"].element is not None and seen.values["x"].element.kind == "float"
    assert (seen.values["k"].minimum, seen.values["k"].maximum) == (1.5, 3.0)
    match = emit(region)
    assert isinstance(match, Match) and match.safe
    after = apply_edits(region.source, match.edits).decode()
    for x in ([1.0, 2.0], [1, 2], [1, 2.0], np.arange(4.0), np.arange(4), []):
        for k in (2, 2.5, np.float64(2)):
            assert_same(run(SCALE, "scale", (x, k)), run(after, "scale", (x, k)))


def test_a_difference_that_nobody_reads_splits_nothing() -> None:
    """``total`` is unbound, then an int, then a float, and assigned before it is read."""
    text = """\
def f(rows):
    for row in rows:
        total = row[0] * 0
        for i in range(len(row)):
            row[i] = row[i] * 2.0
        last = None if total else 1.5
    return last
"""
    region = region_for(text, "f", ([[1.0, 2.0], [3.0, 4.0]],))
    seen = region.observation
    assert seen is not None and (seen.entries, seen.others, seen.kinds) == (1, 0, 1)


def _gathered(*entries: dict[str, object]) -> SiteObservation:
    gathered = Gathered()
    for values in entries:
        group = gathered.full(None, values, [])
        group.entries += 1
        group.work += 1.0
    return gathered.result(len(entries))


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        (1, 2, 1),
        (1, 1.0, 2),
        (True, 1, 2),
        (np.float64(1), 1.0, 2),
        ([1, 2], [3], 1),
        ([1, 2], [], 1),
        ([1, 2], [1, 2.0], 2),
        ([[1, 2], [3, 4]], [[1, 2], [3]], 2),
        ([[1.0]], [[1]], 2),
        ((1, 2), [1, 2], 2),
        (np.zeros(3), np.ones(9), 1),
        (np.zeros(3), np.zeros((3, 3)), 2),
        (np.zeros(3), np.zeros(3, np.float32), 2),
        (None, 1.0, 2),
    ],
)
def test_what_makes_a_type_signature(first: object, second: object, kinds: int) -> None:
    seen = _gathered({"x": first}, {"x": second}, {"x": first})
    assert seen.kinds == kinds
    assert len(seen.signatures) == (kinds if kinds > 1 else 0)
    if kinds > 1:
        assert [part.entries for part in seen.signatures] == [2, 1]
        assert sum(part.observed for part in seen.signatures) == seen.observed == 3


def test_ranges_and_aliases_are_those_of_the_signature() -> None:
    a, b = [1, 2], [3, 4]
    seen = _gathered(
        {"x": a, "y": b, "n": 2}, {"x": [0.5], "y": a, "n": 9}, {"x": b, "y": b, "n": 3}
    )
    whole, part = seen, seen.signatures[0]
    assert whole.values["n"].maximum == 9 and part.values["n"].maximum == 3
    assert part.aliases == (("x", "y"),) and seen.signatures[1].aliases == ()


def test_too_many_signatures_are_none() -> None:
    kinds = [np.zeros(1, dtype) for dtype in "bhilqBHILfd"]
    assert len({k.dtype for k in kinds}) > MAX_GROUPS
    seen = _gathered(*({"x": value} for value in kinds))
    assert seen.signatures == () and seen.values["x"].kind == "mixed"


def test_signatures_that_agree_in_what_is_read_are_one() -> None:
    seen = _gathered({"x": 1.0, "old": None}, {"x": 2.0, "old": 3}, {"x": 4, "old": None})
    assert seen.kinds == 3
    (most, least) = joined(seen.signatures, frozenset({"x"}))
    assert (most.entries, least.entries) == (2, 1)
    assert most.values["x"].maximum == 2.0 and most.values["old"].kind == "mixed"


def test_where_no_signature_helps_the_reason_is_not_the_types() -> None:
    text = "def f(x):\n    for i in x:\n        print(i)\n\nf([1])\n"
    region = region_for(text, "f", ([1.5],))
    assert isinstance(region.nest, Refusal) and "print" in region.nest.reason
    assert region.observation is not None
    assert (region.observation.entries, region.observation.others) == (2, 0)
