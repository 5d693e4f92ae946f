"""First runs and later runs: what a compiler costs, spread over as often as the script will run.

A first run compiles; later ones find the compiled code on disk. Which rewrite is best depends on
how often the user will run the script: over N runs one costs ``first + (N - 1) * later``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ..model import Inconclusive, NotFaster, Ratio, RunResult, Usage
from . import timing
from .load import Meter, waiting
from .schedule import OutOfTime, Timed, usage

COMPILERS = (b"numba", b"cupy", b"torch.compile", b"compile(mode=")


def compiles(patched: Mapping[Path, bytes]) -> bool:
    """Whether the new text uses a package that keeps compiled code for the next run."""
    return any(word in text for text in patched.values() for word in COMPILERS)


@dataclass(frozen=True)
class Originals:
    """All runs of the original so far."""

    walls: Sequence[float]
    usages: Sequence[Usage]
    spread: float
    """Relative difference seen between the user's own run and the first trial run."""


def originals_of(runs: Sequence[RunResult], real: RunResult | None) -> Originals:
    """Trial runs of the original, and how far the user's own run of it is from the first.

    Half of the difference goes to both sides. Where the own run waited for a person at the
    terminal, CPU time tells how much the machine itself varied.
    """
    spread = 0.0
    if real is not None and runs:
        pairs = ((real.wall, runs[0].wall), (real.cpu, runs[0].cpu))
        spread = min(abs(a - b) / (a + b) if a + b > 0.0 else 0.0 for a, b in pairs)
    return Originals([run.wall for run in runs], [usage(run) for run in runs], spread)


@dataclass(frozen=True)
class Measured:
    """The original against first runs, against later runs, and against the user's N runs."""

    first: Ratio
    later: Ratio | None = None
    over: Ratio | None = None

    @property
    def deciding(self) -> Ratio:
        """What counts under the user's conditions."""
        return self.over or self.first

    @property
    def saved(self) -> float:
        """CPU seconds that a later run saves, as compiling is all the difference; never negative.

        CPU seconds vary less than wall seconds.
        """
        sides = [] if self.later is None else [self.first, self.later]
        cpu = [median(used.cpu for used in side.candidate_usage) for side in sides]
        return max(0.0, cpu[0] - cpu[1]) if cpu else 0.0

    def gain(
        self, threshold: float, meter: Meter, *, final: bool
    ) -> NotFaster | Inconclusive | None:
        """None if the whole interval clears the threshold; else why the gain is not accepted.

        ``meter``: what other programs took of the machine during these runs. ``final``: it is the
        last word, and not one of a race in which some are run once.
        """
        walls = (*self.first.original, *self.first.candidate)
        usages = (*self.first.original_usage, *self.first.candidate_usage)
        noise = ", ".join(filter(None, (waiting(walls, usages), meter.words)))
        obstacle = timing.gain(self.deciding, threshold, noise)
        if isinstance(obstacle, NotFaster):
            return NotFaster(self.first, threshold, self.later, self.over)
        if obstacle is None and final:
            return timing.not_apart(self.deciding, threshold, meter.disturbing)
        return obstacle


def measured(originals: Originals, timed: Timed, runs: int) -> Measured:
    """The ratios of a rewrite, from all its runs. Raises ValueError without a time on a side."""
    first = timing.ratio(
        originals.walls,
        timed.walls,
        known_spread=originals.spread,
        usages=(originals.usages, timed.usages),
    )
    if not timed.later:
        return Measured(first)
    later = timing.ratio(
        originals.walls,
        timed.later,
        known_spread=originals.spread,
        usages=(originals.usages, timed.later_usages),
    )
    if runs == 1:
        return Measured(first, later)
    # Both of a pair ran one after the other: what disturbs the machine disturbs them alike.
    means = [over(runs, *pair) for pair in zip(timed.walls, timed.later, strict=False)]
    return Measured(
        first, later, timing.ratio(originals.walls, means, known_spread=originals.spread)
    )


def time_later(timed: Timed, run: Callable[[bool], RunResult], *, again: bool) -> None:
    """A later run for its time alone; ``again``: a first run before, as what that compiled is gone.

    ``run`` takes whether compiled code is kept. What ends in OutOfTime is left out.
    """
    try:
        first = run(False) if again else None
        later = run(True)
    except OutOfTime:
        return
    if first is not None:
        timed.walls.append(first.wall)
        timed.usages.append(usage(first))
    timed.later.append(later.wall)
    timed.later_usages.append(usage(later))


def over(runs: int, first: float, later: float) -> float:
    """Mean seconds of one of ``runs`` runs, of which one is a first run."""
    return (first + (runs - 1) * later) / runs
