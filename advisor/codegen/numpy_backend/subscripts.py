"""Replace integer scalars that only name a subscript: ``x = (i + di) % n; .. grid[x, y]``."""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.fold import fold, reads, substitute
from ...loopnest.ir import (
    Assign,
    Const,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Select,
    Stmt,
    Store,
    statements,
    walk,
)
from .normal import decided, exposed, may_raise

MAX_NODES = 24
"""Longest index expression that is repeated at every use."""


def propagate(root: For, nest: Nest) -> For:
    """The nest without such scalars."""
    names = _candidates(root, nest)
    if not names:
        return root
    body = _body((root,), {}, names)
    (result,) = body
    assert isinstance(result, For)
    return result


def _candidates(root: For, nest: Nest) -> frozenset[str]:
    """Integers that are always expressions of indices and inputs, used in their own iteration."""
    assigned: dict[str, list[Assign]] = {}
    carried: set[str] = set()
    indices = {s.index for s in statements((root,)) if isinstance(s, For)}
    for statement in statements((root,)):
        if isinstance(statement, Assign):
            assigned.setdefault(statement.name, []).append(statement)
        if isinstance(statement, For):
            carried |= exposed(statement.body) - {statement.index}
    carried |= _left_behind((root,), frozenset())
    names = {
        name
        for name, values in assigned.items()
        if name not in carried
        and name not in nest.live_out
        and name not in indices
        # count += 1 under conditions would become a tower of conditional expressions
        and all(_plain(v.value) and name not in reads(v.value) for v in values)
    }
    while True:
        allowed = names | indices | (nest.scalars.keys() - assigned.keys())
        kept = {n for n in names if all(reads(v.value) <= allowed for v in assigned[n])}
        if kept == names:
            return frozenset(names)
        names = kept


def _left_behind(body: tuple[Stmt, ...], future: frozenset[str]) -> set[str]:
    """Scalars that a loop leaves to what comes after it.

    Counter-example: ``best = -1``, then ``for c ..: if d[c] < least: best = c``, then
    ``label[i] = best``: in the loop nobody reads ``best``, yet its value is not -1 behind it.
    """
    found: set[str] = set()
    for position, statement in enumerate(body):
        after = exposed(body[position + 1 :]) | future
        match statement:
            case For(body=inner):
                assigned = {s.name for s in statements(inner) if isinstance(s, Assign)}
                found |= assigned & after
                found |= _left_behind(inner, after | exposed(inner))
            case If(then=then, orelse=orelse):
                found |= _left_behind(then, after) | _left_behind(orelse, after)
    return found


def _plain(expr: Expr) -> bool:
    nodes = list(walk(expr))
    return (
        expr.type.kind is Kind.INT
        and len(nodes) <= MAX_NODES
        and not any(isinstance(n, Load) for n in nodes)
        and not isinstance(expr, Const)
    ) or (isinstance(expr, Const) and expr.type.kind is Kind.INT)


def _body(
    body: tuple[Stmt, ...], values: dict[str, Expr], names: frozenset[str]
) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for statement in body:
        match statement:
            case Assign(name=name, value=value) if name in names:
                values[name] = fold(substitute(value, values))
                if may_raise(values[name]):  # 0 // s, although no one reads it
                    result.append(replace(statement, value=values[name]))
            case Assign(value=value):
                result.append(replace(statement, value=fold(substitute(value, values))))
            case Store(index=index, value=value):
                result.append(
                    replace(
                        statement,
                        index=tuple(fold(substitute(e, values)) for e in index),
                        value=fold(substitute(value, values)),
                    )
                )
            case If():
                result += _if(statement, values, names)
            case For(start=start, stop=stop, body=inner):
                result.append(
                    replace(
                        statement,
                        start=fold(substitute(start, values)),
                        stop=fold(substitute(stop, values)),
                        body=_body(inner, dict(values), names),
                    )
                )
            case _:
                result.append(statement)
    return tuple(result)


def _if(statement: If, values: dict[str, Expr], names: frozenset[str]) -> tuple[Stmt, ...]:
    test = decided(substitute(statement.test, values))
    then_values, else_values = dict(values), dict(values)
    then = _body(statement.then, then_values, names)
    orelse = _body(statement.orelse, else_values, names)
    for name in then_values.keys() | else_values.keys():
        a, b = then_values.get(name), else_values.get(name)
        if a == b and a is not None:
            values[name] = a
        elif a is not None and b is not None:
            values[name] = Select(a.type, test.line, test, a, b)
        else:
            chosen = a if a is not None else b
            assert chosen is not None
            values[name] = chosen  # set on one side only: no one reads it on the other
    if isinstance(test, Const):
        return then if test.value else orelse
    if not then and not orelse and not may_raise(test):
        return ()
    return (replace(statement, test=test, then=then, orelse=orelse),)
