"""Kinds of objects that neither attributes nor pickle describe: each is told from its like."""

from __future__ import annotations

import contextvars
import csv
import functools
import hashlib
import io
import itertools
import re
import threading
import types
import weakref
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from gpuadvise.verify.capture import take
from gpuadvise.verify.compare import Different, Incomparable, Same, compare


def check(a, b, **how):
    return compare(take({"result": a}, final=True), take({"result": b}, final=True), **how)


def counting(n):
    yield from range(n)


def advanced(n):
    made = counting(9)
    for _ in range(n):
        next(made)
    return made


def sevens(n):
    def yielding():
        for _ in [7] * 9:
            yield 7

    made = yielding()
    for _ in range(n):
        next(made)
    return made


def counter(start, step=1):
    def count():
        nonlocal start
        start += step
        return start

    return count


def keeping(*seen):
    def keep(x, seen=list(seen)):  # noqa: B006
        seen.append(x)

    return keep


def keyword(*seen):
    def keep(x, *, seen=list(seen)):  # noqa: B006
        seen.append(x)

    return keep


def cached(*asked):
    @functools.lru_cache
    def square(x):
        return x * x

    for x in asked:
        square(x)
    return square


class Money(Fraction):
    def __new__(cls, amount, currency):
        made = super().__new__(cls, amount)
        made.currency = currency
        return made


class Stubborn:
    """Refuses to be pickled, and keeps quiet about a part of itself."""

    def __init__(self, x):
        self.x = x

    def __reduce__(self):
        raise TypeError

    def __getstate__(self):
        return None


class Labelled(np.ndarray):
    pass


def labelled(text):
    made = np.zeros(2).view(Labelled)
    made.label = text
    return made


class Pair(NamedTuple):
    a: int
    b: list


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(slots=True)
class Cell:
    x: int
    tags: list


class Bag:
    pass


def bag(**what):
    made = Bag()
    made.__dict__.update(what)
    return made


def local(**what):
    made = threading.local()
    made.__dict__.update(what)
    return made


def variable(value):
    made = contextvars.ContextVar("v")
    made.set(value)
    return made


def lock(*, held):
    made = threading.Lock()
    if held:
        made.acquire()
    return made


def text(content, read):
    made = io.StringIO(content)
    made.read(read)
    return made


def hashed(data):
    made = hashlib.sha256()
    made.update(data)
    return made


def spawned(n):
    made = np.random.default_rng(3)
    made.spawn(n) if n else None
    return made


def record(x, junk=0):
    made = np.zeros(2, dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True))
    made.view("u1")[1:8] = junk  # between the fields
    made["a"], made["b"] = 1, x
    return made


def strided(base):
    return [base, np.lib.stride_tricks.sliding_window_view(base, 2)]


PAIRS = {
    "generator": (lambda: advanced(2), lambda: advanced(3)),
    "loop without a variable": (lambda: sevens(2), lambda: sevens(3)),
    "finished generator": (lambda: advanced(0), lambda: [g := advanced(0), *g][0]),
    "expression": (lambda: (x for x in [1, 2]), lambda: (x for x in [1, 3])),
    "count": (lambda: itertools.count(3), lambda: itertools.count(4)),
    "islice": (lambda: itertools.islice([1, 2], 1), lambda: itertools.islice([1, 2], 2)),
    "zip": (lambda: zip([1, 2], [3, 4], strict=False), lambda: zip([1], [3], strict=False)),
    "one iterator twice": (lambda: [i := iter([1, 2]), i], lambda: [iter([1, 2]), iter([1, 2])]),
    "closure": (lambda: counter(1), lambda: counter(2)),
    "mutable default": (lambda: keeping(1), lambda: keeping(1, 2)),
    "keyword default": (lambda: keyword(1), lambda: keyword(1, 2)),
    "lru_cache": (lambda: cached(1, 2), lambda: cached(1)),
    "defaultdict": (lambda: defaultdict(int), lambda: defaultdict(list)),
    "subclass that pickles itself": (lambda: Money(1, "EUR"), lambda: Money(1, "USD")),
    "refuses pickling": (lambda: Stubborn(1), lambda: Stubborn(2)),
    "array subclass": (lambda: labelled("a"), lambda: labelled("b")),
    "fill value": (
        lambda: np.ma.array([1], fill_value=3),
        lambda: np.ma.array([1], fill_value=4),
    ),
    "named tuple": (lambda: Pair(1, []), lambda: Pair(1, [0])),
    "enum": (lambda: Colour.RED, lambda: Colour.BLUE),
    "slots": (lambda: Cell(1, []), lambda: Cell(1, [2])),
    "record": (lambda: record(1.0), lambda: record(2.0)),
    "record scalar": (lambda: record(1.0)[0], lambda: record(2.0)[0]),
    "date": (lambda: np.datetime64("2020-01-01"), lambda: np.datetime64("2020-01-02")),
    "no date": (lambda: np.datetime64("NaT", "D"), lambda: np.datetime64("2020-01-02")),
    "datetime": (lambda: datetime(2020, 1, 1), lambda: datetime(2020, 1, 2)),
    "timedelta": (lambda: timedelta(1), lambda: timedelta(2)),
    "text array": (
        lambda: np.array(["a"], dtype=np.dtypes.StringDType()),
        lambda: np.array(["b"], dtype=np.dtypes.StringDType()),
    ),
    "metadata": (
        lambda: np.zeros(2, np.dtype("f8", metadata={"a": 1})),
        lambda: np.zeros(2, np.dtype("f8", metadata={"a": 2})),
    ),
    "byte order": (lambda: np.zeros(2, ">f8"), lambda: np.zeros(2, "<f8")),
    "Fortran order": (lambda: np.zeros((2, 3)), lambda: np.zeros((2, 3), order="F")),
    "reversed": (lambda: np.zeros(3), lambda: np.zeros(3)[::-1]),
    "read-only": (lambda: np.zeros(3), lambda: np.frombuffer(bytes(24))),
    "window on an array": (
        lambda: strided(np.zeros(4)),
        lambda: [np.zeros(4), strided(np.zeros(4))[1]],
    ),
    "memoryview": (lambda: memoryview(b"ab"), lambda: memoryview(b"ac")),
    "large bytes": (lambda: bytes(9000), lambda: bytes(8999) + b"1"),
    "dict view": (lambda: {"a": 1}.values(), lambda: {"a": 2}.values()),
    "mapping proxy": (
        lambda: types.MappingProxyType({"a": 1}),
        lambda: types.MappingProxyType({"a": 2}),
    ),
    "pattern": (lambda: re.compile("a"), lambda: re.compile("b")),
    "weak reference": (lambda: weakref.ref(Colour.RED), lambda: weakref.ref(Colour.BLUE)),
    "thread-local": (lambda: local(x=1), lambda: local(x=2)),
    "context variable": (lambda: variable(1), lambda: variable(2)),
    "lock": (lambda: lock(held=True), lambda: lock(held=False)),
    "text stream": (lambda: text("abc", 1), lambda: text("abc", 2)),
    "stream content": (lambda: text("abc", 1), lambda: text("abd", 1)),
    "byte stream": (lambda: io.BytesIO(b"a"), lambda: io.BytesIO(b"b")),
    "hash": (lambda: hashed(b"a"), lambda: hashed(b"b")),
    "SHAKE": (lambda: hashlib.shake_128(b"a"), lambda: hashlib.shake_128(b"b")),
    "spawned seeds": (lambda: spawned(0), lambda: spawned(1)),
    "bit generator": (lambda: np.random.PCG64(1), lambda: np.random.PCG64(2)),
    "seeds": (lambda: np.random.SeedSequence(1), lambda: np.random.SeedSequence(2)),
    "partial": (lambda: functools.partial(max, 1), lambda: functools.partial(max, 2)),
    "order of numbers in a set": (lambda: {8, 0}, lambda: {0, 8}),
    "objects in a set": (lambda: {Pair(1, 2), None}, lambda: {Pair(1, 3), None}),
    "range": (lambda: range(3), lambda: range(4)),
    "slice": (lambda: slice(3), lambda: slice(4)),
    "namespace": (lambda: types.SimpleNamespace(a=1), lambda: types.SimpleNamespace(a=2)),
    "exception": (lambda: ValueError("a"), lambda: ValueError("b")),
    "attribute": (lambda: bag(a=1), lambda: bag(a=2)),
    "order of attributes": (lambda: [*vars(bag(a=1, b=2))], lambda: [*vars(bag(b=2, a=1))]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_told_apart(name):
    one, other = PAIRS[name]
    same = check(one(), one())
    assert isinstance(same, Same) and "not compared" not in same.what, same
    same = check(other(), other())
    assert isinstance(same, Same) and "not compared" not in same.what, same
    assert isinstance(check(one(), other()), Different)
    assert isinstance(check(other(), one()), Different)


def test_what_lies_between_the_fields_of_a_record_does_not_count():
    assert isinstance(check(record(1.0), record(1.0, junk=7)), Same)


def test_sets_of_text_and_objects_have_no_order():
    class Thing:
        pass

    words = [f"word {k}" for k in range(50)]
    assert isinstance(check({*words}, {*words[::-1]}), Same)
    assert isinstance(check({Thing(), 3, "a"}, {Thing(), 3, "a"}), Same)
    many = [bag(x=k) for k in range(20)]
    assert isinstance(check(set(many), {bag(x=k) for k in reversed(range(20))}), Same)
    assert isinstance(check(set(many), {bag(x=k) for k in range(1, 21)}), Different)


def test_other_code_in_the_result_is_not_called_equal():
    assert isinstance(check(lambda x: x * 2, lambda x: x + x), Incomparable)
    assert isinstance(check((x * 2 for x in [1]), (x + x for x in [1])), Incomparable)


def test_states_of_c_code_are_not_called_equal():
    """A csv.reader is made of a heap type without attributes, as is an instance of ``Bag``."""
    assert isinstance(check(csv.reader(["a"]), csv.reader(["b"])), Incomparable)


def test_open_files(tmp_path):
    def opened(mode, count=0, put=""):
        path = tmp_path / "data.txt"
        path.write_text("".join(f"line {k}\n" for k in range(5000)))
        stream = path.open(mode)
        for _ in range(count):
            next(stream)
        if put:
            stream.write(put)
        return stream

    def outcome(one, other):
        with opened(*one) as a:
            mine = take({"result": a}, final=True)
        with opened(*other) as b:
            return compare(mine, take({"result": b}, final=True))

    assert isinstance(outcome(("r", 3), ("r", 3)), Same)
    assert isinstance(outcome(("r", 3), ("r", 4)), Different)
    assert isinstance(outcome(("rb", 3), ("rb", 3)), Same)
    assert isinstance(outcome(("rb", 3), ("rb", 4)), Different)
    assert isinstance(outcome(("w", 0, "ab"), ("w", 0, "ab")), Same)
    assert isinstance(outcome(("w", 0, "ab"), ("w", 0, "ac")), Different)
    assert isinstance(outcome(("a", 0, "ab"), ("a", 0, "abc")), Different)


def test_only_the_last_capture_touches_streams(tmp_path):
    path = tmp_path / "data.txt"
    with path.open("w") as stream:
        stream.write("kept back")
        take({"result": stream})
        assert path.read_text() == ""
    with path.open() as stream:
        take({"result": stream})
        assert stream.read(4) == "kept"


def test_typed_lists_of_numba_are_data():
    # The types of numba are compared by name, but these hold data of the program.
    typed = pytest.importorskip("numba.typed")
    one, other = typed.List([1, 2]), typed.List([1, 3])
    assert isinstance(check(one, one), Same)
    assert isinstance(check(one, other), Different)
