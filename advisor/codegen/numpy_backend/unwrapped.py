"""Remainders that change nothing: ``i % n`` in ``for i in range(n)``.

Grids that wrap around are often read by one formula, ``(i % n) * n + (j % n)``, the cell itself
included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...loopnest.affine import Affine, affine, variable
from ...loopnest.fold import map_children
from ...loopnest.ir import (
    Assign,
    Binary,
    Const,
    Expr,
    For,
    If,
    Stmt,
    Store,
    statements,
)


def unwrapped(root: For) -> For:
    """The nest without remainders of indices that are smaller than the divisor anyway."""
    assigned = frozenset(s.name for s in statements((root,)) if isinstance(s, Assign))
    indices = [s.index for s in statements((root,)) if isinstance(s, For)]
    # a name that two loops share has no one bound
    usable = frozenset(name for name in indices if indices.count(name) == 1) - assigned
    result = _written(root, {}, usable, assigned.union(indices))
    assert isinstance(result, For)
    return result


def _written(
    statement: Stmt,
    ends: Mapping[str, Affine],
    usable: frozenset[str],
    changing: frozenset[str],
) -> Stmt:
    """``ends``: index of a loop around -> where it stops."""

    def change(expr: Expr) -> Expr:
        expr = map_children(expr, change)
        match expr:
            case Binary(op="%", left=left, right=right) if expr.type == left.type:
                form = affine(left)
                for index, end in ends.items():
                    if form == variable(index) and affine(right) == end:
                        return left
        return expr

    def body(parts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_written(part, ends, usable, changing) for part in parts)

    match statement:
        case For(index=index, start=start, stop=stop):
            new = replace(statement, start=change(start), stop=change(stop))
            end = affine(stop)
            fixed = end is not None and not end.symbols & changing
            if index in usable and fixed and end is not None and _counts_up(statement):
                ends = {**ends, index: end}
            return replace(new, body=body(statement.body))
        case If(test=test, then=then, orelse=orelse):
            return replace(statement, test=change(test), then=body(then), orelse=body(orelse))
        case Assign(value=value):
            return replace(statement, value=change(value))
        case Store(index=place, value=value):
            return replace(statement, index=tuple(map(change, place)), value=change(value))
    return statement


def _counts_up(loop: For) -> bool:
    """From a number that is not negative, one by one."""
    first = loop.start
    if not isinstance(first, Const) or not isinstance(first.value, int):
        return False
    return first.value >= 0 and loop.step == 1 and loop.values is None
