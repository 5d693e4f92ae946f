"""What the model says of a report's rewrites for a GPU, beside what was measured of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from statistics import median

from ..crossover.versions import Kind, kind_of
from ..loopnest.ir import Nest
from ..model import Finding, NotFaster, Refusal, Region, Report, Trial, Verified
from .ceilings import Roof
from .predict import REFERENCE, Prediction, predict
from .steps import predict_steps
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
    kind = kind_of(trial.candidate)
    if not isinstance(region.nest, Nest):
        if kind is not Kind.CUDA or not region.inside or region.observation is None:
            return replace(found, why=region.nest.reason)
        steps = predict_steps(region, kind, roof)
        if isinstance(steps, Refusal):
            return replace(found, why=steps.reason)
        return replace(found, prediction=steps)
    work = work_of(region.nest)
    if not isinstance(work, Work):
        return replace(found, why=work.reason)
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
    best, share = _with_better_steps(report, region)
    return Rival(best, share * report.profile.bare.wall / entries)


def _with_better_steps(report: Report, region: Region) -> tuple[str, float]:
    """The loop with the best rewrite of a nest in it, and its share of the run then."""
    found = [("the original", region.share)]
    inside = {inner.site for inner in region.inside}
    for finding in report.findings:
        for trial in _trials(finding):
            verdict, inner = trial.region_verdict, trial.candidate.region
            if kind_of(trial.candidate).gpu or inner.site not in inside:
                continue
            if isinstance(verdict, Verified) and inner.share <= region.share:
                left = inner.share / max(1.0, verdict.speedup.value)
                found.append((trial.candidate.rule, region.share - inner.share + left))
    return min(found, key=lambda one: one[1])


def _seconds(trial: Trial) -> float | None:
    verdict = trial.region_verdict
    if isinstance(verdict, Verified | NotFaster) and verdict.speedup.candidate:
        return median(verdict.speedup.candidate)
    return None
