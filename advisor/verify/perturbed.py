"""The tool's side of perturbed inputs: original and candidate on each, compared.

A difference counts only if it is there again in a second pair of runs and if the original repeats
itself with other contents of uninitialised memory; else the input is left out, and counted so.
"""

from __future__ import annotations

import json
import mmap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..deadline import Deadline
from ..model import Exactness
from . import capture
from .compare import Comparison, Different, Same, compare

SHARE = 0.4
"""Part of the time that the original's runs may take."""
EACH = 1.0
"""Seconds of one run of the original."""
SLOWER = 4.0
PATIENCE = 2.0
"""A candidate that takes ``SLOWER`` times as long as the original and so many seconds more does
not come to an end."""
COMPILED_ANEW = 2.0
"""A copy with arguments of another layout compiles once more: that may take so many times what the
first call on the recorded input cost, on a machine that has become busy meanwhile."""
LEAST = 0.2
"""Seconds left below which a difference is not looked at a second time: it counts."""
DIGESTS = "its content differs ("
"""So ``compare`` calls a difference of arrays of which only digests were kept."""
DIRT, OTHER_DIRT = 0x5A, 0xA7
WIDER = 10_000
"""Where results may differ by rounding, perturbed inputs may be worse conditioned than the
program's own: the reduction length is taken so many times as long, the tolerance 100 times."""


@dataclass(frozen=True)
class Perturbed:
    """What came of the perturbed inputs of one state."""

    count: int = 0
    """How many were run on both sides and compared equal."""
    mismatch: str | None = None
    """The first input on which they differ, and how."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Why others were not compared, and how many."""


NOT_PERTURBED = Perturbed()


@dataclass(frozen=True)
class Run:
    """One side on one perturbed input."""

    what: Mapping[str, Any]
    status: str
    words: str
    seconds: float
    why: str
    state: capture.Capture | None
    limit: float = 0.0
    """After how many seconds it was stopped."""
    raised: bool = False


@dataclass(frozen=True)
class Runs:
    """One side on many."""

    runs: tuple[Run, ...]
    trouble: str | None = None
    """Why there are none at all."""
    base: Mapping[str, Any] | None = None
    """The sizes that all changes of values were made on."""


Ask = Callable[[str, Mapping[Path, bytes], Mapping[str, Any], float], Runs]
"""(side, changed files, order, seconds) -> what the holder's copies did."""


def order(
    limit: float,
    usual: float,
    *,
    raised: bool,
    wanted: Sequence[Mapping[str, Any]] | None = None,
    limits: Sequence[float] = (),
    dirt: int = DIRT,
    tests: Sequence[str] = (),
    base: Mapping[str, Any] | None = None,
    beyond: float = 0.0,
) -> dict[str, Any]:
    """The request that ``perturb_replay.Order`` reads."""
    return {
        "limit": limit,
        "beyond": beyond,
        "each": min(EACH, limit / 4),
        "usual": usual,
        "raised": raised,
        "dirt": dirt,
        "wanted": None if wanted is None else list(wanted),
        "limits": list(limits),
        "tests": list(tests),
        "base": base,
    }


def read_runs(answer: Mapping[str, Any], stream: Any) -> Runs:
    """The runs of a holder's answer, with their captures mapped from ``stream``."""
    if answer["status"] != "done":
        return Runs((), str(answer.get("why", answer["status"])))
    size = stream.seek(0, 2)
    data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
    runs = tuple(_read_run(fields, data) for fields in answer["runs"])
    return Runs(runs, base=answer.get("base"))


def _read_run(fields: Mapping[str, Any], data: memoryview) -> Run:
    status, state = str(fields["status"]), None
    start, stop = fields["at"]
    if status == "done":
        try:
            state = capture.parse(data[start:stop])
        except ValueError:
            status = "crashed"
    return Run(
        fields["what"],
        status,
        str(fields["words"]),
        float(fields.get("seconds", 0.0)),
        str(fields.get("why", status)),
        state,
        float(fields.get("limit", 0.0)),
        fields.get("raised") is not None,
    )


class PerturbedReplay:
    """All perturbed inputs of one state; the original's runs are kept for every candidate."""

    def __init__(self, ask: Ask, usual: float, *, raised: bool) -> None:
        """``usual``: seconds of the original on the recorded state; ``raised``: it raises there."""
        self.ask, self.usual, self.raised = ask, usual, raised
        self.known: list[Run] | None = None
        self.trouble: str | None = None
        self.base: Mapping[str, Any] | None = None
        self.tests: set[str] = set()
        self.left_out: Counter[str] = Counter()

    def judge(
        self,
        changed: Mapping[Path, bytes],
        limit: float,
        *,
        exactness: Exactness,
        reduction_length: int,
        ignore: frozenset[str],
        first_call: float = 0.0,
        tests: Sequence[str] = (),
        reserve: float = 0.0,
    ) -> Perturbed:
        """A candidate on all of them, within ``limit`` seconds; ``tests``: what its text tests.

        ``first_call``: seconds that its first call took longer on the recorded input. ``reserve``:
        seconds on top for a run that does not end, and for differences to be seen twice.
        """
        deadline, last = Deadline(limit), Deadline(limit + reserve)
        self._originals(SHARE * limit, tests)
        known = [run for run in self.known or () if _usable(run, exactness)]
        if not known:
            why = {self.trouble: 1} if self.trouble else {}
            return Perturbed(left_out={**why, **self.left_out})

        def compared(one: capture.Capture, other: capture.Capture) -> Comparison:
            length = reduction_length if exactness is Exactness.BITS else reduction_length * WIDER
            return compare(one, other, exactness=exactness, reduction_length=length, ignore=ignore)

        trial = _Trial(self, changed, deadline, last, compared, first_call)
        return trial.run(known)

    def _originals(self, limit: float, tests: Sequence[str]) -> None:
        """The original's runs; for a later candidate, only what is aimed at its own tests."""
        new = [test for test in tests if test not in self.tests]
        if self.known is not None and not (new and self.base):
            return
        self.tests.update(new)
        request = order(limit, self.usual, raised=self.raised, tests=new, base=self.base)
        runs = self.ask("original", {}, request, limit)
        if self.known is None:
            self.trouble, self.base = runs.trouble, runs.base
        known = {_key(run) for run in self.known or ()}
        found = [run for run in runs.runs if run.status == "done" and _key(run) not in known]
        self.known = [*found, *(self.known or ())]
        self.left_out.update(_reason(run) for run in runs.runs if run.status != "done")

    def drop(self, run: Run, why: str) -> None:
        """Never use this one again."""
        assert self.known is not None
        self.known.remove(run)
        self.left_out[why] += 1


def _key(run: Run) -> str:
    return json.dumps(run.what, sort_keys=True)


def _usable(run: Run, exactness: Exactness) -> bool:
    return exactness is Exactness.BITS or not run.what["wild"]


def _reason(run: Run) -> str:
    return {
        "timeout": "the original took too long",
        "crashed": "the original died",
        "too large": "the state is too large",
    }.get(run.status, "the original ran out of memory")


@dataclass(frozen=True)
class _Trial:
    """One candidate."""

    all: PerturbedReplay
    changed: Mapping[Path, bytes]
    deadline: Deadline
    """No run is begun after it."""
    last: Deadline
    """No run goes on after it."""
    compared: Callable[[capture.Capture, capture.Capture], Comparison]
    first_call: float

    def run(self, known: Sequence[Run]) -> Perturbed:
        answers = self.candidate(known, self.deadline.remaining())
        if answers.trouble is not None:
            return Perturbed(left_out={answers.trouble: 1})
        count = 0
        left: Counter[str] = Counter(self.all.left_out)
        originals = {_key(run): run for run in known}
        for answer in answers.runs:
            original = originals[_key(answer)]
            trouble = self.difference(original, answer)
            if trouble is None:
                count += 1
                continue
            why_not = self.unsure(original, answer, trouble)
            if why_not is None:
                words = f"on a perturbed input ({original.words}): {trouble}"
                return Perturbed(count, words, dict(left))
            left[why_not] += 1
        return Perturbed(count, None, dict(left))

    def candidate(self, known: Sequence[Run], limit: float) -> Runs:
        limits = [self.patience(run) for run in known]
        request = order(
            limit,
            self.all.usual,
            raised=self.all.raised,
            wanted=[run.what for run in known],
            limits=limits,
            beyond=max(0.0, min(max(limits), self.last.remaining() - limit)),
        )
        return self.all.ask("candidate", self.changed, request, limit)

    def patience(self, original: Run) -> float:
        """Seconds after which the candidate does not come to an end."""
        return SLOWER * original.seconds + PATIENCE + COMPILED_ANEW * self.first_call

    def difference(self, original: Run, candidate: Run) -> str | None:
        """What the candidate did otherwise, in words; None if nothing."""
        assert original.state is not None
        match candidate.status:
            case "done":
                assert candidate.state is not None
                if original.what["odd"] and original.raised and candidate.raised:
                    return None
                comparison = self.compared(original.state, candidate.state)
                return None if isinstance(comparison, Same) else comparison.what
            case "timeout":
                return f"the rewrite did not end, the original took {original.seconds:.3g} s"
            case "not compared":
                return "the rewrite ran out of memory"
        return f"the rewrite failed ({candidate.why})"

    def unsure(self, original: Run, candidate: Run, trouble: str) -> str | None:
        """Why a difference does not count; None if it does."""
        # Told by digests alone, which know neither rounding nor that all NaN are equal.
        if DIGESTS in trouble:
            return "the state is too large"
        if candidate.status == "timeout" and candidate.limit < self.patience(original):
            return "the time ran out"
        if candidate.status == "too large":
            return "the state is too large"
        # A wrong rewrite would be worse than one that is missed for want of time.
        if self.last.remaining() < LEAST:
            return None
        again = self.original_again(original)
        if again is not None:
            self.all.drop(original, again)
            return again
        enough = self.patience(original) + PATIENCE
        second = self.candidate([original], min(enough, self.last.remaining()))
        found = second.runs[0] if second.runs else None
        if found is None and self.last.over:
            return None
        if found is None or self.difference(original, found) is None:
            return "the rewrite does not repeat itself"
        return None

    def original_again(self, original: Run) -> str | None:
        limit = min(PATIENCE + 2 * original.seconds, self.last.remaining())
        request = order(
            limit,
            self.all.usual,
            raised=self.all.raised,
            wanted=[original.what],
            limits=[limit],
            dirt=OTHER_DIRT,
        )
        runs = self.all.ask("original", {}, request, limit).runs
        assert original.state is not None
        if not runs or runs[0].state is None:
            return "the original does not repeat itself"
        again = compare(original.state, runs[0].state)
        if isinstance(again, Same):
            return None
        if isinstance(again, Different):
            return "the original does not repeat itself, or uses uninitialised memory"
        return again.what
