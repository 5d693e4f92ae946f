"""Records that are written as columns: what is compared is the same as of objects one by one."""

from __future__ import annotations

import copy
import math
import random
from collections import defaultdict, deque

import pytest

from gpuadvise.model import Exactness
from gpuadvise.verify import packing
from gpuadvise.verify.capture import TooLarge, take
from gpuadvise.verify.compare import Different, Incomparable, Same, compare
from gpuadvise.verify.perturbed import DIGESTS
from gpuadvise.verify.shadow import accuracy

COUNT = 2 * packing.RECORDS_FROM


class Holder:
    def __init__(self, held):
        self.held = held


def check(a, b, **how):
    return compare(take({"result": a}), take({"result": b}), **how)


def packed(thing):
    return any("packed" in node for node in take({"result": thing}).nodes)


RECORDS = {
    "tuples": lambda: [(0.5 * i, i, "ab"[i % 2]) for i in range(COUNT)],
    "points": lambda: [[0.5 * i, 1.0] for i in range(COUNT)],
    "ragged": lambda: [[*range(i % 5)] for i in range(COUNT)],
    "dictionaries": lambda: [{"x": 0.5 * i, "name": str(i)} for i in range(COUNT)],
    "nested": lambda: [((i, i + 1), [0.5 * i, 2.0]) for i in range(COUNT)],
    "missing": lambda: [(None if i % 3 else 0.5, i % 2 == 0) for i in range(COUNT)],
    "table": lambda: {f"k{i}": 0.5 * i for i in range(COUNT)},
    "neighbours": lambda: {i: [i, i + 1][: i % 3] for i in range(COUNT)},
    "grid": lambda: {(i, i + 1): "text" for i in range(COUNT)},
    "default": lambda: defaultdict(list, {i: [i] for i in range(COUNT)}),
    "queue": lambda: deque((i, 0.5) for i in range(COUNT)),
    "huge": lambda: [(i, 10**30 + i) for i in range(COUNT)],
    "empty": lambda: [[] for _ in range(COUNT)],
}


@pytest.mark.parametrize("kind", RECORDS)
def test_equal_records(kind):
    one = RECORDS[kind]()
    assert packed(one)
    same = check(one, RECORDS[kind]())
    assert isinstance(same, Same) and same.error.exact and "not compared" not in same.what


class Moody:
    def __hash__(self):
        raise RuntimeError("asked too often")

    def __eq__(self, other):
        raise RuntimeError("asked too often")


def test_records_of_other_keys_are_described_one_by_one():
    def rows(last):
        return [*({"k": k, "v": 0.5} for k in range(COUNT)), last]

    for last in ({"k": 1}, {1: 0, "v": 0.5}, {"v": 0.5, "k": 1}):
        same = check(rows(last), rows(dict(last)))
        assert isinstance(same, Same) and "not compared" not in same.what
        assert isinstance(check(rows(last), rows({**last, "k": 7})), Different)


def test_keys_are_not_asked():
    """Neither for their hash nor whether they are equal: that is the program's own code."""
    monkey = Moody.__hash__
    Moody.__hash__ = object.__hash__
    try:
        rows = [{Moody(): 0.5} for _ in range(COUNT)]
    finally:
        Moody.__hash__ = monkey
    same = check(rows, rows)
    assert isinstance(same, Same) and "not compared" not in same.what


def leaves(thing, path=()):
    """Every place in nested lists, tuples and dictionaries that holds a number or text."""
    pairs = thing.items() if isinstance(thing, dict) else enumerate(thing)
    for key, item in list(pairs):
        if isinstance(item, list | tuple | dict):
            yield from leaves(item, (*path, key))
        else:
            yield (*path, key), item


def with_another(thing, path, value):
    """A copy with another value in one place."""
    if not path:
        return value
    kind = type(thing)
    if isinstance(thing, dict):
        return {
            k: with_another(v, path[1:], value) if k == path[0] else v for k, v in thing.items()
        }
    return kind(
        with_another(v, path[1:], value) if k == path[0] else v for k, v in enumerate(thing)
    )


@pytest.mark.parametrize("kind", [kind for kind in RECORDS if kind not in ("empty", "default")])
def test_a_difference_is_told_as_without_columns(kind, monkeypatch):
    one = RECORDS[kind]()
    places = list(leaves(one))
    others = []
    for path, value in random.Random(1).sample(places, 8):
        new = {float: 0.25, int: True, bool: 1, str: "other", type(None): 0}[type(value)]
        others.append(with_another(one, path, new))
    found = [check(one, other) for other in others]
    assert all(isinstance(each, Different) for each in found)
    monkeypatch.setattr(packing, "RECORDS_FROM", 10**9)
    assert found == [check(one, other) for other in others]


def table(key):
    return {**{2 * i + 3.0: "x" for i in range(COUNT)}, key: "y"}


DIFFERENT = {
    "the sign of zero": ([(0.0, 1)] * COUNT, [(-0.0, 1)] * COUNT),
    "truth values": ([(1, "a")] * COUNT, [(True, "a")] * COUNT),
    "mixed truth values": ([(1,), (0.5,)] * COUNT, [(True,), (0.5,)] * COUNT),
    "whole floats": ([(1, 2)] * COUNT, [(1.0, 2)] * COUNT),
    "lists": ([(1, 2) for _ in range(COUNT)], [[1, 2] for _ in range(COUNT)]),
    "lengths": (
        [[1] * (2 + i % 2) for i in range(COUNT)],
        [[1] * (3 - i % 2) for i in range(COUNT)],
    ),
    "order of keys": (
        [{"a": 1, "b": 1} for _ in range(COUNT)],
        [{"b": 1, "a": 1} for _ in range(COUNT)],
    ),
    "keys": (table(1), table(True)),
    "keys of records": ([{1: 0} for _ in range(COUNT)], [{True: 0} for _ in range(COUNT)]),
    "order": (dict.fromkeys(range(COUNT), 0), dict.fromkeys(reversed(range(COUNT)), 0)),
    "one more": ([(1, 2)] * COUNT, [(1, 2)] * (COUNT + 1)),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_what_looks_alike(what):
    before, after = DIFFERENT[what]
    assert isinstance(check(before, after), Different)
    assert isinstance(check(before, copy.deepcopy(before)), Same)


def test_the_same_nan_is_no_difference():
    before, after = ([(math.nan, None, i) for i in range(COUNT)] for _ in range(2))
    assert isinstance(check(before, after), Same)


def points():
    return [[0.5 * i, 1.0] for i in range(COUNT)]


def test_one_record_twice_is_not_two_equal_ones():
    once, twice = points(), points()
    once[4], twice[4] = once[3], list(twice[3])
    found = check(once, twice)
    assert isinstance(found, Different) and "it is one object with another name" in found.what
    assert isinstance(check(once, copy.deepcopy(once)), Same)


def test_a_record_with_a_second_name():
    """Met before the list of them, or long after it; deeper than the list, it has a number."""

    def best(rows, row):
        return {"best": Holder(Holder(row)), "rows": rows, "inner": Holder(Holder([row, "e", 5]))}

    one, other, apart = points(), points(), points()
    shared, equal = best(one, one[7]), best(other, other[7])
    assert take({"result": shared}).shared
    assert isinstance(check(shared, equal), Same)
    for thing in (best(apart, apart[8]), best(apart, list(apart[7]))):
        assert isinstance(check(shared, thing), Different)
    # Tuples that are packed before it have no numbers.
    tuples = [(0, 0.5)] * COUNT
    assert isinstance(check([tuples, shared], [tuples, best(other, other[7])]), Same)
    assert isinstance(check([tuples, shared], [tuples, best(apart, apart[8])]), Different)
    early = {"rows": Holder(Holder(one)), "best": one[7]}
    assert isinstance(check(early, {"rows": Holder(Holder(other)), "best": other[7]}), Same)
    assert isinstance(check(early, {"rows": Holder(Holder(other)), "best": [3.5, 1.0]}), Different)


def test_records_that_were_met_before():
    """``for row in rows: ...`` at module level leaves ``row``, which comes before ``rows``."""
    one, other = points(), points()

    def left(rows, row):
        return {"row": row, "rows": Holder(rows), "number": 3}

    assert packed(left(one, one[-1]))
    assert isinstance(check(left(one, one[-1]), left(other, other[-1])), Same)
    changed = points()
    changed[-1][0] = 0.25
    for rows, row in (
        (other, other[-2]),  # another row
        (other, list(other[-1])),  # an equal one
        (changed, changed[-1]),
        ([*other[:-1], list(other[-1])], other[-1]),
    ):
        found = check(left(one, one[-1]), left(rows, row))
        assert isinstance(found, Different), found
        assert type(check(left(rows, row), left(one, one[-1]))) is Different
    twice = {"row": one[3], "same": one[3], "rows": Holder(one)}
    assert isinstance(check(twice, {**twice, "same": one[4]}), Different)


def test_many_records_that_were_met_before():
    one, other = points(), points()
    met = packing.MET_BEFORE + 1
    assert not packed([*one[:met], Holder(one)])
    assert isinstance(check([*one[:met], Holder(one)], [*other[:met], Holder(other)]), Same)


def test_text_that_looks_like_a_mark():
    things = [{"e": 3}, ["e", 3], [["e", 3]] * COUNT, {f"e{i}": 3 for i in range(COUNT)}]
    assert isinstance(check([*things, Holder(things)], [*things, Holder(things)]), Same)


def test_two_lone_surrogates_are_not_the_character_that_they_spell():
    before, after = ([(i, text) for i in range(COUNT)] for text in ("\U0001f600", "\ud83d\ude00"))
    assert packed(before) and not packed(after)
    assert isinstance(check(before, after), Different)


def test_a_list_that_holds_itself():
    one, other = [], []
    for rows in (one, other):
        rows += ([rows] for _ in range(COUNT))
    assert isinstance(check(one, other), Same)


def test_rounding_in_records():
    one = [(1.0 + 0.5 * i, i) for i in range(COUNT)]
    other = [(math.nextafter(x, 9e9), i) for x, i in one]
    assert isinstance(check(one, other), Different)
    same = check(one, other, exactness=Exactness.LAST_DIGIT)
    assert isinstance(same, Same) and same.error.ulp == 1 and same.error.numbers == COUNT
    captures = [take({"result": rows}) for rows in (one, other, one)]
    judged = accuracy(*captures, reduction_length=1)
    assert judged == accuracy(*(each.apart() for each in captures), reduction_length=1)


def test_many_records_count_little():
    many = [(i, 0.5) for i in range(COUNT)]
    take({"result": many}, node_limit=2 + COUNT // packing.WEIGHT)
    with pytest.raises(TooLarge):
        take({"result": [many, {}]}, node_limit=COUNT // packing.WEIGHT)


def test_what_only_a_digest_is_kept_of():
    rows, same, other = points(), points(), points()
    other[3][0] = 0.25
    a, b, c = (take({"result": each}, byte_limit=100) for each in (rows, same, other))
    assert isinstance(compare(a, b), Same)
    found = compare(a, c)
    assert isinstance(found, Incomparable) and DIGESTS in found.what
    assert "it is too large" in accuracy(a, c, a, 1).words
