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
    SCHEDULE,
    SLOWDOWN_LIMIT,
    OutOfTime,
    Timed,
    usage,
)

SEEN_TWICE = 1.2
"""The factor that makes a gain plain where recorded calls gained as well: the original's time is
then known from its replay beside the rewrite's, and not from the user's run alone."""
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
    usual = without_waiting(real)
    plain = goal.threshold * (timing.PLAIN if goal.expected is None else SEEN_TWICE)
    # Of a rewrite that no state was there for, nothing is known: it must be done by the time at
    # which its gain would no longer be plain.
    expected = usual / plain if goal.expected is None else goal.expected
    if deadline.remaining() < NEXT_RUN * expected:
        return None
    reference = Reference(wrote, _no_more_runs)
    counted: list[float] = []
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
            counted.append(as_the_original(once, real, wrote))
            if usual < plain * min(counted):
                return None  # more runs would take the time that other rewrites need
    except OutOfTime:
        if not timed.walls:
            return None
    sides = [usage(real)], timed.usages
    measured = timing.ratio([usual], counted, usages=sides)
    if measured.low < plain:
        return None
    words = f"{timed.last.compared}; {STOOD_IN}"
    return Verified(measured, timed.last.error, 0, words)


def without_waiting(run: RunResult) -> float:
    """Seconds of a run, less what it waited: for its user, for other programs, in ``sleep``."""
    return min(run.wall, max(run.cpu, 1e-3))


def as_the_original(once: RunResult, real: RunResult, wrote: RunResult) -> float:
    """Seconds of a rewritten run, to be compared with the real run without its waiting.

    What the program waits for by itself is there in both, and counts: a script that sleeps for 3
    of its 5 s and computes in the others becomes 1.7 times as fast at most. Of what it waited for
    other programs the same part is taken off. How much of its time the original waits in a trial
    is seen in the profiled run, as the real one may have waited for its user.
    """
    usual = without_waiting(real)
    waiting = max(1.0, wrote.wall / max(wrote.cpu, 1e-3))
    return max(without_waiting(once), once.wall * usual / min(real.wall, usual * waiting))


def _no_more_runs() -> RunResult:
    raise OutOfTime
