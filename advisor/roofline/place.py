"""Where hot loops, and their rewrites, lie below the roofs; and what follows from that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from ..crossover.versions import Kind, kind_of
from ..loopnest.ir import Nest
from ..model import NotFaster, Refusal, Region, Report, Verified
from .ceilings import Ceilings, Roof
from .fullness import Fullness, fullness
from .work import Work, work_of

OVERHEAD = 0.05
"""Below this part of the roof neither memory nor arithmetic limits a loop, but what surrounds each
operation: the interpreter, calls, synchronisation."""


class Bound(StrEnum):
    """What limits a loop."""

    MEMORY = "memory-bound"
    COMPUTE = "compute-bound"
    OVERHEAD = "overhead-bound"


@dataclass(frozen=True)
class Spot:
    """One version of a hot loop below a roof."""

    label: str
    """``"original"``, or the rule: ``"NP201 (NumPy)"``."""
    seconds: float
    """Of one entry of the loop."""
    work: Work
    roof: Roof
    kernels: tuple[Fullness, ...] = ()
    """How full its CUDA kernels make an SM, where they were compiled."""

    @property
    def rate(self) -> float:
        """Operations per second that it reaches."""
        return self.work.operations / self.seconds

    @property
    def traffic(self) -> float:
        """Bytes per second, if every byte moved once."""
        return self.work.bytes / self.seconds

    @property
    def possible(self) -> float:
        """Operations per second that the roof allows at this intensity."""
        return self.roof.roof(self.work.intensity, self.work.dtype)

    @property
    def share(self) -> float:
        """Part of the roof that is reached; above 1 where caches feed it."""
        return self.rate / self.possible if self.possible else 0.0

    @property
    def bound(self) -> Bound:
        """What limits it."""
        if self.share < OVERHEAD:
            return Bound.OVERHEAD
        beyond = self.work.intensity >= self.roof.ridge(self.work.dtype)
        return Bound.COMPUTE if beyond else Bound.MEMORY


@dataclass(frozen=True)
class Placed:
    """A hot loop with its versions, or the reason why its work cannot be counted."""

    region: Region
    spots: tuple[Spot, ...] = ()
    why: str = ""


def place(report: Report, ceilings: Ceilings) -> tuple[Placed, ...]:
    """Every hot place that was tried, the hottest loop first."""
    regions: dict[str, list[Spot]] = {}
    found: list[Placed] = []
    for finding in report.findings:
        region = finding.region
        counted = _counted(region)
        if isinstance(counted, Refusal):
            found.append(Placed(region, why=counted.reason))
            continue
        spots = regions.setdefault(region.site.key, [])
        spots += _spots(report, region, counted, ceilings)
        found.append(Placed(region, tuple(spots)))
    return tuple(found)


def _counted(region: Region) -> Work | Refusal:
    if not isinstance(region.nest, Nest):
        return region.nest
    counted = work_of(region.nest)
    if isinstance(counted, Work) and not counted.operations:
        return Refusal("it does no arithmetic")
    return counted


def _spots(report: Report, region: Region, work: Work, ceilings: Ceilings) -> Iterator[Spot]:
    one = ceilings.roofs[0]
    entries = region.observation.entries if region.observation else 1
    if report.profile is not None:
        seconds = region.share * report.profile.bare.wall / max(1, entries)
        yield Spot("original", seconds, work, one)
    for finding in report.findings:
        for trial in (finding.winner, *finding.others):
            if trial is None or trial.candidate.region.site != region.site:
                continue
            verdict = trial.region_verdict
            if not isinstance(verdict, Verified | NotFaster) or not verdict.speedup.candidate:
                continue
            kind = kind_of(trial.candidate)
            roof = roof_for(kind, ceilings)
            if roof is not None:
                label = f"{trial.candidate.rule} ({kind})"
                seconds = median(verdict.speedup.candidate)
                yield Spot(label, seconds, work, roof, tuple(fullness(trial)))


def roof_for(kind: Kind, ceilings: Ceilings) -> Roof | None:
    """The roof that a version is held against."""
    cores = [roof for roof in ceilings.roofs if roof.device.endswith(("core", "cores"))]
    if kind.gpu:
        return next((roof for roof in ceilings.roofs if roof not in cores), None)
    return cores[-1] if kind is Kind.PARALLEL else cores[0]


def follows(spot: Spot, ceilings: Ceilings) -> str:
    """What to do about it, one sentence without a full stop."""
    possible = {r.device: r.roof(spot.work.intensity, spot.work.dtype) for r in ceilings.roofs}
    gains = ", ".join(f"{value / spot.rate:.3g}x on {name}" for name, value in possible.items())
    match spot.bound:
        case Bound.OVERHEAD:
            return f"most of its time is overhead, not work: the roofs leave at most {gains}"
        case Bound.MEMORY:
            less = "narrower dtypes, fewer passes over the data, blocks that fit the cache"
            return f"fewer bytes would make it faster ({less}); the roofs leave {gains}"
        case Bound.COMPUTE:
            return f"only more or faster arithmetic units would help; the roofs leave {gains}"
