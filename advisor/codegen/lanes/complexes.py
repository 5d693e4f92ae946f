"""Complex numbers as pairs of reals, operation by operation as CPython does them.

NumPy's products of complex arrays may be fused, and its ``abs`` may not be the C library's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...loopnest.ir import Binary, Call, Compare, Const, Kind
from ..numpy_backend.normal import NotVectorisable
from ..numpy_backend.values import ATOM
from .values import (
    LEVELS,
    ONE,
    ZERO,
    Num,
    Pair,
    Val,
    as_float,
    binary,
    both,
    called,
    compared,
    either,
    number,
)

if TYPE_CHECKING:
    from .expressions import Expressions, Writing

_NEAR = 1e-12
"""Squares of distances that differ by less, relatively, are told apart by the distance itself."""


def parts(value: Num) -> Pair:
    """A complex number under a name."""
    return Pair(
        number(f"{value.at(ATOM)}.real", Kind.FLOAT), number(f"{value.at(ATOM)}.imag", Kind.FLOAT)
    )


def complete(value: Val) -> Pair:
    """A real number as a complex one."""
    if isinstance(value, Pair):
        return value
    if value.kind is not Kind.FLOAT:
        if value.vector:
            raise NotVectorisable("integers among complex numbers")
        value = as_float(value, "")
    return Pair(value, ZERO)


def negative(value: Pair) -> Pair:
    """``-value``."""
    level = LEVELS["*"] + 1
    return Pair(
        Num(f"-{value.real.at(level)}", level, Kind.FLOAT, value.real.vector),
        Num(f"-{value.imag.at(level)}", level, Kind.FLOAT, value.imag.vector),
    )


def arithmetic(writing: Writing, expr: Binary, left: Val, right: Val) -> Pair:
    """``left op right``. Raises NotVectorisable."""
    a = complete(left)
    if expr.op == "**":
        return _power(writing, expr, a)
    if expr.op == "/" and not expr.type.is_python:
        raise NotVectorisable(f"a quotient of the type {expr.type}", expr.line)
    b = complete(right)
    match expr.op:
        case "+" | "-":
            return Pair(binary(expr.op, a.real, b.real), binary(expr.op, a.imag, b.imag))
        case "*":
            return _product(writing, _held(writing, a), _held(writing, b))
        case "/":
            writing.raising |= {"divide", "invalid"}
            return _quotient(writing, _held(writing, a), _held(writing, b))
    raise NotVectorisable(f"the operator {expr.op} of complex numbers", expr.line)


def _hold(writing: Writing, value: Num, wanted: str) -> Num:
    """A value that is used more than once, under a name."""
    if value.text.replace(".", "_").isidentifier() or not value.vector:
        return value
    name = writing.fresh(wanted)
    writing.line(f"{name} = {value.text}")
    return number(name, value.kind, True)


def _held(writing: Writing, value: Pair) -> Pair:
    return Pair(_hold(writing, value.real, "real"), _hold(writing, value.imag, "imag"))


def _product(writing: Writing, a: Pair, b: Pair) -> Pair:
    real = binary("-", binary("*", a.real, b.real), binary("*", a.imag, b.imag))
    if a == b:
        twice = _hold(writing, binary("*", a.real, a.imag), "product")
        return Pair(real, binary("+", twice, twice))
    return Pair(real, binary("+", binary("*", a.real, b.imag), binary("*", a.imag, b.real)))


def _quotient(writing: Writing, a: Pair, b: Pair) -> Pair:
    """By the larger part of the divisor, as CPython's own."""
    np = writing.np

    def pick(test: Num, x: Num, y: Num) -> Num:
        return called(f"{np}.where", test, x, y, kind=Kind.FLOAT)

    sizes = [called(f"{np}.abs", part, kind=Kind.FLOAT) for part in (b.real, b.imag)]
    upright = _hold(writing, compared(">=", *sizes), "upright")
    if not upright.vector:
        raise NotVectorisable("a complex divisor that is the same for all")
    large = _hold(writing, pick(upright, b.real, b.imag), "large")
    small = _hold(writing, pick(upright, b.imag, b.real), "small")
    ratio = _hold(writing, binary("/", small, large), "ratio")
    below = _hold(writing, binary("+", large, binary("*", small, ratio)), "below")
    p, q = pick(upright, a.real, a.imag), pick(upright, a.imag, a.real)
    p, q = _hold(writing, p, "along"), _hold(writing, q, "across")
    up = binary("+", p, binary("*", q, ratio))
    side = pick(
        upright,
        binary("-", q, binary("*", p, ratio)),
        binary("-", binary("*", p, ratio), q),
    )
    return Pair(binary("/", up, below), binary("/", side, below))


def _power(writing: Writing, expr: Binary, base: Pair) -> Pair:
    """Squares and products, in CPython's order."""
    exponent = expr.right.value if isinstance(expr.right, Const) else None
    if not isinstance(exponent, int) or not 1 <= exponent <= 8:
        raise NotVectorisable("a power of complex numbers", expr.line)
    if not expr.type.is_python:
        if exponent != 2:
            raise NotVectorisable(f"a power of the type {expr.type}", expr.line)
        base = _held(writing, base)
        return _product(writing, base, base)
    writing.raising |= {"over"}
    result, factor, mask = Pair(ONE, ZERO), _held(writing, base), 1
    while exponent >= mask:
        if exponent & mask:
            result = _held(writing, _product(writing, result, factor))
        mask <<= 1
        if exponent >= mask:
            factor = _held(writing, _product(writing, factor, factor))
    return result


def equal(expr: Compare, left: Val, right: Val) -> Num:
    """``==`` and ``!=``. Raises NotVectorisable."""
    a, b = complete(left), complete(right)
    tests = compared(expr.op, a.real, b.real), compared(expr.op, a.imag, b.imag)
    if expr.op not in ("==", "!="):
        raise NotVectorisable("complex numbers have no order", expr.line)
    return both(*tests) if expr.op == "==" else either(*tests)


def call(asking: Expressions, expr: Call) -> Val | None:
    """``complex(x, y)``, ``abs(z)``, ``z.conjugate()``; None of anything else."""
    match expr:
        case Call(function="complex", args=(real, imag)):
            x, y = (as_float(asking.number(e), asking.np) for e in (real, imag))
            return Pair(x, y)
        case Call(function="abs", args=(one,)) if one.type.kind is Kind.COMPLEX:
            value = asking.of(one)
            assert isinstance(value, Pair)
            if not value.vector:
                raise NotVectorisable("the size of a complex number that all share", expr.line)
            asking.w.raising |= {"over"}
            return called(f"{asking.np}.hypot", value.real, value.imag, kind=Kind.FLOAT)
        case Call(function="real" | "imag" as part, args=(one,)):
            value = asking.of(one)
            if isinstance(value, Pair):
                return value.real if part == "real" else value.imag
            raise NotVectorisable(f"the {part} part of a real number", expr.line)
        case Call(function="conjugate", args=(one,)):
            value = asking.of(one)
            return Pair(value.real, negative(value).imag) if isinstance(value, Pair) else value
    return None


def beyond(asking: Expressions, expr: Compare) -> Num | None:
    """``abs(z) > 2.0`` by the square of the distance, which takes a tenth of the time.

    What lies so near that rounding may tell is decided by the distance itself.
    """
    match expr:
        case Compare(op="<" | "<=" | ">" | ">=", left=Call(function="abs", args=(one,)),
                     right=Const(value=limit)) if one.type.kind is Kind.COMPLEX:  # fmt: skip
            pass
        case _:
            return None
    if isinstance(limit, complex) or not 1e-100 < limit < 1e100 or asking.mask is not None:
        return None
    value = asking.of(one)
    assert isinstance(value, Pair)
    if not value.vector:
        return None
    w, np = asking.w, asking.np
    w.raising |= {"over"}
    x, y = _held(w, value).real, _held(w, value).imag
    square, test, near = w.fresh("square"), w.fresh("beyond"), w.fresh("near")
    bound = float(limit) ** 2
    w.line(f"{square} = {x.text} * {x.text} + {y.text} * {y.text}")
    w.line(f"{test} = {square} {expr.op} {bound!r}")
    w.line(f"{near} = ~({np}.abs({square} - {bound!r}) >= {bound * _NEAR!r})")
    w.line(f"if {near}.any():  # as exactly as abs()")
    exact = f"{np}.hypot({x.text}, {y.text})"
    w.line(f"    {test} = {np}.where({near}, {exact} {expr.op} {limit!r}, {test})")
    return number(test, Kind.BOOL, True)
