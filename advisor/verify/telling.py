"""Which recorded states say what a rewrite gains, and what whole runs alone leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model import Region, Trial, Unavailable, Verdict, Verified
from .one_trial import StateResult
from .states import HeldState

ONLY_RUNS = "; no state of the program was compared, only whole runs"
TRIFLING = 0.1
"""A call that takes this part of what calls take in the mean says little of what is gained."""


def nearest(states: Sequence[HeldState], region: Region) -> list[HeldState]:
    """The states to try a rewrite of a region on, the most telling first.

    At module level those before the loop itself, and none before a loop around it, of which one
    replay may take the whole run: ``for even in range(4, limit, 2): for a in range(even): ...``.
    Its first entry is often its smallest, so that comes last.
    """
    if region.function is not None:
        return list(states)
    own = [state for state in states if state.hello.line == region.lines[0]]
    return sorted(own, key=lambda state: state.hello.reason == "first") or list(states)


def trifling(result: StateResult, usual: float) -> bool:
    """Whether a call was so much shorter than they ``usually`` are that it tells no gain."""
    return result.same and max(result.original_times, default=0.0) < TRIFLING * usual


def known_now(trial: Trial, found: Verdict) -> Trial:
    """A trial whose whole runs were equal, with what was found on its states afterwards."""
    whole = trial.script_verdict
    if isinstance(found, Unavailable) or not isinstance(whole, Verified):
        return replace(trial, region_verdict=found)
    if isinstance(found, Verified):
        whole = replace(whole, compared=whole.compared.removesuffix(ONLY_RUNS))
        return replace(trial, region_verdict=found, script_verdict=whole)
    return replace(trial, region_verdict=found, script_verdict=found)


def reason(verdict: Verdict) -> str:
    """A verdict in words."""
    from ..report.words import verdict as words  # the words are needed for failures only

    return words(verdict)
