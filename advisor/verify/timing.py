"""How many times faster, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model import Inconclusive, NotFaster, Ratio

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 20_240_229
"""Fixed, so that the same times always give the same interval."""
FEW = 3
"""With fewer values than this on a side, resampling says nothing about that side."""
SINGLE_SPREAD = 0.10
"""Relative spread assumed of a side that was run once: whole-script times of one machine differ by
5 to 10 % from run to run (two busy cores)."""


def ratio(original: Sequence[float], candidate: Sequence[float]) -> Ratio:
    """Median of the original times over the median of the candidate's, with its interval.

    The interval holds the central 95 % of 2000 bootstrap resamples of both sides. A side with two
    values is widened by the relative spread of the other side (10 % if that has too few values as
    well), a single value by 10 % at least; the values that were seen are always covered.

    Raises ValueError without times, or with times that are not positive.
    """
    if not original or not candidate:
        raise ValueError("no times to compare")
    if min(*original, *candidate) <= 0.0:
        raise ValueError("times must be positive")
    a, b = np.asarray(original, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    rng = np.random.default_rng(SEED)
    medians_a = _medians(a, _spread(b), rng)
    medians_b = _medians(b, _spread(a), rng)
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
    )


def _spread(times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Relative half range; what one more run of this machine may be off by."""
    if times.size < FEW:
        return SINGLE_SPREAD
    return float((times.max() - times.min()) / 2.0 / np.median(times))


def _medians(
    times: np.ndarray[tuple[int], np.dtype[np.float64]],
    other_spread: float,
    rng: np.random.Generator,
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
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


def gain(measured: Ratio, threshold: float) -> NotFaster | Inconclusive | None:
    """None if the whole interval clears the threshold; else why the gain is not accepted."""
    if measured.low >= threshold:
        return None
    if measured.high < threshold or measured.value < threshold:
        return NotFaster(measured, threshold)
    runs = f"{len(measured.original)} and {len(measured.candidate)} runs"
    return Inconclusive(
        f"{measured.value:.2f}x ({measured.low:.2f} to {measured.high:.2f}x, {runs}) does not "
        f"clear {threshold:.2f}x: the times vary too much; repeat on a quiet machine"
    )
