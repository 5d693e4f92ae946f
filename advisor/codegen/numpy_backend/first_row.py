"""Loops whose first iteration does something else: ``if i == 0 or w == 0: t[i][w] = 0``.

Tables are often filled so, borders and all. The first iteration becomes statements of its own in
front of the loop, which then has no test of its index any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...loopnest.affine import affine
from ...loopnest.fold import COMPARE, map_children
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Bool,
    Compare,
    Const,
    Expr,
    For,
    If,
    Nest,
    statements,
    walk,
)
from ...model import Region
from .normal import normal_body, substituted
from .restructure import wrapped_once
from .shift_names import changed, named_shifts
from .shifts import shifts


def shifted_rows(root: For, nest: Nest, region: Region) -> tuple[For, Nest]:
    """The nest of a table whose rows are read a distance away that the data give, see `shifts`.

    Its first row apart, and names for the distances; the same nest where there is no such table.
    """
    apart, named = named_shifts(first_row_apart(root, nest), nest, region)
    if named is nest and not shifts(nest):
        return root, nest  # tests of an index become narrower slices
    return apart, named


def first_row_apart(root: For, nest: Nest) -> For:
    """The nest with the first iteration in front; the same where no inner test asks for it."""
    match root.start:
        case Const(value=int() as first) if root.step == 1 and root.values is None:
            pass
        case _:
            return root
    if root.index in nest.live_out or not any(_asks(t, root.index, first) for t in _tests(root)):
        return root
    line, indices = root.line, frozenset((root.index,))
    number = Const(PY_INT, line, first)
    alone = normal_body(substituted(root.body, {root.index: number}), nest.live_out, frozenset())

    def change(expr: Expr) -> Expr:
        known = _decided(expr, root.index, first + 1)
        return map_children(expr, change) if known is None else Const(PY_BOOL, expr.line, known)

    rest = normal_body(changed(root.body, change), nest.live_out, indices)
    later = replace(root, start=replace(number, value=first + 1), body=rest)
    runs = Compare(PY_BOOL, line, ">", root.stop, number)
    return wrapped_once(root, (If(line, root.node, runs, alone, ()), later))


def _tests(root: For) -> Iterator[Expr]:
    """The conditions inside the loops in the loop."""
    for loop in (s for s in root.body if isinstance(s, For)):
        yield from (s.test for s in statements(loop.body) if isinstance(s, If))


def _asks(test: Expr, index: str, first: int) -> bool:
    """Whether it compares the index, and has one answer at first and another one from then on."""
    parts = (part for part in walk(test) if isinstance(part, Compare | Bool))
    answers = ((_at(p, index, first), _decided(p, index, first + 1)) for p in parts)
    return any(a is not None and b is not None and a != b for a, b in answers)


def _at(expr: Expr, index: str, value: int) -> bool | None:
    """The answer at one value of the index."""
    found = _difference(expr, index)
    if found is None:
        return None
    op, offset = found
    return bool(COMPARE[op](value + offset, 0))


def _decided(expr: Expr, index: str, least: int) -> bool | None:
    """The answer from one value of the index on; None where it changes, or asks something else."""
    found = _difference(expr, index)
    if found is None:
        return None
    op, offset = found
    lowest = least + offset
    if lowest > 0:
        return op in (">", ">=", "!=")
    if lowest == 0 and op in ("<", ">="):
        return op == ">="
    return None


def _difference(expr: Expr, index: str) -> tuple[str, int] | None:
    """``index + offset op 0``."""
    match expr:
        case Compare(op=op, left=left, right=right) if op in COMPARE:
            a, b = affine(left), affine(right)
            if a is None or b is None:
                return None
            form = a - b
            if form.symbols != {index}:
                return None
            if form.coefficient(index) == 1:
                return op, form.const
            if form.coefficient(index) == -1:
                mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
                return mirrored.get(op, op), -form.const
    return None
