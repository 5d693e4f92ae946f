"""One rewritten run against the original: end, output, files; what no run repeats is left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ..model import (
    Crashed,
    ErrorSize,
    Exactness,
    Exited,
    Killed,
    Mismatch,
    RunEnd,
    RunResult,
    Stopped,
    TimedOut,
    Unavailable,
    Verified,
)
from .files import Loose, WrittenFiles, compare_file, same_names
from .output import Mask, comparable_errors, difference, mask_between, without_silenced
from .tolerance import REASSOCIATED_FACTOR, larger

EPS = 2.0**-52
CLOSE = tuple(10.0**-digits for digits in range(1, 10))
"""How close numbers may be called that differ by more than rounding: one digit to nine."""
NOTHING = "exit status only; the script wrote nothing that could be compared"


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
    expected: float | None = None
    """Predicted wall seconds of the rewrite; None: unknown, at most the original's."""
    silenced: tuple[str, ...] = ()
    """Warnings about speed that may go away; see `Match.silenced`."""
    warns: tuple[str, ...] = ()
    """Warnings about speed that may come; see `Match.warns`."""
    runs: int = 1
    """How often the user will run the script: later runs find what the first one compiled."""
    within: float | None = None
    """Written numbers may be so far apart, in parts of their size, instead of by rounding: to
    tell how far they are, never to accept them."""
    alone: bool = False
    """The run is of one rewrite: what its later runs would take is worth knowing though only its
    digits are against it."""

    def beaten(self, wall: float) -> bool:
        """Whether a run of so many seconds is clearly slower than a better rewrite."""
        return self.beat is not None and wall > 1.25 * self.beat


@dataclass(frozen=True)
class Comparison:
    """How one rewritten run compares with the original ones."""

    problem: Mismatch | Crashed | TimedOut | Unavailable | None
    compared: str = ""
    error: ErrorSize = field(default_factory=ErrorSize)
    nothing: bool = False
    """Neither output nor files: only the exit status could be compared."""


@dataclass(frozen=True)
class Reference:
    """The original: its first trial run, and how to get one more under other clocks."""

    run: RunResult
    skewed: Callable[[], RunResult]
    """Called only where something differs; what this run writes differently may differ."""
    files: WrittenFiles = field(default_factory=WrittenFiles)
    skewed_files: Callable[[], WrittenFiles] = WrittenFiles
    folder: str = ""
    """The working directory as it begins the names of files: left out of what is said."""

    def compare(self, run: RunResult, files: WrittenFiles, goal: Goal) -> Comparison:
        """How a rewritten run compares. ``files``: what it wrote, read before any other run."""
        found = self._compare(run, files, goal)
        problem = found.problem
        if isinstance(problem, Mismatch):
            problem = Mismatch(self._short(problem.what), self._within(run, files, goal))
        return replace(found, problem=problem, compared=self._short(found.compared))

    def _within(self, run: RunResult, files: WrittenFiles, goal: Goal) -> float | None:
        """How close all numbers are where nothing else differs; None where more does.

        Only where other digits were asked for: nobody else wants to know what they would gain.
        """
        if _loose(goal) is None:
            return None
        close = None
        for size in CLOSE:
            if self._compare(run, files, replace(goal, within=size)).problem is not None:
                break
            close = size
        return close

    def _short(self, text: str) -> str:
        return text.replace(f"file {self.folder}/", "file ") if self.folder else text

    def _compare(self, run: RunResult, files: WrittenFiles, goal: Goal) -> Comparison:
        original = self.run
        # What the original does not survive says nothing: both were cut at some point.
        if isinstance(original.end, Stopped):
            limit = original.end.limit
            return Comparison(Unavailable(f"the original does not end within {limit:.0f} s"))
        if isinstance(run.end, Stopped):
            return Comparison(TimedOut(run.end.limit))
        if run.end != original.end:
            again = self.skewed()
            # `sys.exit(random.randrange(2))`: no rewrite can be blamed for that.
            if again.end != original.end:
                return Comparison(unsteady(original.end, again.end))
            words = f"{end_words(run.end)} where the original {end_words(original.end)}"
            return Comparison(Crashed(words + last_line(run)))
        return self._writings(run, files, goal)

    def _writings(self, run: RunResult, files: WrittenFiles, goal: Goal) -> Comparison:
        original = self.run
        left_out: list[str] = []
        texts = (
            ("standard output", original.stdout or b"", run.stdout or b"", False),
            ("standard error", original.stderr or b"", run.stderr or b"", True),
        )
        for name, mine, other, errors in texts:
            mask = Mask()
            if errors:
                mine, other = comparable_errors(mine), comparable_errors(other)
                other = without_silenced(other, mine, goal.warns)
                mine = without_silenced(mine, other, goal.silenced)
            if mine != other:
                skewed = self.skewed()
                again = (skewed.stderr if errors else skewed.stdout) or b""
                if errors:
                    again = without_silenced(comparable_errors(again), other, goal.silenced)
                mask = mask_between(mine, again)
            problem = difference(mine, other, mask, name)
            loose = _loose(goal)
            if problem and loose and not difference(mine, other, mask, name, loose.relative):
                left_out.append(f"accepted because of --unsafe: {problem}")
            elif problem is not None:
                return Comparison(Mismatch(problem))
            if mask and mine:
                left_out.append(mask.words(name))
        return self._files(run, files, left_out, _loose(goal))

    def _files(
        self, run: RunResult, files: WrittenFiles, left_out: list[str], loose: Loose | None
    ) -> Comparison:
        error, compared = ErrorSize(), 0
        mine = again = WrittenFiles(self.run.files or {}, self.files.content)
        other = WrittenFiles(run.files or {}, files.content)
        if mine.marks != other.marks:
            skewed = self.skewed()
            again = WrittenFiles(skewed.files or {}, self.skewed_files().content)
            other, again = same_names(mine, other, again)
        for name in sorted(mine.marks.keys() | other.marks.keys()):
            if mine.marks.get(name) == other.marks.get(name):
                compared += 1
                continue
            outcome = compare_file(name, mine, other, again, loose)
            if outcome.problem is not None:
                return Comparison(Mismatch(outcome.problem))
            left_out += [outcome.note] if outcome.note else []
            error, compared = larger(error, outcome.error), compared + outcome.compared
        return self._words(compared, left_out, error)

    def _words(self, files: int, left_out: list[str], error: ErrorSize) -> Comparison:
        lines = len((self.run.stdout or b"").splitlines())
        whole = any("standard output differs" in words for words in left_out)
        parts = [] if not lines or whole else [f"standard output ({_count(lines, 'line')})"]
        parts += [_count(files, "file")] if files else []
        words = ", ".join([*parts, "exit status"]) if parts else NOTHING
        return Comparison(None, "; ".join([words, *left_out]), error, not parts)


def nothing_compared(verdict: Verified) -> bool:
    """True if a whole-script verdict rests on the exit status alone."""
    return verdict.compared.startswith(NOTHING.partition(";")[0])


def unsteady(one: RunEnd, other: RunEnd) -> Unavailable:
    """Two runs of the original end differently: nothing can be said of a rewrite."""
    return Unavailable(
        f"the original {end_words(one)} in one run and {end_words(other)} in another"
    )


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


def last_line(run: RunResult) -> str:
    """The last words of a run on standard error, in brackets; empty if there are none."""
    lines = [k for k in (run.stderr or b"").decode("utf-8", "replace").splitlines() if k.strip()]
    return f" ({lines[-1].strip()[:200]})" if lines else ""


def _loose(goal: Goal) -> Loose | None:
    """How far written numbers may differ; None: not at all, as without ``--unsafe``."""
    if goal.exactness is Exactness.BITS or not goal.unsafe:
        return None
    relative = max(REASSOCIATED_FACTOR * EPS * math.sqrt(goal.reduction_length), 1e-12)
    relative = relative if goal.within is None else goal.within
    return Loose(goal.exactness, goal.reduction_length, relative)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
