"""Runs of the script in the sandbox, original and rewritten, and how they compare."""

from __future__ import annotations

import os
import statistics
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..deadline import Deadline
from ..model import RunResult, Stopped, Target, Unavailable
from .agreement import Comparison, Goal, Reference, end_words, last_line, unsteady
from .clocks import hashing, skewing
from .files import WrittenFiles
from .load import Meter, Ticks
from .schedule import MARGIN, SLOWDOWN_LIMIT, OutOfTime, usage

if TYPE_CHECKING:
    from ..observe.sandbox import Sandbox


class ScriptRuns:
    """Runs the script in the sandbox, the original and rewrites of it, and compares."""

    def __init__(
        self,
        box: Sandbox,
        target: Target,
        stdin: Path | None,
        limit: float | None,
        real: RunResult | None = None,
        *,
        base: Mapping[Path, bytes] | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        """``limit``: seconds after which any one run is stopped; None: no bound of its own.

        ``real``: the user's own run. Trials say nothing where the scratch copy does not let the
        original come to the same end; and what the first trial run differs from it in time is
        what one more run may differ.

        ``base``: text of the original where it is not what the user's files hold.
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
        self._base = base or {}
        self._deadline = deadline or Deadline(None)
        self._meter = Meter()
        self._compiled: Mapping[Path, bytes] | None = None
        """The text whose compiled code the copy holds now: that of the last run."""

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
                # One that fails early in the scratch copy is "equal" to any rewrite of it.
                end = f"in a scratch copy the original {end_words(first.end)}, unlike in the real"
                why = self.box.obstacle or f"{end} run{last_line(first)}"
                self._obstacle = Unavailable(why)
        return self._originals[0]

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
            run = self._run({}, env=skewing(self.box.own))
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
            patched={**self._base, **patched},
            env={**hashing(), **(env or {})},
            limit=within,
            stdin=self.stdin,
            keep_caches=warm,
        )
        self._compiled = patched
        if isinstance(run.end, Stopped) and within != own:
            raise OutOfTime
        self._meter.add(before, run.wall, usage(run))
        return run

    def run(self, patched: Mapping[Path, bytes], *, warm: bool = False) -> RunResult:
        """The rewritten script, once. ``warm``: with the compiled code of the run before."""
        usual = self.original.wall
        return self._run(patched, limit=SLOWDOWN_LIMIT * usual + MARGIN, warm=warm)

    def later(self, patched: Mapping[Path, bytes]) -> RunResult:
        """The rewritten script with what an earlier run of it compiled. Raises OutOfTime."""
        if self._compiled is not patched:  # another text ran meanwhile: the original, for one
            self.run(patched)
        return self.run(patched, warm=True)

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

    def once(
        self, patched: Mapping[Path, bytes], goal: Goal, deadline: Deadline
    ) -> tuple[RunResult, Comparison]:
        """One run of a changed script, and how it compares. Raises OutOfTime."""
        self._deadline = deadline
        run = self.run(patched)
        return run, self.compare(run, goal)
