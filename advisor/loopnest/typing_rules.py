"""Types of scalar operations under Python's rules and NumPy 2's (NEP 50).

The rules are not written down a second time: an operation is carried out once on sample values of
the operand types, and the type of the result is read off. So Python numbers are weak, int64 / int64
is float64, and what raises TypeError is refused.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..model import ValueInfo
from .fold import BINARY, COMPARE, UNARY
from .ir import CHAR, PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, Kind, Scalar

_KINDS = {"b": Kind.BOOL, "i": Kind.INT, "u": Kind.INT, "f": Kind.FLOAT, "c": Kind.COMPLEX}
_PYTHON = {"bool": PY_BOOL, "int": PY_INT, "float": PY_FLOAT, "complex": PY_COMPLEX}
_SAMPLES: dict[Kind, Any] = {
    Kind.BOOL: True,
    Kind.INT: 3,
    Kind.FLOAT: 0.75,  # inside the domain of asin, log, sqrt
    Kind.COMPLEX: 0.5 + 0.5j,
    Kind.CHAR: "a",
}
_ORDER = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.COMPLEX)

BUILTINS = frozenset({"abs", "min", "max", "int", "float", "bool", "round", "complex", "pow"})
"""Built-in functions the representation knows."""

_UNKNOWN_MATH = frozenset({"prod", "fsum", "dist", "sumprod", "frexp", "modf", "perm", "comb"})
_CASTS = frozenset(
    [
        "bool_",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "intp",
        "uintp",
        "bool",
        "int_",
        "uint",
        "double",
        "single",
    ]
)


def scalar_of_dtype(name: str | None) -> Scalar | None:
    """The scalar type of a NumPy dtype name; None for what is not a plain number."""
    if name is None:
        return None
    try:
        dtype = np.dtype(name)
    except TypeError:
        return None
    kind = _KINDS.get(dtype.kind)
    return None if kind is None else Scalar(kind, dtype.name)


def scalar_of(info: ValueInfo) -> Scalar | None:
    """The scalar type of an observed value, None if it is not a plain number."""
    if info.kind == "numpy_scalar":
        return scalar_of_dtype(info.dtype)
    if info.type_name not in (f"builtins.{info.kind}", info.kind):
        return None  # a subclass of int or float may overload every operator
    if info.kind == "str" and info.shape in ((0,), (1,)):
        return CHAR
    return _PYTHON.get(info.kind)


def type_of_value(value: object) -> Scalar | None:
    """The scalar type of a value at hand."""
    if isinstance(value, np.generic):
        return scalar_of_dtype(value.dtype.name)
    return _PYTHON.get(type(value).__name__)


def sample(kind: Scalar) -> Any:
    """A small value of the type."""
    value = _SAMPLES[kind.kind]
    return value if kind.dtype is None else np.dtype(kind.dtype).type(value)


def _result(compute: Callable[[], object]) -> Scalar | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return type_of_value(compute())
        except (TypeError, ValueError, ArithmeticError):
            return None


@cache
def unary_type(op: str, operand: Scalar) -> Scalar | None:
    """Type of ``op operand``; None where Python or NumPy raises TypeError."""
    if op == "~" and operand == PY_BOOL:
        return None  # deprecated, and ~True is -2
    return _result(lambda: UNARY[op](sample(operand)))


@cache
def binary_type(op: str, left: Scalar, right: Scalar) -> Scalar | None:
    """Type of ``left op right``; None where Python or NumPy raises TypeError.

    Powers are typed for a non-negative exponent and a non-negative base; see ``lower``.
    """
    return _result(lambda: BINARY[op](sample(left), sample(right)))


@cache
def compare_type(op: str, left: Scalar, right: Scalar) -> Scalar | None:
    """Type of a comparison: bool, or numpy.bool if a NumPy scalar takes part."""
    if (left == CHAR) is not (right == CHAR):
        return None  # never equal, and characters are numbers to the back ends
    return _result(lambda: COMPARE[op](sample(left), sample(right)))


@cache
def call_type(function: str, args: tuple[Scalar, ...]) -> Scalar | None:
    """Type of a pure call; None if it is not known or does not take these arguments."""
    module, _, name = function.rpartition(".")
    if CHAR in args and function not in ("min", "max"):
        return None
    values = [sample(a) for a in args]
    if module == "math":
        if name in _UNKNOWN_MATH or not callable(getattr(math, name, None)):
            return None
        if name in ("acosh",):
            values = [v + 1 for v in values]
        return _result(lambda: getattr(math, name)(*values))
    if module == "cmath":
        return None
    if module == "numpy":
        return _numpy_call(name, values)
    if function in ("real", "imag", "conjugate") and len(values) == 1:
        found = getattr(values[0], function)
        return _result(lambda: found() if function == "conjugate" else found)
    if module == "" and function in BUILTINS:
        return _builtin_call(function, args, values)
    return None


def _numpy_call(name: str, values: list[Any]) -> Scalar | None:
    found = getattr(np, name, None)
    if name in _CASTS and len(values) == 1:
        return _result(lambda: found(values[0]))  # type: ignore[misc]
    if isinstance(found, np.ufunc) and found.nout == 1 and found.nin == len(values):
        # ufuncs take Python ints and floats as weak scalars too
        return _result(lambda: found(*values))
    if name in ("abs", "round", "clip"):
        return _result(lambda: found(*values))  # type: ignore[misc]
    return None


def _builtin_call(name: str, args: tuple[Scalar, ...], values: list[Any]) -> Scalar | None:
    if name in ("min", "max"):
        # The result is one of the operands, with its own type: they must agree.
        if len(args) < 2:
            return None
        joined = args[0]
        for other in args[1:]:
            found = join(joined, other)
            if found is None:
                return None
            joined = found
        return joined
    if name == "pow" and len(values) not in (2, 3):
        return None
    functions: dict[str, Callable[..., object]] = {
        "abs": abs,
        "int": int,
        "float": float,
        "bool": bool,
        "round": round,
        "complex": complex,
        "pow": pow,
    }
    if not values:
        return None
    return _result(lambda: functions[name](*values))


def join(left: Scalar, right: Scalar) -> Scalar | None:
    """A type for a value that has the one type on one path and the other on another path.

    None where a computation could tell. Only 64-bit flavours join: ``uint8(0) - 1`` is 255 and
    ``0 - 1`` is -1. An int joins a float, since ints that reach such a variable are small in
    sane programs; ``lower`` checks that the int is a literal or observed to be exact.
    """
    if left == right:
        return left
    if CHAR in (left, right):
        return None
    high, low = sorted((left, right), key=lambda s: (_ORDER.index(s.kind), not s.is_python))[::-1]
    wide = (None, "bool", "int64", "float64", "complex128")
    if high.dtype not in wide or low.dtype not in wide:
        return None
    if Kind.BOOL in (high.kind, low.kind) and high.kind is not low.kind:
        return None  # True + True is 2, and prints as True
    numpy_flavour = not (high.is_python and low.is_python)
    if not numpy_flavour:
        return high
    names = {
        Kind.BOOL: "bool",
        Kind.INT: "int64",
        Kind.FLOAT: "float64",
        Kind.COMPLEX: "complex128",
    }
    return Scalar(high.kind, names[high.kind])


def is_weak_use(reader: Scalar, other: Scalar, op: str) -> bool:
    """Whether ``x op other`` is the same for an ``x`` of Python's flavour and one of ``reader``.

    So an accumulator may start as ``0`` and continue as uint8 or float32: NEP 50 converts the
    Python number to the dtype of the other operand first.
    """
    if other.is_python or reader.is_python or other.dtype != reader.dtype:
        return False
    return op in BINARY


MODULE_CONSTANTS: dict[str, float] = {
    f"{module}.{name}": getattr(math if module == "math" else np, name)
    for module in ("math", "numpy")
    for name in ("pi", "e", "inf", "nan", "tau")
    if hasattr(math if module == "math" else np, name)
}
"""Numbers that modules offer by name."""
