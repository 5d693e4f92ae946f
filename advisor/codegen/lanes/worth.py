"""Whether lanes can gain: enough of them, and loops inside that end by themselves."""

from __future__ import annotations

import math

from ...loopnest.fold import reads
from ...loopnest.ir import For, Nest, While
from ...model import Match, Region
from ..numpy_backend import emit
from ..numpy_backend.normal import NotVectorisable
from ..numpy_backend.sizes import trips
from .flow import assigned, breaks, flat
from .unit import Unit

FEWEST_STEPS = 8
"""Steps in an iteration from which on taking its value out of a list is little against them."""
FEWEST = 200
"""Lanes from which on an array statement takes less time than as many iterations."""


def problem(unit: Unit, region: Region, nest: Nest) -> NotVectorisable | None:
    """Why it is not worth while; None if it may be."""
    count = 1.0
    for loop in unit.loops:
        count *= trips(loop, nest, {})
    if count < FEWEST:
        return NotVectorisable("too few iterations to compute side by side", unit.loops[0].line)
    if any(_ends_by_itself(s, unit) for s in flat(unit.steps)):
        return None
    steps = [trips(s, nest, {}) for s in flat(unit.steps) if isinstance(s, For)]
    if math.prod(steps) < FEWEST_STEPS:
        return NotVectorisable("too few steps in an iteration to be taken out of it")
    if isinstance(emit(region), Match):
        return NotVectorisable("whole arrays do all of the loop")
    return None


def _ends_by_itself(loop: object, unit: Unit) -> bool:
    """The number of iterations differs between the lanes."""
    match loop:
        case While():
            return True
        case For(start=start, stop=stop, body=body):
            changing = assigned(unit.steps) | {one.index for one in unit.loops}
            return breaks(body) or bool((reads(start) | reads(stop)) & changing)
    return False
