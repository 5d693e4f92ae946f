"""A long script with little budget: runs made for other reasons stand in for the original."""

from __future__ import annotations

from collections.abc import Callable

from ..deadline import Deadline
from ..model import RunResult, Verified
from . import timing
from .agreement import Goal, Reference
from .files import WrittenFiles
from .schedule import (
    MARGIN,
    NEXT_RUN,
    PLAIN,
    SCHEDULE,
    SLOWDOWN_LIMIT,
    OutOfTime,
    Timed,
    usage,
)

STOOD_IN = (
    "against what the profiled run wrote, timed against the real run, as the budget leaves no "
    "room for one more run of the original"
)


def stood_in(
    real: RunResult,
    wrote: RunResult,
    run: Callable[[float], RunResult],
    timed: Timed,
    goal: Goal,
    deadline: Deadline,
) -> Verified | None:
    """The rewrite against the user's own run, which gives the time, and a profiled one: the output.

    ``run`` runs the rewrite once, within so many seconds. Only a plain gain and equal output count:
    what differs might differ because of the profiler. None if it cannot be said.
    """
    if wrote.end != real.end:
        return None
    if goal.expected is None or deadline.remaining() < NEXT_RUN * goal.expected:
        return None
    reference = Reference(wrote, _no_more_runs)
    # Waiting is left out of the original's time: what it waited for is not there in a trial.
    usual = min(real.wall, max(real.cpu, 1e-3))
    try:
        while len(timed.walls) < SCHEDULE[-1][2]:
            if timed.walls and deadline.remaining() < 2.0 * timed.walls[-1]:
                break
            once = run(SLOWDOWN_LIMIT * usual + MARGIN)
            timed.last = reference.compare(once, WrittenFiles(), goal)
            if timed.last.problem is not None:
                return None
            timed.walls.append(once.wall)
            timed.usages.append(usage(once))
    except OutOfTime:
        if not timed.walls:
            return None
    sides = [usage(real)], timed.usages
    measured = timing.ratio([usual], timed.walls, usages=sides)
    if measured.low < PLAIN * goal.threshold:
        return None
    words = f"{timed.last.compared}; {STOOD_IN}"
    return Verified(measured, timed.last.error, 0, words)


def _no_more_runs() -> RunResult:
    raise OutOfTime
