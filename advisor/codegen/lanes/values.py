"""Numbers of the lanes as source text: arrays with one element a lane, or one number for all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...loopnest.ir import Kind
from ..numpy_backend.values import (
    AND,
    ATOM,
    BITAND,
    BITOR,
    BITXOR,
    COMPARISON,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SHIFT,
    SUM,
)
from ..numpy_backend.values import UNARY as UNARY

LEVELS = {
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "**": POWER,
    "<<": SHIFT, ">>": SHIFT, "&": BITAND, "^": BITXOR, "|": BITOR,
}  # fmt: skip


@dataclass(frozen=True)
class Num:
    """Source text of a real number, an integer or a truth value."""

    text: str
    level: int
    """Binding strength of the outermost operator."""
    kind: Kind
    vector: bool
    """One element a lane."""

    def at(self, level: int) -> str:
        """The text, in parentheses where the surroundings bind at least as strongly."""
        return self.text if self.level >= level else f"({self.text})"


@dataclass(frozen=True)
class Pair:
    """A complex number: NumPy may fuse the products of its own."""

    real: Num
    imag: Num

    @property
    def vector(self) -> bool:
        """Whether it may differ between the lanes."""
        return self.real.vector or self.imag.vector


Val = Num | Pair


def number(text: str, kind: Kind, vector: bool = False) -> Num:
    """A name, a literal or a call."""
    return Num(text, UNARY if text.startswith("-") else ATOM, kind, vector)


ZERO, ONE = number("0.0", Kind.FLOAT), number("1.0", Kind.FLOAT)


def widest(a: Num, b: Num) -> Kind:
    """The kind of a sum."""
    return Kind.FLOAT if Kind.FLOAT in (a.kind, b.kind) else Kind.INT


def binary(op: str, a: Num, b: Num, kind: Kind | None = None) -> Num:
    """``a op b``."""
    level = LEVELS[op]
    left, right = a.at(level), b.at(level + 1)
    if op == "**":
        left, right = a.at(level + 1), b.at(UNARY)
    return Num(f"{left} {op} {right}", level, kind or widest(a, b), a.vector or b.vector)


def compared(op: str, a: Num, b: Num) -> Num:
    """``a op b`` as a truth value."""
    text = f"{a.at(COMPARISON + 1)} {op} {b.at(COMPARISON + 1)}"
    return Num(text, COMPARISON, Kind.BOOL, a.vector or b.vector)


def called(function: str, *args: Num, kind: Kind) -> Num:
    """``function(args)``."""
    text = f"{function}({', '.join(a.text for a in args)})"
    return Num(text, ATOM, kind, any(a.vector for a in args))


def as_int(value: Num, np: str) -> Num:
    """A truth value as the integer it is in arithmetic."""
    if value.kind is not Kind.BOOL:
        return value
    if not value.vector:
        return replace(value, text=f"int({value.text})", level=ATOM, kind=Kind.INT)
    return replace(value, text=f"{value.at(ATOM)}.astype({np}.int64)", level=ATOM, kind=Kind.INT)


def as_float(value: Num, np: str) -> Num:
    """``float(value)``."""
    if value.kind is Kind.FLOAT:
        return value
    if value.vector:
        text = f"{value.at(ATOM)}.astype({np}.float64)"
    else:
        text = f"{value.text}.0" if value.text.isdigit() else f"float({value.text})"
    return Num(text, ATOM, Kind.FLOAT, value.vector)


def both(a: Num, b: Num) -> Num:
    """``a`` and ``b``; neither is evaluated more than once."""
    if not (a.vector or b.vector):
        return Num(f"{a.at(AND)} and {b.at(AND + 1)}", AND, Kind.BOOL, False)
    return Num(f"{a.at(BITAND)} & {b.at(BITAND + 1)}", BITAND, Kind.BOOL, True)


def either(a: Num, b: Num) -> Num:
    """``a`` or ``b``."""
    if not (a.vector or b.vector):
        return Num(f"{a.at(OR)} or {b.at(OR + 1)}", OR, Kind.BOOL, False)
    return Num(f"{a.at(BITOR)} | {b.at(BITOR + 1)}", BITOR, Kind.BOOL, True)


def opposite(a: Num) -> Num:
    """``not a``."""
    if not a.vector:
        return Num(f"not {a.at(NOT)}", NOT, Kind.BOOL, False)
    return Num(f"~{a.at(UNARY)}", UNARY, Kind.BOOL, True)
