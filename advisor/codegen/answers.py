"""From the way a back end ended to what a rule answers: a rewrite, or the reason for none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from ..edits import PatchError
from ..errors import OUR_BUGS
from ..model import Refusal, Region
from .nb_values import Unsupported

log = logging.getLogger("gpuadvise.codegen")


Made = TypeVar("Made")


def answer(make: Callable[[Region], Made], region: Region, form: str) -> Made | Refusal:
    """What ``make`` writes for the region; the reason where it gives up, or where it breaks.

    ``form`` names what is written, for the log: ``"a CUDA form"``.
    """
    try:
        return make(region)
    except Unsupported as error:
        return Refusal(error.reason, error.line or region.loop.lineno, error.suggestion)
    except PatchError as error:
        return Refusal(str(error), region.loop.lineno)
    except OUR_BUGS as error:
        where = f"{region.source.path}:{region.loop.lineno}"
        log.warning("%s of %s failed", form, where, exc_info=True)
        return Refusal(
            f"the loop could not be analysed ({type(error).__name__})", region.loop.lineno
        )
