"""The back end's front door: a region, and its kernels or the reason why there are none."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ...edits import PatchError
from ...model import Match, Refusal, Region
from ..nb_analyse import analyse_region
from ..nb_values import Unsupported
from .emit import CudaEmission
from .plan import plan
from .resident import resident
from .worth import not_worth

log = logging.getLogger("gpuadvise.codegen")


def loops_on_gpu(region: Region) -> Match | Refusal:
    """The region's parallel loops as CUDA kernels, its arrays on the device meanwhile.

    Refuses with the reason where iterations depend on each other, or results could differ.
    """
    if region.observation is None:
        return Refusal("the loop was never entered while it was observed", region.loop.lineno)
    nest = region.nest
    answer = nest if isinstance(nest, Refusal) else _answer(region, _worthwhile)
    if isinstance(answer, Match) or not region.inside:
        return answer
    other = _answer(region, resident)
    if isinstance(other, Match) or isinstance(region.nest, Refusal):
        return other
    return answer


def nest_on_gpu(region: Region) -> Match | Refusal:
    """A loop nest that the engine understands as a whole."""
    if isinstance(region.nest, Refusal):
        return region.nest
    return _answer(region, _nest)


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


def _answer(region: Region, make: Callable[[Region], Match]) -> Match | Refusal:
    try:
        return make(region)
    except Unsupported as error:
        return Refusal(error.reason, error.line or region.loop.lineno, error.suggestion)
    except PatchError as error:
        return Refusal(str(error), region.loop.lineno)
    except (
        RecursionError,
        AssertionError,
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
        ArithmeticError,
    ) as error:
        # A bug of ours must not end the user's session; --verbose shows where it is.
        where = f"{region.source.path}:{region.loop.lineno}"
        log.warning("a CUDA form of %s failed", where, exc_info=True)
        return Refusal(
            f"the loop could not be analysed ({type(error).__name__})", region.loop.lineno
        )
