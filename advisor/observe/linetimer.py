"""line_profiler within a CPU budget, inside the script's process.

Timing goes on in slices spread over the run, so that a second loop which starts late is seen too,
and in its proportion. In between, and after the budget, the program runs at full speed: no hook is
put into timed functions, which may be called ten million times. Only the main thread is timed: the
switch is a signal handler, and that runs there.
"""

from __future__ import annotations

import os
import signal
import time
import types
from _thread import get_ident
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .instrument import Adopt

TICK = 0.01
"""CPU seconds between looks at the budget."""
SLICES = 20
"""Stretches of timing into which the budget is divided."""
FIRST_GAP, GAP_GROWTH = 0.05, 1.3
"""CPU seconds without timing after the first slice, and how they grow, where the length of the
run is not known: twenty slices reach 31 s."""

LineRecord = tuple[str, int, int, float]
"""File, line, hits, seconds."""


@dataclass(frozen=True)
class Timed:
    """One function, or the loops of a module's top level."""

    dropped_line: int
    """A line that carries only our hooks; 0 for none."""
    within: Sequence[range] | None
    """Only lines in these are meant; None: all."""

    def means(self, line: int) -> bool:
        """Whether a record of this line is wanted."""
        if line == self.dropped_line:
            return False
        return self.within is None or any(line in lines for lines in self.within)


class LineTimers:
    """All timed code of a run, and the tick that keeps the budget."""

    def __init__(
        self,
        budget: float,
        deadline: float | None,
        expire: Callable[[], None],
        expected: float | None = None,
        beside: Callable[[], float] = float,
    ) -> None:
        """``budget``: CPU seconds of timing in all.

        ``deadline``: in ``time.monotonic`` seconds; then ``expire`` is called, once.
        ``expected``: CPU seconds the program takes by itself, where known; with 0.0 it is timed
        without breaks, from the first line on. ``beside``: CPU seconds so far that were no part of
        the program: a look at a list of a million numbers must not use up the budget before the
        loop behind it has begun.
        """
        self.budget = budget
        self.beside = beside
        self.slice = max(TICK, budget / SLICES)
        self.gap = FIRST_GAP if expected is None else expected / SLICES
        self.unbroken = self.gap < TICK
        if self.unbroken:
            self.slice = budget  # no room for a break
        self.growth = GAP_GROWTH if expected is None else 1.0
        self.deadline = deadline
        self.expire = expire
        self.profiler = _profiler()
        self.codes: set[int] = set()
        """``id`` of the code objects that are timed; the profiler keeps them alive."""
        self.meant: dict[tuple[str, int, str], Timed] = {}
        self.interrupted: dict[tuple[str, int], float] = {}
        """Seconds of lines that were under way when timing was switched off."""
        self.used = self.slice_used = 0.0
        self.resume_at = 0.0
        self.last_cpu = self.last_beside = 0.0
        self.idle_ticks = 0
        self.on = self.done = False
        self.started = self.running = False
        self.main = get_ident()

    # -------------------------------------------------------- what is timed
    def make(self, dropped_line: int, within: Sequence[range] | None) -> Adopt | None:
        """What takes the code object to be timed; None if line_profiler cannot be had."""
        if self.profiler is None:
            return None
        meant = Timed(dropped_line, within)

        def adopt(code: types.CodeType) -> types.CodeType:
            cells = tuple(types.CellType() for _ in code.co_freevars)
            carrier = types.FunctionType(code, {}, "carrier", None, cells)
            self.profiler.add_function(carrier)  # gives it a code object of its own
            self.codes.add(id(carrier.__code__))
            self.meant[_label(code)] = meant
            if self.started:
                self._begin()
            return carrier.__code__

        return adopt

    # -------------------------------------------------------------- tick
    def start(self) -> None:
        """Begin to tick: now if there is a deadline, else with the first code to be timed."""
        self.started = True
        if self.codes or self.deadline is not None:
            self._begin()

    def _begin(self) -> None:
        if self.running or get_ident() != self.main:
            return  # signals are the main thread's
        signal.signal(signal.SIGPROF, self._tick)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
        self.running = True
        self.last_cpu, self.last_beside = time.process_time(), self.beside()
        if self.unbroken and self.profiler is not None:
            self._switch_on()

    def stop(self) -> None:
        """Switch everything off for good: at the end, in children, before an ``exec``."""
        self.started = False
        if self.running:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self.running = False
        self.done = True
        self._switch_off()

    def _tick(self, signum: int, frame: types.FrameType | None) -> None:
        if not self.running:
            return
        now, beside = time.process_time(), self.beside()
        passed = (now - self.last_cpu) - (beside - self.last_beside)
        self.last_cpu, self.last_beside = now, beside
        if self.on:
            if self._under_way(frame):
                self._keep_budget(passed, now)
        elif not self.done and now >= self.resume_at and self._under_way(frame):
            self._switch_on()
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.stop()
            self.expire()
        elif self.done or not self.codes:
            self.idle_ticks += 1
            if self.idle_ticks > 2:
                self._slow_down()

    def _keep_budget(self, passed: float, now: float) -> None:
        self.used += passed
        self.slice_used += passed
        if self.used >= self.budget:
            self.done = True
            self._switch_off()
        elif self.slice_used >= self.slice:
            self._switch_off()
            self.resume_at = now + self.gap
            self.gap *= self.growth

    def _under_way(self, frame: types.FrameType | None) -> bool:
        """Whether timed code is being executed: imports, for one, are not to use up the budget."""
        while frame is not None:
            if id(frame.f_code) in self.codes:
                return True
            frame = frame.f_back
        return False

    def _switch_on(self) -> None:
        """Go on timing, also in the calls that are under way."""
        self.on = True
        self.slice_used = 0.0
        self.profiler.enable_by_count()

    def _switch_off(self) -> None:
        """Stop timing; what the current lines took so far is kept."""
        if not self.on:
            return
        self.on = False
        now = time.perf_counter_ns()
        try:
            under_way = self.profiler.last_time
        except KeyError:
            under_way = {}
        for code, record in under_way.items():
            file, line = code.co_filename, record["f_lineno"]
            if self.meant[_label(code)].means(line):
                seconds = max(0, now - record["time"]) * self.profiler.timer_unit
                known = self.interrupted.get((file, line), 0.0)
                self.interrupted[file, line] = known + seconds
        self.profiler.disable_by_count()

    def _slow_down(self) -> None:
        """No budget is left to keep: tick only for the deadline, if there is one."""
        interval = 0.0 if self.deadline is None else 0.25
        if signal.getitimer(signal.ITIMER_PROF)[1] != interval:
            signal.setitimer(signal.ITIMER_PROF, interval, interval)

    # ----------------------------------------------------------- results
    def records(self) -> list[LineRecord]:
        """Hits and seconds of every line that was timed and is meant."""
        if self.profiler is None:
            return []
        seconds: dict[tuple[str, int], list[float]] = {}
        stats = self.profiler.get_stats()
        for (file, first, name), lines in stats.timings.items():
            meant = self.meant[file, first, name]
            for line, hits, ticks in lines:
                if meant.means(line):
                    entry = seconds.setdefault((file, line), [0, 0.0])
                    entry[0] += hits
                    entry[1] += ticks * stats.unit
        for (file, line), extra in self.interrupted.items():
            seconds.setdefault((file, line), [0, 0.0])[1] += extra
        return [(file, line, int(hits), time_) for (file, line), (hits, time_) in seconds.items()]


def _label(code: types.CodeType) -> tuple[str, int, str]:
    """How line_profiler names a code object in what it found."""
    return code.co_filename, code.co_firstlineno, code.co_qualname


def _profiler() -> Any:
    """One of line_profiler's, or None. Its older core is twice as fast from Python 3.12 on."""
    name = "LINE_PROFILER_CORE"
    before = os.environ.get(name)
    os.environ[name] = "legacy"
    try:
        from line_profiler._line_profiler import LineProfiler
    except ImportError:
        return None
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
    return LineProfiler()
