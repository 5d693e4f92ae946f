"""Whole runs of the script, original against rewritten, in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from ..deadline import Deadline
from ..model import Inconclusive, Mismatch, RunResult, Verdict, Verified
from . import timing
from .agreement import Comparison, Goal, nothing_compared
from .load import Meter
from .runs import Measured, compiles, measured, originals_of, time_later
from .schedule import (
    FINAL,
    MOST,
    NEXT_RUN,
    SCHEDULE,
    OutOfTime,
    Timed,
    out_of_time,
    ran_out,
    rows_for,
    usage,
)
from .script_runs import ScriptRuns
from .standing_in import stood_in

__all__ = ["Comparison", "Goal", "OutOfTime", "ScriptTrials", "nothing_compared", "ran_out"]

TO_SPARE = 6.0
"""A later run that changes nothing in the choice is made if so many first runs fit in what is
left: it tells what more runs would change."""
ROOMY = 2.0
"""One more run of the original goes first if so many of it and the rewrite fit in what is left:
on a busy machine it may take twice as long as the real one did."""
FAR = 6.0
"""It goes behind runs of a rewrite that are expected to take so many times less: three of them take
half of its time at most, and their gain is plain where it is real."""
Progress = Callable[[str], None]


class ScriptTrials(ScriptRuns):
    """Runs a rewrite and the original in turn, until there is a verdict."""

    def check(
        self, patched: Mapping[Path, bytes], goal: Goal, deadline: Deadline
    ) -> Verdict | None:
        """One run of a rewrite; how it differs from the original, or None. Raises OutOfTime."""
        run, comparison = self.once(patched, goal, deadline)
        return self._valued(comparison.problem, run, patched, goal)

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
        kept. ``later`` are runs that find compiled code on disk, and ``first_call`` is the CPU
        time that one of them saves. Where the goal is more than one run, each first run is followed
        by a later one, and what decides is the mean of all that the user will make.

        No run goes past ``deadline``; without time for one run of either, the verdict is
        Unavailable, and says what it would have taken.
        """
        self._deadline, self._meter = deadline, Meter()
        timed = Timed(patched)
        needed = self._needed(goal)
        short = deadline.remaining() < needed
        if short or (deadline.remaining() < ROOMY * needed and self._costs_little(goal)):
            # A run of the original that must be stopped would take the time of the rewrite's.
            verdict = self._without_original(timed, goal)
            if verdict is not None:
                return verdict
            if timed.last.problem is not None:  # perhaps because of the profiler
                timed = Timed(patched)
            elif timed.walls:
                needed = NEXT_RUN * (self.usual or 0.0)
        if deadline.remaining() < needed:
            return out_of_time(needed, deadline)
        try:
            compared = bool(timed.walls)
            if compared:
                progress("whole script, original")
                self._original_again()
            while True:
                if not compared:
                    progress(f"whole script, run {len(timed.walls) + 1}")
                    problem = self._once(timed, goal)
                    if problem is not None:
                        return problem
                compared = False
                if self._enough(timed, goal, deadline):
                    break
                if self._wants_original(len(timed.walls), deadline):
                    progress("whole script, original")
                    self._original_again()
            return self._verdict(timed, goal, deadline)
        except OutOfTime:
            if not (timed.walls and self._originals):
                return out_of_time(needed, deadline)
            return self._verdict(timed, replace(goal, beat=0.0), deadline)

    def _costs_little(self, goal: Goal) -> bool:
        """Whether runs of the rewrite leave the time for one of the original all the same."""
        usual = self.usual
        return usual is not None and goal.expected is not None and FAR * goal.expected < usual

    def _without_original(self, timed: Timed, goal: Goal) -> Verified | None:
        """The rewrite against runs of the original that were made for other reasons.

        None where they do not suffice; runs of the rewrite that were made stay in ``timed``.
        """
        if self._real is None or self.stand_in is None or self._originals:
            return None

        def run(limit: float) -> RunResult:
            return self._run(timed.patched, limit=limit)

        return stood_in(self._real, self.stand_in, run, timed, goal, self._deadline)

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
        if verdict.later is not None:
            timed.later = list(verdict.later.candidate)
            timed.later_usages = list(verdict.later.candidate_usage)
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
            disturbed = self._meter.disturbing
            return timing.not_apart(verdict.deciding, goal.threshold, disturbed) or verdict
        found = self._measured(timed, goal)
        return found.gain(goal.threshold, self._meter, final=True) or replace(
            verdict,
            speedup=found.first,
            later=found.later,
            over=found.over,
            compared=timed.last.compared,
        )

    def _more(self, timed: Timed, goal: Goal, deadline: Deadline) -> bool:
        wall = self.usual or 0.0
        if deadline.remaining() < NEXT_RUN * (wall + timed.walls[-1]):
            return False
        if not self._originals:  # judged without one so far
            return True
        originals, rewrites = rows_for(FINAL, wall)
        deciding = self._measured(timed, goal).deciding
        if deciding.low < timing.PLAIN * goal.threshold:
            originals = max(originals, 2)
        if len(self._originals) < originals or len(timed.walls) < rewrites:
            return True
        return not timing.clear(deciding, goal.threshold) and len(timed.walls) < MOST

    def _once(self, timed: Timed, goal: Goal) -> Verdict | None:
        """One more run of the rewrite, compared; what is wrong with it, or None."""
        run = self.run(timed.patched)
        comparison = self.compare(run, goal)
        if comparison.problem is not None:
            return self._valued(comparison.problem, run, timed.patched, goal)
        timed.last = comparison
        timed.walls.append(run.wall)
        timed.usages.append(usage(run))
        if goal.runs > 1 and compiles(timed.patched):
            return self._later_run(timed, goal)
        return None

    def _later_run(self, timed: Timed, goal: Goal) -> Verdict | None:
        """A run that finds what the last one compiled; what is wrong with it, or None.

        Raises OutOfTime.
        """
        again = self.later(timed.patched)
        comparison = self.compare(again, goal)
        if comparison.problem is None:
            timed.later.append(again.wall)
            timed.later_usages.append(usage(again))
        return comparison.problem

    def _verdict(self, timed: Timed, goal: Goal, deadline: Deadline) -> Verdict:
        if self._obstacle is not None:
            return self._obstacle
        problem = self._for_information(timed, goal, deadline)
        if problem is not None:
            return problem
        found = self._measured(timed, goal)
        final = not (goal.quick or goal.beaten(timed.mean(goal.runs)))
        obstacle = found.gain(goal.threshold, self._meter, final=final)
        if obstacle is not None:
            return obstacle
        return Verified(
            found.first,
            timed.last.error,
            states=0,
            compared=timed.last.compared,
            first_call=found.saved,
            later=found.later,
            over=found.over,
        )

    def _for_information(self, timed: Timed, goal: Goal, deadline: Deadline) -> Verdict | None:
        """One later run, if it is not known yet and time is left; what is wrong with it, or None.

        It says what `--runs` would change, and may refute the rewrite as any other run.
        """
        if timed.later or not compiles(timed.patched):
            return None
        wall = timed.walls[-1]
        lost = goal.beaten(wall) or self._measured(timed, goal).deciding.low < goal.threshold
        # Of a model that takes longer to be compiled than it saves nothing else is worth telling.
        telling = goal.alone and goal.unsafe and wall > self.original.wall
        # In a race of several places the others need the time.
        spare = (lost and not telling) or goal.quick
        if deadline.remaining() < (TO_SPARE if spare else 2.0) * wall:
            return None
        try:
            return self._later_run(timed, goal)
        except OutOfTime:
            return None

    def _valued(
        self,
        problem: Verdict | None,
        run: RunResult,
        patched: Mapping[Path, bytes],
        goal: Goal,
    ) -> Verdict | None:
        """With what the run would gain, first and later, where only digits are against it."""
        if not isinstance(problem, Mismatch) or problem.within is None:
            return problem
        timed = Timed(patched, [run.wall], [usage(run)])
        if goal.alone and compiles(patched):
            gone = self._compiled is not patched  # by a run of the original, to compare with
            if self._deadline.remaining() > NEXT_RUN * run.wall * (1 + gone):
                time_later(timed, lambda warm: self.run(patched, warm=warm), again=gone)
        found = self._measured(timed, goal)
        return replace(problem, speedup=found.first, later=found.later)

    # ------------------------------------------------------------------ timing
    def _measured(self, timed: Timed, goal: Goal) -> Measured:
        return measured(originals_of(self._originals, self._real), timed, goal.runs)

    def _needed(self, goal: Goal) -> float:
        """Seconds that one run of each side still takes, as far as is known."""
        usual = self.usual
        if usual is None:
            return 0.0
        rewrite = usual if goal.expected is None else min(goal.expected, usual)
        return NEXT_RUN * (rewrite if self._originals else usual + rewrite)

    def _enough(self, timed: Timed, goal: Goal, deadline: Deadline) -> bool:
        wall = timed.mean(goal.runs)
        if self._hopeless(wall, goal) or deadline.remaining() < 2 * timed.walls[0]:
            return True
        if goal.beaten(wall):
            return True
        wanted = rows_for(SCHEDULE, self.original.wall)
        originals, rewrites = (1, 1) if goal.quick else wanted
        if len(timed.walls) < rewrites or len(self._originals) < originals:
            return False
        found = self._measured(timed, goal)
        gain = found.gain(goal.threshold, self._meter, final=not goal.quick)
        return not isinstance(gain, Inconclusive) or len(timed.walls) >= MOST

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
