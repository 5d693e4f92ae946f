"""Loops that end before a compiled call would have begun."""

from __future__ import annotations

from ..loopnest.ir import For, If, Nest, Stmt, While
from ..loopnest.ranges import ranges_of
from ..model import Refusal, Region

OFTEN = 1000
"""Entries from which on the cost of a call counts."""
FEW = 40
"""Statements an entry must run for a call to pay: checking and handing over its arguments costs
one to five microseconds, in which Python runs about as many statements."""


def too_short(region: Region) -> Refusal | None:
    """A refusal for a loop that is entered often and runs a few statements each time."""
    nest, seen = region.nest, region.observation
    if seen is None or seen.entries < OFTEN or not isinstance(nest, Nest):
        return None
    count = _statements(nest, (nest.root,), 1)
    if count is None or count > FEW:
        return None
    reason = (
        f"an entry of this loop runs {count} statements at most, "
        "and a compiled call costs as much as they do"
    )
    return Refusal(reason, region.loop.lineno, "compile the loop around it")


def _statements(nest: Nest, body: tuple[Stmt, ...], times: int) -> int | None:
    """How many statements run at most, loops as often as was seen; None if unknown."""
    total = 0
    for statement in body:
        match statement:
            case For(body=inner):
                trips = ranges_of(nest).trips.get(id(statement))
                found = None if trips is None else _statements(nest, inner, times * trips)
            case While():
                return None
            case If(then=then, orelse=orelse):
                one, two = (_statements(nest, part, times) for part in (then, orelse))
                found = None if one is None or two is None else times + max(one, two)
            case _:
                found = times
        if found is None:
            return None
        total += found
    return total
