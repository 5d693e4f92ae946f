"""Affine forms of integer expressions: ``2*i + j - 1``, ``len(grid, 0) - 1``.

Symbols are loop indices and scalars by name, and extents written ``"len(grid,0)"``. Only integers
take part. Products of two symbols, floor division and modulo are not affine; a modulo whose
operands are affine is a ``Wrapped`` access.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .ir import PY_INT, Binary, Const, Dim, Expr, Kind, Unary, Var

_EXTENT = re.compile(r"len\((?P<array>.+),(?P<axis>\d+)\)")


@dataclass(frozen=True)
class Affine:
    """The sum of ``coefficient * symbol`` over ``terms``, plus ``const``.

    Zero coefficients are never stored and terms are sorted by symbol, so that equal forms compare
    equal and hash alike.
    """

    pairs: tuple[tuple[str, int], ...]
    const: int = 0

    @property
    def terms(self) -> dict[str, int]:
        """Coefficient by symbol, without zeros."""
        return dict(self.pairs)

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols it depends on."""
        return frozenset(symbol for symbol, _ in self.pairs)

    @property
    def is_const(self) -> bool:
        """No symbols left."""
        return not self.pairs

    def coefficient(self, symbol: str) -> int:
        """The factor of ``symbol``, 0 if it does not occur."""
        return next((factor for name, factor in self.pairs if name == symbol), 0)

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.pairs, self.const + other)
        terms = self.terms
        for symbol, factor in other.pairs:
            terms[symbol] = terms.get(symbol, 0) + factor
        return make_affine(terms, self.const + other.const)

    def __neg__(self) -> Affine:
        return self.scale(-1)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other)

    def scale(self, factor: int) -> Affine:
        """Every coefficient and the constant times ``factor``."""
        return make_affine({s: f * factor for s, f in self.pairs}, self.const * factor)

    def without(self, symbols: Iterable[str]) -> Affine:
        """The part that does not depend on ``symbols``."""
        gone = frozenset(symbols)
        return Affine(tuple(p for p in self.pairs if p[0] not in gone), self.const)

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        """Each symbol in ``values`` replaced by its affine form, all at once."""
        result = constant(self.const)
        for symbol, factor in self.pairs:
            result = result + values.get(symbol, variable(symbol)).scale(factor)
        return result

    def __str__(self) -> str:
        text = ""
        for symbol, factor in self.pairs:
            sign = "-" if factor < 0 else "+"
            size = "" if abs(factor) == 1 else f"{abs(factor)}*"
            text += f" {sign} {size}{symbol}"
        if self.const or not text:
            text += f" {'-' if self.const < 0 else '+'} {abs(self.const)}"
        text = text.strip()
        return text[2:] if text.startswith("+") else text.replace("- ", "-", 1)


@dataclass(frozen=True)
class Wrapped:
    """``base % modulus``: in ``[0, modulus)`` for a positive modulus, as Python wraps."""

    base: Affine
    modulus: Affine


def make_affine(terms: Mapping[str, int], const: int = 0) -> Affine:
    """An affine form from coefficients by symbol; zeros are dropped."""
    return Affine(tuple(sorted((s, f) for s, f in terms.items() if f)), const)


def constant(value: int) -> Affine:
    """The affine form of a number."""
    return Affine((), value)


def variable(symbol: str) -> Affine:
    """The affine form of one symbol."""
    return Affine(((symbol, 1),), 0)


def extent_symbol(array: str, axis: int) -> str:
    """The symbol of an array's extent: ``"len(grid,0)"``."""
    return f"len({array},{axis})"


def extent_of(symbol: str) -> tuple[str, int] | None:
    """``(array, axis)`` of an extent symbol, None for any other symbol."""
    found = _EXTENT.fullmatch(symbol)
    return (found["array"], int(found["axis"])) if found else None


def affine(expr: Expr, definitions: Mapping[str, Affine] | None = None) -> Affine | None:
    """The affine form of an integer expression, None if it has none.

    ``definitions`` gives the form of private scalars (``{"ni": i + 1}``). NumPy integers narrower
    than 64 bits wrap early in arithmetic (``uint8(255) + 1``), so only the symbol itself, not an
    operation on it, is affine.
    """
    if expr.type.kind is not Kind.INT:
        return None
    match expr:
        case Const(value=int() as value):
            return constant(value)
        case Var(name=name):
            return (definitions or {}).get(name, variable(name))
        case Dim(array=array, axis=axis):
            return variable(extent_symbol(array, axis))
    if expr.type.dtype not in (None, "int64"):
        return None
    match expr:
        case Unary(op="-", operand=operand):
            inner = affine(operand, definitions)
            return None if inner is None else -inner
        case Unary(op="+", operand=operand):
            return affine(operand, definitions)
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            return _combine(op, affine(left, definitions), affine(right, definitions))
        case _:
            return None


def _combine(op: str, left: Affine | None, right: Affine | None) -> Affine | None:
    if left is None or right is None:
        return None
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if right.is_const:
        return left.scale(right.const)
    return right.scale(left.const) if left.is_const else None


def wrapped(expr: Expr, definitions: Mapping[str, Affine] | None = None) -> Wrapped | None:
    """``(i + di) % n`` as a wrapped access, None for anything else."""
    match expr:
        case Binary(op="%", left=left, right=right) if expr.type.kind is Kind.INT:
            base, modulus = affine(left, definitions), affine(right, definitions)
            if base is not None and modulus is not None:
                return Wrapped(base, modulus)
    return None


def to_expr(form: Affine, line: int) -> Expr:
    """An expression of type PY_INT with the value of the form, simplest spelling first."""
    result: Expr | None = None
    ordered = sorted(form.pairs, key=lambda pair: pair[1] < 0)  # positive terms first: n - i
    for symbol, factor in ordered:
        extent = extent_of(symbol)
        term: Expr = Dim(PY_INT, line, *extent) if extent else Var(PY_INT, line, symbol)
        if abs(factor) != 1:
            term = Binary(PY_INT, line, "*", Const(PY_INT, line, abs(factor)), term)
        if result is None:
            result = term if factor > 0 else Unary(PY_INT, line, "-", term)
        else:
            result = Binary(PY_INT, line, "+" if factor > 0 else "-", result, term)
    if result is None:
        return Const(PY_INT, line, form.const)
    if form.const:
        op = "+" if form.const > 0 else "-"
        result = Binary(PY_INT, line, op, result, Const(PY_INT, line, abs(form.const)))
    return result
