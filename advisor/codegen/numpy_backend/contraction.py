"""An accumulator that ends in an array element, accumulated in that element.

``w = A[i, j]; for k ..: w -= A[i, k] * A[k, j]; A[i, j] = w / A[j, j]`` has one scalar for all
elements, which keeps their loops in order; ``A[i, j] -= ..`` has one for each.
"""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.affine import variable
from ...loopnest.fold import substitute
from ...loopnest.ir import (
    Assign,
    Binary,
    Expr,
    For,
    Kind,
    Load,
    Nest,
    Store,
    Var,
    statements,
    walk,
)
from . import coupled
from .known import Facts
from .legality import Access, accesses
from .normal import exposed


def contracted(
    loop: For, outer: tuple[For, ...], root: For, nest: Nest, facts: Facts
) -> For | None:
    """The loop with the element in place of the scalar; None where they could be told apart."""
    match loop.body:
        case (
            Assign(name=name, value=first) as start,
            For(
                body=(Assign(name=again, value=Binary(op=("+" | "-")) as update) as step,)
            ) as inner,
            Store(array=array, index=index, value=last) as end,
        ) if name == again and update.left == Var(update.left.type, 0, name):
            pass
        case _:
            return None
    info = nest.arrays[array]
    if info.container != "ndarray" or info.element.dtype != "float64" or info.aliases:
        return None  # float32 elements would round what the scalar keeps
    if not _is_double(update) or not _is_double(first) or not _is_double(last):
        return None
    if update.type.dtype != "float64" or _uses(update.right, name) or _uses(first, name):
        return None
    if any(_uses(e, name) for e in index) or _lives_on(name, root, nest):
        return None
    # A[i, j] = w / A[i, j] reads what was there before
    if not _untouched(
        Store(end.line, end.node, array, index, update.right), inner, end, outer, loop, facts
    ):
        return None
    cell = Load(info.element, end.line, array, index)
    put: dict[str, Expr] = {name: cell}
    body: list[Store | For] = []
    if first != cell:
        body.append(Store(start.line, start.node, array, index, first))
    sum_ = Store(step.line, step.node, array, index, substitute(update, put))
    body.append(replace(inner, body=(sum_,)))
    if not isinstance(last, Var):
        body.append(Store(end.line, end.node, array, index, substitute(last, put)))
    return replace(loop, body=tuple(body))


def _is_double(expr: Expr) -> bool:
    return expr.type.kind is Kind.FLOAT and expr.type.dtype in (None, "float64")


def _uses(expr: Expr, name: str) -> bool:
    return any(isinstance(part, Var) and part.name == name for part in walk(expr))


def _lives_on(name: str, root: For, nest: Nest) -> bool:
    """The scalar's value is read after the loop, or in its next iteration."""
    if name in nest.live_out or name in exposed((root,)):
        return True
    return any(
        name in exposed(s.body)
        for s in statements((root,))
        if isinstance(s, For)
        and not (len(s.body) == 1 and isinstance(s.body[0], Assign) and s.body[0].name == name)
    )


def _untouched(
    sum_: Store, inner: For, end: Store, outer: tuple[For, ...], loop: For, facts: Facts
) -> bool:
    """No term of the sum, and not the last expression, reads the element itself."""
    around = (*outer, loop)
    cell = Access(end.array, end.index, True, 0, around, end.line)
    terms = [a for a in accesses(sum_, (*around, inner)) if not a.write]
    lasts = [a for a in accesses(end, around) if not a.write]
    for access in (*terms, *lasts):
        if access.array != end.array:
            continue
        zero = list(coupled.same_place(cell, access, facts))
        zero += [variable(one.index + "'") - variable(one.index + '"') for one in around]
        rows = [*coupled.iterations(cell, "'", facts), *coupled.iterations(access, '"', facts)]
        if coupled.solvable(rows, zero, facts):
            return False
    return True
