"""Programs that can tell whether a number is the object they had, and those that cannot."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gpuadvise.cases import region_for
from gpuadvise.diagnose.identity import objection
from gpuadvise.matching import match_rules
from gpuadvise.model import Refusal
from gpuadvise.options import Options

KEEP = """
    from collections import Counter

    def keep(xs, low):
        out = []
        for x in xs:
            if x > low or x != x:
                out.append(x)
        {after}
        return out

    kept = keep([1.0, 2.0], 0.5)
    {later}
"""
BEST = """
    def best(v):
        m = v[0]
        at = 0
        for i in range(1, len(v)):
            if v[i] > m:
                m = v[i]
                at = i
        return {result}
"""
FLOATS = ([0.5 * k for k in range(50)], 3.0)
WITH_NAN = ([float("nan"), *FLOATS[0]], 3.0)


def found(text: str, function: str, args: tuple[object, ...]) -> Refusal | None:
    return objection(region_for(dedent(text), function, args))


@pytest.mark.parametrize(
    "after",
    [
        "print(low in out)",
        "print(out.count(low), out.index(low))",
        "print(len({*out}))",
        "print(out[0] is xs[-1])",
        "print(id(out[0]))",
        "print({v: 1 for v in out})",
        "table = {}\n        for v in out:\n            table[v] = table.get(v, 0) + 1",
    ],
)
def test_in_the_function_itself(after: str) -> None:
    refusal = found(KEEP.format(after=after, later=""), "keep", FLOATS)
    assert refusal is not None and "tells equal numbers apart" in refusal.reason
    assert refusal.line is not None and refusal.line > 8


@pytest.mark.parametrize("later", ["print(Counter(kept))", "print(kept[0] is kept[1])"])
def test_where_the_result_goes(later: str) -> None:
    assert found(KEEP.format(after="", later=later), "keep", FLOATS) is not None


@pytest.mark.parametrize(
    "later",
    [
        "print(kept, len(kept), sum(kept), max(kept) > 3)",
        "print(kept is None, type(kept) is list, 'a' in 'abc', id(keep))",
        "print(kept[0] == 1.0, kept == [1.0, 2.0], sorted(kept) == kept)",
        "for i in range(len(kept)):\n        kept[i] = i in (1, 2)",
    ],
)
def test_what_does_not_matter(later: str) -> None:
    assert found(KEEP.format(after="", later=later), "keep", FLOATS) is None


@pytest.mark.parametrize(
    ("after", "later"),
    [
        ("print(out == xs)", ""),
        ("print(xs[:] != out.copy())", ""),
        ("", "print(kept == data)"),
        ("", "again = keep(data, 0.5)\n    print(kept == again)"),
        ("", "print(list(data[1:]) == kept[1:])"),
    ],
)
def test_whole_lists_of_the_same_objects_matter_even_where_no_nan_was_seen(
    after: str, later: str
) -> None:
    text = KEEP.replace("keep([1.0, 2.0], 0.5)", "keep(data, 0.5)")
    text = text.replace("    kept = keep", "    data = [1.0, 2.0]\n    kept = keep")
    refusal = found(text.format(after=after, later=later), "keep", FLOATS)
    assert refusal is not None and "tells equal numbers apart" in refusal.reason
    whole = (list(range(50)), 3)
    assert found(text.format(after=after, later=later), "keep", whole) is None


def test_other_lists_compared_matter_where_nan_was_seen() -> None:
    text = KEEP.format(after="print(out == sorted(xs))", later="")
    assert found(text, "keep", FLOATS) is None
    assert found(text, "keep", WITH_NAN) is not None


def test_whole_numbers_are_found_by_value() -> None:
    text = KEEP.format(after="print(low in out, {*out})", later="")
    assert found(text, "keep", (list(range(50)), 3)) is None
    text = KEEP.format(after="print(out[0] is xs[0])", later="")
    assert found(text, "keep", (list(range(1000, 1050)), 3)) is not None


def test_what_is_computed_is_a_new_object_anyway() -> None:
    text = KEEP.replace("out.append(x)", "out.append(2.0 * x)")
    assert found(text.format(after="print(low in out)", later=""), "keep", FLOATS) is None


@pytest.mark.parametrize(("result", "told"), [("m is v[-1]", True), ("m in v", True), ("m", False)])
def test_single_numbers(result: str, told: bool) -> None:
    refusal = found(BEST.format(result=result), "best", (FLOATS[0],))
    assert (refusal is not None) == told


def test_places_are_no_numbers_of_the_list() -> None:
    assert found(BEST.format(result="v[at], at in (1, 2)"), "best", (FLOATS[0],)) is None


def test_elements_of_arrays_are_new_objects_each_time() -> None:
    np = pytest.importorskip("numpy")
    assert found(BEST.format(result="m is v[-1]"), "best", (np.array(FLOATS[0]),)) is None


def test_no_numeric_rewrite_is_offered() -> None:
    region = region_for(dedent(BEST.format(result="m is v[-1]")), "best", (FLOATS[0],))
    tried = match_rules([(region,)], Options(), [region.source])
    assert not tried.candidates
    assert any("tells equal numbers apart" in r.refusal.reason for r in tried.refused)
