"""One small program through the tool's own stages, held open so that any text can be tried on it.

``Subject`` runs a program as ``gpuadvise`` would: bare run, profile, held states, rules. What
follows differs: instead of choosing among the rewrites, ``judge`` puts any new text of the program
through the same trials, first on the held states, then as a whole script.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from gpuadvise.deadline import Deadline
from gpuadvise.matching import match_rules
from gpuadvise.model import (
    Candidate,
    Crashed,
    Edit,
    Mismatch,
    Target,
    TimedOut,
    Unavailable,
    Verdict,
    Verified,
)
from gpuadvise.observe.bare import real_run
from gpuadvise.observe.machine import describe
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.options import Options
from gpuadvise.patch import combine
from gpuadvise.pipeline import Journey
from gpuadvise.progress import Stages
from gpuadvise.report.words import verdict as words
from gpuadvise.target import read_sources
from gpuadvise.verify.script import ScriptTrials
from gpuadvise.verify.server import StateServer
from gpuadvise.verify.trying import Trying

GAIN = 1.1
"""What a rewrite has to gain to be offered."""
SHORT = 0.4
"""Seconds of a run that is too short for sampling: line timing then ranks the functions."""
LIMIT = 60.0
"""Seconds for one text on one state."""


@dataclass(frozen=True)
class Outcome:
    """Who noticed, and what was said."""

    stage: str
    """``text`` (read, not run), ``region``, ``perturbed``, ``script``, ``no gain`` (equal, and not
    faster), ``refused`` (it could not be compared), ``escaped``."""
    words: str


@dataclass(frozen=True)
class Subject:
    """A program with its states held and the rewrites that the rules make of it."""

    name: str
    script: Path
    trying: Trying
    candidates: tuple[Candidate, ...]

    def text(self, candidate: Candidate) -> bytes:
        """The whole program with one rewrite."""
        return combine(candidate.region.source, [candidate.match.edits])

    def judge(self, candidate: Candidate, text: bytes, *, slow: bool = False) -> Outcome:
        """The tool's verdict of ``text`` in place of the candidate's own text.

        All held states of the place, perturbed inputs, and then one whole run. Times are judged
        only if ``slow``, for faults that do nothing but waste time: one that changes a result and
        is slow as well is no less wrong.
        """
        source = candidate.region.source
        whole = Edit(0, len(source.data), text.decode("utf-8"))
        name = hashlib.sha256(text).hexdigest()
        mutant = replace(candidate, id=name, match=replace(candidate.match, edits=(whole,)))
        self.trying.deadline = Deadline(LIMIT)
        trial = self.trying.on_states(mutant, full=True)
        verdict, patch = trial.region_verdict, {source.path: text}
        if isinstance(verdict, Mismatch | Crashed | TimedOut):
            return Outcome(_stage(verdict), words(verdict))
        if slow and not (isinstance(verdict, Verified) and verdict.speedup.low > GAIN):
            return Outcome("no gain", type(verdict).__name__)
        if slow:
            last = self.trying.judge(patch, [trial])
            return Outcome("escaped" if isinstance(last, Verified) else "no gain", words(last))
        problem = self.trying.trials.check(patch, self.trying.goal([mutant]), Deadline(LIMIT))
        if problem is None:
            seen = f"no state compared: {words(verdict)}"
            if isinstance(verdict, Verified):
                seen = f"equal on {verdict.states} states and {verdict.perturbed} perturbed inputs"
            return Outcome("escaped", seen)
        refused = isinstance(problem, Unavailable)
        return Outcome("refused" if refused else "script", words(problem))


@contextlib.contextmanager
def subject(script: Path, arguments: Sequence[str] = (), allow: str = "numba") -> Iterator[Subject]:
    """Run a program through the tool up to the trials, and keep it there.

    Raises RuntimeError if the program does not run.
    """
    target = Target(script, tuple(arguments), None, script.parent, sys.executable)
    options = Options(allow=frozenset({"numpy", allow}))
    journey = Journey(target, options, Stages(), datetime.now().astimezone(), describe())
    with Sandbox(target) as box:
        sources = read_sources(target)
        stdin = box.root / "stdin"
        stdin.touch()
        with _quiet(box.root / "quiet"):
            bare = real_run(target, limit=60.0, record=stdin)
        if not bare.ok:
            raise RuntimeError(f"{script.name} ended with {bare.end}")
        originals = {path: source.data for path, source in sources.items()}
        with StateServer(originals, box.own) as server:
            # On a busy machine the start of a short run looks hot to a sampling profiler.
            short = replace(bare, wall=min(bare.wall, SHORT))
            looked = journey.observe(box, short, stdin, sources, server, Deadline(120.0))
            tried = match_rules(looked.chains, options, sources.values())
            trying = Trying(
                server,
                ScriptTrials(box, target, stdin, LIMIT, bare),
                bare_wall=bare.wall,
                min_speedup=GAIN,
                deadline=Deadline(LIMIT),
                unsafe=False,
                progress=lambda text: None,
            )
            yield Subject(script.stem, script, trying, tried.candidates)


@contextlib.contextmanager
def _quiet(place: Path) -> Iterator[None]:
    """The program's own run writes to this process's standard output: into a file, for once."""
    sys.stdout.flush()
    saved = os.dup(1)
    with place.open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)


def _stage(verdict: Verdict) -> str:
    said = words(verdict)
    if "new text does not" in said:
        return "text"
    return "perturbed" if "perturbed input" in said else "region"
