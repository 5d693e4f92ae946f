"""Whole runs of the script, original against rewritten, in the sandbox."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..deadline import Deadline
from ..model import (
    Inconclusive,
    Ratio,
    RunResult,
    Stopped,
    Target,
    Unavailable,
    Verdict,
    Verified,
)
from . import timing
from .agreement import (
    Comparison,
    Goal,
    Reference,
    end_words,
    last_line,
    nothing_compared,
    unsteady,
)
from .clocks import CLOCKS, hashing
from .files import WrittenFiles
from .load import Meter, Ticks, waiting
from .schedule import (
    FINAL,
    MOST,
    NEXT_RUN,
    PLAIN,
    SCHEDULE,
    Timed,
    out_of_time,
    ran_out,
    rows_for,
    usage,
)

if TYPE_CHECKING:
    from ..observe.sandbox import Sandbox

__all__ = ["Comparison", "Goal", "OutOfTime", "ScriptTrials", "nothing_compared", "ran_out"]

SLOWDOWN_LIMIT = 3.0
"""A rewritten script is stopped at this many times the original's time, plus ``MARGIN``."""
MARGIN = 15.0
"""Seconds: imports and compilation the original did not have."""
STOOD_IN = (
    "against what the profiled run wrote, timed against the real run, as the budget leaves no "
    "room for one more run of the original"
)
COMPILERS = (b"numba", b"cupy")
Progress = Callable[[str], None]


class OutOfTime(Exception):
    """A run was not begun, or was stopped, because the budget is used up."""


class ScriptTrials:
    """Runs the script in the sandbox, the original and rewrites of it, and compares."""

    def __init__(
        self,
        box: Sandbox,
        target: Target,
        stdin: Path | None,
        limit: float | None,
        real: RunResult | None = None,
    ) -> None:
        """``limit``: seconds after which any one run is stopped; None: no bound of its own.

        ``real``: the user's own run. Trials say nothing where the scratch copy does not let the
        original come to the same end; and what the first trial run differs from it in time is
        what one more run may differ.
        """
        self.stand_in: RunResult | None = None
        """A profiled run of the original in this sandbox, complete; what it wrote is compared with
        where the budget leaves no time for one more run of a long script."""
        self.box, self.target, self.stdin, self.limit = box, target, stdin, limit
        self._real = real
        self._obstacle: Unavailable | None = None
        self.notes: list[str] = []
        self._originals: list[RunResult] = []
        self._skewed: RunResult | None = None
        self._files = WrittenFiles()
        self._skewed_files = WrittenFiles()
        self._deadline = Deadline(None)
        self._meter = Meter()

    # ---------------------------------------------------------------- original
    @property
    def original(self) -> RunResult:
        """The first run of the original in the sandbox; runs it if need be. Raises OutOfTime."""
        if not self._originals:
            first = self._run({})
            self._originals.append(first)
            self._files = WrittenFiles.read(self.box, first.files or {})
            differs = self._real is not None and first.end != self._real.end
            # A refused write or connection that the program survives is another way, too.
            if differs or self.box.obstacle is not None:
                self._obstacle = Unavailable(self._why_not_repeated(first))
        return self._originals[0]

    def _why_not_repeated(self, run: RunResult) -> str:
        """A program that fails early in the scratch copy would be "equal" to any rewrite of it."""
        if self.box.obstacle is not None:
            return self.box.obstacle
        return (
            f"in a scratch copy the original {end_words(run.end)}, unlike in the real run"
            f"{last_line(run)}"
        )

    def _original_again(self) -> None:
        """One more time of the original, to be taken beside those of a rewrite."""
        known, first = len(self._originals), self.original
        if not known:
            return
        again = self._run({})
        if again.end != first.end:
            self._obstacle = unsteady(first.end, again.end)
        self._originals.append(replace(again, stdout=None, stderr=None, files=None))

    @property
    def original_walls(self) -> tuple[float, ...]:
        """Wall seconds of every run of the original so far."""
        return tuple(run.wall for run in self._originals)

    @property
    def usual(self) -> float | None:
        """Wall seconds of the original, as far as is known; None before any run."""
        if self._originals:
            return statistics.median(self.original_walls)
        return self._real.wall if self._real is not None else None

    @property
    def skewed(self) -> RunResult:
        """The original under other clocks, later: what differs from ``original`` may differ."""
        if self._skewed is None:
            folder = self.box.own / "clocks"
            folder.mkdir(exist_ok=True)
            (folder / "sitecustomize.py").write_text(CLOCKS, encoding="utf-8")
            search = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
            run = self._run({}, env={"PYTHONPATH": search})
            if run.end != self.original.end:
                # It has a time limit of its own, or takes another date for wrong: a run of it
                # that ends early would excuse whatever a rewrite prints later.
                run = self._run({})
            self._skewed_files = WrittenFiles.read(self.box, run.files or {}, self._files)
            self._skewed = run
        return self._skewed

    # -------------------------------------------------------------------- runs
    def _run(
        self,
        patched: Mapping[Path, bytes],
        *,
        env: Mapping[str, str] | None = None,
        limit: float | None = None,
        warm: bool = False,
    ) -> RunResult:
        """One run, timed, within the budget. Raises OutOfTime."""
        bounds = [bound for bound in (limit, self.limit) if bound is not None]
        own = min(bounds, default=None)
        within = self._deadline.within(own)
        if self._deadline.over:
            raise OutOfTime
        before = Ticks.now()
        run = self.box.run(
            self.box.command(),
            patched=patched,
            env={**hashing(), **(env or {})},
            limit=within,
            stdin=self.stdin,
            keep_caches=warm,
        )
        if isinstance(run.end, Stopped) and within != own:
            raise OutOfTime
        self._meter.add(before, run.wall, usage(run))
        return run

    def run(self, patched: Mapping[Path, bytes], *, warm: bool = False) -> RunResult:
        """The rewritten script, once. ``warm``: with the compiled code of the run before."""
        usual = self.original.wall
        return self._run(patched, limit=SLOWDOWN_LIMIT * usual + MARGIN, warm=warm)

    def compare(self, run: RunResult, goal: Goal) -> Comparison:
        """Output, files and end of a run against the original's."""
        original = self.original
        if self._obstacle is not None:
            return Comparison(self._obstacle)
        # Now: a second run of the original would replace the files.
        files = WrittenFiles.read(self.box, run.files or {}, self._files)
        folder = os.fspath(self.target.cwd).lstrip(os.sep)
        reference = Reference(
            original, lambda: self.skewed, self._files, lambda: self._skewed_files, folder
        )
        return reference.compare(run, files, goal)

    def check(
        self, patched: Mapping[Path, bytes], goal: Goal, deadline: Deadline
    ) -> Verdict | None:
        """One run of a rewrite; how it differs from the original, or None. Raises OutOfTime."""
        self._deadline = deadline
        return self.compare(self.run(patched), goal).problem

    # ------------------------------------------------------------------ verdict
    def judge(
        self,
        patched: Mapping[Path, bytes],
        goal: Goal,
        deadline: Deadline,
        progress: Progress = lambda text: None,
    ) -> Verdict:
        """Original and rewrite in turn, in fresh processes; equality is checked on every run.

        The times of the ratio are those of first runs: nothing that an earlier run compiled is
        kept. ``first_call`` is what a run saves that finds compiled code on disk.

        No run goes past ``deadline``; without time for one run of either, the verdict is
        Unavailable, and says what it would have taken.
        """
        self._deadline, self._meter = deadline, Meter()
        timed = Timed(patched)
        needed = self._needed(goal)
        if deadline.remaining() < needed:
            return self._without_original(patched, goal) or out_of_time(needed, deadline)
        try:
            while True:
                progress(f"whole script, run {len(timed.walls) + 1}")
                problem = self._once(timed, goal)
                if problem is not None:
                    return problem
                if self._enough(timed.walls, goal, deadline):
                    break
                if self._wants_original(len(timed.walls), deadline):
                    progress("whole script, original")
                    self._original_again()
            return self._verdict(timed, goal, deadline)
        except OutOfTime:
            if not timed.walls:
                return out_of_time(needed, deadline)
            return self._verdict(timed, replace(goal, beat=0.0), deadline)

    def _without_original(self, patched: Mapping[Path, bytes], goal: Goal) -> Verified | None:
        """The rewrite against runs of the original that were made for other reasons.

        The user's own run gives the time, a profiled one the output. Only a plain gain and equal
        output count: what differs might differ because of the profiler. None if it cannot be said.
        """
        real, wrote = self._real, self.stand_in
        if real is None or wrote is None or wrote.end != real.end or self._originals:
            return None
        if goal.expected is None or self._deadline.remaining() < NEXT_RUN * goal.expected:
            return None
        reference = Reference(wrote, self._no_more_runs)
        timed = Timed(patched)
        # Waiting is left out of the original's time: what it waited for is not there in a trial.
        usual = min(real.wall, max(real.cpu, 1e-3))
        try:
            while len(timed.walls) < SCHEDULE[-1][2]:
                left = self._deadline.remaining()
                if timed.walls and left < 2.0 * timed.walls[-1]:
                    break
                run = self._run(patched, limit=SLOWDOWN_LIMIT * usual + MARGIN)
                timed.last = reference.compare(run, WrittenFiles(), goal)
                if timed.last.problem is not None:
                    return None
                timed.walls.append(run.wall)
                timed.usages.append(usage(run))
        except OutOfTime:
            if not timed.walls:
                return None
        sides = [usage(real)], timed.usages
        measured = timing.ratio([usual], timed.walls, usages=sides)
        if measured.low < PLAIN * goal.threshold:
            return None
        words = f"{timed.last.compared}; {STOOD_IN}"
        return Verified(measured, timed.last.error, 0, words)

    @staticmethod
    def _no_more_runs() -> RunResult:
        raise OutOfTime

    def settle(
        self,
        verdict: Verified,
        patched: Mapping[Path, bytes],
        goal: Goal,
        deadline: Deadline,
        progress: Progress = lambda text: None,
    ) -> Verdict:
        """The last word on a patch that was found faster: more runs, A and B in turn.

        As many as `FINAL` asks for and ``deadline`` allows. Any of these runs may still refute it.
        """
        ratio = verdict.speedup
        last = Comparison(None, verdict.compared, verdict.error)
        timed = Timed(patched, list(ratio.candidate), list(ratio.candidate_usage), last)
        self._deadline = deadline
        try:
            while self._more(timed, goal, deadline):
                progress("whole script, original and rewrite in turn")
                self._original_again()
                problem = self._once(timed, goal)
                if problem is not None:
                    return problem
        except OutOfTime:
            pass
        if len(timed.walls) == len(ratio.candidate):
            return verdict
        measured = self._ratio(timed)
        obstacle = timing.gain(measured, goal.threshold, self._noise(measured))
        return obstacle or replace(verdict, speedup=measured, compared=timed.last.compared)

    def _more(self, timed: Timed, goal: Goal, deadline: Deadline) -> bool:
        wall = self.usual or 0.0
        if deadline.remaining() < NEXT_RUN * (wall + timed.walls[-1]):
            return False
        if not self._originals:  # judged without one so far
            return True
        originals, rewrites = rows_for(FINAL, wall)
        measured = self._ratio(timed)
        if measured.low < PLAIN * goal.threshold:
            originals = max(originals, 2)
        if len(self._originals) < originals or len(timed.walls) < rewrites:
            return True
        return not timing.clear(measured, goal.threshold) and len(timed.walls) < MOST

    def _once(self, timed: Timed, goal: Goal) -> Verdict | None:
        """One more run of the rewrite, compared; what is wrong with it, or None."""
        run = self.run(timed.patched)
        comparison = self.compare(run, goal)
        if comparison.problem is not None:
            return comparison.problem
        timed.last = comparison
        timed.walls.append(run.wall)
        timed.usages.append(usage(run))
        return None

    def _verdict(self, timed: Timed, goal: Goal, deadline: Deadline) -> Verdict:
        if self._obstacle is not None:
            return self._obstacle
        measured = self._ratio(timed)
        obstacle = timing.gain(measured, goal.threshold, self._noise(measured))
        if obstacle is not None:
            return obstacle
        saved = 0.0
        wall = timed.walls[-1]
        if deadline.remaining() > 2 * wall and not self._beaten(wall, goal):
            later = self._later_run(timed.patched, goal)
            if isinstance(later, Comparison) and later.problem is not None:
                return later.problem
            cold = statistics.median(usage.cpu for usage in timed.usages)
            saved = cold - later if isinstance(later, float) else 0.0
        last = timed.last
        return Verified(measured, last.error, 0, last.compared, max(0.0, saved))

    # ------------------------------------------------------------------ timing
    def _ratio(self, timed: Timed) -> Ratio:
        return timing.ratio(
            self.original_walls,
            timed.walls,
            known_spread=self._known_spread(),
            usages=([usage(run) for run in self._originals], timed.usages),
        )

    def _known_spread(self) -> float:
        """How much the user's own run and the first trial run of the same text differ in time.

        Half of it, to both sides. Where the one waited for a person at the terminal, CPU time
        tells how much the machine itself varied.
        """
        if self._real is None or not self._originals:
            return 0.0
        first = self._originals[0]
        pairs = ((self._real.wall, first.wall), (self._real.cpu, first.cpu))
        return min(abs(a - b) / (a + b) if a + b > 0.0 else 0.0 for a, b in pairs)

    def _noise(self, measured: Ratio) -> str:
        walls = (*measured.original, *measured.candidate)
        usages = (*measured.original_usage, *measured.candidate_usage)
        return ", ".join(filter(None, (waiting(walls, usages), self._meter.words)))

    def _needed(self, goal: Goal) -> float:
        """Seconds that one run of each side still takes, as far as is known."""
        usual = self.usual
        if usual is None:
            return 0.0
        rewrite = usual if goal.expected is None else min(goal.expected, usual)
        return NEXT_RUN * (rewrite if self._originals else usual + rewrite)

    def _enough(self, walls: list[float], goal: Goal, deadline: Deadline) -> bool:
        if self._hopeless(walls[-1], goal) or deadline.remaining() < 2 * walls[0]:
            return True
        if self._beaten(walls[-1], goal):
            return True
        wanted = rows_for(SCHEDULE, self.original.wall)
        originals, rewrites = (1, 1) if goal.quick else wanted
        if len(walls) < rewrites or len(self._originals) < originals:
            return False
        measured = timing.ratio(self.original_walls, walls, known_spread=self._known_spread())
        unclear = isinstance(timing.gain(measured, goal.threshold), Inconclusive)
        return not unclear or len(walls) >= MOST

    @staticmethod
    def _beaten(wall: float, goal: Goal) -> bool:
        return goal.beat is not None and wall > 1.25 * goal.beat

    def _wants_original(self, rewrites: int, deadline: Deadline) -> bool:
        """In turn with the rewrite; beyond the schedule only where more is needed."""
        if deadline.remaining() < NEXT_RUN * self.original.wall:
            return False
        done = len(self._originals)
        originals, enough = rows_for(SCHEDULE, self.original.wall)
        return done < min(originals, 1 + rewrites) or (rewrites >= enough and done < MOST)

    def _hopeless(self, wall: float, goal: Goal) -> bool:
        """Slower than the original by so much that no repetition can help."""
        return wall > 1.5 * max(self.original_walls) / min(goal.threshold, 1.0)

    def _later_run(self, patched: Mapping[Path, bytes], goal: Goal) -> float | Comparison | None:
        """CPU seconds of a run that finds compiled code; None where nothing is compiled.

        CPU seconds, as compiling is all the difference, and they vary less than wall seconds.
        """
        if not any(word in text for text in patched.values() for word in COMPILERS):
            return None
        try:
            again = self.run(patched, warm=True)
        except OutOfTime:
            return None
        compared = self.compare(again, goal)
        return compared if compared.problem is not None else again.cpu
