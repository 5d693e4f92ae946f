"""Neighbours that only some cells look at, with the condition on their place asked first.

``if grid[r][c]: if r > 0 and grid[r - 1][c]: sides += 1``: under a mask of cells every element is
computed, also that behind the edge. So what the cell computes for itself alone comes in front of
the condition, and a condition on the place around that on the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...loopnest.fold import loads, reads
from ...loopnest.ir import Assign, For, If, Stmt, Store, Var, expressions, statements, walk


def mentions(body: Sequence[Stmt]) -> Counter[str]:
    """How often scalars are read or set."""
    found: Counter[str] = Counter()
    for statement in statements(tuple(body)):
        for expr in expressions(statement):
            found.update(part.name for part in walk(expr) if isinstance(part, Var))
        if isinstance(statement, Assign):
            found[statement.name] += 1
        elif isinstance(statement, For):
            found[statement.index] += 1
    return found


def lifted(
    statement: If, is_own: Callable[[str], bool], is_place: Callable[[If], bool]
) -> tuple[Stmt, ...]:
    """What stands in the place of a branch on data in which a place is asked.

    ``is_own``: nothing outside the branch mentions the scalar; ``is_place``: the statement asks
    nothing but a place, and reads elements.
    """
    inside = statements((*statement.then, *statement.orelse))
    if not any(isinstance(s, If) and is_place(s) for s in inside):
        return (statement,)
    before, rest = _own_first(statement.then, is_own)
    if statement.orelse:
        more, others = _own_first(statement.orelse, is_own)
        return (*before, *more, replace(statement, then=rest, orelse=others))
    places = any(isinstance(s, If) and is_place(s) for s in rest)
    if not places or _changes(rest, statement):
        return (*before, replace(statement, then=rest))
    parts = tuple(_around(statement, part, is_place) for part in rest)
    return (*before, *parts)


def _own_first(
    body: tuple[Stmt, ...], is_own: Callable[[str], bool]
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The statements that only set scalars that are nobody else's, and the others.

    What depends on one of the others stays behind it.
    """
    before: list[Stmt] = []
    rest: list[Stmt] = []
    for statement in body:
        inner = [s for s in statements((statement,)) if not isinstance(s, If)]
        own = all(isinstance(s, Assign) and is_own(s.name) for s in inner)
        (before if own and not _depend(rest, statement) else rest).append(statement)
    return tuple(before), tuple(rest)


def _depend(earlier: Sequence[Stmt], later: Stmt) -> bool:
    """Whether the order of the statements counts; the later one sets scalars only."""
    used = mentions((later,))
    inside = list(statements((later,)))
    sets = {s.name for s in inside if isinstance(s, Assign)}
    arrays = {load.array for s in inside for expr in expressions(s) for load in loads(expr)}
    if sets & mentions(earlier).keys():
        return True
    for statement in statements(tuple(earlier)):
        if isinstance(statement, Assign) and statement.name in used:
            return True
        if isinstance(statement, Store) and statement.array in arrays:
            return True
    return False


def _changes(body: tuple[Stmt, ...], around: If) -> bool:
    """Whether the statements change what the condition reads."""
    arrays = {load.array for load in loads(around.test)}
    names = reads(around.test)
    for statement in statements(body):
        if isinstance(statement, Assign) and statement.name in names:
            return True
        if isinstance(statement, Store) and statement.array in arrays:
            return True
    return False


def _around(outer: If, part: Stmt, is_place: Callable[[If], bool]) -> If:
    """One of the statements under the condition, the place asked around it."""
    if not isinstance(part, If) or not is_place(part):
        return replace(outer, then=(part,))
    then = replace(outer, then=part.then)
    orelse = (replace(outer, then=part.orelse),) if part.orelse else ()
    return replace(part, then=(then,), orelse=orelse)
