"""A hot loop, and what rules answer: rewrites with what their equality rests on, or reasons."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from ..gpumodel import LineWork
from .profiles import Site, SiteObservation
from .programs import Source

if TYPE_CHECKING:
    from ..loopnest.ir import Nest


@dataclass(frozen=True)
class Refusal:
    """Why something was not rewritten, in words an expert would accept."""

    reason: str
    """One sentence: ``"iteration i reads what iteration i-1 wrote (line 14)"``."""
    line: int | None = None
    suggestion: str | None = None
    """What the user could change to make it possible."""


@dataclass(frozen=True)
class Calls:
    """The calls of the function around a loop: what is replayed when a rewrite of it is tried."""

    number: int
    share: float
    """Of the bare run, spent in all of them, with what they call."""


@dataclass(frozen=True)
class Around:
    """The text that the array statements of a restated loop are put into."""

    source: Source
    loop: ast.For | ast.While
    """The loop in it that they replace, and that runs where they do not."""
    tests: tuple[str, ...] = ()
    """What is asked besides."""
    ahead: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    """Lines in front of them and behind them."""
    made: frozenset[str] = frozenset()
    """Arrays that the lines in front make, as the loop needs them: nothing is asked of them."""
    known: tuple[str, ...] = ()
    """Tests that hold of what the text in front of the loop makes, and are not asked."""


@dataclass(frozen=True)
class Region:
    """A hot loop statement, with what is known of it; what rules look at.

    ``chain`` holds the regions of one hot place from the outermost loop inwards; a rule is asked
    for each, outermost first, and its first match counts.
    """

    site: Site
    source: Source
    loop: ast.For | ast.While
    function: ast.FunctionDef | None
    """The directly enclosing function; None at module level."""
    class_name: str | None
    share: float
    """Share of the bare run spent in this statement, calls included; Amdahl's bound follows."""
    depth: int
    """0 for the outermost loop of the chain."""
    observation: SiteObservation | None
    nest: Nest | Refusal
    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    """User functions called in the loop, by the name used there, where their source is known."""
    gpu: Mapping[int, LineWork] | None = None
    """GPU work by line of this file, as traced; None where nothing could be traced."""
    inside: tuple[Region, ...] = field(default=(), repr=False, compare=False)
    """Regions of the loops in it and in the functions it calls, as far as they were observed."""
    calls: Calls | None = field(default=None, repr=False, compare=False)
    """Of the enclosing function; None at module level, or where they were not counted."""
    in_python: tuple[str, ...] = ()
    """Lines that Python runs where a restated loop is not compiled: the user's own loop, where
    that works on other variables. Empty where it is the loop itself."""
    around: Around | None = None
    """Where the array statements of a restated loop go; None: in the place of the loop itself."""
    beside: tuple[Region, ...] = field(default=(), repr=False, compare=False)
    """The loops of its block that run one after the other, from this one on, where it is the first
    of several; next to nothing stands between them."""
    until: ast.stmt | None = field(default=None, repr=False, compare=False)
    """The last loop where the region is all of ``beside``."""

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line."""
        last = self.until or self.loop
        assert last.end_lineno is not None
        return self.loop.lineno, last.end_lineno

    @property
    def together(self) -> Region:
        """The region of all loops in ``beside``."""
        share = min(1.0, sum(region.share for region in self.beside))
        return replace(self, share=share, until=self.beside[-1].loop)

    @property
    def max_speedup(self) -> float:
        """Amdahl: the whole-script speed-up if this region took no time."""
        return 1.0 / max(1e-9, 1.0 - min(self.share, 1.0 - 1e-9))


# -------------------------------------------------------------- candidates
@dataclass(frozen=True)
class Edit:
    """Replace bytes ``[start, end)`` of the original file by ``text``, encoded as UTF-8."""

    start: int
    end: int
    text: str


class Basis(StrEnum):
    """How a condition of equality is known."""

    PROVED = "proved"
    """From the code: true of every run, whatever the data."""
    OBSERVED = "observed"
    """Seen in this run; another run may differ."""
    ASSUMED = "assumed"
    """Neither: taken for granted, or argued only in part."""


@dataclass(frozen=True)
class Condition:
    """One entry of the precondition ledger.

    What is neither proved from the code nor seen in the run is ASSUMED, however likely. What
    changes although all results are equal is no condition: see `Match.differences`.
    """

    text: str
    """In words, or the Python test itself: what must hold."""
    basis: Basis
    evidence: str = ""
    """Where it comes from: ``"line 14"``, ``"ranges of all expressions"``. Not how often it was
    seen: `seen` and `entries` say that."""
    guarded: bool = False
    """Observed, and tested at run time by the emitted code, which else runs the original."""
    test: str = ""
    """Guarded: the test as it stands in the emitted code, where `text` is not that test."""
    given: str = ""
    """Proved: a bound that the proof takes from the machine and not from the code, and that no
    run passes: ``"fewer than 2**46 steps, which take a day of compiled code"``. A bound that a
    run may pass is no such bound: it is a condition of its own, guarded or ASSUMED."""
    seen: int = 0
    """Observed: at how many entries of the loop; filled in after the rule has answered."""
    entries: int = 0
    """Observed: of how many entries in the run."""


class Exactness(StrEnum):
    """How close the results must be."""

    BITS = "bit for bit"
    REASSOCIATED = "reassociated sums"
    LAST_DIGIT = "library functions may differ in the last digit"


class Purpose(StrEnum):
    """What a change is for."""

    GAIN = "gain"
    """The same results sooner."""
    CORRECTION = "correction"
    """What the script measures of itself was wrong: its times change, and nothing else does. No
    gain is asked for."""
    FIGURES = "figures"
    """It changes results on purpose: run once to say what it would gain, and never offered."""


@dataclass(frozen=True)
class Restated:
    """The first of two steps: a plainer text, which the second step rewrites."""

    edits: tuple[Edit, ...]
    """From the user's text to the plainer one."""
    tests: tuple[str, ...] = ()
    """Conditions of the ledger that this step rests on, as tested; all others are the second's."""


@dataclass(frozen=True)
class Match:
    """What a rule answers: a change of one file, and what its equality rests on."""

    edits: tuple[Edit, ...]
    why: str
    """Why the original is slow, one or two sentences for the report."""
    change: str
    """What the rewrite does, one line."""
    needs: frozenset[str] = frozenset()
    """Packages the new code imports: ``{"numpy"}``, ``{"numba"}``."""
    ledger: tuple[Condition, ...] = ()
    exactness: Exactness = Exactness.BITS
    reduction_length: int = 1
    """Terms added up in the longest reassociated sum (for the tolerance)."""
    differences: tuple[str, ...] = ()
    """What a user can notice although every result is equal, one sentence each: warnings that
    are not shown, more memory, an error raised later. Never a value, a type, or an effect on
    data: a rewrite that changes one of those is wrong."""
    silenced: tuple[str, ...] = ()
    """Warnings of a library about the program's speed that do not come any more, as their cause
    is gone: how their line on standard error begins after the place, class included. Named in
    `differences`, too."""
    restated: Restated | None = None
    """Where the rewrite is made in two steps, the first; `edits` are both together."""
    warns: tuple[str, ...] = ()
    """Warnings of a library about the program's speed that come with the new text, as in
    `silenced`; named in `differences`, too."""
    purpose: Purpose = Purpose.GAIN

    @property
    def safe(self) -> bool:
        """True unless the equality rests on something assumed, or observed and not guarded."""
        return not self.unproved

    @property
    def unproved(self) -> tuple[Condition, ...]:
        """What is assumed, or was observed and is not guarded."""
        return tuple(
            c
            for c in self.ledger
            if not (c.basis is Basis.PROVED or (c.basis is Basis.OBSERVED and c.guarded))
        )


@dataclass(frozen=True)
class Mistake:
    """A known mistake in GPU code, named at its line, with a rewrite where there is one."""

    line: int
    what: str
    """One sentence: ``"the grid is copied to the host at every step"``."""
    remedy: str
    """What to write instead, one sentence."""
    evidence: str
    """What was measured at the line, in words; or what it would take to measure it."""
    measured: bool
    cost: float | None = None
    """Seconds of the traced run that it took, at most; None where that was not measured."""
    match: Match | None = None
    """The rewrite, to be tried like any other; None: advice only."""


@dataclass(frozen=True)
class Advice:
    """A mistake without a rewrite, or one whose rewrite cannot be tried here."""

    region: Region
    rule: str
    mistake: Mistake


@dataclass(frozen=True)
class Candidate:
    """A match of one rule on one region, ready to be tried."""

    id: str
    """Unique within a report: ``"c3"``."""
    rule: str
    """Rule code: ``"NB401"``."""
    region: Region
    match: Match
    saves: float | None = None
    """Rewrites that mend a mistake in GPU code: seconds of the traced run that it took, at most.
    They complement one another and are tried together; of all others (None), one of each loop
    wins."""
