"""Array values as source text, with the dtype NumPy gives them and the axes they span."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ...loopnest.fold import BINARY, COMPARE
from ...loopnest.ir import Kind, Scalar

ATOM, POWER, UNARY, PRODUCT, SUM, SHIFT = 20, 15, 14, 13, 12, 11
BITAND, BITXOR, BITOR, COMPARISON, NOT, AND, OR, TERNARY = 10, 9, 8, 7, 6, 5, 4, 3
"""Binding strength of Python's operators."""
_BINARY_LEVEL = {
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "**": POWER,
    "<<": SHIFT, ">>": SHIFT, "&": BITAND, "^": BITXOR, "|": BITOR,
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """Source text of a scalar or of an array.

    An array has one dimension for each axis of the block from the first one it spans to the last
    (extent 1 where it does not depend on the axis), so that values broadcast as they are.
    """

    text: str
    level: int
    """Binding strength of the outermost operator."""
    type: Scalar
    """The type one element has in the original program."""
    dtype: str | None
    """What NumPy computes in; None for Python scalars, which are weak in promotion."""
    axes: frozenset[str] = frozenset()
    fresh: bool = False
    """A new array that nothing else refers to."""

    @property
    def is_array(self) -> bool:
        """Spans an axis."""
        return bool(self.axes)

    def at(self, level: int) -> str:
        """The text, in parentheses where the surroundings bind at least as strongly."""
        return self.text if self.level >= level else f"({self.text})"


def natural_dtype(kind: Scalar) -> str:
    """The dtype of an array that holds values of a type."""
    if kind.dtype is not None:
        return kind.dtype
    return {
        Kind.BOOL: "bool",
        Kind.INT: "int64",
        Kind.FLOAT: "float64",
        Kind.COMPLEX: "complex128",
    }[kind.kind]


def dtype_text(np_name: str, dtype: str) -> str:
    """``np.float64``; bool is Python's own."""
    return "bool" if dtype == "bool" else f"{np_name}.{dtype}"


_WEAK: dict[Kind, Any] = {Kind.BOOL: True, Kind.INT: 1, Kind.FLOAT: 1.0, Kind.COMPLEX: 1j}


def sample(value: Value) -> Any:
    """An operand that promotes as the value does."""
    if not value.is_array:
        weak = _WEAK[value.type.kind]
        return weak if value.dtype is None else np.dtype(value.dtype).type(1)
    return np.ones(1, value.dtype)


def result_dtype(op: str, *operands: Value) -> str | None:
    """The dtype NumPy gives an operation on the values; None if it refuses."""
    key = tuple((v.is_array, v.dtype, v.type.kind) for v in operands)
    return _result_dtype(op, key)


@cache
def _result_dtype(op: str, key: tuple[tuple[bool, str | None, Kind], ...]) -> str | None:
    samples = [
        np.ones(1, dtype) if array else (_WEAK[kind] if dtype is None else np.dtype(dtype).type(1))
        for array, dtype, kind in key
    ]
    try:
        with np.errstate(all="ignore"):
            result = _compute(op, samples)
    except (TypeError, ValueError, OverflowError):
        return None
    return np.asarray(result).dtype.name


def _compute(op: str, samples: list[Any]) -> Any:
    if op in BINARY and len(samples) == 2:
        return BINARY[op](*samples)
    if op in COMPARE:
        return COMPARE[op](*samples)
    if op == "neg":
        return -samples[0]
    if op == "invert":
        return ~samples[0]
    return getattr(np, op)(*samples)


def cast(value: Value, dtype: str, np_name: str) -> Value:
    """The array in another dtype; Python scalars and equal dtypes stay as they are."""
    if not value.is_array or value.dtype == dtype:
        return value
    if (value.dtype, dtype) == ("bool", "uint8"):
        return replace(
            value, text=f"{value.at(ATOM)}.view({np_name}.uint8)", level=ATOM, dtype=dtype
        )
    return replace(
        value,
        text=f"{value.at(ATOM)}.astype({dtype_text(np_name, dtype)})",
        level=ATOM,
        dtype=dtype,
        fresh=True,
    )


def binary(op: str, left: Value, right: Value, type_: Scalar, dtype: str | None) -> Value:
    """``left op right``."""
    level = _BINARY_LEVEL[op]
    if op == "**":  # binds to the right
        text = f"{left.at(level + 1)}**{right.at(UNARY)}"
    else:
        text = f"{left.at(level)} {op} {right.at(level + 1)}"
    return Value(text, level, type_, dtype, left.axes | right.axes, left.is_array or right.is_array)


def compare(op: str, left: Value, right: Value, type_: Scalar) -> Value:
    """``left op right`` as a truth value or a mask."""
    text = f"{left.at(COMPARISON + 1)} {op} {right.at(COMPARISON + 1)}"
    axes = left.axes | right.axes
    return Value(text, COMPARISON, type_, "bool" if axes else type_.dtype, axes, bool(axes))
