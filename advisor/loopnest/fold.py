"""Substitution and constant folding on expressions, with Python's own arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from .ir import (
    PY_BOOL,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Expr,
    Kind,
    Len,
    Load,
    Scalar,
    Select,
    Sum,
    Unary,
    UserCall,
    Var,
    children,
    walk,
)

Number = bool | int | float | complex

BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
UNARY: Mapping[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_PURE: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "int": int,
    "float": float,
    "bool": bool,
    "math.sqrt": math.sqrt,
}
_LIMIT = 2**63


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace scalar variables by expressions, all at once, then fold."""

    def visit(node: Expr) -> Expr:
        if isinstance(node, Var) and node.name in values:
            return values[node.name]
        if isinstance(node, Sum) and node.indices & values.keys():
            inner = {name: e for name, e in values.items() if name not in node.indices}
            return substitute(node, inner)
        return fold_one(map_children(node, visit))

    return visit(expr)


def fold(expr: Expr) -> Expr:
    """The expression with constant parts evaluated and dead branches of tests removed."""
    return fold_one(map_children(expr, fold))


def map_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """A copy with ``change`` applied to each direct sub-expression."""
    match expr:
        case Load(index=index):
            return replace(expr, index=tuple(change(e) for e in index))
        case Unary(operand=operand):
            return replace(expr, operand=change(operand))
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return replace(expr, left=change(left), right=change(right))
        case Bool(operands=operands):
            return replace(expr, operands=tuple(change(e) for e in operands))
        case Select(test=test, then=then, orelse=orelse):
            return replace(expr, test=change(test), then=change(then), orelse=change(orelse))
        case Call(args=args):
            return replace(expr, args=tuple(change(e) for e in args))
        case Sum(loops=loops, body=body):
            ends = ((loop, change(loop.start), change(loop.stop)) for loop in loops)
            around = tuple(replace(loop, start=low, stop=high) for loop, low, high in ends)
            return replace(expr, loops=around, body=change(body))
        case UserCall(args=args):
            return replace(expr, args=tuple(change(e) if isinstance(e, Expr) else e for e in args))
        case _:
            return expr


def fold_one(expr: Expr) -> Expr:
    """Fold the outermost operation, if its operands are constants."""
    match expr:
        case Unary(op=op, operand=Const(value=value, type=kind)) if kind.is_python:
            return _evaluated(expr, lambda: UNARY[op](value))
        case Binary(op=op, left=Const() as one, right=Const() as two) if _python(one, two):
            return _evaluated(expr, lambda: BINARY[op](one.value, two.value))
        case Binary(op="+", left=left, right=Const(value=0)) if _neutral(expr, left):
            return left
        case Binary(op="+", left=Const(value=0), right=right) if _neutral(expr, right):
            return right
        case Binary(op="-", left=left, right=Const(value=0)) if _neutral(expr, left):
            return left
        case Binary(op="*", left=left, right=Const(value=1)) if _neutral(expr, left):
            return left
        case Binary(op="*", left=Const(value=1), right=right) if _neutral(expr, right):
            return right
        case Compare(op=op, left=Const() as one, right=Const() as two) if _python(one, two):
            return _evaluated(expr, lambda: COMPARE[op](one.value, two.value))
        case Bool():
            return _fold_bool(expr)
        case Select(test=Const(value=value), then=then, orelse=orelse):
            return then if value else orelse
        case Call(function=name, args=args) if name in _PURE and args:
            values = [a.value for a in args if isinstance(a, Const) and a.type.is_python]
            if len(values) == len(args):
                return _evaluated(expr, lambda: _PURE[name](*values))
    return expr


def _python(left: Const, right: Const) -> bool:
    return left.type.is_python and right.type.is_python


def _neutral(expr: Expr, operand: Expr) -> bool:
    # x + 0 keeps x for integers only: -0.0 + 0 is 0.0, and True + 0 is 1.
    return expr.type.kind is Kind.INT and expr.type == operand.type


def _evaluated(expr: Expr, compute: Callable[[], Any]) -> Expr:
    try:
        value = compute()
    except (ArithmeticError, ValueError, TypeError):
        return expr  # the original raises there too: leave it to the run
    if isinstance(value, int) and not -_LIMIT < value < _LIMIT:
        return expr
    if Scalar(_kind(value)) != expr.type:
        return expr
    return Const(expr.type, expr.line, value)


def _kind(value: Number) -> Kind:
    return Kind(type(value).__name__)


def _fold_bool(expr: Bool) -> Expr:
    stop = expr.op == "or"
    kept: list[Expr] = []
    for operand in expr.operands:
        if isinstance(operand, Const):
            if bool(operand.value) is stop:
                # What comes later is never evaluated; what came before must stay: it may raise.
                kept.append(Const(PY_BOOL, operand.line, stop))
                break
            continue
        kept.append(operand)
    if not kept:
        return Const(PY_BOOL, expr.line, not stop)
    if len(kept) == 1 and (kept[0].type.kind is Kind.BOOL):
        return kept[0]
    if len(kept) == 1 and isinstance(kept[0], Const):
        return kept[0]
    return replace(expr, operands=tuple(kept))


def reads(expr: Expr) -> frozenset[str]:
    """The scalars an expression reads; indices of sums are none."""
    found: set[str] = set()
    pending = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, Var):
            found.add(part.name)
        elif isinstance(part, Sum):
            found |= frozenset[str]().union(*map(reads, children(part))) - part.indices
        else:
            pending.extend(children(part))
    return frozenset(found)


def loads(expr: Expr) -> tuple[Load, ...]:
    """The element reads of an expression, outermost first."""
    return tuple(e for e in walk(expr) if isinstance(e, Load))


def measures(expr: Expr) -> bool:
    """Whether the expression asks for the length of a list that may grow."""
    return any(isinstance(e, Len) for e in walk(expr))


def reads_any(expr: Expr, names: Iterable[str]) -> bool:
    """Whether the expression reads one of the scalars."""
    return not reads(expr).isdisjoint(names)
