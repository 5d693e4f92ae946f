"""line_profiler with a CPU budget for each function, inside the script's process.

A function is timed in slices spread over the run, so that a second loop which starts late is seen
too, and in its proportion. In between, and after the budget, the program runs at full speed. Only
the main thread is timed: the switch is a signal handler, and that runs there.
"""

from __future__ import annotations

import os
import signal
import time
import types
from _thread import get_ident
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .instrument import MODULE, TimeHooks

TICK = 0.01
"""CPU seconds between looks at the budgets."""
SLICES = 20
"""Stretches of timing into which a budget is divided."""
FIRST_GAP, GAP_GROWTH = 0.05, 1.3
"""CPU seconds without timing after the first slice, and how they grow, where the length of the
run is not known: twenty slices reach 31 s."""
TOTAL = 4.0
"""All functions together may use so many times the budget of one."""

LineRecord = tuple[str, int, int, float]
"""File, line, hits, seconds."""


@dataclass
class FunctionTimer:
    """One function (or a module's top-level loops) with its own profiler."""

    qualname: str
    dropped_line: int
    """A line that carries only our hooks; 0 for none."""
    profiler: Any
    code: types.CodeType | None = None
    used: float = 0.0
    """CPU seconds it was timed for."""
    slice_used: float = 0.0
    gap: float = 0.0
    resume_at: float = 0.0
    depth: int = 0
    """Top-level loops only: how many are being executed."""
    interrupted: dict[int, float] = field(default_factory=dict)
    """Line -> seconds of lines that were under way when timing was switched off."""
    set_on: Callable[[bool], None] = lambda on: None
    on: bool = True
    done: bool = False

    def switch_off(self) -> None:
        """Stop timing; what the current line took so far is kept."""
        self.on = False
        self.set_on(False)
        if not self.profiler.enable_count:
            return
        now = time.perf_counter_ns()
        try:
            under_way = self.profiler.last_time
        except KeyError:
            under_way = {}
        for record in under_way.values():
            line = record["f_lineno"]
            seconds = max(0, now - record["time"]) * self.profiler.timer_unit
            self.interrupted[line] = self.interrupted.get(line, 0.0) + seconds
        # By count: disable() alone would leave the count, and later calls would not be timed.
        while self.profiler.enable_count:
            self.profiler.disable_by_count()

    def switch_on(self, frame: types.FrameType | None) -> None:
        """Go on timing, also in the calls that are under way in this thread."""
        self.on = True
        self.set_on(True)
        self.slice_used = 0.0
        for _ in range(self._under_way(frame)):
            self.profiler.enable_by_count()

    def _under_way(self, frame: types.FrameType | None) -> int:
        if self.qualname == MODULE:
            return self.depth
        count = 0
        while frame is not None:
            count += frame.f_code is self.code
            frame = frame.f_back
        return count


class LineTimers:
    """All timers of a run, and the tick that keeps their budgets."""

    def __init__(
        self,
        budget: float,
        deadline: float | None,
        expire: Callable[[], None],
        expected: float | None = None,
    ) -> None:
        """``deadline``: in ``time.monotonic`` seconds; then ``expire`` is called, once.

        ``expected``: CPU seconds the program takes by itself, where known.
        """
        self.budget = budget
        self.slice = max(TICK, budget / SLICES)
        self.gap = FIRST_GAP if expected is None else expected / SLICES
        if self.gap < TICK:
            self.slice = budget  # no room for a break
        self.growth = GAP_GROWTH if expected is None else 1.0
        self.deadline = deadline
        self.expire = expire
        self.timers: list[FunctionTimer] = []
        self.total = 0.0
        self.last_cpu = 0.0
        self.idle_ticks = 0
        self.started = False
        self.running = False
        self.main = get_ident()
        self.profiler = _profiler_class()

    # ------------------------------------------------------------- hooks
    def make(self, qualname: str, dropped_line: int) -> TimeHooks | None:
        """Hooks for one function; None if line_profiler cannot be had."""
        if self.profiler is None:
            return None
        timer = FunctionTimer(qualname, dropped_line, self.profiler(), gap=self.gap)
        self.timers.append(timer)
        if self.started:
            self._arm()
        wanted, enter, leave = self._hooks(timer)

        def adopt(code: types.CodeType) -> types.CodeType:
            cells = tuple(types.CellType() for _ in code.co_freevars)
            carrier = types.FunctionType(code, {}, "carrier", None, cells)
            timer.profiler.add_function(carrier)  # gives it a code object of its own
            timer.code = carrier.__code__
            return timer.code

        return TimeHooks(wanted, enter, leave, adopt)

    def _hooks(
        self, timer: FunctionTimer
    ) -> tuple[Callable[[], bool], Callable[[], None], Callable[[], None]]:
        """Whether timing is on, what to do at a call's start, and at its end."""
        on = bytearray(b"y")  # asked by a method of its own: a third of what Python code takes
        main = self.main
        enable, disable = timer.profiler.enable_by_count, timer.profiler.disable_by_count

        def set_on(value: bool) -> None:
            on[:] = b"y" if value else b""

        def enter() -> None:
            if get_ident() == main:
                enable()

        def leave() -> None:
            if get_ident() == main:
                disable()

        def enter_loop() -> None:
            timer.depth += 1
            if on:
                enter()

        def leave_loop() -> None:
            timer.depth -= 1
            if on:
                leave()

        timer.set_on = set_on
        if timer.qualname == MODULE:
            return lambda: True, enter_loop, leave_loop
        return on.isalpha, enter, leave

    # -------------------------------------------------------------- tick
    def start(self) -> None:
        """Begin to tick: now if there is a deadline, else with the first timer."""
        self.started = True
        if self.timers or self.deadline is not None:
            self._arm()

    def _arm(self) -> None:
        if get_ident() != self.main:
            return  # signals are the main thread's; a module imported there gets its timers
        signal.signal(signal.SIGPROF, self._tick)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
        self.running = True
        self.last_cpu = time.process_time()

    def stop(self) -> None:
        """Switch everything off for good: at the end, in children, before an ``exec``."""
        self.started = False
        if self.running:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self.running = False
        for timer in self.timers:
            timer.done = True
            timer.switch_off()

    def _tick(self, signum: int, frame: types.FrameType | None) -> None:
        if not self.running:
            return
        now = time.process_time()
        passed, self.last_cpu = now - self.last_cpu, now
        if any(t.on and t.profiler.enable_count for t in self.timers):
            self.total += passed
        spent = self.total >= TOTAL * self.budget
        for timer in self.timers:
            if not timer.done:
                self._keep_budget(timer, passed, now, spent, frame)
            elif timer.profiler.enable_count:
                # A call was between asking whether to time and doing so when it was switched off.
                timer.switch_off()
                self.idle_ticks = 0
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.stop()
            self.expire()
        elif all(timer.done for timer in self.timers):
            self.idle_ticks += 1
            if self.idle_ticks > 2:
                self._slow_down()

    def _keep_budget(
        self,
        timer: FunctionTimer,
        passed: float,
        now: float,
        spent: bool,
        frame: types.FrameType | None,
    ) -> None:
        if spent:
            timer.done = True
            timer.switch_off()
            return
        if not timer.on:
            if now >= timer.resume_at:
                timer.switch_on(frame)
            elif timer.profiler.enable_count:
                timer.switch_off()
            return
        if not timer.profiler.enable_count:
            return
        timer.used += passed
        timer.slice_used += passed
        if timer.used >= self.budget:
            timer.done = True
            timer.switch_off()
        elif timer.slice_used >= self.slice:
            timer.switch_off()
            timer.resume_at = now + timer.gap
            timer.gap *= self.growth

    def _slow_down(self) -> None:
        """No budget is left to keep: tick only for the deadline, if there is one."""
        interval = 0.0 if self.deadline is None else 0.25
        if signal.getitimer(signal.ITIMER_PROF)[1] != interval:
            signal.setitimer(signal.ITIMER_PROF, interval, interval)

    # ----------------------------------------------------------- results
    def records(self) -> list[LineRecord]:
        """Hits and seconds of every line that was timed, with hook lines left out."""
        found: list[LineRecord] = []
        for timer in self.timers:
            seconds: dict[tuple[str, int], list[float]] = {}
            stats = timer.profiler.get_stats()
            for (file, _, _), lines in stats.timings.items():
                for line, hits, ticks in lines:
                    entry = seconds.setdefault((file, line), [0, 0.0])
                    entry[0] += hits
                    entry[1] += ticks * stats.unit
            if timer.code is not None:
                for line, extra in timer.interrupted.items():
                    seconds.setdefault((timer.code.co_filename, line), [0, 0.0])[1] += extra
            found += [
                (file, line, int(hits), time_)
                for (file, line), (hits, time_) in seconds.items()
                if line != timer.dropped_line
            ]
        return found


def _profiler_class() -> Any:
    """line_profiler's class, or None. Its older core is twice as fast from Python 3.12 on."""
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
    return LineProfiler
