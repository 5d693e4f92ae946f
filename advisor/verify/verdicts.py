"""What the trials on several held states say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from ..model import (
    Crashed,
    ErrorSize,
    Inconclusive,
    Mismatch,
    NotFaster,
    TimedOut,
    Unavailable,
    Usage,
    Verdict,
    Verified,
)
from . import timing
from .compare import Incomparable, Same
from .load import waiting
from .one_trial import StateResult
from .tolerance import larger


def failed(result: StateResult) -> bool:
    """Compared and different, or the rewritten code did not come to an end."""
    compared = result.comparison is not None and not isinstance(result.comparison, Incomparable)
    if result.perturbed.mismatch is not None:
        return True
    return (compared and not result.same) or isinstance(result.failure, Crashed | TimedOut)


NEUTRAL = 1.25
"""Times of both sides closer than this factor may be those of the original on both."""

CPU_CLOCK = 0.01
"""Seconds of CPU time below which its clock, and what it leaves out, are too coarse."""


def _neutral(result: StateResult) -> bool:
    if not result.same or not result.original_times or not result.candidate_times:
        return False
    ratio = median(result.original_times) / median(result.candidate_times)
    return 1 / NEUTRAL < ratio < NEUTRAL


def untelling(results: Sequence[StateResult]) -> bool:
    """Whether all states so far may have run the original on both sides, or nothing at all."""
    return all(_neutral(result) for result in results)


def verdict_of(results: Sequence[StateResult]) -> Verdict:
    """What the states of one place say of a candidate, together."""
    for result in results:
        if isinstance(result.failure, Crashed | TimedOut):
            return result.failure
        if result.perturbed.mismatch is not None:
            return Mismatch(f"call {result.entry}, {result.perturbed.mismatch}")
        if failed(result) and result.comparison is not None:
            return Mismatch(f"call {result.entry}: {result.comparison.what}")
    for result in results:
        if isinstance(result.failure, Inconclusive):
            return result.failure
    same = [r for r in results if isinstance(r.comparison, Same)]
    if not same:
        return _unavailable(results)
    # scale([1, 2], 3), then scale(floats, 0.5): the rewrite for floats runs the original on ints
    telling = [r for r in same if not _neutral(r)] or same
    longest = max(telling, key=lambda r: max(r.original_times))
    original, candidate = longest.usages
    speedup = timing.ratio(
        _without_waiting(longest.original_times, original),
        _without_waiting(longest.candidate_times, candidate),
        usages=longest.usages,
    )
    if speedup.high < 1.0:
        return NotFaster(speedup, 1.0)
    error = ErrorSize()
    for result in same:
        assert isinstance(result.comparison, Same)
        error = larger(error, result.comparison.error)
    return Verified(
        speedup,
        error,
        len(same),
        _compared(same),
        max(r.first_call for r in same),
        perturbed=sum(r.perturbed.count for r in same),
    )


def _without_waiting(walls: Sequence[float], usages: Sequence[Usage]) -> tuple[float, ...]:
    """Times of one side; those of one or two runs without what they waited for others.

    A single run of 76 ms that got an eighth of a core takes 0.6 s, which is no gain of a rewrite,
    and no loss where it was the rewrite's own. More runs show by themselves how far they differ.
    Times too short for the CPU clock are kept, and those of loops in threads, which take more CPU
    time than they last.
    """
    cpus = [usage.cpu for usage in usages]
    if len(walls) >= timing.FEW or not waiting(walls, usages):
        return tuple(walls)
    return tuple(
        min(wall, cpu) if cpu > CPU_CLOCK else wall for wall, cpu in zip(walls, cpus, strict=True)
    )


def _unavailable(results: Sequence[StateResult]) -> Unavailable:
    for result in results:
        if isinstance(result.failure, Unavailable):
            return result.failure
        if isinstance(result.comparison, Incomparable):
            return Unavailable(result.comparison.what)
    return Unavailable("no state of the program could be replayed")


def _accuracies(told: Sequence[str]) -> str:
    """What was said of the accuracy on each state: once, with the figures of the first."""
    alike: dict[str, list[str]] = {}
    for text in filter(None, told):
        alike.setdefault(text.partition(" (")[0], []).append(text)
    words = ""
    for texts in alike.values():
        more = len(texts) - 1
        words += f"; {texts[0]}"
        words += f", likewise on {more} more state{'s' * (more > 1)}" if more else ""
    return words


def _compared(same: Sequence[StateResult]) -> str:
    calls = ", ".join(str(r.entry) for r in same)
    words = f"result, arguments, globals, random state and output of call {calls}"
    first = same[0].comparison
    if isinstance(first, Same) and "not compared" in first.what:
        words += f" ({first.what.partition('; ')[2]})"
    words += _accuracies([r.comparison.accuracy for r in same if isinstance(r.comparison, Same)])
    raised = [r for r in same if r.raised is not None]
    if raised:
        words += f"; call {raised[0].entry} raises {raised[0].raised} in both"
    left_out = Counter[str]()
    for result in same:
        left_out.update(result.perturbed.left_out)
    if left_out:
        reasons = ", ".join(f"{why} ({count})" for why, count in left_out.most_common())
        words += f"; perturbed inputs left out: {reasons}"
    if not all(r.warm for r in same):
        words += "; timed without a warm-up"
    return words
