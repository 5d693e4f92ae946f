"""Other types, layouts and sharing for the inputs of a held state; other single numbers.

Every change returns the new object for one input, or None where it does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .perturb_frames import FRAMES, with_missing
from .perturb_slots import Slot, numpy_loaded
from .perturb_values import leaves, refilled

Form = Callable[[Any], Any]


# ----------------------------------------------------------------- single numbers
def _number(change: Callable[[Any], Any], *kinds: type) -> Form:
    """A NumPy number changes as the Python number of its kind does, and keeps its type."""

    def form(value: Any) -> Any:
        if type(value) in kinds:
            return change(value)
        np = numpy_loaded()
        if np is None or not isinstance(value, np.generic) or type(value.item()) not in kinds:
            return None
        new = change(value.item())
        try:
            with np.errstate(all="ignore"):
                return type(value)(new) if type(new) is type(value.item()) else new
        except OverflowError:  # uint8(300)
            return None

    return form


def _numpy_scalar(name: str, *kinds: type) -> Form:
    def form(value: Any) -> Any:
        np = numpy_loaded()
        if np is None or type(value) not in kinds:
            return None
        with np.errstate(all="ignore"):
            return getattr(np, name)(value)

    return form


def _zero_d(value: Any) -> Any:
    np = numpy_loaded()
    return None if np is None else np.array(value)


def _three(value: Any) -> Any:
    """An array where a number was: sums and comparisons go on, stores into one place do not."""
    np = numpy_loaded()
    return None if np is None else np.array([value, value + value, value])


def _zero_d_subclass(value: Any) -> Any:
    np = numpy_loaded()
    return None if np is None else _as_subclass(np.array(value))


NUMBERS: dict[str, tuple[str, Form]] = {
    "0": ("0", _number(lambda v: type(v)(0), int, float)),
    "1": ("1", _number(lambda v: type(v)(1), int, float)),
    "-": ("negative", _number(lambda v: -v if v else -1, int, float)),
    "3": ("3", _number(lambda v: 3, int)),
    "300": ("300", _number(lambda v: 300, int)),
    "text": ("a text", _number(lambda v: "many", int, float)),
    "other": ("another value", _number(lambda v: v * 1.37 + 0.11, float)),
    "float": ("as a float", _number(float, int)),
    "int": ("as an int", _number(lambda v: int(v) if math.isfinite(v) else 0, float)),
    "complex": ("as a complex number", _number(complex, float)),
    "nan": ("NaN", _number(lambda v: math.nan, float)),
    "0-d subclass": ("as a 0-d array of a subclass", _zero_d_subclass),
    "not": ("the other truth value", _number(lambda v: not v, bool)),
    "+1": ("one more", _number(lambda v: v + 1, int)),
    "7": ("7", _number(lambda v: 7, int)),
    "np.float64": ("as numpy.float64", _numpy_scalar("float64", float)),
    "np.int64": ("as numpy.int64", _numpy_scalar("int64", int)),
    "three": ("as an array", _three),
    "np.float32": ("as numpy.float32", _numpy_scalar("float32", float)),
    "np.int32": ("as numpy.int32", _numpy_scalar("int32", int)),
    "np.bool": ("as numpy.bool_", _numpy_scalar("bool_", bool)),
    "bool": ("as a bool", _number(bool, int)),
    "inf": ("infinite", _number(lambda v: math.inf, float)),
    "0-d": ("as a 0-d array", _zero_d),
    "-0": ("-0.0", _number(lambda v: -0.0, float)),
    "2**31": ("2**31", _number(lambda v: 2**31, int)),
    "2**53+1": ("2**53 + 1", _number(lambda v: 2**53 + 1, int)),
    "2**63": ("2**63", _number(lambda v: 2**63, int)),
    "1e300": ("1e300", _number(lambda v: 1e300, float)),
}


# ------------------------------------------------------------------------ arrays
def _as_type(name: str) -> Form:
    def form(value: Any) -> Any:
        np = numpy_loaded()
        dtype = np.dtype(name)
        if dtype == value.dtype or (value.dtype.kind == "c" and dtype.kind != "c"):
            return None
        with np.errstate(all="ignore"):
            return value.astype(dtype)

    return form


def _fortran(value: Any) -> Any:
    np = numpy_loaded()
    return np.asfortranarray(value) if value.ndim > 1 and not value.flags.f_contiguous else None


def _strided(value: Any) -> Any:
    """Every second element along the last axis of a buffer twice as long."""
    np = numpy_loaded()
    wide = np.repeat(value, 2, axis=-1)
    return wide[..., ::2]


def _reversed(value: Any) -> Any:
    """The same elements, seen through a negative stride."""
    np = numpy_loaded()
    return np.ascontiguousarray(value[::-1])[::-1]


def _readonly(value: Any) -> Any:
    new = value.copy()
    new.flags.writeable = False
    return new


def _longer(value: Any) -> Any:
    np = numpy_loaded()
    return np.concatenate([value, value[-1:]]) if len(value) else None


def _unaligned(value: Any) -> Any:
    np = numpy_loaded()
    room = np.zeros(value.nbytes + 1, dtype=np.uint8)
    view = room[1:].view(value.dtype).reshape(value.shape)
    view[...] = value
    return view


def _broadcast(value: Any) -> Any:
    """All rows are one and the same memory, and may be written to."""
    np = numpy_loaded()
    if value.ndim < 2 or value.shape[0] < 2:
        return None
    row = value[:1].copy()
    return np.lib.stride_tricks.as_strided(row, value.shape, (0, *row.strides[1:]))


def _other_axis(value: Any) -> Any:
    return value[..., None].copy()


def _fewer_axes(value: Any) -> Any:
    return value[0].copy() if value.ndim > 1 and len(value) else None


def _as_subclass(value: Any) -> Any:
    """A subclass that shows: its elements, taken one by one, are twice what it holds."""
    base = numpy_loaded().ndarray

    def taken(self: Any, key: Any) -> Any:
        found = base.__getitem__(self, key)
        return found if isinstance(found, base) else found + found

    return value.copy().view(type("Subclass", (base,), {"__getitem__": taken}))


def _with_text(value: Any) -> Any:
    """Python objects, one of which no arithmetic takes: the loop ends half-way."""
    if value.size == 0:
        return None
    new = value.astype(object)
    new.reshape(-1)[new.size // 2] = "many"
    return new


ARRAYS: dict[str, tuple[str, Form]] = {
    "shorter": ("without its last element", lambda value: value[:-1].copy()),
    "strided": ("not contiguous", _strided),
    "float32": ("as float32", _as_type("float32")),
    "other axis": ("with one axis more", _other_axis),
    "list": ("as a list", lambda value: value.tolist()),
    "a text": ("of Python objects, a text among them", _with_text),
    "a number": ("a number", lambda value: 7),
    "int32": ("as int32", _as_type("int32")),
    "subclass": ("as a subclass of ndarray", _as_subclass),
    "two shorter": ("without its last two elements", lambda value: value[:-2].copy()),
    "complex": ("as complex128", _as_type("complex128")),
    "read-only": ("read-only", _readonly),
    "fewer axes": ("with one axis less", _fewer_axes),
    "fortran": ("in Fortran order", _fortran),
    "reversed": ("seen through a negative stride", _reversed),
    "uint8": ("as uint8", _as_type("uint8")),
    "float64": ("as float64", _as_type("float64")),
    "int64": ("as int64", _as_type("int64")),
    "empty": ("empty", lambda value: value[:0].copy()),
    "longer": ("with one element more", _longer),
    "bool": ("as bool", _as_type("bool")),
    "object": ("of Python objects", _as_type("object")),
    "broadcast": ("with all rows in one memory", _broadcast),
    "swapped": ("with swapped bytes", lambda value: value.astype(value.dtype.newbyteorder())),
    "unaligned": ("at an odd address", _unaligned),
}


COLUMNS: dict[str, tuple[str, Form]] = {
    name: ARRAYS[name]
    for name in ("float32", "a text", "int32", "complex", "float64", "int64", "uint8", "bool")
} | {
    "missing": ("with a missing value, as pandas has it", with_missing),
    "object": ARRAYS["object"],
}


# ------------------------------------------------------------------------- lists
def _cut(value: Any, stop: int) -> Any:
    if not value:
        return None
    if type(value) is tuple:
        return value[:stop]
    del value[stop:]
    return value


def _extended(value: Any) -> Any:
    if not value:
        return None
    last = list(value[-1]) if type(value[-1]) is list else value[-1]
    return type(value)([*value, last]) if type(value) is tuple else [*value, last]


def _tuple(value: Any) -> Any:
    if not value:
        return None
    return tuple(value) if type(value) is list else list(value)


def _array(value: Any) -> Any:
    np = numpy_loaded()
    if np is None or not value:
        return None
    try:
        new = np.array(value)
    except (ValueError, OverflowError):  # ragged
        return None
    return new if new.dtype.kind in "biufc" else None


def _one_other(convert: Callable[[Any], Any], *kinds: type) -> Form:
    """One number of another type among the others."""

    def form(value: Any) -> Any:
        old = list(leaves(value))
        if not old or type(old[-1]) not in kinds:
            return None
        try:
            new = [*old[:-1], convert(old[-1])]
        except (ValueError, OverflowError):  # int(nan)
            return None
        if new[-1] is None:
            return None
        return refilled(value, iter(new))

    return form


def _one_numpy(value: Any) -> Any:
    np = numpy_loaded()
    if np is None:
        return None
    return _one_other(lambda v: np.array([v])[0], float, int)(value)


def _short_row(value: Any) -> Any:
    if not _has_rows(value) or type(value[-1]) is not list or not value[-1]:
        return None
    del value[-1][-1]
    return value


def _empty_row(value: Any) -> Any:
    if not _has_rows(value) or type(value[len(value) // 2]) is not list:
        return None
    value[len(value) // 2].clear()
    return value


def _long_row(value: Any) -> Any:
    if not _has_rows(value) or type(value[-1]) is not list or not value[-1]:
        return None
    value[-1].append(value[-1][0])
    return value


def _no_columns(value: Any) -> Any:
    if not _has_rows(value) or not all(type(row) is list for row in value):
        return None
    for row in value:
        row.clear()
    return value


def _tuple_row(value: Any) -> Any:
    if not _has_rows(value) or type(value) is not list:
        return None
    value[-1] = tuple(value[-1]) if type(value[-1]) is list else list(value[-1])
    return value


def _one_row(value: Any) -> Any:
    """The last row is the first one."""
    if not _has_rows(value) or type(value) is not list or len(value) < 2:
        return None
    if value[-1] is value[0]:
        return None
    value[-1] = value[0]
    return value


def _has_rows(value: Any) -> bool:
    return bool(value) and all(isinstance(row, list | tuple) for row in value)


LISTS: dict[str, tuple[str, Form]] = {
    "a number": ("a number", lambda value: 7),
    "shorter": ("without its last element", lambda value: _cut(value, -1)),
    "a text": ("with a text among its numbers", _one_other(lambda v: "many", int, float)),
    "two shorter": ("without its last two elements", lambda value: _cut(value, -2)),
    "empty row": ("with an empty row among its rows", _empty_row),
    "an int": ("with an int among its floats", _one_other(int, float)),
    "one row": ("with two rows that are one list", _one_row),
    "a float": ("with a float among its ints", _one_other(lambda v: v + 0.5, int)),
    "longer": ("with one element more", _extended),
    "array": ("as an array", _array),
    "empty": ("empty", lambda value: _cut(value, 0)),
    "tuple": ("as a tuple, or the other way round", _tuple),
    "short row": ("with one row shorter", _short_row),
    "no columns": ("with rows that are all empty", _no_columns),
    "a bool": ("with a bool among its numbers", _one_other(bool, int, float)),
    "a numpy number": ("with a NumPy number among its numbers", _one_numpy),
    "long row": ("with one row longer", _long_row),
    "tuple row": ("with a row of another type", _tuple_row),
    "a complex": ("with a complex number in it", _one_other(complex, float)),
}

TEXTS: dict[str, tuple[str, Form]] = {
    "reversed": ("read backwards", lambda value: value[::-1]),
    "bytes": ("as bytes", lambda value: value.encode()),
    "empty": ("empty", lambda value: ""),
    "shorter": ("without its last character", lambda value: value[:-1]),
    "upper": ("in capitals", lambda value: value.upper()),
    "number": ("a number", lambda value: 7),
    "list": ("as a list of words", lambda value: value.split()),
    "doubled": ("twice", lambda value: f"{value} {value}"),
    "unicode": ("with other letters", lambda value: value.replace("e", "\u00e9\U0001d7d9")),
}

TABLES: dict[str, dict[str, tuple[str, Form]]] = {
    "number": NUMBERS,
    "array": ARRAYS,
    "numbers": LISTS,
    "text": TEXTS,
    "column": COLUMNS,
    "frame": FRAMES,
}

ODD = ("a text", "text", "a number", "three")
"""Changes to what a caller could not mean: they show what happens to an exception."""


def change_form(slot: Slot, name: str) -> bool:
    """Give one input another type, layout or value; False if that does not apply."""
    new = TABLES[slot.kind][name][1](slot.get())
    if new is None:
        return False
    slot.put(new)
    return True


# ----------------------------------------------------------------------- sharing
def _share_array(first: Any, second: Any, kind: str) -> tuple[Any, Any] | None:
    np = numpy_loaded()
    if first.dtype != second.dtype or first.shape != second.shape or first.shape[0] == 0:
        return None
    if kind == "same":
        return first, first
    if kind == "row":
        return None
    rows = first.shape[0]
    room = np.concatenate([first, first[-1:]])
    return (room[:rows], room[1:]) if kind == "ahead" else (room[1:], room[:rows])


def _share_list(first: Any, second: Any, kind: str) -> tuple[Any, Any] | None:
    if kind == "same":
        return first, first
    if kind != "row" or not (_has_rows(first) and _has_rows(second)) or type(second) is not list:
        return None
    second[0] = first[0]
    return first, second


SHARING: dict[str, str] = {
    "same": "{0} and {1} one object",
    "ahead": "{1} a view of {0}'s memory, one element on",
    "behind": "{0} a view of {1}'s memory, one element on",
    "row": "{0} and {1} with a row in common",
}


def share(first: Slot, second: Slot, kind: str) -> bool:
    """Make two inputs share memory; False if they cannot."""
    one, two = first.get(), second.get()
    if type(one) is not type(two) or first.kind != second.kind or one is two:
        return False
    pair = _share_array(one, two, kind) if first.kind == "array" else _share_list(one, two, kind)
    if pair is None:
        return False
    first.put(pair[0])
    second.put(pair[1])
    return True
