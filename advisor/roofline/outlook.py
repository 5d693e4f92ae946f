"""What the model says of a report's rewrites for a GPU, beside what was measured of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from statistics import median

from ..crossover.versions import kind_of
from ..loopnest.ir import Nest
from ..model import Finding, NotFaster, Region, Report, Trial, Verified
from .ceilings import Roof
from .predict import REFERENCE, Prediction, predict
from .work import Work, work_of


@dataclass(frozen=True)
class Rival:
    """The fastest version of a hot loop on the CPU, as measured here."""

    name: str
    """``"NP201"``, or ``"the original"``."""
    seconds: float
    """Of one entry."""


@dataclass(frozen=True)
class Outlook:
    """One rewrite for a GPU."""

    trial: Trial
    rival: Rival | None
    """None where the loop was not timed."""
    prediction: Prediction | None
    why: str = ""
    """Why nothing can be predicted."""
    block: int | None = None
    """Threads of a block of its kernels; None where the text does not fix them."""

    @property
    def measured(self) -> float | None:
        """Seconds of one entry, where it ran here."""
        return _seconds(self.trial)

    @property
    def gain(self) -> float | None:
        """Predicted, at most, against the fastest version on the CPU."""
        if self.rival is None or self.prediction is None:
            return None
        return self.rival.seconds / self.prediction.seconds

    @property
    def likely_gain(self) -> float | None:
        """Predicted by the estimate, which is no floor."""
        if self.rival is None or self.prediction is None:
            return None
        return self.rival.seconds / self.prediction.expected


def outlooks(report: Report, roof: Roof = REFERENCE) -> tuple[Outlook, ...]:
    """All of a report's rewrites for a GPU, each with the model's floor of its time."""
    return tuple(
        _outlook(report, finding, trial, roof)
        for finding in report.findings
        for trial in _trials(finding)
        # What mends a program that is on the GPU already says nothing of whether one pays.
        if kind_of(trial.candidate).gpu and trial.candidate.saves is None
    )


def _trials(finding: Finding) -> Iterator[Trial]:
    if finding.winner is not None:
        yield finding.winner
    yield from finding.others


def _outlook(report: Report, finding: Finding, trial: Trial, roof: Roof) -> Outlook:
    region = trial.candidate.region
    found = Outlook(trial, _rival(report, finding, region), None, block=_block(trial))
    if not isinstance(region.nest, Nest):
        return replace(found, why=region.nest.reason)
    work = work_of(region.nest)
    if not isinstance(work, Work):
        return replace(found, why=work.reason)
    kind = kind_of(trial.candidate)
    return replace(found, prediction=predict(region.nest, work, kind, roof))


def _block(trial: Trial) -> int | None:
    """The product of the numbers in ``block = 32, 8``, as the kernels' launches name it."""
    text = "".join(edit.text for edit in trial.candidate.match.edits)
    found = re.search(r"^\s*block = \(?(\d+(?:, \d+)*)\)?$", text, re.MULTILINE)
    return prod(map(int, found[1].split(", "))) if found else None


def _rival(report: Report, finding: Finding, region: Region) -> Rival | None:
    timed = [
        Rival(trial.candidate.rule, seconds)
        for trial in _trials(finding)
        if not kind_of(trial.candidate).gpu
        and trial.candidate.region.site == region.site
        and (seconds := _seconds(trial)) is not None
    ]
    if timed:
        return min(timed, key=lambda rival: rival.seconds)
    entries = region.observation.entries if region.observation is not None else 0
    if report.profile is None or not entries:
        return None
    return Rival("the original", region.share * report.profile.bare.wall / entries)


def _seconds(trial: Trial) -> float | None:
    verdict = trial.region_verdict
    if isinstance(verdict, Verified | NotFaster) and verdict.speedup.candidate:
        return median(verdict.speedup.candidate)
    return None
