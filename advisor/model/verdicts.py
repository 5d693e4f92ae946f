"""What came of running a rewrite beside the original."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median


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
    within: float | None = None
    """Script level, under ``--unsafe``: nothing but written numbers differ, and by no more than
    this part of their size. Too much to be called rounding; whether it matters is the user's."""
    speedup: Ratio | None = None
    """Where ``within`` is known: what the run would gain."""
    later: Ratio | None = None
    """The same for runs that find compiled code on disk; as in `Verified`."""


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
class Corrected:
    """A correction, executed: all output is equal but for the times that it sets right."""

    told: tuple[tuple[str, str], ...]
    """Lines of the output that differ, as they were and as they are; empty where none does."""
    compared: str
    """What was compared, in words."""
    original: float
    """Wall seconds of the script as it was,"""
    corrected: float
    """and with the change, one run each: no gain is asked for."""


@dataclass(frozen=True)
class OnlyTimed:
    """Executed once for its time: it changes results on purpose, and is never offered."""

    speedup: Ratio
    inside: float | None = None
    """How many times as fast the loop went, if all that was saved was saved there; None where that
    cannot be told."""


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


Verdict = (
    Verified
    | Mismatch
    | NotFaster
    | Corrected
    | OnlyTimed
    | Inconclusive
    | Crashed
    | TimedOut
    | Unavailable
)
