"""Rows of different lengths as whole arrays under a mask: ``for i ..: for j in range(i + 1): ..``.

Twice the elements are computed, but by one product of matrices instead of one for each row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from ...loopnest.affine import Affine, affine, to_expr
from ...loopnest.fold import reads
from ...loopnest.ir import PY_BOOL, PY_INT, Bool, Compare, Expr, For, If, Store, Var
from .normal import NotVectorisable
from .session import Context, Session
from .values import ATOM, Value


def is_triangle(inner: For, outer: For, axes: frozenset[int]) -> bool:
    """The inner loop is an axis whose bounds follow the outer index, around stores only."""
    if id(inner) not in axes or inner.step != 1 or outer.step != 1:
        return False
    forms = affine(inner.start), affine(inner.stop)
    if any(form is None or abs(form.coefficient(outer.index)) > 1 for form in forms):
        return False
    return all(isinstance(statement, Store) for statement in inner.body)


def is_uneven(loop: For, axes: Collection[str]) -> bool:
    """The loop's bounds depend on an axis."""
    return bool((reads(loop.start) | reads(loop.stop)) & set(axes))


def rectangles(session: Session, loop: For, context: Context) -> Iterator[For]:
    """The loop over its longest row, once for each statement, under the row's own bounds.

    Raises NotVectorisable.
    """
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None:
        raise NotVectorisable("the bounds of a loop are not simple", loop.line)
    index = Var(PY_INT, loop.line, loop.index)
    tests: list[Expr] = []
    if start.symbols & set(context.axes):
        tests.append(Compare(PY_BOOL, loop.line, ">=", index, loop.start))
    if stop.symbols & set(context.axes):
        tests.append(Compare(PY_BOOL, loop.line, "<", index, loop.stop))
    test = tests[0] if len(tests) == 1 else Bool(PY_BOOL, loop.line, "and", tuple(tests))
    low = to_expr(extreme(start, context, lowest=True), loop.line)
    high = to_expr(extreme(stop, context, lowest=False), loop.line)
    whole = replace(loop, start=low, stop=high)
    for statement in loop.body:
        condition = If(statement.line, statement.node, test, (statement,), ())
        part = replace(whole, body=(condition,))
        session.axes |= {id(part)}
        session.rectangles.append(part)
        yield part


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def triangle_value(session: Session, expr: Compare, context: Context) -> Value | None:
    """``np.tri(n, dtype=bool)`` for ``k <= i`` over all k of all i; None for other comparisons."""
    match expr:
        case Compare(op=op, left=Var(name=left), right=Var(name=right)) if op in _MIRRORED:
            pass
        case _:
            return None
    if len(context.axes) != 2 or {left, right} != set(context.axes):
        return None
    row, column = context.axes
    span = context.span(row)
    if span != context.span(column) or span.step != 1:
        return None
    if left == row:
        op = _MIRRORED[op]  # the column's index stands on the left
    below = "" if op in ("<=", ">=") else "k=-1, "
    size = session.facts.text(span.high - span.low)
    text = f"{session.np}.tri({size}, {below}dtype=bool){'' if '<' in op else '.T'}"
    return Value(text, ATOM, expr.type, "bool", frozenset(context.axes), True)


def extreme(form: Affine, context: Context, *, lowest: bool) -> Affine:
    """The least or greatest value of a bound over the axes."""
    for axis, span in context.spans:
        factor = form.coefficient(axis)
        if factor:
            end = span.low if (factor > 0) == lowest else span.high - 1
            form = form.substitute({axis: end})
    return form
