"""From live Python values to ``ValueInfo``, without running any of the user's code.

Claims are made only about what was looked at completely: where a container is too large to look
at every element, its range stays unknown (``minimum is None``); nothing is sampled. NumPy is
never imported here: where the program has not imported it, there are no arrays to describe.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ..model import ValueInfo
from .frames import columns_of, is_frame
from .instances import own_attribute
from .members import attributes_of, entries_of, places_of

MAX_ARRAY = 50_000_000
"""Elements of an ndarray up to which minimum and maximum are taken (about 50 ms for float64)."""
MAX_LIST_TYPES = 20_000_000
"""Elements of a (nested) list up to which every element's type is looked at (15 ns each)."""
MAX_LIST_RANGE = 5_000_000
"""Elements of a (nested) list up to which minimum and maximum are taken (60 ns each)."""
MAX_DEPTH = 4
"""Levels of nesting of lists that are followed."""

_SCALARS: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "str",
    type(None): "none",
}
_PLAIN_TYPES = frozenset(_SCALARS)


def type_name(kind: type) -> str:
    """``module.qualname`` of a type, read past any metaclass property."""
    module = type.__getattribute__(kind, "__module__")
    return f"{module}.{type.__getattribute__(kind, '__qualname__')}"


def numpy_of_program() -> Any:
    """The NumPy module if the program has imported it completely, else None."""
    module = sys.modules.get("numpy")
    # A thread may look while `import numpy` is still under way.
    return module if module is not None and hasattr(module, "ndarray") else None


def describe(value: object) -> ValueInfo:
    """Everything we say about one value at one entry.

    Shapes are extents, ranges are over all elements with NaN left out. Subclasses of ndarray, of
    lists and of numbers are ``"object"``: their operators may mean something else.
    """
    kind = type(value)
    if kind in _PLAIN_TYPES:
        return _scalar(value, _SCALARS[kind])
    if kind is list or kind is tuple:
        assert isinstance(value, list | tuple)
        return _sequence(value)
    if kind is bytearray or kind is bytes:
        assert isinstance(value, bytearray | bytes)
        return _bytes(value)
    if kind is dict:
        assert isinstance(value, dict)
        return ValueInfo("object", type_name(dict), members=entries_of(value, _sequence))
    numpy = numpy_of_program()
    if numpy is not None:
        if kind is numpy.ndarray:
            return _array(value, numpy)
        if issubclass(kind, numpy.generic):
            return _numpy_scalar(value, numpy)
    return _named(value)


def _scalar(value: object, kind: str) -> ValueInfo:
    name = type_name(type(value))
    if isinstance(value, int):
        number = int(value)  # True is shown as 1
        return ValueInfo(kind, name, minimum=number, maximum=number, constant=True)
    if isinstance(value, float):
        if value != value:
            return ValueInfo(kind, name, has_nan=True)
        return ValueInfo(kind, name, minimum=value, maximum=value, constant=True)
    if isinstance(value, str):
        return _text(value)
    return ValueInfo(kind, name)


def _text(text: str) -> ValueInfo:
    """A string, with its length; of its characters only whether all are ASCII, which costs nothing.

    The character itself is not kept: reports would show the user's text.
    """
    shape = (len(text),)
    top = 127 if text.isascii() else sys.maxunicode
    return ValueInfo(
        kind="str",
        type_name="builtins.str",
        ndim=1,
        shape=shape,
        min_shape=shape,
        max_shape=shape,
        writeable=False,
        minimum=0,
        maximum=top,
    )


def _array(array: Any, numpy: Any) -> ValueInfo:
    low, high, has_nan = _array_range(array, numpy)
    shape = tuple(int(n) for n in array.shape)
    return ValueInfo(
        kind="ndarray",
        type_name="numpy.ndarray",
        dtype=dtype_name(array.dtype),
        ndim=int(array.ndim),
        shape=shape,
        min_shape=shape,
        max_shape=shape,
        c_contiguous=bool(array.flags.c_contiguous),
        writeable=bool(array.flags.writeable),
        minimum=low,
        maximum=high,
        has_nan=has_nan,
    )


def dtype_name(dtype: Any) -> str:
    """``"float64"``; byte order is shown only where it is foreign (``">f8"``)."""
    return str(dtype.name if dtype.isnative else dtype.str)


def _array_range(array: Any, numpy: Any) -> tuple[float | int | None, float | int | None, bool]:
    """Smallest and largest element and whether there is a NaN; None where not known."""
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16:
        return None, None, False
    if not 0 < array.size <= MAX_ARRAY:
        return None, None, False
    if array.dtype.kind == "c":
        return None, None, bool(numpy.isnan(array).any())
    if array.dtype.kind != "f":
        return int(array.min()), int(array.max()), False
    low = float(array.min())
    if low == low:
        return low, float(array.max()), False
    known = array[~numpy.isnan(array)]
    if known.size == 0:
        return None, None, True
    return float(known.min()), float(known.max()), True


def _numpy_scalar(value: Any, numpy: Any) -> ValueInfo:
    name = type_name(type(value))
    dtype = dtype_name(value.dtype)
    if isinstance(value, numpy.bool_ | numpy.integer):
        # timedelta64 is a subclass of signedinteger; its number means nothing without a unit
        if isinstance(value, numpy.timedelta64):
            return ValueInfo("object", name, dtype=dtype)
        number = int(value)
        return ValueInfo(
            "numpy_scalar", name, dtype=dtype, minimum=number, maximum=number, constant=True
        )
    if isinstance(value, numpy.floating):
        real = float(value)
        if real != real:
            return ValueInfo("numpy_scalar", name, dtype=dtype, has_nan=True)
        return ValueInfo(
            "numpy_scalar", name, dtype=dtype, minimum=real, maximum=real, constant=True
        )
    if isinstance(value, numpy.complexfloating):
        return ValueInfo("numpy_scalar", name, dtype=dtype)
    return ValueInfo("object", name, dtype=dtype)


def _bytes(value: bytearray | bytes) -> ValueInfo:
    shape = (len(value),)
    kind = "bytearray" if type(value) is bytearray else "bytes"
    return ValueInfo(
        kind=kind,
        type_name=f"builtins.{kind}",
        ndim=1,
        shape=shape,
        min_shape=shape,
        max_shape=shape,
        c_contiguous=True,
        writeable=kind == "bytearray",
        minimum=min(value) if value else None,
        maximum=max(value) if value else None,
        element=ValueInfo("int", "builtins.int"),
    )


Level = Callable[[], Iterator[Any]]
"""Starts to go through all elements of one level of a nested list."""


def _sequence(value: list[Any] | tuple[Any, ...]) -> ValueInfo:
    """A list or tuple; nested ones are followed level by level while every element is a list.

    ``[[0] * 3] * 3`` is not regular: its rows are one object, a write to one shows in all.
    """
    kind = "list" if type(value) is list else "tuple"
    name = f"builtins.{kind}"
    extents: list[int | None] = [len(value)]
    regular, writeable = True, kind == "list"
    # The innermost level may hold ten million numbers: it is gone through, never copied.
    level: Level = partial(iter, value)
    rows: list[Any] = []
    count = len(value)
    kinds: set[type] | None = None
    while count and len(extents) < MAX_DEPTH and count <= MAX_LIST_TYPES:
        kinds = set(map(type, level()))
        if kinds != {list} and kinds != {tuple}:
            break
        writeable = writeable and kinds == {list}
        rows, kinds = list(level()), None
        lengths = set(map(len, rows))
        regular = regular and len(lengths) == 1 and len(set(map(id, rows))) == len(rows)
        count = sum(map(len, rows))
        extents.append(lengths.pop() if len(lengths) == 1 else None)
        if count > MAX_LIST_TYPES:
            break
        level = partial(chain.from_iterable, rows)
    element = _elements(level, count, rows, kinds) if count <= MAX_LIST_TYPES else _UNKNOWN
    shape = tuple(extents)
    known = tuple(n if n is not None else 0 for n in shape)
    return ValueInfo(
        kind=kind,
        type_name=name,
        ndim=len(shape),
        shape=shape,
        min_shape=known,
        max_shape=known if None not in shape else None,
        minimum=element.minimum if element else None,
        maximum=element.maximum if element else None,
        has_nan=element.has_nan if element else False,
        element=element,
        regular=regular,
        writeable=writeable,
    )


_UNKNOWN = ValueInfo("object", "unknown")
"""Elements that nobody looked at."""


def _elements(
    level: Level, count: int, rows: list[Any], kinds: set[type] | None
) -> ValueInfo | None:
    """The merged info of the innermost elements, which are in ``rows``; None if there are none.

    ``kinds``: their types, where they are known already.
    """
    if not count:
        return None
    kinds = kinds or set(map(type, level()))
    if len(kinds) > 1:
        names = " | ".join(sorted(type_name(k) for k in kinds))
        return ValueInfo("mixed", names, members=places_of(rows, _sequence))
    (kind,) = kinds
    if kind not in _PLAIN_TYPES:
        numpy = numpy_of_program()
        if numpy is not None and issubclass(kind, numpy.generic):
            return _generic_elements(level(), count)
        if numpy is not None and kind is numpy.ndarray:
            return ValueInfo("ndarray", "numpy.ndarray")
        members = attributes_of(list(level()), _sequence)
        return ValueInfo("object", type_name(kind), members=members)
    info = ValueInfo(_SCALARS[kind], type_name(kind))
    if kind not in (int, float, bool) or count > MAX_LIST_RANGE:
        return info
    # One sum tells at a fifth of the cost, except where infinities cancel to a NaN of their own.
    has_nan = kind is float and math.isnan(sum(level())) and any(map(math.isnan, level()))
    if has_nan:
        level = partial(iter, [x for x in level() if x == x])
    low, high = min(level(), default=None), max(level(), default=None)
    if low is None or high is None:
        return replace(info, has_nan=True)
    if kind is bool:
        low, high = int(low), int(high)
    return replace(info, minimum=low, maximum=high, has_nan=has_nan)


def _generic_elements(level: Iterator[Any], count: int) -> ValueInfo:
    """Elements that are NumPy scalars of one type."""
    first = describe(next(level))
    bare = replace(first, minimum=None, maximum=None, has_nan=False, constant=False)
    if count > MAX_LIST_RANGE // 20:  # NumPy scalars take twenty times as long to look at
        return bare
    merged = first
    for item in level:
        merged = merge(merged, describe(item))
    return replace(merged, constant=False)


# ------------------------------------------------------- functions, modules, objects
def unwrap(value: Any) -> Any:
    """The Python function below decorators and compilers: ``__wrapped__``, numba's ``py_func``."""
    for _ in range(20):
        inner = own_attribute(value, "__wrapped__")
        if inner is None:
            inner = own_attribute(value, "py_func")
        if inner is None:
            return value
        value = inner
    return value


def _named(value: object) -> ValueInfo:
    kind = type(value)
    # By type(): isinstance would ask a proxy object for its __class__.
    if issubclass(kind, types.ModuleType):
        name = types.ModuleType.__getattribute__(value, "__dict__").get("__name__", "?")
        return ValueInfo("module", type_name(kind), target=str(name))
    if issubclass(kind, type):
        return ValueInfo("class", type_name(kind), target=type_name(value))  # type: ignore[arg-type]
    if kind is types.MethodType:
        assert isinstance(value, types.MethodType)
        return _python_function(value.__func__, type_name(kind))
    inner = unwrap(value)
    if type(inner) is types.FunctionType:
        return _python_function(value, type_name(kind))
    if kind in (types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType):
        return ValueInfo("function", type_name(kind), target=_builtin_target(value))
    numpy = numpy_of_program()
    if numpy is not None and kind is numpy.ufunc:
        return ValueInfo("function", type_name(kind), target=f"numpy.{value.__name__}")  # type: ignore[attr-defined]
    if numpy is not None and type_name(kind) == "numpy._ArrayFunctionDispatcher":
        target = f"{value.__module__}.{value.__name__}"  # type: ignore[attr-defined]
        return ValueInfo("function", type_name(kind), target=target)
    if is_frame(value):
        return ValueInfo("object", type_name(kind), columns=columns_of(value))
    return ValueInfo("object", type_name(kind))


def _python_function(value: Any, name: str) -> ValueInfo:
    """A Python function. A decorated one has the original as target and says so in its type."""
    inner = unwrap(value)
    if type(inner) is not types.FunctionType:
        return ValueInfo("object", name)
    if inner is not value:
        name = f"{name} (decorated)"
    code = inner.__code__
    return ValueInfo(
        kind="function",
        type_name=name,
        target=f"{inner.__module__}.{inner.__qualname__}",
        target_file=Path(code.co_filename),
        target_line=code.co_firstlineno,
    )


def _builtin_target(value: Any) -> str:
    owner = getattr(value, "__self__", None)
    name = getattr(value, "__qualname__", "?")
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(value, "__module__", None) or getattr(owner, "__name__", "builtins")
        return f"{module}.{name}"
    return f"{type_name(type(owner)).rpartition('.')[0]}.{name}"


# ----------------------------------------------------------------- merging
def merge(a: ValueInfo, b: ValueInfo) -> ValueInfo:
    """What holds of both: ranges grow, extents that differ become None, types that differ mix."""
    if a == b and (a.minimum is None or b.minimum is None or same_number(a.minimum, b.minimum)):
        return a
    if not _same_type(a, b):
        names = sorted({*a.type_name.split(" | "), *b.type_name.split(" | ")})
        return ValueInfo("mixed", " | ".join(names), members=_merge_members(a, b))
    element = _merge_elements(a.element, b.element)
    low, high, has_nan, constant = _merge_range(a, b)
    shape, low_shape, high_shape = _merge_shapes(a, b)
    return ValueInfo(
        kind=a.kind,
        type_name=a.type_name,
        dtype=a.dtype,
        ndim=len(shape) if shape is not None else None,
        shape=shape,
        min_shape=low_shape,
        max_shape=high_shape,
        c_contiguous=a.c_contiguous and b.c_contiguous,
        writeable=a.writeable and b.writeable,
        minimum=low,
        maximum=high,
        has_nan=has_nan,
        constant=constant,
        element=element,
        regular=a.regular and b.regular,
        target=a.target,
        target_file=a.target_file,
        target_line=a.target_line,
        members=_merge_members(a, b),
    )


def _merge_members(a: ValueInfo, b: ValueInfo) -> tuple[tuple[str, ValueInfo], ...]:
    """Members that both have."""
    other = dict(b.members)
    return tuple((name, merge(info, other[name])) for name, info in a.members if name in other)


def _is_empty(info: ValueInfo) -> bool:
    """A list or tuple without any innermost element."""
    return info.kind in ("list", "tuple") and info.element is None


def _same_type(a: ValueInfo, b: ValueInfo) -> bool:
    if (a.kind, a.type_name, a.dtype) != (b.kind, b.type_name, b.dtype):
        return False
    if a.kind in ("function", "module", "class"):
        return (a.target, a.target_file, a.target_line) == (b.target, b.target_file, b.target_line)
    # An empty list may become a list of lists: `grid = []` before the first row is appended.
    return a.ndim == b.ndim or _is_empty(a) or _is_empty(b)


def same_kind(a: ValueInfo, b: ValueInfo) -> bool:
    """Whether both have one type all through, elements included; sizes may differ.

    An empty list goes with every list. A ragged list or one with shared rows is of another kind
    than a regular one: code for the one does not serve the other.
    """
    if a.members and b.members and a.type_name == b.type_name:
        return [n for n, _ in a.members] == [n for n, _ in b.members] and all(
            same_kind(one, other) for (_, one), (_, other) in zip(a.members, b.members, strict=True)
        )
    if not _same_type(a, b) or "mixed" in (a.kind, b.kind):
        return False
    if _is_empty(a) or _is_empty(b):
        return True
    if a.kind == "list" and (a.regular, _is_ragged(a)) != (b.regular, _is_ragged(b)):
        return False
    if a.element is None or b.element is None:
        return True
    return a.element == b.element or same_kind(a.element, b.element)


def _is_ragged(info: ValueInfo) -> bool:
    return info.max_shape is None


def _merge_elements(a: ValueInfo | None, b: ValueInfo | None) -> ValueInfo | None:
    if a is None or b is None:
        return a or b
    return merge(a, b)


def _merge_range(
    a: ValueInfo, b: ValueInfo
) -> tuple[float | int | None, float | int | None, bool, bool]:
    has_nan = a.has_nan or b.has_nan
    if _nothing_but_nan(a) or _is_empty(a) or _no_elements(a):
        return b.minimum, b.maximum, has_nan, False
    if _nothing_but_nan(b) or _is_empty(b) or _no_elements(b):
        return a.minimum, a.maximum, has_nan, False
    if a.minimum is None or b.minimum is None or a.maximum is None or b.maximum is None:
        return None, None, has_nan, False
    constant = a.constant and b.constant and same_number(a.minimum, b.minimum)
    return min(a.minimum, b.minimum), max(a.maximum, b.maximum), has_nan, constant


def same_number(a: float, b: float) -> bool:
    """Equal, and of equal sign: ``-0.0`` is not the constant ``0.0``."""
    return a == b and math.copysign(1.0, _sign(a)) == math.copysign(1.0, _sign(b))


def _sign(value: float) -> float:
    # An int may be too large for a float; its sign is not.
    return value if isinstance(value, float) else (-1.0 if value < 0 else 1.0)


def _nothing_but_nan(info: ValueInfo) -> bool:
    return info.has_nan and info.minimum is None and info.kind in ("float", "numpy_scalar")


def _no_elements(info: ValueInfo) -> bool:
    return info.max_shape is not None and info.ndim != 0 and 0 in info.max_shape


def _merge_shapes(
    a: ValueInfo, b: ValueInfo
) -> tuple[tuple[int | None, ...] | None, tuple[int, ...] | None, tuple[int, ...] | None]:
    if a.shape is None or b.shape is None:
        return None, None, None
    if len(a.shape) != len(b.shape):  # one of them is empty: only its first extent is known
        full, empty = (b, a) if len(a.shape) < len(b.shape) else (a, b)
        rest = full.shape[1:] if full.shape else ()
        if len(empty.shape or ()) > 1 or full.min_shape is None:
            return None, None, None
        return (None, *rest), (0, *full.min_shape[1:]), full.max_shape
    shape = tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
    low = high = None
    if a.min_shape is not None and b.min_shape is not None:
        low = tuple(map(min, a.min_shape, b.min_shape))
    if a.max_shape is not None and b.max_shape is not None:
        high = tuple(map(max, a.max_shape, b.max_shape))
    return shape, low, high
