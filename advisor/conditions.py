"""Which rewrite would win if the script were run more often, or only once.

What is offered wins under the user's conditions (``--runs``). A compiled rewrite that loses a
single run may win ten of them, and the other way round; the user should know.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from .model import Finding, NotFaster, Ratio, Trial, Verified

MARGIN = 1.1
"""A rival must be faster by so much: less may be noise."""
MOST = 100_000
"""Runs beyond which nobody counts."""


@dataclass(frozen=True)
class Runs:
    """Wall seconds of a script: of its first run, and of each later one."""

    first: float
    later: float

    def total(self, runs: int) -> float:
        """Seconds of so many runs."""
        return self.first + (runs - 1) * self.later


@dataclass(frozen=True)
class Turn:
    """Another rewrite of a hot place would win under other conditions."""

    trial: Trial
    runs: int
    """From so many runs on; 1: for a single run."""
    rival: Runs
    incumbent: Runs
    """Of what wins now: the rewrite that is offered, or the original."""


def turn(finding: Finding, runs: int) -> Turn | None:
    """The rewrite that would win with more runs than ``runs`` (or with one), as measured."""
    timed = {id(t): known for t in finding.others if (known := runs_of(t)) is not None}
    rivals = [t for t in finding.others if id(t) in timed]
    incumbent = _incumbent(finding, rivals)
    if incumbent is None:
        return None
    if runs > 1:
        best = min(rivals, key=lambda t: timed[id(t)].first, default=None)
        if best is None or timed[id(best)].first * MARGIN > incumbent.first:
            return None
        return Turn(best, 1, timed[id(best)], incumbent)
    turns = [
        Turn(trial, count, timed[id(trial)], incumbent)
        for trial in rivals
        if (count := overtakes(timed[id(trial)], incumbent)) is not None
    ]
    return min(turns, key=lambda t: (t.runs, t.rival.later), default=None)


def overtakes(rival: Runs, incumbent: Runs) -> int | None:
    """The least number of runs, more than one, that the rival wins by `MARGIN`; None if it never
    does.

    Solves ``MARGIN * rival.total(n) <= incumbent.total(n)`` for n.
    """
    gained = incumbent.later - MARGIN * rival.later
    if gained <= 0.0:
        return None
    behind = MARGIN * (rival.first - rival.later) - (incumbent.first - incumbent.later)
    count = max(2, math.ceil(behind / gained))
    return count if count <= MOST else None


def runs_of(trial: Trial) -> Runs | None:
    """What its first and later runs take; None where it was not run equal as a whole script."""
    verdict = trial.script_verdict
    if not isinstance(verdict, Verified | NotFaster) or not verdict.speedup.candidate:
        return None
    first = median(verdict.speedup.candidate)
    return Runs(first, median(verdict.later.candidate) if verdict.later else first)


def _incumbent(finding: Finding, rivals: list[Trial]) -> Runs | None:
    if finding.winner is not None:
        return runs_of(finding.winner)
    known = [_ratio(trial).original for trial in rivals]
    originals = [seconds for walls in known for seconds in walls]
    return Runs(median(originals), median(originals)) if originals else None


def _ratio(trial: Trial) -> Ratio:
    assert isinstance(trial.script_verdict, Verified | NotFaster)
    return trial.script_verdict.speedup
