"""A budget of seconds on the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """Counts down ``seconds`` from its creation; ``None`` never runs out."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self.seconds = seconds

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

    def within(self, limit: float | None) -> float | None:
        """The tighter of ``limit`` and what is left; None if neither bounds."""
        left = self.remaining()
        if limit is None:
            return None if left == float("inf") else left
        return min(limit, left)
