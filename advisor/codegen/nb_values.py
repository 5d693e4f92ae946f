"""What the numba back end knows of a value: its Python type, its range, its symbolic bounds.

The type is the one the value has in the *original* program. Compiled code computes Python ints in
64 bits and keeps no difference between ``float`` and ``numpy.float64``; the evaluator compares both
worlds and inserts a cast, a test or a refusal where someone could tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..loopnest.affine import Affine, constant
from ..loopnest.ir import PY_BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, Kind, Scalar

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

STEPS = 2**46
"""More loop iterations than any process executes: at one nanosecond each they take 19 hours."""

Bound: TypeAlias = int | float | None


class Unsupported(Exception):
    """The region cannot be compiled with equal results; becomes a Refusal."""

    def __init__(self, reason: str, line: int | None = None, suggestion: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.suggestion = suggestion


class Outgrown(Unsupported):
    """A Python int may need more than 64 bits: looked at while the loops run, if at all."""


@dataclass(frozen=True)
class Num:
    """One number.

    ``low``/``high`` bound it (None: unbounded); for complex numbers ``high`` bounds the magnitude.
    ``form`` is its affine form, ``lows``/``highs`` are symbolic inclusive bounds.
    """

    type: Scalar
    low: Bound = None
    high: Bound = None
    nan: bool = False
    """May be NaN (floats)."""
    also: frozenset[Scalar] = frozenset()
    """Other types it may have: ``s = 0.0`` before ``s += a[i]`` with float64 elements."""
    entry: bool = False
    """May still be the value from before the loop."""
    form: Affine | None = None
    lows: tuple[Affine, ...] = ()
    highs: tuple[Affine, ...] = ()

    @property
    def types(self) -> frozenset[Scalar]:
        """Every type it may have."""
        return self.also | {self.type}

    @property
    def bounded(self) -> bool:
        """Finite on both sides and never NaN."""
        return not self.nan and _finite(self.low) and _finite(self.high)

    def within(self, low: int | float, high: int | float) -> bool:
        """Surely in the closed range (NaN is not looked at)."""
        return (
            self.low is not None and self.high is not None and low <= self.low and self.high <= high
        )

    @property
    def nonzero(self) -> bool:
        """Surely not zero; NaN counts as nonzero."""
        return (self.low is not None and self.low > 0) or (self.high is not None and self.high < 0)


@dataclass(frozen=True)
class View:
    """An array, or what is left of it after some leading indices: ``grid``, ``grid[i]``."""

    array: str
    """Key in the nest's arrays."""
    element: Scalar
    ndim: int
    axis: int = 0
    """First axis of the array that is still open."""


@dataclass(frozen=True)
class Items:
    """A tuple or list of constants written in the text: ``((-1, 0), (0, 1))``."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Target:
    """A module, function or class by canonical name: ``"numpy"``, ``"math.sqrt"``, ``"abs"``."""

    name: str
    user: str | None = None
    """User functions: the name at the call site."""


Value: TypeAlias = Num | View | Items | Target


def _finite(bound: Bound) -> bool:
    return bound is not None and not (isinstance(bound, float) and math.isinf(bound))


# ------------------------------------------------------------- numba's types
_DEFAULT = {
    Kind.BOOL: "bool",
    Kind.INT: "int64",
    Kind.FLOAT: "float64",
    Kind.COMPLEX: "complex128",
    Kind.CHAR: "int64",
}
_WIDTH_NAMES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def compiled(type_: Scalar) -> str:
    """The type compiled code keeps such a value in."""
    return type_.dtype or _DEFAULT[type_.kind]


def dtype_range(name: str) -> tuple[int, int] | None:
    """Range of an integer or bool dtype."""
    if name == "bool":
        return 0, 1
    if name not in _WIDTH_NAMES:
        return None
    bits = int(name.lstrip("uint"))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def free(type_: Scalar) -> Num:
    """Any value of the type."""
    limits = dtype_range(compiled(type_)) if type_.dtype or type_.kind is Kind.BOOL else None
    if limits:
        return Num(type_, *limits)
    return Num(type_, nan=type_.kind in (Kind.FLOAT, Kind.COMPLEX))


def binary_compiled(op: str, left: str, right: str) -> str | None:
    """Type numba gives ``left op right``; None where it is better not to ask."""
    kinds = (_kind(left), _kind(right))
    if "c" in kinds:
        return "complex128" if {left, right} <= {"complex128", "float64", "int64"} else None
    if "f" in kinds:
        if left == right:
            return left
        other = right if left == "float32" else left
        if "float32" in (left, right) and other not in ("float64", "int64", "int32"):
            return None
        return "float64"
    if op == "/":
        return "float64"
    if kinds == ("b", "b"):
        return "bool" if op in "&|^" else "int64"
    if set(kinds) == {"u"}:
        return "uint64"
    if "uint64" in (left, right):
        return None  # numba computes uint64 with int64 in float64
    return "int64"


def _kind(name: str) -> str:
    return "b" if name == "bool" else name[0]


# ---------------------------------------------------------- range arithmetic
def hull(values: list[Num], type_: Scalar) -> Num:
    """The smallest range with all of them."""
    lows = [v.low for v in values]
    highs = [v.high for v in values]
    return Num(
        type_,
        None if None in lows else min(x for x in lows if x is not None),
        None if None in highs else max(x for x in highs if x is not None),
        nan=any(v.nan for v in values),
        also=frozenset[Scalar]().union(*(v.types for v in values)) - {type_},
        entry=any(v.entry for v in values),
    )


def _sum(left: Bound, right: Bound) -> Bound:
    return None if left is None or right is None else left + right


def add(left: Num, right: Num, type_: Scalar) -> Num:
    """Range of a sum."""
    return Num(type_, _sum(left.low, right.low), _sum(left.high, right.high))


def negate(value: Num, type_: Scalar) -> Num:
    """Range of ``-x``."""
    return Num(
        type_,
        None if value.high is None else -value.high,
        None if value.low is None else -value.low,
    )


def multiply(left: Num, right: Num, type_: Scalar) -> Num:
    """Range of a product."""
    corners: list[int | float] = []
    for a in (left.low, left.high):
        for b in (right.low, right.high):
            if a == 0 or b == 0:
                corners.append(0)
            elif a is None or b is None:
                return _half_bounded(left, right, type_)
            else:
                corners.append(a * b)
    return Num(type_, min(corners), max(corners))


def _half_bounded(left: Num, right: Num, type_: Scalar) -> Num:
    if left.low is not None and right.low is not None and left.low >= 0 and right.low >= 0:
        return Num(type_, left.low * right.low, None)
    return Num(type_)


def floor_divide(left: Num, right: Num, type_: Scalar) -> Num:
    """Range of ``//``: monotone in the numerator for a divisor of one sign."""
    if right.low is not None and right.low == 0:
        # a zero divisor raises, or gives 0 or inf (then NaN is noted elsewhere)
        if None in (left.low, left.high) or type_.kind is not Kind.INT:
            return Num(type_, 0, None) if _sign(left) >= 0 else Num(type_)
        low = min(left.low, 0)  # type: ignore[type-var]
        return Num(type_, low, max(left.high, 0))  # type: ignore[type-var]
    if type_.kind is Kind.INT and not right.nonzero and None not in (left.low, left.high):
        # a divisor of at least 1 in size makes nothing larger
        size = max(abs(left.low), abs(left.high), 1)  # type: ignore[arg-type]
        return Num(type_, -size, size)
    if not right.nonzero or None in (left.low, left.high, right.low, right.high):
        return Num(type_)
    corners = [a // b for a in (left.low, left.high) for b in (right.low, right.high)]  # type: ignore[operator]
    return Num(type_, min(corners), max(corners))


def divide(left: Num, right: Num, type_: Scalar) -> Num:
    """Range of a true quotient."""
    if not right.nonzero or None in (left.low, left.high, right.low, right.high):
        if _sign(left) >= 0 and right.low is not None and right.low > 0:
            return Num(type_, 0.0, None)
        return Num(type_)
    corners = [a / b for a in (left.low, left.high) for b in (right.low, right.high)]  # type: ignore[operator]
    return Num(type_, min(corners), max(corners))


def _sign(value: Num) -> int:
    return 0 if value.low is not None and value.low >= 0 else -1


def modulo(left: Num, right: Num, type_: Scalar) -> Num:
    """Range of ``%``: the sign of the divisor, and smaller than it."""
    if right.low is None or right.high is None:
        return Num(type_, 0, None) if right.low is not None and right.low >= 0 else Num(type_)
    whole = type_.kind is Kind.INT
    if right.low < 0 < right.high:
        return Num(type_, right.low, right.high)
    if right.low >= 0:
        top = max(0, right.high - 1) if whole else right.high
        if whole and left.low is not None and left.low >= 0 and left.high is not None:
            top = min(top, left.high)
        return Num(type_, 0, top)
    return Num(type_, right.low + 1 if whole else right.low, 0)


def absolute(value: Num, type_: Scalar) -> Num:
    """Range of ``abs``; of the magnitude for complex numbers."""
    if value.type.kind is Kind.COMPLEX:
        return Num(type_, 0.0, value.high)
    if value.low is not None and value.low >= 0:
        return Num(type_, value.low, value.high)
    if value.low is None or value.high is None:
        return Num(type_, 0, None)
    return Num(type_, 0, max(abs(value.low), abs(value.high)))


def monotone(value: Num, type_: Scalar, function: Callable[[int | float], int | float]) -> Num:
    """Range of a non-decreasing function."""

    def at(bound: Bound) -> Bound:
        try:
            return None if bound is None else function(bound)
        except (OverflowError, ValueError):
            return None

    return Num(type_, at(value.low), at(value.high))


def intersect(value: Num, low: Bound, high: Bound) -> Num:
    """The part of the range between two numbers."""
    new_low = low if value.low is None else value.low if low is None else max(low, value.low)
    new_high = high if value.high is None else value.high if high is None else min(high, value.high)
    return replace(value, low=new_low, high=new_high)


# ------------------------------------------------------------------ literals
_PYTHON = {bool: PY_BOOL, int: PY_INT, float: PY_FLOAT, complex: PY_COMPLEX}


def number(value: bool | int | float | complex) -> Num:
    """A literal."""
    type_ = _PYTHON[type(value)]
    if isinstance(value, complex):
        return Num(type_, 0.0, abs(value))
    if isinstance(value, float) and not math.isfinite(value):
        return Num(type_, nan=math.isnan(value))
    form = constant(value) if type(value) is int else None
    return Num(type_, int(value) if isinstance(value, bool) else value, value, form=form)
