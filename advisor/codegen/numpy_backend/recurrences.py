"""What a nest gives each element of a matrix, as an equation: for matching whole algorithms.

``w = A[i, j]``, ``w -= sum``, ``A[i, j] = w / A[j, j]`` and ``A[i, j] -= sum``,
``A[i, j] /= A[j, j]`` both give ``A[i, j] = (A[i, j] - sum) / A[j, j]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...loopnest.fold import map_children, substitute
from ...loopnest.ir import (
    Assign,
    Binary,
    Compare,
    Expr,
    For,
    If,
    Load,
    Stmt,
    Store,
    Sum,
    Unary,
    Var,
    walk,
)


@dataclass(frozen=True)
class Cell:
    """``array[index] = value`` for all iterations of ``loops``."""

    loops: tuple[For, ...]
    array: str
    index: tuple[Expr, ...]
    value: Expr
    on_diagonal: bool | None = None
    """Only where two indices are equal, or only where they are not; None: everywhere."""


class NoEquation(Exception):
    """A statement that is no such equation."""


def cells(root: For) -> tuple[Cell, ...]:
    """The equations in text order. Raises NoEquation."""
    return tuple(_cells(root.body, (root,), {}, None))


def _cells(
    body: tuple[Stmt, ...], loops: tuple[For, ...], known: dict[str, Expr], diagonal: bool | None
) -> Iterator[Cell]:
    found: dict[tuple[str, tuple[Expr, ...]], Expr] = {}
    known = dict(known)
    for statement in body:
        match statement:
            case Assign(name=name, value=value):
                known[name] = substitute(value, known)
            case Store(array=array, index=index, value=value):
                found[array, index] = _with_cells(substitute(value, known), found)
                known = {n: e for n, e in known.items() if not _reads(e, array, index)}
            case For() | If():
                yield from _finished(found, loops, diagonal)
                yield from _nested(statement, loops, known, diagonal)
                found, known = {}, {}  # what follows sees what the inner loop has written
            case _:
                raise NoEquation
    yield from _finished(found, loops, diagonal)


def _finished(
    found: dict[tuple[str, tuple[Expr, ...]], Expr], loops: tuple[For, ...], diagonal: bool | None
) -> Iterator[Cell]:
    for (array, index), value in found.items():
        yield Cell(loops, array, index, value, diagonal)


def _nested(
    statement: For | If, loops: tuple[For, ...], known: dict[str, Expr], diagonal: bool | None
) -> Iterator[Cell]:
    match statement:
        case For():
            sums = [n for n, e in known.items() if any(isinstance(p, Sum) for p in walk(e))]
            steady = {name: e for name, e in known.items() if name not in sums}
            yield from _cells(statement.body, (*loops, statement), steady, diagonal)
        case If(test=Compare(op="==" | "!=" as op, left=Var(), right=Var()), orelse=orelse):
            then = statement.then
            same, other = (then, orelse) if op == "==" else (orelse, then)
            yield from _cells(same, loops, known, diagonal=True)
            yield from _cells(other, loops, known, diagonal=False)
        case _:
            raise NoEquation


def _reads(expr: Expr, array: str, index: tuple[Expr, ...]) -> bool:
    """The value rests on what the element held before."""
    return any(isinstance(p, Load) and (p.array, p.index) == (array, index) for p in walk(expr))


def _with_cells(expr: Expr, found: dict[tuple[str, tuple[Expr, ...]], Expr]) -> Expr:
    """The value with what was stored just before in the place of the element."""
    if isinstance(expr, Load) and (expr.array, expr.index) in found:
        return found[expr.array, expr.index]
    if isinstance(expr, Sum):
        return expr
    return map_children(expr, lambda child: _with_cells(child, found))


def difference(expr: Expr) -> tuple[Expr, Sum] | None:
    """``first - sum``, also as ``first + -sum``."""
    match expr:
        case Binary(op="-", left=first, right=Sum() as total):
            return first, total
        case Binary(op="+", left=first, right=Unary(op="-", operand=Sum() as total)):
            return first, total
    return None


def quotient(expr: Expr) -> tuple[Expr, Expr] | None:
    """``a / b``, also as ``1 / b * a`` and ``a * (1 / b)``."""
    match expr:
        case Binary(op="/", left=left, right=right):
            return left, right
        case Binary(op="*", left=one, right=two):
            for inverse, other in ((one, two), (two, one)):
                match inverse:
                    case Binary(op="/", left=first, right=divisor) if (
                        getattr(first, "value", None) == 1
                    ):
                        return other, divisor
    return None
