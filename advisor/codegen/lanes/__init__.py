"""Loops whose iterations compute something for themselves, with loops inside: as lanes of arrays.

``for i in range(n): steps = collatz(i); histogram[steps] += 1``: all the ``collatz(i)`` come first,
many at a time. Those that are done leave, those that are left stay together in shorter arrays. The
loop itself stays as it is and takes one value after the other.
"""

from __future__ import annotations

from ...errors import OUR_BUGS
from ...loopnest.settled import settled
from ...model import Match, Refusal, Region
from ...patch import PatchError
from ..numpy_backend.normal import NotVectorisable
from .emitter import log, written
from .unit import units
from .worth import problem

__all__ = ["emit_lanes"]


def emit_lanes(region: Region) -> Match | Refusal | None:
    """The loop with what its iterations compute for themselves computed first, or why not.

    None where no loop stands inside. Never raises on any region.
    """
    nest = region.nest
    if isinstance(nest, Refusal):
        return nest
    try:
        nest = settled(nest)
        found, other = units(region, nest)
        first: NotVectorisable | None = None
        for unit in found:
            reason = problem(unit, region, nest)
            try:
                if reason is None:
                    return written(region, nest, unit)
            except NotVectorisable as refusal:
                reason = refusal
            first = first or reason
        first = first or other
        if first is None:
            return None
        return Refusal(first.reason, first.line or region.loop.lineno, first.suggestion)
    except PatchError as error:
        return Refusal(str(error), region.loop.lineno)
    except OUR_BUGS as error:
        log.warning("lanes of %s failed", region.site.key, exc_info=True)
        return Refusal(
            f"the loop could not be analysed ({type(error).__name__})", region.loop.lineno
        )
