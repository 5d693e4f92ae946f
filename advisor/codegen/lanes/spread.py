"""Which scalars differ between the lanes that are still in a loop: only these become arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ...loopnest.fold import reads
from ...loopnest.ir import Assign, Expr, For, If, Load, Stmt, walk
from .flow import LaneLoop, Leave, assigned, own_expressions


def varies(expr: Expr, arrays: frozenset[str]) -> bool:
    """Whether an expression differs between the lanes."""
    return bool(reads(expr) & arrays)


def at_head(loop: LaneLoop, arrays: frozenset[str]) -> frozenset[str]:
    """The scalars that are arrays at the head of a loop, given those in front of it."""
    here = arrays
    if isinstance(loop.loop, For):
        here = here - {loop.loop.index}
    while True:
        behind = after(loop.body, here)
        new = here | (behind & assigned(loop.body))
        if isinstance(loop.loop, For):
            new -= {loop.loop.index} - assigned(loop.body)
        if new == here:
            return here
        here = new


def diverges(loop: LaneLoop, head: frozenset[str]) -> bool:
    """Whether the lanes leave the loop one by one."""
    if any(varies(e, head) for e in own_expressions(loop)):
        return True
    known = head
    for statement in loop.body:
        if isinstance(statement, Leave) and varies(statement.test, known):
            return True
        known = after((statement,), known)
    return False


def after(body: Sequence[Stmt], arrays: frozenset[str]) -> frozenset[str]:
    """The scalars that are arrays behind the statements."""
    for statement in body:
        match statement:
            case Assign(name=name, value=value):
                arrays = arrays | {name} if varies(value, arrays) else arrays - {name}
            case If(test=test, then=then, orelse=orelse):
                sides = after(then, arrays) | after(orelse, arrays)
                if varies(test, arrays):
                    sides |= assigned((statement,))
                arrays = sides
            case LaneLoop():
                head = at_head(statement, arrays)
                inside = after(statement.body, head) | head
                for part in statement.body:
                    if isinstance(part, Leave):
                        inside |= after(part.arm, inside)
                inside |= after(statement.otherwise, inside)
                arrays |= inside
                if diverges(statement, head):
                    arrays |= assigned((statement,))
    return arrays


def loads(expr: Expr) -> frozenset[str]:
    """The arrays that an expression reads."""
    return frozenset(part.array for part in walk(expr) if isinstance(part, Load))
