"""How many times faster, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model import Inconclusive, NotFaster, Ratio, Usage

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 20_240_229
"""Fixed, so that the same times always give the same interval."""
FEW = 3
"""With fewer values than this on a side, resampling says nothing about that side."""
SINGLE_SPREAD = 0.10
"""Relative spread assumed of a side that was run once: whole-script times of one machine differ by
5 to 10 % from run to run (two busy cores)."""
PLAIN = 1.5
"""The gain is plain if the whole interval clears the threshold by this factor."""
TOO_WIDE = 1.5
"""An interval whose ends differ by more says nothing, wherever its middle is."""

Times = np.ndarray[tuple[int], np.dtype[np.float64]]


def ratio(
    original: Sequence[float],
    candidate: Sequence[float],
    *,
    known_spread: float = 0.0,
    usages: tuple[Sequence[Usage], Sequence[Usage]] = ((), ()),
) -> Ratio:
    """Median of the original times over the median of the candidate's, with its interval.

    The interval holds the central 95 % of 2000 bootstrap resamples of both sides. A side with two
    values is widened by the relative spread of the other side (10 % if that has too few values as
    well), a single value by 10 % at least; the values that were seen are always covered.

    Args:
        original: wall seconds of each run.
        candidate: likewise.
        known_spread: relative difference seen between runs elsewhere (the user's own run against
            the first trial run); sides with fewer than three values are widened by it at least.
        usages: CPU time and page faults of the runs of both sides, kept with the result.

    Raises ValueError without times, or with times that are not positive.
    """
    if not original or not candidate:
        raise ValueError("no times to compare")
    if min(*original, *candidate) <= 0.0:
        raise ValueError("times must be positive")
    a, b = np.asarray(original, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    rng = np.random.default_rng(SEED)
    medians_a = _medians(a, max(_spread(b), known_spread), rng)
    medians_b = _medians(b, max(_spread(a), known_spread), rng)
    tail = (1.0 - CONFIDENCE) / 2.0
    quotients = medians_a / medians_b
    low, high = np.quantile(quotients, [tail, 1.0 - tail])
    value = float(np.median(a) / np.median(b))
    return Ratio(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        original=tuple(float(t) for t in original),
        candidate=tuple(float(t) for t in candidate),
        original_usage=tuple(usages[0]),
        candidate_usage=tuple(usages[1]),
    )


def _spread(times: Times) -> float:
    """Relative half range; what one more run of this machine may be off by."""
    if times.size < FEW:
        return SINGLE_SPREAD
    return float((times.max() - times.min()) / 2.0 / np.median(times))


def _medians(times: Times, other_spread: float, rng: np.random.Generator) -> Times:
    """Medians of resamples; for one or two values, draws from a widened range instead."""
    if times.size >= FEW:
        drawn = rng.choice(times, size=(RESAMPLES, times.size), replace=True)
        return np.asarray(np.median(drawn, axis=1))
    # Three quick runs of the rewrite can agree to a percent by luck; that says little of how much
    # one long run of the original may be off.
    spread = max(other_spread, SINGLE_SPREAD) if times.size == 1 else other_spread
    low = times.min() * (1.0 - spread)
    high = times.max() * (1.0 + spread)
    return rng.uniform(max(low, times.min() * 0.1), high, size=RESAMPLES)


def clear(measured: Ratio, threshold: float) -> bool:
    """Whether more runs would change nothing: the interval is on one side of the threshold."""
    return measured.low >= threshold or measured.high < threshold


def gain(measured: Ratio, threshold: float, noise: str = "") -> NotFaster | Inconclusive | None:
    """None if the whole interval clears the threshold; else why the gain is not accepted.

    An interval around the threshold is a small gain if it is narrow, and no answer if it is not.
    ``noise``: what was seen to disturb the runs, in words.
    """
    if measured.low >= threshold:
        return None
    narrow = measured.high < TOO_WIDE * measured.low
    if measured.high < threshold or (measured.value < threshold and narrow):
        return NotFaster(measured, threshold)
    return Inconclusive(
        f"the times vary too much to tell whether it gains {threshold:g}x "
        f"({_range('original', measured.original)}, {_range('rewrite', measured.candidate)}"
        f"{f'; {noise}' if noise else ''}); repeat on an idle machine, or with a larger --budget"
    )


def not_apart(measured: Ratio, threshold: float, disturbed: str) -> Inconclusive | None:
    """Why a small gain, measured on a ``disturbed`` machine, is not believed; None if it is.

    Other programs that come and go can slow the runs of one side by more than the runs of a side
    differ among themselves. Of at least three runs a side, taken in turn, every one of the original
    must take longer than every one of the rewrite: without a gain that happens once in 20 times,
    and once in 56 with five of the rewrite (rank-sum test). A plain gain is beyond what others do.
    """
    if not disturbed or measured.low >= PLAIN * threshold:
        return None
    original, candidate = measured.original, measured.candidate
    if min(len(original), len(candidate)) >= FEW and min(original) > max(candidate):
        return None
    gain = f"{measured.value:.3g}x ({measured.low:.3g}-{measured.high:.3g}x)"
    return Inconclusive(
        f"a gain of {gain} is too little to be sure of ({_range('original', original)}, "
        f"{_range('rewrite', candidate)}) while {disturbed}; repeat on an idle machine, or with a "
        "larger --budget"
    )


def _range(side: str, times: Sequence[float]) -> str:
    if len(times) == 1:
        return f"{side} {times[0]:.3g} s in 1 run"
    return f"{side} {min(times):.3g} to {max(times):.3g} s in {len(times)} runs"
