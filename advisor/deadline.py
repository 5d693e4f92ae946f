"""A budget of seconds on the monotonic clock."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar


class Deadline:
    """Counts down ``seconds`` from its creation; ``None`` never runs out."""

    def __init__(
        self,
        seconds: float | None,
        clock: Callable[[], float] = time.monotonic,
        *,
        outside: float = 0.0,
    ) -> None:
        """``outside``: seconds of the user's budget that are not counted here: start and end."""
        self._clock = clock
        self._start = clock()
        self.seconds = seconds
        self.outside = outside

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def remaining(self) -> float:
        """Seconds left, never negative; infinite without a bound."""
        if self.seconds is None:
            return float("inf")
        return max(0.0, self.seconds - self.spent)

    @property
    def over(self) -> bool:
        """True once nothing is left."""
        return self.remaining() <= 0.0

    def enough(self, more: float) -> int:
        """The ``--budget`` with which ``more`` seconds would have been left, with some margin."""
        given = 0.0 if self.seconds is None else self.seconds + self.outside
        wanted = self.outside + self.spent + max(more, 1.0)
        return math.ceil(max(1.2 * wanted, 1.5 * given))

    def within(self, limit: float | None) -> float | None:
        """The tighter of ``limit`` and what is left; None if neither bounds."""
        left = self.remaining()
        if limit is None:
            return None if left == float("inf") else left
        return min(limit, left)


Item = TypeVar("Item")


class InTime(Generic[Item]):
    """As many items as there is time for: all may spend a share of what is left, the first more.

    In a file of ten thousand lines a rule takes seconds for every hot loop, and the trials of the
    hottest one are worth more than advice on the fourth that nobody can try.
    """

    def __init__(
        self,
        items: Sequence[Item],
        deadline: Deadline,
        share: float = 0.4,
        needed: float = 0.0,
    ) -> None:
        """``needed``: seconds without which the first is not begun either."""
        self._items, self._deadline, self._share = items, deadline, share
        self._needed = needed
        self.left_out = 0
        """How many items were not reached."""

    def __iter__(self) -> Iterator[Item]:
        floor = (1.0 - self._share) * self._deadline.remaining()
        if self._deadline.remaining() < self._needed:
            self.left_out = len(self._items)
            return
        for number, item in enumerate(self._items):
            if number and (self._deadline.over or self._deadline.remaining() < floor):
                self.left_out = len(self._items) - number
                return
            yield item


TRACED = 1.25
"""An instrumented run takes so many bare runs, and a second;"""
TRIALS = 0.45
"""trials need so many, and a second, where the rewrite is plainly faster."""


LOADING = 0.45
"""Loading the rules takes such a part of what the tool's own start and end take: both are imports,
and slow on the same machines."""


def sampling_limit(left: float, bare: float) -> float:
    """Seconds the sampled run may take of ``left``, so that what follows is still possible.

    ``bare``: seconds of the program's own run. Never less than a fifth of what is left: samples of
    the first part of a long run are better than none.
    """
    return max(0.2 * left, left - (TRACED + TRIALS) * bare - 1.5)


def tracing_limit(left: float, bare: float) -> float:
    """The same for the instrumented run, whose states all trials need: at least half."""
    return max(0.5 * left, left - TRIALS * bare - 0.5)


def process_age(stat: Path = Path("/proc/self/stat")) -> float:
    """Seconds since this process was started, its imports included; 0.0 where that is unknown."""
    try:
        fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        started = float(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        return 0.0
