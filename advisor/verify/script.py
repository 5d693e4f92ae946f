"""Whole runs of the script, original against rewritten, in the sandbox."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..deadline import Deadline
from ..model import (
    Crashed,
    ErrorSize,
    Exactness,
    Exited,
    Inconclusive,
    Killed,
    Mismatch,
    RunEnd,
    RunResult,
    Stopped,
    Target,
    TimedOut,
    Unavailable,
    Verdict,
    Verified,
)
from . import timing
from .compare import REASSOCIATED_FACTOR
from .files import ArrayFiles
from .output import CLOCKS, Mask, close_numbers, comparable_errors, difference, mask_between

if TYPE_CHECKING:
    from ..observe.sandbox import Sandbox

SLOWDOWN_LIMIT = 3.0
"""A rewritten script is stopped at this many times the original's time, plus ``MARGIN``."""
MARGIN = 15.0
"""Seconds: imports and compilation the original did not have."""
SCHEDULE = ((1.0, 3, 5), (4.0, 2, 3), (math.inf, 1, 3))
"""(up to seconds of the original, runs of the original, runs of the rewrite) that are enough where
the gain is clear. Where it is not, both are repeated up to ``MOST`` times."""
MOST = 5
EPS = 2.0**-52
COMPILERS = (b"numba", b"cupy")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Goal:
    """What a rewrite has to reach."""

    threshold: float = 1.1
    exactness: Exactness = Exactness.BITS
    reduction_length: int = 1
    unsafe: bool = False
    """Accept printed numbers that differ within the tolerance."""
    beat: float | None = None
    """Wall seconds of a better rewrite: one that is clearly slower is not run again."""
    quick: bool = False
    """One run decides where the gain is clear: a longer trial follows, of several rewrites."""


@dataclass(frozen=True)
class Comparison:
    """How one rewritten run compares with the original ones."""

    problem: Mismatch | Crashed | TimedOut | Unavailable | None
    compared: str = ""
    error: ErrorSize = field(default_factory=ErrorSize)
    nothing: bool = False
    """Neither output nor files: only the exit status could be compared."""


class ScriptTrials:
    """Runs the script in the sandbox, the original and rewrites of it, and compares."""

    def __init__(
        self,
        box: Sandbox,
        target: Target,
        stdin: Path | None,
        limit: float | None,
        real_end: RunEnd | None = None,
    ) -> None:
        """``limit``: seconds after which any one run is stopped; None: no bound of its own.

        ``real_end``: how the user's own run ended; trials say nothing where the scratch copy does
        not let the original come to the same end.
        """
        self.box, self.target, self.stdin, self.limit = box, target, stdin, limit
        self._real_end = real_end
        self._obstacle: str | None = None
        self.notes: list[str] = []
        self._originals: list[RunResult] = []
        self._skewed: RunResult | None = None
        self._arrays = ArrayFiles()

    # ---------------------------------------------------------------- original
    @property
    def original(self) -> RunResult:
        """The first run of the original in the sandbox; runs it if need be."""
        if not self._originals:
            first = self._run({})
            self._originals.append(first)
            self._arrays = ArrayFiles.read(self.box, first.files or {}, None)
            if self._real_end is not None and first.end != self._real_end:
                self._obstacle = self._why_not_repeated(first)
        return self._originals[0]

    def _why_not_repeated(self, run: RunResult) -> str:
        """A program that fails early in the scratch copy would be "equal" to any rewrite of it."""
        if self.box.escapes:
            paths = ", ".join(map(str, self.box.escapes[:3]))
            return f"the script writes {paths}, outside its folder, which trial runs must not do"
        return (
            f"in a scratch copy the original {end_words(run.end)}, unlike in the real run"
            f"{_last_line(run)}"
        )

    @property
    def original_walls(self) -> tuple[float, ...]:
        """Wall seconds of every run of the original so far."""
        return tuple(run.wall for run in self._originals)

    @property
    def skewed(self) -> RunResult:
        """The original under other clocks, later: what differs from ``original`` may differ."""
        if self._skewed is None:
            folder = self.box.own / "clocks"
            folder.mkdir(exist_ok=True)
            (folder / "sitecustomize.py").write_text(CLOCKS, encoding="utf-8")
            search = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
            self._skewed = self._run({}, env={"PYTHONPATH": search})
        return self._skewed

    def _run(
        self,
        patched: Mapping[Path, bytes],
        *,
        env: Mapping[str, str] | None = None,
        limit: float | None = None,
        warm: bool = False,
    ) -> RunResult:
        bounds = [bound for bound in (limit, self.limit) if bound is not None]
        return self.box.run(
            self.box.command(),
            patched=patched,
            env=env,
            limit=min(bounds, default=None),
            stdin=self.stdin,
            keep_caches=warm,
        )

    def run(self, patched: Mapping[Path, bytes], *, warm: bool = False) -> RunResult:
        """The rewritten script, once. ``warm``: with the compiled code of the run before."""
        usual = self.original.wall
        return self._run(patched, limit=SLOWDOWN_LIMIT * usual + MARGIN, warm=warm)

    # -------------------------------------------------------------- comparison
    def compare(self, run: RunResult, goal: Goal) -> Comparison:
        """Output, files and end of a run against the original's."""
        original = self.original
        if self._obstacle is not None:
            return Comparison(Unavailable(self._obstacle))
        # What the original does not survive says nothing: both were cut at some point.
        if isinstance(original.end, Stopped):
            limit = original.end.limit
            return Comparison(Unavailable(f"the original does not end within {limit:.0f} s"))
        if isinstance(run.end, Stopped):
            return Comparison(TimedOut(run.end.limit))
        if run.end != original.end:
            words = f"{end_words(run.end)} where the original {end_words(original.end)}"
            return Comparison(Crashed(words + _last_line(run)))
        # Now: a second run of the original, below, would replace the files.
        arrays = ArrayFiles.read(self.box, run.files or {}, goal)
        return self._compare_writings(original, run, goal, arrays)

    def _compare_writings(
        self, original: RunResult, run: RunResult, goal: Goal, arrays: ArrayFiles
    ) -> Comparison:
        left_out: list[str] = []
        texts = (
            ("standard output", original.stdout or b"", run.stdout or b"", False),
            ("standard error", original.stderr or b"", run.stderr or b"", True),
        )
        for name, mine, other, errors in texts:
            mask = Mask()
            if errors:
                mine, other = comparable_errors(mine), comparable_errors(other)
            if mine != other:
                again = (self.skewed.stderr if errors else self.skewed.stdout) or b""
                mask = mask_between(mine, comparable_errors(again) if errors else again)
            problem = difference(mine, other, mask, name)
            if problem is not None and goal.unsafe and _close(mine, other, goal):
                left_out.append(f"accepted because of --unsafe: {problem}")
            elif problem is not None:
                return Comparison(Mismatch(problem))
            if mask and mine:
                left_out.append(mask.words(name))
        return self._compare_files(original, run, arrays, left_out)

    def _compare_files(
        self, original: RunResult, run: RunResult, arrays: ArrayFiles, left_out: list[str]
    ) -> Comparison:
        mine, other = original.files or {}, run.files or {}
        error, compared = ErrorSize(), 0
        for name in sorted(mine.keys() | other.keys()):
            if mine.get(name) == other.get(name):
                compared += 1
                continue
            if (self.skewed.files or {}).get(name) != mine.get(name):
                left_out.append(f"file {name} differs between two runs of the original")
                continue
            size = arrays.deviation(name, self._arrays)
            if size is None:
                verb = "is not written" if name not in other else "differs"
                verb = "is written in addition" if name not in mine else verb
                return Comparison(Mismatch(f"file {name} {verb}"))
            error, compared = size, compared + 1
        return self._words(original, compared, left_out, error)

    @staticmethod
    def _words(
        original: RunResult, files: int, left_out: list[str], error: ErrorSize
    ) -> Comparison:
        out = original.stdout or b""
        lines = len(out.splitlines())
        whole = any("standard output differs" in words for words in left_out)
        parts = [] if not lines or whole else [f"standard output ({_count(lines, 'line')})"]
        parts += [_count(files, "file")] if files else []
        nothing = not parts
        words = ", ".join([*parts, "exit status"])
        if nothing:
            words = "exit status only; the script wrote nothing that could be compared"
        return Comparison(None, "; ".join([words, *left_out]), error, nothing)

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
        """
        walls: list[float] = []
        seconds: list[float] = []
        while True:
            progress(f"whole script, run {len(walls) + 1}")
            run = self.run(patched)
            last = self.compare(run, goal)
            if last.problem is not None:
                return last.problem
            walls.append(run.wall)
            seconds.append(run.cpu)
            if self._enough(walls, goal, deadline):
                break
            if self._wants_original(len(walls)) and deadline.remaining() > self.original.wall:
                progress("whole script, original")
                self._originals.append(self._run({}))
        measured = timing.ratio(self.original_walls, walls)
        obstacle = timing.gain(measured, goal.threshold)
        if obstacle is not None:
            return obstacle
        saved = 0.0
        if deadline.remaining() > 2 * walls[-1] and not self._beaten(walls[-1], goal):
            later = self._later_run(patched, goal)
            if isinstance(later, Comparison) and later.problem is not None:
                return later.problem
            saved = statistics.median(seconds) - later if isinstance(later, float) else 0.0
        return Verified(measured, last.error, 0, last.compared, max(0.0, saved))

    def _enough(self, walls: list[float], goal: Goal, deadline: Deadline) -> bool:
        if self._hopeless(walls[-1], goal) or deadline.remaining() < 2 * walls[0]:
            return True
        if self._beaten(walls[-1], goal):
            return True
        _, originals, rewrites = (0.0, 1, 1) if goal.quick else self._schedule()
        if len(walls) < rewrites or len(self._originals) < originals:
            return False
        unclear = timing.gain(timing.ratio(self.original_walls, walls), goal.threshold)
        return not isinstance(unclear, Inconclusive) or len(walls) >= MOST

    @staticmethod
    def _beaten(wall: float, goal: Goal) -> bool:
        return goal.beat is not None and wall > 1.25 * goal.beat

    def _schedule(self) -> tuple[float, int, int]:
        return next(row for row in SCHEDULE if self.original.wall <= row[0])

    def _wants_original(self, rewrites: int) -> bool:
        """In turn with the rewrite; beyond the schedule only where more is needed."""
        done = len(self._originals)
        _, originals, enough = self._schedule()
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
        again = self.run(patched, warm=True)
        compared = self.compare(again, goal)
        return compared if compared.problem is not None else again.cpu

    def equality(self, patched: Mapping[Path, bytes], goal: Goal) -> Comparison:
        """One run, compared; no time is judged."""
        return self.compare(self.run(patched), goal)


def nothing_compared(verdict: Verified) -> bool:
    """True if a whole-script verdict rests on the exit status alone."""
    return verdict.compared.startswith("exit status only")


def end_words(end: RunEnd) -> str:
    """How a run ended, as a verb."""
    match end:
        case Exited(code):
            return f"ends with status {code}"
        case Killed(signal):
            return f"dies of signal {signal}"
        case Stopped(limit):
            return f"was stopped after {limit:.0f} s"
    raise AssertionError(end)


def _close(mine: bytes, other: bytes, goal: Goal) -> bool:
    """Only printed digits differ, by no more than rounding that the rewrite announces."""
    if goal.exactness is Exactness.BITS:
        return False
    relative = max(REASSOCIATED_FACTOR * EPS * math.sqrt(goal.reduction_length), 1e-12)
    return close_numbers(
        mine.decode("utf-8", "replace"), other.decode("utf-8", "replace"), relative
    )


def _last_line(run: RunResult) -> str:
    lines = [k for k in (run.stderr or b"").decode("utf-8", "replace").splitlines() if k.strip()]
    return f" ({lines[-1].strip()[:200]})" if lines else ""


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
