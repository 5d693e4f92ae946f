"""Times by problem size, and the sizes at which the lead changes.

All times are wall seconds of the whole program, each run in a fresh process. A *first* run finds
nothing compiled, a *later* one finds what the first one compiled; for versions that compile nothing
both are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

import numpy as np

from ..verify import timing
from .versions import Kind

AROUND = 1.3
"""Sizes so many times below and above a change of lead help to place it; further off the ratio of
two times is no straight line."""
APART = AROUND**3
"""Where sizes that enclose a change are so far apart, times differ little in between: the outer
ones would make a steep line of that."""
RESAMPLES = 1000
SEED = 20_240_229
"""Fixed, so that the same times always give the same interval."""


class Condition(StrEnum):
    """Under which the lead is asked for."""

    LATER = "later runs"
    FIRST = "first run"


@dataclass(frozen=True)
class Point:
    """One version at one size."""

    first: tuple[float, ...] = ()
    later: tuple[float, ...] = ()
    """Empty where nothing is compiled."""
    why: str = ""
    """Why there are no times, or no more of them."""

    def times(self, condition: Condition) -> tuple[float, ...]:
        """Seconds under a condition; empty if it was not measured."""
        return self.later if condition is Condition.LATER and self.later else self.first


Row = Mapping[Kind, Point]
"""All versions at one size."""


@dataclass(frozen=True)
class Change:
    """The size at which another version takes the lead."""

    before: Kind
    after: Kind
    size: float
    low: float
    high: float
    """95 % interval of the size, from resampled times; the lead changes between two measured sizes
    that enclose it."""


@dataclass(frozen=True)
class Lead:
    """Who is fastest, from the smallest size to the largest, under one condition."""

    condition: Condition
    smallest: Kind | None
    """At the smallest size; None if nothing was measured."""
    changes: tuple[Change, ...] = ()

    def at(self, size: float) -> Kind | None:
        """Who leads at a size within the measured ones."""
        now = self.smallest
        for change in self.changes:
            now = change.after if size >= change.size else now
        return now


@dataclass(frozen=True)
class Curves:
    """What was measured, by size."""

    rows: Mapping[int, Row] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """All sizes at which something was measured, ascending."""
        measured = (s for s, row in self.rows.items() if any(p.first for p in row.values()))
        return tuple(sorted(measured))

    def seconds(self, kind: Kind, size: int, condition: Condition) -> float | None:
        """The median; None if it was not measured."""
        times = self._times(kind, size, condition)
        return median(times) if times else None

    def _times(self, kind: Kind, size: int, condition: Condition) -> tuple[float, ...]:
        point = self.rows[size].get(kind)
        return point.times(condition) if point is not None else ()

    def fastest(
        self, size: int, condition: Condition, among: Sequence[Kind] | None = None
    ) -> Kind | None:
        """The version with the least median at a size; None if none was measured there."""
        known = {
            kind: seconds
            for kind in self.rows[size]
            if among is None or kind in among
            if (seconds := self.seconds(kind, size, condition)) is not None
        }
        return min(known, key=known.__getitem__, default=None)

    # ---------------------------------------------------------------- the lead
    def lead(self, condition: Condition, among: Sequence[Kind] | None = None) -> Lead:
        """Who leads where. A lead is lost only to a version that is faster beyond the noise."""
        sizes = [s for s in self.sizes if self.fastest(s, condition, among) is not None]
        if not sizes:
            return Lead(condition, None)
        now = smallest = self.fastest(sizes[0], condition, among)
        changes: list[Change] = []
        held = sizes[0]
        for size in sizes:
            best = self.fastest(size, condition, among)
            assert best is not None and now is not None
            if best is not now and self._beats(best, now, size, condition):
                changes.append(self._change(now, best, held, size, condition))
                now = best
            if self.fastest(size, condition, among) is now:
                held = size
        return Lead(condition, smallest, tuple(changes))

    def _beats(self, one: Kind, other: Kind, size: int, condition: Condition) -> bool:
        mine = self._times(one, size, condition)
        theirs = self._times(other, size, condition)
        # What was left out as too slow to be run does not lead.
        return not theirs or timing.ratio(theirs, mine).low > 1.0

    def _change(
        self, before: Kind, after: Kind, held: int, size: int, condition: Condition
    ) -> Change:
        """Where two curves cross: a straight line through their ratio, on logarithmic axes.

        ``log(t_before / t_after)`` is taken to be linear in ``log(size)`` over the sizes around the
        change, so that one unlucky time does not place it; its root is the size. A first line
        through all sizes that enclose the change says which of them are near.
        """
        rng = np.random.default_rng(SEED)
        if held == size:
            return Change(before, after, float(size), held, size)
        ratios: dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
        for at in self.sizes:
            one, other = (self._resampled(k, at, condition, rng) for k in (before, after))
            if one is not None and other is not None and held / AROUND <= at <= size * AROUND:
                ratios[at] = np.log(one) - np.log(other)
        if held not in ratios or size not in ratios:
            return Change(before, after, math.sqrt(held * size), held, size)
        ends = min(ratios), max(ratios)
        roots = _roots(ratios, ends)
        near = {at: r for at, r in ratios.items() if 1 / AROUND <= at / roots[0] <= AROUND}
        if ends[1] > APART * ends[0] and len(near) > 2:
            roots = _roots(near, ends)
        low, high = (float(q) for q in np.quantile(roots[1:], [0.025, 0.975]))
        estimate = float(roots[0])
        if not 1.001 * ends[0] < estimate < ends[1] / 1.001:  # a line that does not rise
            estimate = float(np.exp(np.log(roots[1:]).mean()))
        return Change(before, after, estimate, min(low, estimate), max(high, estimate))

    def _resampled(
        self, kind: Kind, size: int, condition: Condition, rng: np.random.Generator
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
        """The median, and medians of resamples behind it; None if it was not measured."""
        times = np.asarray(self._times(kind, size, condition), dtype=np.float64)
        if times.size == 0:
            return None
        if times.size < timing.FEW:  # resampling one or two values says nothing of their spread
            spread = 1.0 + timing.SINGLE_SPREAD * rng.uniform(-1.0, 1.0, RESAMPLES)
            drawn = np.median(times) * spread
        else:
            drawn = np.median(rng.choice(times, (RESAMPLES, times.size)), axis=1)
        return np.concatenate([[np.median(times)], drawn])

    def widest(self, resolution: float, conditions: Sequence[Condition]) -> tuple[int, int] | None:
        """The pair of neighbouring sizes between which a lead changes that are furthest apart.

        None if every change is enclosed within a factor of ``resolution``.
        """
        pairs = [pair for c in conditions for pair in self._enclosing(self.lead(c))]
        wide = [pair for pair in pairs if pair[1] > resolution * pair[0] and pair[1] - pair[0] > 1]
        return max(wide, key=lambda pair: pair[1] / pair[0], default=None)

    def vaguest(
        self, factor: float, most: int, conditions: Sequence[Condition]
    ) -> tuple[Change, int] | None:
        """The change of lead with the widest interval, and the size at which to run both again.

        None if every interval is within ``factor``, or both sides have run ``most`` times at each
        size that places it.
        """
        found: list[tuple[float, Change, int]] = []
        for condition in conditions:
            for change in self.lead(condition).changes:
                counts = self._runs_around(change, condition, most)
                if change.high > factor * change.low and counts:
                    size = min(counts, key=lambda at: (counts[at], abs(at - change.size)))
                    found.append((change.high / change.low, change, size))
        if not found:
            return None
        _, change, size = max(found, key=lambda entry: entry[0])
        return change, size

    def _runs_around(self, change: Change, condition: Condition, most: int) -> dict[int, int]:
        """Sizes that place a change, and how often the side with fewer runs has run there."""
        counts = {}
        for at in self.sizes:
            one, other = (
                len(self._times(kind, at, condition)) for kind in (change.before, change.after)
            )
            if change.size / AROUND <= at <= change.size * AROUND and 0 < min(one, other) < most:
                counts[at] = min(one, other)
        return counts

    def _enclosing(self, lead: Lead) -> Iterator[tuple[int, int]]:
        for change in lead.changes:
            below = [size for size in self.sizes if size <= change.size]
            above = [size for size in self.sizes if size > change.size]
            if below and above:
                yield below[-1], above[0]


def _roots(
    ratios: Mapping[int, np.ndarray[tuple[int], np.dtype[np.float64]]],
    ends: tuple[int, int],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The sizes at which lines through the ratios, one line a resample, are zero.

    Within the sizes at the ends: a line that does not rise says only on which side it lies.
    """
    x = np.log(np.array(list(ratios), dtype=np.float64))
    y = np.array(list(ratios.values()))
    centre = x.mean()
    slope = (x - centre) @ y / ((x - centre) ** 2).sum()
    # flat to the last digit: the smallest slope that divides keeps the side
    root = centre - y.mean(axis=0) / np.maximum(slope, 1e-9)
    bounded: np.ndarray[tuple[int], np.dtype[np.float64]] = np.exp(np.clip(root, *np.log(ends)))
    return bounded


# ------------------------------------------------------------------ prediction
@dataclass(frozen=True)
class Growth:
    """What is assumed of how a time grows with the size."""

    start: float = 0.0
    """Seconds that do not grow: starting Python, importing."""
    exponent: float = 2.0
    """Of the power law, where one point is all there is."""


def exponent(
    curves: Curves, kind: Kind, size: int, condition: Condition, start: float
) -> float | None:
    """Of a power law through the two points nearest to a size, between 0 and 4; None without two.

    ``start``: seconds that do not grow, taken off first.
    """
    known = _nearest(curves, kind, size, condition, start)[:2]
    if len(known) < 2:
        return None
    (one, seconds), (other, others) = known
    return min(4.0, max(0.0, math.log(seconds / others) / math.log(one / other)))


def predicted(
    curves: Curves, kind: Kind, size: int, condition: Condition, growth: Growth | None = None
) -> float | None:
    """Seconds a version should take at a size: a power law through its two nearest points.

    None where it was not measured at any size.
    """
    growth = growth or Growth()
    known = _nearest(curves, kind, size, condition, growth.start)
    if not known:
        return None
    near, seconds = known[0]
    power = exponent(curves, kind, size, condition, growth.start)
    power = growth.exponent if power is None else power
    return float(growth.start + seconds * (size / near) ** power)


def _nearest(
    curves: Curves, kind: Kind, size: int, condition: Condition, start: float
) -> list[tuple[int, float]]:
    """Measured sizes, the nearest first, and what each takes beyond ``start``."""
    known = [
        (at, max(seconds - start, 0.05 * seconds))
        for at in curves.sizes
        if (seconds := curves.seconds(kind, at, condition)) is not None
    ]
    return sorted(known, key=lambda entry: abs(math.log(entry[0] / size)))
