"""The frozen values that pass from one stage of the journey to the next.

Times are seconds, sizes are bytes, shares are fractions of the bare run in
``[0, 1]`` unless a name says otherwise. Lines are 1-based, byte offsets are
0-based offsets into the file's UTF-8 text.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from .gpumodel import GpuWork, LineWork

if TYPE_CHECKING:
    from .loopnest.ir import Nest


# ---------------------------------------------------------------- what is run
@dataclass(frozen=True)
class Target:
    """A program as the user starts it: ``python SCRIPT ARGS`` or ``python -m MODULE ARGS``."""

    script: Path
    """Absolute path of the file that runs as ``__main__``."""
    args: tuple[str, ...] = ()
    module: str | None = None
    cwd: Path = field(default_factory=Path.cwd)
    python: str = "python3"
    typed: str | None = None
    """The script as it was typed, which is its ``sys.argv[0]``; None: the absolute path."""

    @property
    def command(self) -> tuple[str, ...]:
        """What follows the interpreter on the command line."""
        head = ("-m", self.module) if self.module else (self.typed or str(self.script),)
        return (*head, *self.args)


@dataclass(frozen=True)
class Source:
    """A Python file as read from disk, with its bytes kept exactly."""

    path: Path
    data: bytes
    rebound: tuple[str, ...] = ()
    """Attributes that the program assigns on what it imports: ``physics.DT = 0.01`` in another
    file makes ``DT`` no constant of ``physics``. ``"*"``: any."""

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed module. Raises SyntaxError."""
        return ast.parse(self.data, filename=str(self.path))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, as ``ast.walk`` gives them: walking a long file takes 0.2 s."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """Byte offset of each line as ``ast`` counts lines (line 1 is at index 0)."""
        starts = [0]
        position = 0
        for line in self.data.splitlines(keepends=True):
            position += len(line)
            starts.append(position)
        return tuple(starts)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text of each line, without line ends."""
        return tuple(line.decode("utf-8", "replace") for line in self.data.splitlines())

    def offset(self, line: int, column: int) -> int:
        """Byte offset of an ``ast`` position; ``column`` counts UTF-8 bytes, a BOM is skipped."""
        bom = 3 if line == 1 and self.data.startswith(b"\xef\xbb\xbf") else 0
        return self.line_starts[line - 1] + column + bom

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """Byte range of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def text(self, node: ast.stmt | ast.expr) -> str:
        """The source text of a node, exactly as written."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")


# ------------------------------------------------------------------- runs
@dataclass(frozen=True)
class Exited:
    """The process ended by itself."""

    code: int


@dataclass(frozen=True)
class Killed:
    """The process was ended by a signal."""

    signal: int


@dataclass(frozen=True)
class Stopped:
    """We stopped the process: it ran past ``limit`` seconds."""

    limit: float


RunEnd = Exited | Killed | Stopped


@dataclass(frozen=True)
class RunResult:
    """One finished run of the whole program."""

    end: RunEnd
    wall: float
    cpu: float
    """User plus system seconds of the process and the children it waited for."""
    max_rss: int
    page_faults: int = 0
    stdout: bytes | None = None
    """None where the stream went to the user and was not kept."""
    stderr: bytes | None = None
    files: Mapping[str, str] | None = None
    """Path relative to the scratch root -> content digest, of files the run made or changed
    (``"removed"`` for those it deleted). None for the real run."""

    @property
    def ok(self) -> bool:
        """Ended by itself with status 0."""
        return self.end == Exited(0)


# ---------------------------------------------------------------- profile
@dataclass(frozen=True)
class FunctionTime:
    """Self time of one function, as sampled by scalene, as shares of the whole run."""

    file: Path
    qualname: str
    """``"<module>"`` for top-level code."""
    first_line: int
    last_line: int
    python_share: float
    native_share: float
    system_share: float = 0.0

    @property
    def share(self) -> float:
        """Python, native and waiting time together."""
        return self.python_share + self.native_share + self.system_share


@dataclass(frozen=True)
class LineTime:
    """One source line: sampled shares from scalene, exact hits and seconds from line_profiler."""

    file: Path
    line: int
    python_share: float = 0.0
    native_share: float = 0.0
    system_share: float = 0.0
    hits: int | None = None
    seconds: float | None = None
    """Seconds under line_profiler within its budget; meaningful as a share of its function only."""
    share: float = 0.0
    """Best estimate of the line's share of the bare run: scalene's function total, spread over
    the function's lines as line_profiler measured them."""


@dataclass(frozen=True)
class Profile:
    """What the profiled runs said."""

    bare: RunResult
    functions: tuple[FunctionTime, ...]
    lines: tuple[LineTime, ...]
    method: str
    """Which profilers the shares come from, in words for the report."""
    partial: bool = False
    notes: tuple[str, ...] = ()


# ----------------------------------------------------- observed values and sites
@dataclass(frozen=True)
class ValueInfo:
    """What was seen of one variable over all observed entries of a site, merged.

    A merged value whose type differed between entries has ``kind == "mixed"``.
    """

    kind: str
    """ndarray, list, tuple, bytearray, bool, int, float, complex, str, none, function, module,
    class, numpy_scalar, object, mixed."""
    type_name: str
    """Qualified type name: ``"numpy.ndarray"``, ``"builtins.float"``, ``"__main__.Grid"``."""
    dtype: str | None = None
    """NumPy dtype name of arrays and NumPy scalars."""
    ndim: int | None = None
    shape: tuple[int | None, ...] | None = None
    """Extents; None where they differed between entries. Also for regular nested lists."""
    min_shape: tuple[int, ...] | None = None
    max_shape: tuple[int, ...] | None = None
    c_contiguous: bool = False
    writeable: bool = True
    minimum: float | int | None = None
    """Smallest value seen over all entries (elements of arrays and lists, NaN left out)."""
    maximum: float | int | None = None
    has_nan: bool = False
    constant: bool = False
    """The same scalar value at every entry (then minimum == maximum)."""
    element: ValueInfo | None = None
    """Lists and tuples: the merged info of the innermost elements of a regular nesting."""
    regular: bool = True
    """Lists of lists: every row has the same length and rows are distinct objects."""
    target: str | None = None
    """Functions, classes and modules: qualified name (``"math.sqrt"``, ``"numpy"``,
    ``"__main__.neighbours"``)."""
    target_file: Path | None = None
    """Functions: the file that defines them, when it is Python."""
    target_line: int | None = None
    """Functions: line of the ``def`` (or of its first decorator)."""


@dataclass(frozen=True)
class SiteObservation:
    """Everything seen at the entry of one loop statement (or function)."""

    entries: int
    observed: int
    """How many of the entries were looked at (the others only counted)."""
    values: Mapping[str, ValueInfo]
    """Locals and used globals by name, used attribute chains by dotted path (``"self.grid"``)."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Pairs of array or list names that shared memory (or were one object) at some entry."""
    signatures: tuple[SiteObservation, ...] = ()
    """Where types differed between entries: what was seen with each type signature, the one with
    most work first; this observation is all of them merged. Empty where types never differed."""
    others: int = 0
    """For one signature of several: entries that had other types. They keep the original loop."""
    kinds: int = 1
    """How many type signatures were seen in the run."""
    work: float = 0.0
    """Rough work of these entries: elements of arrays and lists, and integers, summed."""


@dataclass(frozen=True)
class Site:
    """A place in the program where we look: a loop statement, or the entry of a function."""

    file: Path
    line: int
    """First line of the statement (a loop), or of the ``def``."""
    qualname: str
    """The enclosing function; ``"<module>"`` at top level. For a function site: the function."""
    is_function: bool = False

    @property
    def key(self) -> str:
        """Stable text key, used between processes."""
        return f"{self.file}:{self.line}:{self.qualname}:{int(self.is_function)}"


# -------------------------------------------------------------- diagnosis
@dataclass(frozen=True)
class Refusal:
    """Why something was not rewritten, in words an expert would accept."""

    reason: str
    """One sentence: ``"iteration i reads what iteration i-1 wrote (line 14)"``."""
    line: int | None = None
    suggestion: str | None = None
    """What the user could change to make it possible."""


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

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line."""
        assert self.loop.end_lineno is not None
        return self.loop.lineno, self.loop.end_lineno

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

    @property
    def safe(self) -> bool:
        """True unless the equality rests on something assumed, or observed and not guarded."""
        return all(
            c.basis is Basis.PROVED or (c.basis is Basis.OBSERVED and c.guarded)
            for c in self.ledger
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


# ---------------------------------------------------------------- verdicts
@dataclass(frozen=True)
class Usage:
    """What one timed run took of the machine besides wall time."""

    cpu: float
    """User plus system seconds."""
    faults: int
    """Page faults, minor and major: fresh memory shows here."""


@dataclass(frozen=True)
class Ratio:
    """Original time over candidate time, with a bootstrap interval on the ratio of medians."""

    value: float
    low: float
    high: float
    original: tuple[float, ...]
    """Raw times of the original, seconds."""
    candidate: tuple[float, ...]
    original_usage: tuple[Usage, ...] = ()
    """One entry a time, in the same order; empty where it was not recorded."""
    candidate_usage: tuple[Usage, ...] = ()


@dataclass(frozen=True)
class ErrorSize:
    """Largest deviation of any compared number."""

    absolute: float = 0.0
    relative: float = 0.0
    ulp: float = 0.0
    """In units in the last place of the larger one."""
    numbers: int = 0
    """Floating-point numbers that were compared."""

    @property
    def exact(self) -> bool:
        """No deviation at all."""
        return self.absolute == 0.0 and self.ulp == 0.0


@dataclass(frozen=True)
class Verified:
    """Executed on real states and compared equal."""

    speedup: Ratio
    """Region level: of the call or statement that was replayed; script level: of the script."""
    error: ErrorSize
    states: int
    """How many recorded program states (calls) it was compared on; 0 for a whole script."""
    compared: str
    """What was compared, in words."""
    first_call: float = 0.0
    """Seconds the candidate's first call took beyond its steady state (imports, compilation)."""
    perturbed: int = 0
    """On how many inputs made from the recorded ones both gave the same: other sizes, values,
    types, layouts, shared memory."""
    later: Ratio | None = None
    """Script level: runs that find compiled code on disk, as all but the first one do. None where
    nothing is compiled (later runs take what the first one takes), or no such run was made."""
    over: Ratio | None = None
    """Script level: the mean of the user's ``--runs N``, one first run and N - 1 later ones. None
    for a single run, and where later runs are like the first."""

    @property
    def deciding(self) -> Ratio:
        """What counts under the user's conditions: all of the runs, or the first one."""
        return self.over or self.speedup

    @property
    def break_even(self) -> float | None:
        """Calls after which the first call's extra cost is earned back; None if never.

        ``first_call / (original - candidate)``, the medians of one call.
        """
        if not self.speedup.original or not self.speedup.candidate:
            return None
        saved = median(self.speedup.original) - median(self.speedup.candidate)
        return self.first_call / saved if saved > 0.0 else None


@dataclass(frozen=True)
class Mismatch:
    """Executed, and something came out different."""

    what: str


@dataclass(frozen=True)
class NotFaster:
    """Equal, but it does not gain."""

    speedup: Ratio
    threshold: float
    later: Ratio | None = None
    """As in `Verified`."""
    over: Ratio | None = None
    """As in `Verified`."""

    @property
    def deciding(self) -> Ratio:
        """What counts under the user's conditions."""
        return self.over or self.speedup


@dataclass(frozen=True)
class Inconclusive:
    """Measured, but the noise or the budget allows no verdict."""

    why: str


@dataclass(frozen=True)
class Crashed:
    """The rewritten code raised or died where the original did not."""

    why: str


@dataclass(frozen=True)
class TimedOut:
    """Stopped: it ran past its limit."""

    limit: float


@dataclass(frozen=True)
class Unavailable:
    """Could not be executed here."""

    why: str


Verdict = Verified | Mismatch | NotFaster | Inconclusive | Crashed | TimedOut | Unavailable


# ----------------------------------------------------------------- report
@dataclass(frozen=True)
class Trial:
    """A candidate with what came of it."""

    candidate: Candidate
    region_verdict: Verdict
    """On the program's own states (fork at the hot call)."""
    script_verdict: Verdict | None = None
    """Whole script, this candidate alone; None where it was not run."""
    predicted_script_seconds: float | None = None
    left_out: str = ""
    """Why a rewrite that passed alone is not in the patch; empty if it is, or did not pass."""


@dataclass(frozen=True)
class Finding:
    """One hot region for which at least one candidate was tried."""

    region: Region
    winner: Trial | None
    """The trial whose edits are in the patch; None if no trial was good enough."""
    others: tuple[Trial, ...]

    @property
    def unconfirmed(self) -> Trial | None:
        """The best trial that gained on recorded calls and could not run as a whole script."""
        found = [
            trial
            for trial in self.others
            if isinstance(trial.region_verdict, Verified)
            and isinstance(trial.script_verdict, Unavailable)
            and trial.region_verdict.speedup.low > 1.0
        ]
        if self.winner is not None or not found:
            return None
        return min(found, key=lambda trial: trial.predicted_script_seconds or float("inf"))


@dataclass(frozen=True)
class Refused:
    """A hot region, or a rule on it, that was left alone, and why."""

    region: Region
    rule: str | None
    """None: no rule could look at it."""
    refusal: Refusal


@dataclass(frozen=True)
class Machine:
    """Where it ran."""

    node: str
    system: str
    cpu: str
    cores: int
    memory: int
    python: str
    packages: Mapping[str, str]
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageCost:
    """Wall seconds a stage of the tool took."""

    stage: str
    seconds: float


class Outcome(StrEnum):
    """How the journey ended; the CLI's exit code follows from it."""

    ADVICE = "advice found"
    NOTHING = "nothing to gain"
    SCRIPT_FAILED = "script failed"


@dataclass(frozen=True)
class Report:
    """Everything a renderer needs; built once, never changed."""

    target: Target
    machine: Machine
    started: str
    """Local time, ISO 8601."""
    outcome: Outcome
    message: str
    """One line that says how it ended."""
    profile: Profile | None = None
    sources: Mapping[Path, Source] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    refused: tuple[Refused, ...] = ()
    script_verdict: Verdict | None = None
    """The whole script with exactly the patch below."""
    patched: Mapping[Path, bytes] = field(default_factory=dict)
    """New content of every file the patch changes."""
    notes: tuple[str, ...] = ()
    costs: tuple[StageCost, ...] = ()
    partial: bool = False
    advice: tuple[Advice, ...] = ()
    """Mistakes in GPU code that no rewrite in this report mends, most costly first."""
    gpu: GpuWork | None = None
    """None where the script did nothing on a GPU, or nothing could be recorded."""
    runs: int = 1
    """How often the user will run the script: what a first run compiles is spread over them."""
