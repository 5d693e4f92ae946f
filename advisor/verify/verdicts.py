"""What the trials on several held states say together."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import (
    Crashed,
    ErrorSize,
    Mismatch,
    NotFaster,
    TimedOut,
    Unavailable,
    Verdict,
    Verified,
)
from . import timing
from .compare import Incomparable, Same, larger
from .states import StateResult


def failed(result: StateResult) -> bool:
    """Compared and different, or the rewritten code did not come to an end."""
    compared = result.comparison is not None and not isinstance(result.comparison, Incomparable)
    return (compared and not result.same) or isinstance(result.failure, Crashed | TimedOut)


def verdict_of(results: Sequence[StateResult]) -> Verdict:
    """What the states of one place say of a candidate, together."""
    for result in results:
        if isinstance(result.failure, Crashed | TimedOut):
            return result.failure
        if failed(result) and result.comparison is not None:
            return Mismatch(f"call {result.entry}: {result.comparison.what}")
    same = [r for r in results if isinstance(r.comparison, Same)]
    if not same:
        return _unavailable(results)
    longest = max(same, key=lambda r: max(r.original_times))
    speedup = timing.ratio(longest.original_times, longest.candidate_times)
    if speedup.high < 1.0:
        return NotFaster(speedup, 1.0)
    error = ErrorSize()
    for result in same:
        assert isinstance(result.comparison, Same)
        error = larger(error, result.comparison.error)
    return Verified(speedup, error, len(same), _compared(same), max(r.first_call for r in same))


def _unavailable(results: Sequence[StateResult]) -> Unavailable:
    for result in results:
        if isinstance(result.failure, Unavailable):
            return result.failure
        if isinstance(result.comparison, Incomparable):
            return Unavailable(result.comparison.what)
    return Unavailable("no state of the program could be replayed")


def _compared(same: Sequence[StateResult]) -> str:
    calls = ", ".join(str(r.entry) for r in same)
    words = f"result, arguments, globals, random state and output of call {calls}"
    first = same[0].comparison
    if isinstance(first, Same) and "not compared" in first.what:
        words += f" ({first.what.partition('; ')[2]})"
    raised = [r for r in same if r.raised is not None]
    if raised:
        words += f"; call {raised[0].entry} raises {raised[0].raised} in both"
    if not all(r.warm for r in same):
        words += "; timed without a warm-up"
    return words
