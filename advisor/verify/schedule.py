"""How many runs are enough, and what is said where there is no time for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..deadline import Deadline
from ..model import RunResult, Unavailable, Usage, Verdict
from .agreement import Comparison

SCHEDULE = ((1.0, 3, 5), (4.0, 2, 3), (math.inf, 1, 3))
"""(up to seconds of the original, runs of the original, runs of the rewrite) that are enough where
the gain is clear. Where it is not, both are repeated up to ``MOST`` times."""
FINAL = ((1.0, 3, 5), (4.0, 3, 4), (10.0, 2, 3), (math.inf, 1, 3))
"""The same for the last word on the patch, where time is left: A and B in turn, with the rewrite
run beside the original and not only minutes after it. A script of more than 10 s keeps one run of
the original where the gain is plain: its interval is 20 % wide at least."""
MOST = 5
NEXT_RUN = 1.15
"""A run is begun only if that many times its last duration is left."""


SLOWDOWN_LIMIT = 3.0
"""A rewritten script is stopped at this many times the original's time, plus ``MARGIN``."""
MARGIN = 15.0
"""Seconds: imports and compilation the original did not have."""


@dataclass(frozen=True)
class Room:
    """What the budget leaves while one rewrite is tried on a call, to be kept for a whole run.

    Without a whole run nothing is offered: one more look at a call that was compared equal must
    not take the time of it.
    """

    left: Callable[[], float]
    whole: Callable[[float], float]
    """Seconds of the rewritten script, by what its calls take as a part of the original's."""

    def after(self, more: float, ratio: float, once: float = 0.0) -> bool:
        """Whether a whole run still fits after ``more`` seconds; it takes ``once`` on top."""
        return self.left() - more >= NEXT_RUN * (self.whole(ratio) + once)


class OutOfTime(Exception):
    """A run was not begun, or was stopped, because the budget is used up."""


@dataclass
class Timed:
    """The runs of one rewrite so far."""

    patched: Mapping[Path, bytes]
    walls: list[float] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    last: Comparison = field(default_factory=lambda: Comparison(None))
    later: list[float] = field(default_factory=list)
    """Wall seconds of runs that found the compiled code of the run before."""
    later_usages: list[Usage] = field(default_factory=list)

    def mean(self, runs: int) -> float:
        """Seconds of the last run; of ``runs`` runs in the mean, where a later one was made."""
        if not self.later:
            return self.walls[-1]
        return (self.walls[-1] + (runs - 1) * self.later[-1]) / runs


def rows_for(table: tuple[tuple[float, int, int], ...], wall: float) -> tuple[int, int]:
    """Runs of the original and of the rewrite for a script of ``wall`` seconds."""
    return next((originals, rewrites) for upto, originals, rewrites in table if wall <= upto)


def usage(run: RunResult) -> Usage:
    """What a run took besides wall time."""
    return Usage(run.cpu, run.page_faults)


NO_TIME = "there was no time left for whole runs"


def ran_out(verdict: Verdict) -> bool:
    """Whether a whole-script verdict says that the budget did not reach."""
    return isinstance(verdict, Unavailable) and verdict.why.startswith(NO_TIME)


def out_of_time(needed: float, deadline: Deadline) -> Unavailable:
    """The budget does not reach for a whole run of both sides; ``needed``: seconds they take."""
    return Unavailable(f"{NO_TIME}; --budget {deadline.enough(needed)} should do")
