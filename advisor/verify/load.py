"""What else the machine was doing while something was timed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..model import Usage

STAT = Path("/proc/stat")
HEAVY = 0.25
"""Share of all cores in other hands from which on they may slow one run by a third, and not the
next: they share caches, the memory and often the arithmetic units with it."""
NOTICED = 0.1
"""Cores in other hands from which on they are mentioned; a desktop at rest takes some percent."""


@dataclass(frozen=True)
class Ticks:
    """The machine's counters at one moment: seconds summed over all cores since it started."""

    busy: float
    """At work for anybody, this virtual machine only."""
    stolen: float
    """Wanted by this virtual machine, and given to another."""

    @classmethod
    def now(cls, stat: Path = STAT) -> Ticks | None:
        """Read from ``/proc/stat``; None where there is no such file (not Linux)."""
        try:
            first = stat.read_text(encoding="ascii").partition("\n")[0].split()
            fields = [float(field) / os.sysconf("SC_CLK_TCK") for field in first[1:9]]
            user, nice, system, _idle, _iowait, irq, softirq, stolen = fields
        except (OSError, ValueError):
            return None
        return cls(user + nice + system + irq + softirq, stolen)


@dataclass
class Meter:
    """Adds up, over several runs, how many cores other programs had."""

    wall: float = 0.0
    others: float = 0.0
    stolen: float = 0.0

    def add(self, before: Ticks | None, wall: float, usage: Usage) -> None:
        """One run of ``wall`` seconds that began at ``before`` has just ended."""
        after = Ticks.now()
        if before is None or after is None:
            return
        self.wall += wall
        self.others += max(0.0, after.busy - before.busy - usage.cpu)
        self.stolen += max(0.0, after.stolen - before.stolen)

    @property
    def disturbing(self) -> str:
        """``words`` where others take so much that small gains may be theirs, else empty."""
        if self.wall <= 0.0:
            return ""
        others = self.others / self.wall >= HEAVY * (os.cpu_count() or 1)
        return self.words if others or self.stolen / self.wall >= NOTICED else ""

    @property
    def words(self) -> str:
        """``"other programs took 1.4 of 2 cores meanwhile"``; empty if nothing was noticed."""
        if self.wall <= 0.0:
            return ""
        cores = os.cpu_count() or 1
        parts = []
        if self.others / self.wall >= NOTICED:
            taken = min(self.others / self.wall, float(cores))
            parts.append(f"other programs took {taken:.1f} of {cores} cores meanwhile")
        if self.stolen / self.wall >= NOTICED:
            gone = self.stolen / self.wall
            parts.append(f"{gone:.1f} cores' time went to other virtual machines")
        return ", ".join(parts)


def waiting(walls: Iterable[float], usages: Iterable[Usage]) -> str:
    """``"wall time is 2.3 times CPU time"`` where that is so; a script may also wait by itself."""
    wall, cpu = sum(walls), sum(usage.cpu for usage in usages)
    if cpu <= 0.0 or wall < 1.3 * cpu:
        return ""
    return f"wall time is {wall / cpu:.1f} times CPU time"
