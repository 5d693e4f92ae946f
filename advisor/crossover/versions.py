"""The versions of a program that race: the original, and its best rewrite for each back end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ..model import (
    Candidate,
    Edit,
    Exactness,
    Finding,
    NotFaster,
    Report,
    Source,
    Trial,
    Unavailable,
    Verified,
)
from ..patch import PatchError, combine
from ..report.words import verdict as words
from ..verify.compose import overlap
from ..verify.devices import missing
from ..verify.script import Goal
from ..verify.trying import LOOSENESS


class Kind(StrEnum):
    """What a version runs on."""

    ORIGINAL = "original"
    NUMPY = "NumPy"
    NUMBA = "numba"
    PARALLEL = "numba, parallel"
    CUPY = "CuPy"
    CUDA = "numba.cuda"

    @property
    def gpu(self) -> bool:
        """Needs a GPU."""
        return self in (Kind.CUPY, Kind.CUDA)

    @property
    def compiled(self) -> bool:
        """Its first run compiles, later ones find the compiled code."""
        return self not in (Kind.ORIGINAL, Kind.NUMPY)


_SECOND_BEST = {
    Kind.NUMPY: (Kind.NUMPY,),
    Kind.NUMBA: (Kind.NUMBA, Kind.NUMPY),
    Kind.PARALLEL: (Kind.PARALLEL, Kind.NUMBA, Kind.NUMPY),
    Kind.CUPY: (Kind.CUPY, Kind.NUMPY, Kind.NUMBA),
    Kind.CUDA: (Kind.CUDA, Kind.PARALLEL, Kind.NUMBA, Kind.NUMPY),
}
"""What is taken for a hot place that has no rewrite of the kind."""


@dataclass(frozen=True)
class Version:
    """One way to run the program."""

    kind: Kind
    candidates: tuple[Candidate, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of the rules whose rewrites it has."""
        return tuple(dict.fromkeys(candidate.rule for candidate in self.candidates))

    @property
    def goal(self) -> Goal:
        """How close its results must be."""
        matches = [candidate.match for candidate in self.candidates]
        return Goal(
            exactness=max(
                (m.exactness for m in matches), key=LOOSENESS.index, default=Exactness.BITS
            ),
            reduction_length=max((m.reduction_length for m in matches), default=1),
        )

    def patch(
        self, sources: Mapping[Path, Source], sized: Mapping[Path, tuple[Edit, ...]]
    ) -> dict[Path, bytes]:
        """The text of every file that differs from the user's. Raises PatchError on a collision.

        ``sized``: the edits of each file that set the problem size.
        """
        groups = {path: [edits] for path, edits in sized.items()}
        for candidate in self.candidates:
            groups.setdefault(candidate.region.source.path, []).append(candidate.match.edits)
        return {path: combine(sources[path], edits) for path, edits in groups.items()}


@dataclass(frozen=True)
class Versions:
    """Those that can run here, the original first, and why others cannot."""

    here: tuple[Version, ...]
    elsewhere: Mapping[Kind, str]


def versions(report: Report) -> Versions:
    """The versions that the rewrites of a report make."""
    here, elsewhere = [Version(Kind.ORIGINAL)], {}
    for kind in _SECOND_BEST:
        own = [t for f in report.findings for t in f.others if kind_of(t.candidate) is kind]
        if any(usable(t) for t in own):
            here.append(_together(kind, _pick(kind, report.findings), report.sources))
        else:
            elsewhere[kind] = _why_not(kind, own, report)
    return Versions(tuple(here), elsewhere)


def _together(
    kind: Kind, candidates: Sequence[Candidate], sources: Mapping[Path, Source]
) -> Version:
    """A version of all of them; of those of the kind alone where the texts collide."""
    whole = Version(kind, tuple(candidates))
    try:
        whole.patch(sources, {})
    except PatchError:  # both define a helper of one name, for instance
        return Version(kind, tuple(c for c in candidates if kind_of(c) is kind))
    return whole


def _why_not(kind: Kind, own: Sequence[Trial], report: Report) -> str:
    if kind.gpu and not report.machine.gpus:
        return "not measured here, as this machine has no CUDA device"
    if not own:
        return cut_short(report) or "no rule rewrites the hot loops so"
    return f"{own[0].candidate.rule} {words(own[0].region_verdict)}"


def cut_short(report: Report) -> str:
    """Said where the budget was spent before any rewrite was tried; empty where it was not."""
    if not report.partial or report.findings:
        return ""
    if any(refused.region.observation for refused in report.refused):
        return "the time budget ended before a rewrite was found"
    return "the time budget ended before the hot loops were looked at"


def kind_of(candidate: Candidate) -> Kind:
    """What a rewrite runs on."""
    needs = candidate.match.needs
    if "cuda" in needs:
        return Kind.CUDA
    if "cupy" in needs:
        return Kind.CUPY
    if "numba" in needs:
        parallel = any("parallel=True" in edit.text for edit in candidate.match.edits)
        return Kind.PARALLEL if parallel else Kind.NUMBA
    return Kind.NUMPY


def usable(trial: Trial) -> bool:
    """Equal on the program's states; or not tried there, so that whole runs decide alone.

    What does not gain at the user's size may do so at another one.
    """
    if missing(trial.candidate) is not None:
        return False
    return isinstance(trial.region_verdict, Verified | NotFaster | Unavailable)


def _pick(kind: Kind, findings: Iterable[Finding]) -> list[Candidate]:
    """For each hot place the rewrite that saves most, of the kind or of the next best one.

    Those that save nothing only where there is no other of the kind: the one of the hottest place.
    """
    known = [trial for finding in findings for trial in finding.others if usable(trial)]
    known.sort(key=_saving, reverse=True)
    taken: list[Candidate] = []
    for wanted in _SECOND_BEST[kind]:
        for trial in known:
            if kind_of(trial.candidate) is wanted and _saving(trial) > 0.0:
                _take(trial.candidate, taken)
    own = [trial.candidate for trial in known if kind_of(trial.candidate) is kind]
    if own and not any(kind_of(candidate) is kind for candidate in taken):
        hottest = max(own, key=lambda candidate: candidate.region.share)
        taken = [c for c in taken if not overlap(c.region, hottest.region)]
        _take(hottest, taken)
    return taken


def _take(candidate: Candidate, taken: list[Candidate]) -> None:
    """Add it, unless its loop is part of one that is taken."""
    if not any(overlap(candidate.region, other.region) for other in taken):
        taken.append(candidate)


def _saving(trial: Trial) -> float:
    """Share of the run that a rewrite saves where it is warm."""
    verdict, share = trial.region_verdict, trial.candidate.region.share
    if not isinstance(verdict, Verified | NotFaster):
        return 0.5 * share
    return share * (1.0 - 1.0 / max(verdict.speedup.value, 1e-9))
