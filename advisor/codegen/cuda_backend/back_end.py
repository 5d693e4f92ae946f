"""The back end's front door: a region, and its kernels or the reason why there are none."""

from __future__ import annotations

from ...model import Match, Refusal, Region
from ..answers import answer
from ..nb_analyse import analyse_region
from ..nb_values import Unsupported
from .emit import CudaEmission
from .plan import plan
from .resident import resident
from .worth import not_worth

FORM = "a CUDA form"


def loops_on_gpu(region: Region) -> Match | Refusal:
    """The region's parallel loops as CUDA kernels, its arrays on the device meanwhile.

    Refuses with the reason where iterations depend on each other, or results could differ.
    """
    if region.observation is None:
        return Refusal("the loop was never entered while it was observed", region.loop.lineno)
    nest = region.nest
    alone = nest if isinstance(nest, Refusal) else answer(_worthwhile, region, FORM)
    if isinstance(alone, Match) or not region.inside:
        return alone
    staying = answer(resident, region, FORM)
    if isinstance(staying, Match) or isinstance(nest, Refusal):
        return staying
    return alone


def nest_on_gpu(region: Region) -> Match | Refusal:
    """A loop nest that the engine understands as a whole."""
    if isinstance(region.nest, Refusal):
        return region.nest
    return answer(_nest, region, FORM)


def _worthwhile(region: Region) -> Match:
    match = _nest(region)
    why = not_worth(region)
    if why is not None:
        suggestion = "put the loop over the steps into the same function"
        raise Unsupported(why, region.loop.lineno, suggestion)
    return match


def _nest(region: Region) -> Match:
    assert not isinstance(region.nest, Refusal)
    step = plan(region.nest)
    return CudaEmission(region, analyse_region(region), step).match()
