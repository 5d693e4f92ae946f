"""Live values to ``ValueInfo``: exact types, complete ranges, no user code run."""

from __future__ import annotations

import enum
import math
import types
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuadvise.model import SiteObservation, ValueInfo
from gpuadvise.observe import sharing, values
from gpuadvise.observe.lookup import (
    COMPUTED,
    MISSING,
    attribute,
    helper_values,
    resolve,
    used_chains,
)
from gpuadvise.observe.records import (
    observation_from_json,
    observation_to_json,
    value_from_json,
    value_to_json,
)
from gpuadvise.observe.values import describe, merge


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "kind", "low"),
    [
        (True, "bool", 1),
        (7, "int", 7),
        (2**80, "int", 2**80),
        (1.5, "float", 1.5),
        (1j, "complex", None),
        ("a", "str", 0),
        (None, "none", None),
        (Colour.RED, "object", None),  # its operators may be its own
        (np.float32(2.5), "numpy_scalar", 2.5),
        (np.bool_(True), "numpy_scalar", 1),
        (np.int64(-3), "numpy_scalar", -3),
        (np.timedelta64(3, "s"), "object", None),
        ({1: 2}, "object", None),
        (bytearray(b"\x01\x05"), "bytearray", 1),
        (b"\x02\x05", "bytes", 2),
        (math, "module", None),
        (Colour, "class", None),
    ],
)
def test_kinds(value: object, kind: str, low: float | None) -> None:
    info = describe(value)
    assert (info.kind, info.minimum) == (kind, low)
    assert type(info.minimum) is type(low)


def test_nan_is_no_number() -> None:
    info = describe(float("nan"))
    assert info.has_nan and info.minimum is None and not info.constant
    merged = merge(info, describe(2.0))
    assert (merged.minimum, merged.has_nan, merged.constant) == (2.0, True, False)


def test_ndarray_ranges() -> None:
    array = np.array([[1.0, np.nan], [-2.0, 5.0]])
    info = describe(array)
    assert (info.kind, info.dtype, info.ndim, info.shape) == ("ndarray", "float64", 2, (2, 2))
    assert (info.minimum, info.maximum, info.has_nan, info.c_contiguous) == (-2.0, 5.0, True, True)
    assert not describe(array.T).c_contiguous
    assert describe(np.zeros((0, 3))).minimum is None
    assert describe(np.array(3)).shape == ()
    assert describe(np.full(3, np.nan)).minimum is None


def test_arrays_that_are_not_plain_are_told_apart() -> None:
    assert describe(np.zeros((1, 1)).view(np.recarray)).kind == "object"
    assert describe(np.ma.array([1])).kind == "object"
    assert describe(np.array([1, "a"], dtype=object)).dtype == "object"
    assert describe(np.zeros(2, dtype=[("a", "i4")])).minimum is None
    assert describe(np.zeros(2, dtype=">f8")).dtype == ">f8"
    read_only = np.zeros(2)
    read_only.flags.writeable = False
    assert not describe(read_only).writeable


def test_lists_are_looked_at_to_the_last_element() -> None:
    info = describe([0.0] * 999 + [1])
    assert info.element is not None and info.element.kind == "mixed"
    assert describe([1, 2, True]).element.kind == "mixed"  # type: ignore[union-attr]
    info = describe([[1, 2], [3, -4]])
    assert (info.shape, info.ndim, info.regular) == ((2, 2), 2, True)
    assert (info.minimum, info.maximum) == (-4, 3)
    assert info.element is not None and info.element.kind == "int"


def test_irregular_lists() -> None:
    assert not describe([[1], [1, 2]]).regular
    assert describe([[1], [1, 2]]).shape == (2, None)
    assert not describe([[0] * 3] * 3).regular  # three times one row
    assert describe([[0] * 3 for _ in range(3)]).regular
    mixed_rows = describe([[1], (1,)])
    assert mixed_rows.ndim == 1
    assert mixed_rows.element is not None and mixed_rows.element.kind == "mixed"
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    assert describe(cyclic).kind == "list"


def test_nothing_is_claimed_of_what_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_LIST_RANGE", 10)
    monkeypatch.setattr(values, "MAX_ARRAY", 10)
    assert describe([1] * 11).minimum is None
    assert describe([1] * 10).minimum == 1
    assert describe(np.ones(11)).minimum is None
    monkeypatch.setattr(values, "MAX_LIST_TYPES", 10)
    element = describe([1] * 11).element
    assert element is not None and element.kind == "object"


def test_functions() -> None:
    def plain(x: int) -> int:
        return x

    @wraps(plain)
    def wrapped(x: int) -> int:
        return plain(x)

    info = describe(plain)
    assert info.kind == "function" and info.target_file == Path(__file__)
    assert info.target_line == plain.__code__.co_firstlineno
    assert info.target is not None and info.target.endswith("plain")
    assert describe(wrapped).target_line == info.target_line
    assert "decorated" in describe(wrapped).type_name
    assert "decorated" in describe(lru_cache(plain)).type_name
    assert describe(math.sqrt).target == "math.sqrt"
    assert describe(len).target == "builtins.len"
    assert describe(np.sqrt).target == "numpy.sqrt"
    assert describe(np.dot).target == "numpy.dot"
    assert describe(np.linalg).target == "numpy.linalg"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, True),
        (np.float64(1), 1.0),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros(3), np.zeros((3, 3))),
        ([1], (1,)),
        ([1], [[1]]),
        (math.sin, math.cos),
    ],
)
def test_types_that_differ_mix(a: object, b: object) -> None:
    assert merge(describe(a), describe(b)).kind == "mixed"
    assert merge(describe(b), describe(a)).kind == "mixed"


def test_merging_widens() -> None:
    merged = merge(describe(np.array([1, 2, 3])), describe(np.array([7, -1])))
    assert merged.shape == (None,)
    assert (merged.min_shape, merged.max_shape) == ((2,), (3,))
    assert (merged.minimum, merged.maximum) == (-1, 7)
    assert merge(describe(3), describe(3)).constant
    assert not merge(describe(3), describe(4)).constant
    assert not merge(describe(0.0), describe(-0.0)).constant
    assert merge(describe([1, 2]), describe([1, 2.0])).element.kind == "mixed"  # type: ignore[union-attr]


def test_an_empty_list_fits_any_nesting() -> None:
    for first, second in (([], [[1, 2]]), ([[1, 2]], [])):
        merged = merge(describe(first), describe(second))
        assert (merged.kind, merged.shape, merged.min_shape) == ("list", (None, 2), (0, 2))
        assert (merged.minimum, merged.maximum) == (1, 2)


def test_unknown_range_stays_unknown() -> None:
    known, unknown = describe(np.ones(3)), ValueInfo("ndarray", "numpy.ndarray", "float64", 1, (3,))
    assert merge(known, unknown).minimum is None
    empty = describe(np.ones(0))
    assert merge(known, empty).minimum == 1.0


def test_json_round_trip() -> None:
    for value in (1, float("inf"), [[1.5, 2]], np.zeros((2, 3)), describe, math, None, 2**90):
        info = describe(value)
        assert value_from_json(value_to_json(info)) == info
    seen = SiteObservation(5, 2, {"a": describe([1])}, (("a", "b"),))
    assert observation_from_json(observation_to_json(seen)) == seen


# ------------------------------------------------------------------- look-ups
def chains(text: str) -> tuple[str, ...]:
    import ast

    return used_chains(*ast.parse(text).body)


def test_chains_come_after_their_bases() -> None:
    found = chains("for i in range(self.cfg.n):\n    total += a[i].real * f(x)\n")
    assert set(found) == {
        *("i", "range", "self", "self.cfg", "self.cfg.n", "total", "a", "f", "x"),
    }
    assert found.index("self") < found.index("self.cfg") < found.index("self.cfg.n")


class Watched:
    calls = 0

    def __init__(self) -> None:
        self.stored = 5

    @property
    def computed(self) -> int:
        Watched.calls += 1
        return 1

    def __getattr__(self, name: str) -> int:
        Watched.calls += 1
        return 2

    def method(self) -> None: ...


@dataclass(slots=True)
class Slotted:
    a: int


def test_looking_up_runs_no_user_code() -> None:
    watched = Watched()
    assert attribute(watched, "stored") == 5
    assert attribute(watched, "computed") is COMPUTED
    assert attribute(watched, "nothing") is MISSING
    assert attribute(watched, "method") is Watched.method
    assert attribute(Slotted(3), "a") == 3
    assert attribute(math, "pi") == math.pi
    assert attribute(np.zeros(3), "T") is MISSING
    assert Watched.calls == 0


def test_overridden_lookup_is_left_alone() -> None:
    class Proxy:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError("user code ran")

    assert attribute(Proxy(), "anything") is MISSING


def test_locals_hide_globals() -> None:
    space = types.SimpleNamespace(n=3)
    found = resolve(("a", "cfg", "cfg.n", "len"), {"a": 1}, {"a": 2, "cfg": space})
    assert found == {"a": 1, "cfg": space, "cfg.n": 3}


SCALE = 3.0
CONFIG = types.SimpleNamespace(offset=2)


def helper(x: float) -> float:
    return deeper(x) * SCALE + CONFIG.offset


def deeper(x: float) -> float:
    return math.sqrt(x)


class Model:
    alpha = 1.0

    def value(self, i: int) -> float:
        return self.alpha * i


def test_globals_of_helpers_are_found_transitively() -> None:
    files = frozenset({__file__})
    found = dict(helper_values("helper", helper, files))
    assert found["SCALE"] == 3.0
    assert found["CONFIG.offset"] == 2
    assert found["math.sqrt"] is math.sqrt
    assert dict(helper_values("model.value", Model.value, files)) == {"model.alpha": MISSING}
    assert not dict(helper_values("helper", helper, frozenset()))


class Clock:
    def tick(self) -> None:
        self.now += self.step  # type: ignore[attr-defined]


def test_an_attribute_that_is_counted_up_is_read() -> None:
    found = dict(helper_values("clock.tick", Clock.tick, frozenset((__file__,))))
    assert found == {"clock.now": MISSING, "clock.step": MISSING}


# ------------------------------------------------------------------- sharing
def test_aliases() -> None:
    a = np.zeros((4, 4))
    rows = [[1, 2], [3, 4]]
    arrays = {"a": a, "view": a[1:], "copy": a.copy(), "same": a}
    lists = {"rows": rows, "row": rows[1], "shallow": list(rows), "deep": [r[:] for r in rows]}
    found = {**arrays, **lists}
    assert sharing.aliases(found) == {
        *(("a", "view"), ("a", "same"), ("view", "same")),
        *(("rows", "row"), ("rows", "shallow"), ("row", "shallow")),
    }


def test_interleaved_views_do_not_share() -> None:
    a = np.zeros(10)
    assert sharing.aliases({"even": a[::2], "odd": a[1::2]}) == set()
    assert sharing.quick_aliases({"even": a[::2], "odd": a[1::2]}) == (("even", "odd"),)


def test_array_inside_a_list() -> None:
    a = np.zeros(3)
    assert sharing.aliases({"a": a, "history": [a, a.copy()]}) == {("a", "history")}


def test_tuples_of_numbers_share_nothing_that_can_be_written() -> None:
    pair = (1, 2)
    assert sharing.aliases({"p": pair, "q": pair, "rows": [pair]}) == set()


@pytest.mark.parametrize(
    ("value", "writeable", "shape"),
    [
        ([1, 2], True, (2,)),
        ([[1, 2], [3, 4]], True, (2, 2)),
        ([[[1.0]], [[2.0]]], True, (2, 1, 1)),
        ([(1, 2), (3, 4)], False, (2, 2)),
        ([[(1,)], [(2,)]], False, (2, 1, 1)),
        ((1, 2), False, (2,)),
        ([[], []], True, (2, 0)),
    ],
)
def test_a_list_can_be_written_where_all_its_levels_are_lists(value, writeable, shape):
    info = describe(value)
    assert (info.writeable, info.shape) == (writeable, shape)


def test_nested_lists_keep_their_ranges():
    info = describe([[1.5, math.nan], [math.inf, -2.0]])
    assert (info.minimum, info.maximum, info.has_nan) == (-2.0, math.inf, True)
    nothing = describe([[math.nan], [math.nan]])
    assert (nothing.minimum, nothing.has_nan) == (None, True)
    opposite = describe([[math.inf, -math.inf, 1.0]])
    assert (opposite.minimum, opposite.maximum) == (-math.inf, math.inf)
    assert not opposite.has_nan
    assert (describe([[True], [False]]).minimum, describe([[7], [3]]).minimum) == (0, 3)
