"""What a condition says about ranges on the branch where it holds."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..loopnest.ir import Kind
from ..loopnest.scope import dotted
from .nb_values import Bound, Num

if TYPE_CHECKING:
    from .nb_eval import Evaluator

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}


def refine(ev: Evaluator, test: ast.expr, truth: bool) -> bool:
    """Narrow the environment by ``test`` being true or false; False if that cannot be."""
    match test:
        case ast.Constant(value=value):
            return bool(value) is truth
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return refine(ev, operand, not truth)
        case ast.BoolOp(op=op, values=values):
            if isinstance(op, ast.And) is truth:
                return False not in [refine(ev, v, truth) for v in values]
            return True
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            nodes = [left, *comparators]
            if any(isinstance(n, ast.Tuple) for n in nodes):
                return True
            if not truth and len(ops) > 1:
                return True
            for k, op_ in enumerate(ops):
                kind = type(op_) if truth else _NEGATED.get(type(op_))
                if kind in _FLIPPED:
                    _narrow(ev, nodes[k], kind, nodes[k + 1], truth)
                    _narrow(ev, nodes[k + 1], _FLIPPED[kind], nodes[k], truth)
    return True


def _narrow(
    ev: Evaluator, node: ast.expr, op: type[ast.cmpop], bound: ast.expr, truth: bool
) -> None:
    """``node op bound`` holds: narrow the variable in ``node``."""
    ev.state.quiet += 1
    try:
        value, limit = ev.number(node), ev.number(bound)
    finally:
        ev.state.quiet -= 1
    if Kind.COMPLEX in (value.type.kind, limit.type.kind):
        return
    # not (x > 1) also holds for NaN, which is outside every range; but x itself is not bounded
    # where the other side is NaN
    if not truth and limit.nan:
        return
    low, high = _limits(op, limit, value)
    variable = _variable(node)
    if variable is None:
        return
    path, function = variable
    old = ev.scope.env.get(path)
    if not isinstance(old, Num):
        return
    if function == "square":
        low, high = None, _root(high)
        low = None if high is None else -high
    elif function == "abs" and old.type.kind is Kind.COMPLEX:
        low = 0.0
    elif function == "abs":
        low = None if high is None else -high
    new = replace(old, low=_max(old.low, low), high=_min(old.high, high))
    if new.low is not None and new.high is not None and new.low > new.high:
        new = old  # contradictory: the branch is dead, keep what we had
    if truth and old.type.kind is Kind.FLOAT and op is not ast.NotEq:
        new = replace(new, nan=False)  # NaN fails every comparison
    if function is None and old.type.kind is Kind.INT and limit.form is not None:
        new = _with_symbols(new, op, limit)
    ev.scope.env[path] = new


def _with_symbols(value: Num, op: type[ast.cmpop], limit: Num) -> Num:
    assert limit.form is not None
    if op in (ast.Lt, ast.LtE, ast.Eq):
        form = limit.form - 1 if op is ast.Lt else limit.form
        value = replace(value, highs=(form, *value.highs)[:3])
    if op in (ast.Gt, ast.GtE, ast.Eq):
        form = limit.form + 1 if op is ast.Gt else limit.form
        value = replace(value, lows=(form, *value.lows)[:3])
    return value


def _variable(node: ast.expr) -> tuple[str, str | None] | None:
    """``x``, ``abs(x)``, ``x * x``, ``x ** 2``: the variable and what is done to it."""
    match node:
        case ast.Name() | ast.Attribute():
            path = dotted(node)
            return None if path is None else (path, None)
        case ast.Call(func=ast.Name(id="abs"), args=[ast.Name(id=name)]):
            return name, "abs"
        case ast.BinOp(left=ast.Name(id=a), op=ast.Mult(), right=ast.Name(id=b)) if a == b:
            return a, "square"
        case ast.BinOp(left=ast.Name(id=a), op=ast.Pow(), right=ast.Constant(value=2)):
            return a, "square"
    return None


def _limits(op: type[ast.cmpop], limit: Num, value: Num) -> tuple[Bound, Bound]:
    whole = value.type.kind is Kind.INT and limit.type.kind is Kind.INT
    step = 1 if whole else 0
    if op is ast.Lt:
        return None, None if limit.high is None else limit.high - step
    if op is ast.LtE:
        return None, limit.high
    if op is ast.Gt:
        return None if limit.low is None else limit.low + step, None
    if op is ast.GtE:
        return limit.low, None
    if op is ast.Eq:
        return limit.low, limit.high
    if whole and limit.low is not None and limit.low == limit.high and limit.low == value.low:
        return limit.low + 1, None  # x != 0 and x >= 0
    return None, None


def _root(bound: Bound) -> Bound:
    if bound is None or bound < 0:
        return None
    return math.isqrt(bound) if isinstance(bound, int) else math.sqrt(bound) * (1 + 1e-15)


def _max(left: Bound, right: Bound) -> Bound:
    return right if left is None else left if right is None else max(left, right)


def _min(left: Bound, right: Bound) -> Bound:
    return right if left is None else left if right is None else min(left, right)
