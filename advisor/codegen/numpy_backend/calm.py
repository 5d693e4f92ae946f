"""Statements on single elements that run in another order than the program's: none may raise.

``q[k] /= d[k]`` that raises at ``k == 3`` leaves ``q[4]`` as it was; had a loop over all ``k``
moved before another one, the arrays left behind would differ. Array statements are tested in
front by `elements` and `domains`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...loopnest.affine import affine, extent_symbol, variable
from ...loopnest.ir import (
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Expr,
    Kind,
    Load,
    Select,
    Stmt,
    Store,
    Sum,
    Unary,
    Var,
    children,
    expressions,
)
from .normal import NotVectorisable
from .session import Session

_FLOATS = "+-*/"
_CALLS = frozenset(("abs", "min", "max", "float"))


def check_calm(session: Session, statement: Stmt) -> None:
    """Subscripts inside the arrays, by proof or guard, and arithmetic that never raises.

    Raises NotVectorisable.
    """
    if isinstance(statement, Store):
        _inside(session, statement.array, statement.index, statement.line)
        element = session.nest.arrays[statement.array].element
        if element.kind is not Kind.FLOAT or statement.value.type.kind is not Kind.FLOAT:
            raise NotVectorisable(
                "the loops cannot change places: a value may not fit", statement.line
            )
    for expr in expressions(statement):
        for part in _outside_sums(expr):
            if isinstance(part, Load):
                _inside(session, part.array, part.index, part.line)
            elif not _calm(part, session.facts.ranges.keys()):
                raise NotVectorisable(
                    "the loops cannot change places: a statement may raise", statement.line
                )


def _outside_sums(expr: Expr) -> Iterator[Expr]:
    """All parts but those of sums: they are array expressions, tested in front like these."""
    yield expr
    if not isinstance(expr, Sum):
        for child in children(expr):
            yield from _outside_sums(child)


def _inside(session: Session, array: str, index: tuple[Expr, ...], line: int) -> None:
    for dim, one in enumerate(index):
        form = affine(one)
        size = variable(extent_symbol(array, dim))
        facts = session.facts
        if form is None or not (facts.require(form) and facts.require(size - form - 1)):
            raise NotVectorisable(f"a subscript of {array} may leave it", line)


def _is_float_or_small(operand: Expr, indices: Collection[str]) -> bool:
    """No integer that is too large for a float: ``0.5 * 10**400`` raises."""
    if operand.type.kind is not Kind.INT or isinstance(operand, Const):
        return True
    return isinstance(operand, Var) and operand.name in indices


def _calm(part: Expr, indices: Collection[str]) -> bool:
    match part:
        case Const() | Var() | Compare() | Bool() | Select() | Sum():
            return True
        case Unary(op="-" | "+"):
            return part.type.kind in (Kind.FLOAT, Kind.INT)
        case Binary(op=op, left=left, right=right):
            if affine(part) is not None:
                return True  # a subscript
            if part.type.kind is left.type.kind is right.type.kind is Kind.INT:
                return op in "+-*"
            if op not in _FLOATS or part.type.kind is not Kind.FLOAT:
                return False
            if op == "/":  # Python's own floats raise ZeroDivisionError, NumPy's do not
                return not (left.type.is_python and right.type.is_python)
            return all(_is_float_or_small(o, indices) for o in (left, right))
        case Call(function="int", args=(one,)):
            return one.type.kind is Kind.INT
        case Call(function=function):
            return function in _CALLS and part.type.kind is Kind.FLOAT
    return False
