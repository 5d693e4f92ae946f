"""Data like those a program was written for, in which one thing is not as it was."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from itertools import combinations, islice
from typing import Any

import numpy as np
from other_frames import is_frame, others_of_frame


class Sub(np.ndarray):
    """An array whose sums are its own."""

    def __add__(self, other: Any) -> Any:
        return np.add(np.asarray(self), other) * 2.0

    __radd__ = __add__


def others(value: Any) -> Iterator[tuple[str, Any]]:
    """Values like this one that break what may be observed of it, with a label each."""
    if isinstance(value, np.ndarray):
        yield from _arrays(value)
    elif isinstance(value, list):
        yield from _lists(value)
    elif isinstance(value, tuple):
        yield "list", list(value)
        yield "shorter", value[:-1]
    elif isinstance(value, bool):
        yield from (("int", int(value)), ("not", not value), ("float", float(value)))
    elif isinstance(value, int):
        if abs(value) < 2**62:
            yield "int64", np.int64(value)
        for other in (float(value), 0, 1, -value, value + 1, value - 1, value + 9):
            yield f"{type(other).__name__} {other}", other
        for power in (9, 31, 41, 50, 63, 70):
            yield f"2**{power}", value + 2**power
            yield f"-2**{power}", value - 2**power
        yield "True", True
    elif isinstance(value, float):
        changed = (int(value) if np.isfinite(value) else 1, np.float64(value), np.float32(value))
        for other in (*changed, -value, 0.0, -0.0, 1e300, -1e300, float("nan"), float("inf"), 1j):
            yield f"{type(other).__name__} {other}", other
    elif isinstance(value, np.generic):
        yield "item", value.item()
        yield "float32", np.float32(value)
        yield "negative", -value
    elif isinstance(value, str):
        yield "bytes", value.encode()
        yield "letters", list(value)
        yield "other things", [*value[:3], 1, None, 2.5]
        yield "beyond ASCII", value + "\u00e9\U0001f600\ud800"
        yield "empty", ""
        yield "shorter", value[:-1]
        yield "longer", value + value[-1:]
        yield "text of its own", type("Own", (str,), {})(value)
    elif isinstance(value, bytearray):
        yield "bytes", bytes(value)
        yield "list", list(value)
        yield "empty", bytearray()
    elif isinstance(value, bytes):
        yield "bytearray", bytearray(value)
        yield "list", list(value)
        yield "text", value.decode("latin-1")
        yield "empty", b""
        yield "shorter", value[:-1]
    elif isinstance(value, dict):
        yield "floats", {key: float(held) for key, held in value.items()}
        yield "empty", {}
        yield "a dictionary of its own", type("Own", (dict,), {})(value)
    elif isinstance(value, set):
        yield "frozenset", frozenset(value)
        yield "empty", set()
    elif isinstance(value, np.random.Generator | np.random.RandomState | random.Random):
        yield from _generators(value)
    elif is_frame(value):
        yield from others_of_frame(value)
    elif hasattr(value, "__dict__") and not callable(value):
        for name, inner in vars(value).items():
            for label, other in others(inner):
                changed = copy.copy(value)
                vars(changed)[name] = other
                yield f"{name} {label}", changed
        for label, alike in (("empty", lambda a: a[:0]), ("with one more axis", _column)):
            changed = copy.copy(value)
            vars(changed).update(
                {n: alike(a[:20]) for n, a in vars(value).items() if isinstance(a, np.ndarray)}
            )
            yield f"all arrays {label}", changed


def _generators(value: Any) -> Iterator[tuple[str, Any]]:
    """Generators of other types, and one whose methods may be its own."""
    yield "none", None
    if not isinstance(value, np.random.Generator):
        yield "Generator", np.random.default_rng(7)
    if not isinstance(value, np.random.RandomState):
        yield "RandomState", np.random.RandomState(7)
    if not isinstance(value, random.Random):
        yield "Random", random.Random(7)
    seed = np.random.MT19937(7) if isinstance(value, np.random.Generator) else 7
    yield "a generator of its own", type("Own", (type(value),), {})(seed)


def _column(a: Any) -> Any:
    return a[..., None].copy()


def _arrays(a: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
    yield "list", a.tolist()
    yield "subclass", a.copy().view(Sub)
    for dtype in ("float64", "float32", "int64", "int32", "uint8", "bool", "object", "complex128"):
        if a.dtype != dtype:
            with np.errstate(all="ignore"):
                yield dtype, a.astype(dtype)
    if a.dtype.kind in "iuf":
        yield "swapped bytes", a.astype(a.dtype.newbyteorder())
    wide = np.repeat(a, 2, axis=-1) if a.ndim else a
    yield "strided", wide[..., ::2] if a.ndim else a
    yield "reversed", a[::-1] if a.ndim else a
    yield "fortran", np.asfortranarray(a)
    yield "one more axis", a[..., None].copy()
    yield "flat", a.ravel().copy()
    locked = a.copy()
    locked.flags.writeable = False
    yield "read-only", locked
    for axis in range(a.ndim):
        yield f"axis {axis} shorter", np.delete(a, -1, axis) if a.shape[axis] else a
        yield f"axis {axis} longer", np.concatenate([a, a.take([-1], axis)], axis)
        yield f"axis {axis} one", a.take([0], axis)
        yield f"axis {axis} empty", a.take([], axis)
    for label, low in (("zeros", 0), ("nines", 9), ("large", 2**50), ("larger", 2**62)):
        if a.dtype.kind in "iuf" and (a.dtype.kind == "f" or low <= np.iinfo(a.dtype).max):
            yield label, np.full_like(a, low)
    if a.dtype.kind in "if":
        yield "negative", -a - 1
        yield "minimum", np.full_like(a, -(2**62) if a.dtype.itemsize == 8 else -100)
    if a.dtype.kind == "f":
        yield "nan", np.full_like(a, np.nan)
    if a.size > 1:
        one = a.copy()
        one.flat[0] = 99
        yield "one 99", one


def _lists(values: list[Any]) -> Iterator[tuple[str, Any]]:
    yield "tuple", tuple(values)
    yield "empty", []
    yield "shorter", values[:-1]
    yield "longer", values + values[-1:]
    yield "a list of its own", type("Own", (list,), {})(values)
    if not values:
        return
    if isinstance(values[0], list):
        yield "shared rows", [values[0]] * len(values)
        yield "ragged", [*values[:-1], values[-1][:-1]]
        yield "rows longer", [[*row, *row[-1:]] for row in values]
        yield "rows shorter", [row[:-1] for row in values]
        yield "one row a tuple", [*values[:-1], tuple(values[-1])]
        for label, other in others(values[-1]):
            if isinstance(other, list):
                yield f"last row {label}", [*values[:-1], other]
        return
    if all(isinstance(v, int | float | np.generic) for v in values):
        yield "array", np.array(values)
        for label, other in others(values[-1]):
            yield f"last is {label}", [*values[:-1], other]
        yield "all float", [float(v) for v in values]
        yield "all int", [int(v) if v == v and abs(v) < 1e18 else 1 for v in values]


def changed(args: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Argument tuples in which one thing is not as it was; the first is as it was."""
    yield "as observed", args
    for number, value in enumerate(args):
        for label, other in others(value):
            yield f"{number}: {label}", (*args[:number], other, *args[number + 1 :])
    for extent in sorted({n for value in args for n in _extents(value)}):
        for size in (0, 1, extent + 1, extent - 1):
            label = f"{size} instead of {extent} everywhere"
            yield label, tuple(_resized(value, extent, size) for value in args)
    for i, j in combinations(range(len(args)), 2):
        yield from _together(args, i, j)


def _extents(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, list):
        rows = (len(value[0]),) if value and isinstance(value[0], list) else ()
        return len(value), *rows
    return (len(value),) if isinstance(value, str | bytes) else ()


def _resized(value: Any, extent: int, size: int) -> Any:
    """Everything that is as long as ``extent``, and every int that is it, made ``size``."""
    if isinstance(value, np.ndarray):
        for axis, n in enumerate(value.shape):
            if n == extent and n:
                value = value.take(np.arange(size) % n, axis)
    elif isinstance(value, list):
        if value and isinstance(value[0], list):
            value = [_resized(row, extent, size) for row in value]
        if len(value) == extent and value:
            value = [copy.copy(value[k % extent]) for k in range(size)]
    elif isinstance(value, str | bytes) and len(value) == extent:
        value = (value * size)[:size]
    elif type(value) is int and value == extent:
        value = size
    return value


def _together(args: tuple[Any, ...], i: int, j: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Two arguments that share memory, and two that change alike."""
    first, second = args[i], args[j]

    def put(a: Any, b: Any) -> tuple[Any, ...]:
        new = list(args)
        new[i], new[j] = a, b
        return tuple(new)

    mutable = (np.ndarray, list, bytearray)
    if isinstance(first, mutable) and type(first) is type(second):
        yield f"{i} is {j}", put(first, first)
        yield f"{j} is {i}", put(second, second)
    arrays = [v for v in (first, second) if isinstance(v, np.ndarray)]
    if len(arrays) == 2 and all(a.nbytes and a.dtype.kind != "O" for a in arrays):
        yield f"{i} overlaps {j}", put(*_overlapping(first, second))
    nested = isinstance(first, list) and first and isinstance(first[0], list)
    if nested and isinstance(second, list) and second:
        yield f"{j} is a row of {i}", put(first, first[0])
        if isinstance(second[0], list):
            yield f"{i} and {j} share rows", put(first, [*first[:-1], *second[-1:]][: len(second)])
            yield f"{i} and {j} share a row", put(first, [first[0], *second[1:]])


def _overlapping(first: Any, second: Any) -> tuple[Any, Any]:
    """Arrays of the same shapes and types, one of which starts 16 bytes after the other."""
    buffer = np.zeros(max(first.nbytes, second.nbytes + 16), np.uint8)
    a = buffer[: first.nbytes].view(first.dtype).reshape(first.shape)
    b = buffer[16 : 16 + second.nbytes].view(second.dtype).reshape(second.shape)
    a[...], b[...] = first, second
    if a.dtype.kind in "fc":  # the bytes of the other may be no number
        np.nan_to_num(a, copy=False, nan=1.0, posinf=2.0, neginf=3.0)
    return a, b


class NoMore(BaseException):
    """There are no further changes. Not an Exception: that would count as the program's."""


class Broken(BaseException):
    """A change could not be made: a mistake of this file, not of the program."""


def variant(number: int) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Picks one of `changed`. Both sides make their data afresh: a copy would part what overlaps.

    The function raises `NoMore` where there are fewer.
    """

    def pick(args: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            for _, found in islice(changed(args), number, None):
                return found
        except Exception as problem:
            raise Broken(f"change {number} of {args!r:.200}") from problem
        raise NoMore

    return pick
