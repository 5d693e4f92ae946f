"""Nests for the one small size that was seen: ``kh, kw = kernel.shape`` as 3 and 3.

A window of unknown size has borders of unknown width. Of the size that was seen at every entry the
borders are numbers; that it is this size is asked at run time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from .fold import fold_one, map_children
from .ir import (
    PY_BOOL,
    PY_INT,
    Append,
    Assign,
    Compare,
    Const,
    Dim,
    Expr,
    For,
    If,
    Nest,
    Stmt,
    Store,
    Var,
    While,
    expressions,
    statements,
    walk,
)

LARGEST = 9
MOST = 25
"""Iterations that are written out one after the other: a window of five by five."""


def specialised(nest: Nest) -> Nest | None:
    """The nest with small bounds of its inner loops as the numbers seen; None without any."""
    sizes = dict(_sizes(nest))
    if not sizes:
        return None
    line = nest.root.line
    asked = (
        Compare(PY_BOOL, line, "==", size, Const(PY_INT, line, value))
        for size, value in sizes.items()
    )
    (root,) = _with_sizes((nest.root,), sizes)
    assert isinstance(root, For | While)
    if _written_out(root.body) > MOST:
        return None
    return replace(nest, root=root, relies_on=(*nest.relies_on, *asked))


def _sizes(nest: Nest) -> Iterator[tuple[Expr, int]]:
    """Numbers and extents in the bounds of inner loops that were small, and always the same."""
    for statement in statements(nest.root.body):
        if not isinstance(statement, For):
            continue
        for bound in expressions(statement):
            for part in walk(bound):
                value = _seen(nest, part)
                if value is not None and 1 <= value <= LARGEST:
                    yield replace(part, line=nest.root.line), value


def _written_out(body: tuple[Stmt, ...]) -> int:
    """The most iterations that loops inside each other have whose bounds are numbers."""
    most = 1
    for statement in body:
        match statement:
            case For(start=Const(value=start), stop=Const(value=stop), step=step, body=inner):
                trips = len(range(int(start.real), int(stop.real), step))
                most = max(most, trips * _written_out(inner))
            case For(body=inner) | While(body=inner):
                most = max(most, _written_out(inner))
            case If(then=then, orelse=orelse):
                most = max(most, _written_out(then), _written_out(orelse))
            case _:
                pass
    return most


def _seen(nest: Nest, expr: Expr) -> int | None:
    match expr:
        case Var(name=name) if name in nest.scalars and name not in nest.privates:
            scalar = nest.scalars[name]
            value = scalar.interval.low
            fixed = scalar.constant and scalar.type == PY_INT and scalar.literal is None
            return value if fixed and isinstance(value, int) else None
        case Dim(array=array, axis=axis) if array not in nest.made | nest.grown:
            return nest.arrays[array].shape[axis]
    return None


def _with_sizes(body: tuple[Stmt, ...], sizes: Mapping[Expr, int]) -> tuple[Stmt, ...]:
    """The statements with the sizes as numbers, folded."""

    def visit(expr: Expr) -> Expr:
        value = sizes.get(expr)
        if value is not None:
            return Const(PY_INT, expr.line, value)
        return fold_one(map_children(expr, visit))

    result: list[Stmt] = []
    for statement in body:
        match statement:
            case Assign(value=value) | Append(value=value):
                statement = replace(statement, value=visit(value))
            case Store(index=index, value=value):
                index = tuple(map(visit, index))
                statement = replace(statement, index=index, value=visit(value))
            case If(test=test, then=then, orelse=orelse):
                arms = _with_sizes(then, sizes), _with_sizes(orelse, sizes)
                statement = replace(statement, test=visit(test), then=arms[0], orelse=arms[1])
            case For(start=start, stop=stop, body=inner):
                new = _with_sizes(inner, sizes)
                statement = replace(statement, start=visit(start), stop=visit(stop), body=new)
            case While(test=test, body=inner):
                statement = replace(statement, test=visit(test), body=_with_sizes(inner, sizes))
            case _:
                pass
        result.append(statement)
    return tuple(result)
