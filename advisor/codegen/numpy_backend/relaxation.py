"""Shortest paths by relaxation: ``d[i, j] = min(d[i, j], d[i, k] + d[k, j])`` for each ``k``.

Row and column ``k`` are read while they are written, yet keep their values: ``d[i, k] + d[k, k]``
is never below ``d[i, k]`` as long as nothing is negative. Sums of numbers that are not negative
are not negative either, so one test in front is enough, and all of ``d`` may be relaxed at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...loopnest.fold import substitute
from ...loopnest.ir import (
    Assign,
    Binary,
    Bool,
    Call,
    Compare,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    Var,
    expressions,
    walk,
)
from .ranges import type_range
from .values import natural_dtype

_LESS = frozenset(("<", "<="))


@dataclass(frozen=True)
class Relaxation:
    """A nest that does nothing else: the array, and the loop that has to stay."""

    array: str
    outer: int
    """``id`` of the loop over ``k``."""

    def tests(self, nest: Nest) -> list[str]:
        """Nothing is negative or NaN, and no sum of two distances wraps."""
        array, element = self.array, nest.arrays[self.array].element
        if element.kind is Kind.INT and not element.is_python:
            most = type_range(natural_dtype(element))[1] // 2
            return [f"{array}.min() >= 0", f"{array}.max() <= {most}"]
        if element.kind is Kind.INT:
            return [f"min(map(min, {array})) >= 0"]
        if not self._is_list(nest):
            return [f"({array} >= 0).all()"]
        return [f"all(value >= 0 for row in {array} for value in row)"]

    def _is_list(self, nest: Nest) -> bool:
        return nest.arrays[self.array].container != "ndarray"


def relaxation(root: For, nest: Nest) -> Relaxation | None:
    """The relaxation that a nest is; None for any other one."""
    match root.body:
        case (For() as outer,):
            pass
        case _:
            return None
    values: dict[str, Expr] = {}
    inner = _last(outer.body, values)
    last = _last(inner.body, values) if isinstance(inner, For) else None
    if not isinstance(inner, For) or last is None:
        return None
    store, tests = _store(last, values)
    if store is None:
        return None
    info = nest.arrays[store.array]
    numbers = info.element.kind in (Kind.INT, Kind.FLOAT)
    if info.ndim != 2 or info.aliases or not numbers or not _is_at(store.index, outer, inner):
        return None
    row, column = store.index
    k = Var(row.type, root.line, root.index)
    through = frozenset(((row, k), (k, column)))
    if not _relaxes(store, tests, through):
        return None
    allowed = {*through, (row, column)}
    if any(load.index not in allowed for load in _loads(root, values, store.array)):
        return None
    return Relaxation(store.array, id(root))


def _last(body: tuple[Stmt, ...], values: dict[str, Expr]) -> Stmt | None:
    """The last statement of a body whose others name values: ``t = d[i, k] + d[k, j]``."""
    for statement in body[:-1]:
        if not isinstance(statement, Assign) or statement.name in values:
            return None
        values[statement.name] = substitute(statement.value, values)
    return body[-1] if body else None


def _store(last: Stmt, values: dict[str, Expr]) -> tuple[Store | None, tuple[Expr, ...]]:
    """The store and the tests under which it happens."""
    match last:
        case If(test=test, then=(Store() as store,), orelse=()):
            whole = substitute(test, values)
            tests = whole.operands if isinstance(whole, Bool) and whole.op == "and" else (whole,)
        case Store() as store:
            tests = ()
        case _:
            return None, ()
    value = substitute(store.value, values)
    return Store(store.line, store.node, store.array, store.index, value), tests


def _is_at(index: tuple[Expr, ...], outer: For, inner: For) -> bool:
    names = [e.name for e in index if isinstance(e, Var)]
    return len(index) == len(names) and sorted(names) == sorted((outer.index, inner.index))


def _relaxes(store: Store, tests: tuple[Expr, ...], through: frozenset[tuple[Expr, ...]]) -> bool:
    """What is stored is the way through ``k``, and shorter than what was there."""

    def is_way(expr: Expr) -> bool:
        match expr:
            case Binary(op="+", left=Load() as left, right=Load() as right):
                return {left.array, right.array} == {store.array} and (
                    {left.index, right.index} == through
                )
        return False

    def is_old(expr: Expr) -> bool:
        return isinstance(expr, Load) and (expr.array, expr.index) == (store.array, store.index)

    match store.value:
        case Call(function="min", args=(one, other)):
            return (is_old(one) and is_way(other)) or (is_way(one) and is_old(other))
    if not is_way(store.value):
        return False
    for test in tests:
        match test:
            case Compare(op=op, left=left, right=right) if op in _LESS:
                if is_way(left) and is_old(right):
                    return True
            case Compare(op=">" | ">=", left=left, right=right):
                if is_old(left) and is_way(right):
                    return True
    return False


def _loads(root: For, values: dict[str, Expr], array: str) -> Iterator[Load]:
    """All reads of the array, with named values in their places."""

    def visit(body: tuple[Stmt, ...]) -> Iterator[Load]:
        for statement in body:
            for expr in expressions(statement):
                for part in walk(substitute(expr, values)):
                    if isinstance(part, Load) and part.array == array:
                        yield part
            match statement:
                case For(body=inner):
                    yield from visit(inner)
                case If(then=then, orelse=orelse):
                    yield from visit((*then, *orelse))

    return visit((root,))
