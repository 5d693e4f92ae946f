"""Captured states and their comparison."""

from __future__ import annotations

import copy
import csv
import math
import random
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpuadvise.model import Exactness
from gpuadvise.verify.capture import TooLarge, parse, take
from gpuadvise.verify.compare import Different, Incomparable, Same, compare
from gpuadvise.verify.reached import described


def check(a, b, **how):
    return compare(take({"result": a}), take({"result": b}), **how)


@dataclass
class Point:
    x: float
    tags: list


class Slotted:
    __slots__ = ("__b", "a")

    def __init__(self, a, b):
        self.a, self.__b = a, b


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
) | st.complex_numbers(allow_nan=False)
hashables = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
# The order of numbers in a set is compared, and a copy of a set may have another.
unordered = st.text() | st.tuples(st.integers(), st.text())
arrays = hnp.arrays(
    st.sampled_from(["?", "i1", "u8", "f4", "f8", "c16", "U3", "M8[s]"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
things = st.recursive(
    scalars | arrays,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner)
        | st.dictionaries(hashables, inner, max_size=4)
        | st.frozensets(unordered, max_size=4)
        | st.builds(Point, st.floats(), st.lists(inner, max_size=2))
        | st.builds(Slotted, inner, inner)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(things)
def test_everything_equals_its_copy(thing):
    outcome = check(thing, copy.deepcopy(thing))
    assert isinstance(outcome, Same), outcome
    assert outcome.error.exact and "not compared" not in outcome.what


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30), st.data()
)
def test_one_changed_bit_is_found(numbers, data):
    at = data.draw(st.integers(0, len(numbers) - 1))
    moved = list(numbers)
    moved[at] = math.nextafter(moved[at], math.inf)
    assert isinstance(check(numbers, moved), Different)
    assert isinstance(check(np.array(numbers), np.array(moved)), Different)
    swapped = [*numbers[:at], None, *numbers[at + 1 :]]
    assert isinstance(check(numbers, swapped), Different)


DIFFERENT = [
    (1, 1.0),
    (1, True),
    (1.0, np.float64(1.0)),
    (np.float32(1), np.float64(1)),
    (np.int64(1), 1),
    (math.nan, 0.0),
    (10**30, 10**30 + 1),
    (10**3000, 10**3000 + 1),
    ("a", b"a"),
    ([1.0] * 9, [1] * 9),
    ([1] * 9, [True] * 9),
    ([1] * 9, [10**30] * 9),
    ([1, 2], (1, 2)),
    ([1, 2], [1, 2, 3]),
    (np.zeros(3), np.zeros((3, 1))),
    (np.zeros(3), np.zeros(3, dtype="f4")),
    (np.zeros(3), [0.0, 0.0, 0.0]),
    (np.array([1, 2]), np.array([2, 1])),
    (np.array([np.nan, 1.0]), np.array([1.0, np.nan])),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({1, 2}, {1, 3}),
    ({1, 2}, frozenset({1, 2})),
    (Point(1.0, []), Point(1.0, [0])),
    (Slotted(1, 2), Slotted(1, 3)),
    (Fraction(1, 3), Fraction(1, 4)),
    (Decimal("1.0"), Decimal("1.00")),
    (Counter("ab"), {"a": 1, "b": 1}),
    (OrderedDict(a=1), {"a": 1}),
    (deque([1, 2]), [1, 2]),
    (deque([1], maxlen=2), deque([1], maxlen=3)),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    (np.array([1, "a"], dtype=object), np.array([1, "b"], dtype=object)),
    (random.Random(1), random.Random(2)),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (math.sin, math.cos),
    (np.zeros((4, 4)), np.zeros((6, 6))[1:-1, 1:-1]),
    (np.full(3, 1.0), np.broadcast_to(1.0, (3,))),
    (bytearray(b"ab"), bytearray(b"ac")),
]


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=lambda value: type(value).__name__)
def test_differences(a, b):
    for exactness in Exactness:
        assert isinstance(check(a, b, exactness=exactness), Different)


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (np.zeros(3), -np.zeros(3))], ids=repr)
def test_signs_of_zeros_count_only_bit_for_bit(a, b):
    assert isinstance(check(a, b), Different)
    assert isinstance(check(a, b, exactness=Exactness.LAST_DIGIT), Same)


def test_sharing_of_objects():
    row = [0, 0]
    assert isinstance(check([row, row], [[0, 0], [0, 0]]), Different)
    assert isinstance(check([[0, 0], [0, 0]], [row, row]), Different)
    assert isinstance(check([row, row], [row, row]), Same)
    loop: list = [1]
    loop.append(loop)
    assert isinstance(check(loop, copy.deepcopy(loop)), Same)


def test_sharing_of_memory():
    a = np.arange(12.0)
    assert isinstance(check([a, a[2:5]], [a, a[2:5].copy()]), Different)
    assert isinstance(check([a, a[2:5].copy()], [a, a[2:5]]), Different)
    b = a.copy()
    assert isinstance(check([a, a[2:5]], [b, b[2:5]]), Same)
    z = np.zeros(12)
    w = np.zeros(12)
    assert isinstance(check([z, z[2:5]], [w, w[3:6]]), Different), "overlaps elsewhere"


def test_nan_is_nan_whatever_its_payload():
    quiet = np.array([np.nan])
    other = quiet.view("u8") | np.uint64(7)
    assert isinstance(check(quiet, other.view("f8")), Same)


def test_what_cannot_be_compared_is_named():
    reader, other = csv.reader(["1"]), csv.reader(["1"])
    assert isinstance(check(reader, other), Incomparable)
    elsewhere = compare(
        take({"result": 1, "globals": {"g": reader}}),
        take({"result": 1, "globals": {"g": other}}),
    )
    assert isinstance(elsewhere, Same)
    assert "not compared: globals['g'] (_csv.reader)" in elsewhere.what


def test_iterators_are_compared_by_position():
    one, other = iter([1, 2, 3]), iter([1, 2, 3])
    assert isinstance(check(one, other), Same)
    next(other)
    assert isinstance(check(one, other), Different)


@pytest.mark.parametrize("n", [10, 1000, 100_000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_honest_reordering_passes_and_lost_terms_do_not(n, dtype):
    rng = np.random.default_rng(n)
    x = rng.random((n, 4)).astype(dtype)
    sequential = np.add.accumulate(x, axis=0)[-1]
    how = {"exactness": Exactness.REASSOCIATED, "reduction_length": n}
    assert isinstance(check(sequential, x.sum(axis=0), **how), Same)
    # A single one of 100 000 terms is less than what float32 loses anyhow.
    lost = max(1, n // 100)
    assert isinstance(check(sequential, x[lost:].sum(axis=0), **how), Different)
    assert isinstance(check(sequential, np.zeros(4, dtype), **how), Different)
    assert isinstance(check(sequential, x.astype("f2").sum(axis=0).astype(dtype), **how), Different)


def test_last_digits():
    rng = np.random.default_rng(0)
    x = rng.uniform(-5, 5, 2000)
    mine = np.array([math.exp(v) for v in x])
    how = {"exactness": Exactness.LAST_DIGIT}
    same = check(mine, np.exp(x), **how)
    assert isinstance(same, Same) and same.error.ulp <= 2
    assert isinstance(check(mine, np.exp(x.astype("f4")).astype("f8"), **how), Different)
    assert isinstance(check(mine, mine * (1 + 1e-13), **how), Different)


def test_error_sizes():
    a = np.array([1.0, 2.0])
    b = np.array([1.0, np.nextafter(2.0, 3.0)])
    same = check(a, b, exactness=Exactness.LAST_DIGIT)
    assert isinstance(same, Same)
    assert same.error.ulp == 1.0 and same.error.absolute == 2**-51
    assert same.error.relative == 2**-52
    assert same.error.numbers == 2


@pytest.mark.parametrize("width", [3, 40])
def test_a_list_of_lists_is_compared_as_a_matrix(width):
    """A row that is zero but for rounding is no other row than in an array."""
    rows = [[1e3 + i * width + j for j in range(width)] for i in range(width)]
    rows[1] = [0.0] * width
    other = copy.deepcopy(rows)
    other[1][2] = 1e-14
    how = {"exactness": Exactness.REASSOCIATED, "reduction_length": 100}
    assert isinstance(check(np.array(rows), np.array(other), **how), Same)
    assert isinstance(check(rows, other, **how), Same)
    assert isinstance(check([rows, rows[::-1]], [other, other[::-1]], **how), Same)
    for exactness in (Exactness.BITS, Exactness.LAST_DIGIT):
        assert isinstance(check(rows, other, exactness=exactness), Different)
    other[1][2] = 1e-9
    assert isinstance(check(rows, other, **how), Different)


def test_what_is_no_matrix_is_compared_row_by_row():
    rows, other = ([[1e3] * 20, [zero] * 20, [1.0] * 20] for zero in (0.0, 1e-14))
    how = {"exactness": Exactness.REASSOCIATED}
    assert isinstance(check(rows, other, **how), Same)
    for more in ([1.0] * 19, [1] * 20, [None] * 20, [[1.0] * 20], "text"):
        assert isinstance(check([*rows, more], [*other, copy.deepcopy(more)], **how), Different)
    assert isinstance(check(tuple(rows), tuple(other), **how), Different)
    once, twice = [[0.0] * 20] * 2, [[1e-14] * 20] * 2
    assert isinstance(check([*once, [1e3] * 20], [*twice, [1e3] * 20], **how), Different)


def test_zero_has_no_last_place():
    """The distance from 0 to a small number is not counted in the smallest numbers there are."""
    same = check(
        np.array([0.0, 1.0]),
        np.array([1e-16, 1.0]),
        exactness=Exactness.REASSOCIATED,
    )
    assert isinstance(same, Same) and same.error.ulp < 1e17


def test_numbers_are_counted():
    things = [[1.0] * 20, (2.0, 3), np.zeros((2, 3)), np.float32(1), 1j, np.arange(5), "text"]
    same = check(things, copy.deepcopy(things))
    assert isinstance(same, Same) and same.error.exact and same.error.numbers == 20 + 1 + 6 + 1 + 1


def test_limits():
    with pytest.raises(TooLarge):
        take({"result": [[] for _ in range(100)]}, node_limit=50)
    a, b = np.arange(1000.0), np.arange(1000.0)
    small = [take({"result": thing}, byte_limit=100) for thing in (a, b, b + 1)]
    assert isinstance(compare(small[0], small[1]), Same)
    assert isinstance(compare(small[0], small[2]), Different)


def test_ignored_globals():
    mine, other = take({"globals": {"i": 3, "x": 1}}), take({"globals": {"x": 1, "buf": 0}})
    assert isinstance(compare(mine, other), Different)
    assert isinstance(compare(mine, other, ignore={"i", "buf"}), Same)


@pytest.mark.parametrize("content", [b"", b"12345678", b"{}" + (9).to_bytes(8, "little")])
def test_incomplete_captures(content):
    with pytest.raises(ValueError):
        parse(content)


def test_what_is_known_by_digests_alone():
    """Rounding cannot be told from a wrong result: where it is allowed, nothing is said."""
    one, other = np.linspace(0.0, 1.0, 1000), np.linspace(0.0, 1.0, 1000)
    other[3] += 2.0**-60
    a, b = (take({"result": array}, byte_limit=100) for array in (one, other))
    assert isinstance(compare(a, a, exactness=Exactness.REASSOCIATED), Same)
    assert isinstance(compare(a, b), Different)
    found = compare(a, b, exactness=Exactness.REASSOCIATED)
    assert isinstance(found, Incomparable) and "too large" in found.what
    c, d = (take({"result": np.arange(1000) + k}, byte_limit=100) for k in (0, 1))
    assert isinstance(compare(c, d, exactness=Exactness.REASSOCIATED), Different)


def test_an_exception_on_one_side_only_is_named():
    problem = described(ZeroDivisionError("division by zero"))
    found = compare(take({"exception": None}), take({"exception": problem}))
    assert found == Different("the original raised nothing, the rewrite ZeroDivisionError")
    found = compare(take({"exception": problem}), take({"exception": None}))
    assert found == Different("the original raised ZeroDivisionError, the rewrite nothing")


def test_no_exception_on_either_side_is_no_difference():
    roots = {"exception": None, "result": 3}
    assert isinstance(compare(take(roots), take(roots)), Same)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (["a", "b", None, 3], ["a", "b", None, 3], None),
        (["a", "b", None, 3], ["a", "b", None, 4], "result[3]: 3 became 4"),
        ([1, "a"], [True, "a"], "result[0]: the type of the result changed"),
        (["a", 0.0], ["a", -0.0], "0.0 became -0.0"),
        (["a", math.nan], ["a", math.nan], None),
        (["a", 2**70], ["a", 2**70 + 1], "result[1]"),
        ([["a"], "b"], [["c"], "b"], "result[0][0]: 'a' became 'c'"),
    ],
)
def test_lists_of_text_and_numbers(before, after, words):
    found = compare(take({"result": before}), take({"result": after}))
    if words is None:
        assert isinstance(found, Same)
    else:
        assert isinstance(found, Different)
        assert words in found.what
