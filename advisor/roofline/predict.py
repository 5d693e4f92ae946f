"""How long a version of a hot loop would take if nothing but the roof held it back.

It is a floor, and said to be one: on top come whatever a back end does besides the loop's work.
Counted of that are only what is the same for every loop: NumPy goes over whole arrays once for each
operation, a GPU's data cross the bus, and each launch has its price. How far measured times lie
above the floor is the model's error, and kept in ``benchmarks/results/predicted.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..crossover.versions import Kind
from ..loopnest.dependence import Carried, analyse
from ..loopnest.ir import For, Nest, While
from .ceilings import Roof
from .work import Work, trips_of

PASS = 3
"""Arrays that one whole-array operation goes over: two are read, one is written."""
WIDTHS = {"float32": 4, "float64": 8}
LAUNCH = {Kind.CUPY: 13e-6, Kind.CUDA: 20e-6}
"""Seconds that the host takes for a launch, as measured with CuPy 14 and numba-cuda 0.30."""
BUS = 10e9
"""Bytes per second between pageable memory and a GPU: 9 to 12 GB/s were measured."""
REFERENCE = Roof(
    "NVIDIA H200",
    4248e9,
    {"float32": 61.05e12, "float64": 33.32e12},
    {"bandwidth": "measured 2026-11-22, see benchmarks/results/roofline.md"},
)
"""The GPU that predictions are made for where there is none."""
CAPABILITY = (9, 0)
"""Its compute capability."""


@dataclass(frozen=True)
class Prediction:
    """Seconds of one entry of a loop, and what they are made of."""

    kind: Kind
    roof: Roof
    work: float
    """At the roof: the larger one of arithmetic and memory."""
    launches: float = 0.0
    copies: float = 0.0
    limit: str = "memory"
    """What the work is limited by."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.work + self.launches + self.copies


def predict(nest: Nest, work: Work, kind: Kind, roof: Roof) -> Prediction:
    """The floor of one version's time."""
    moved = work.bytes
    if kind is Kind.NUMPY:
        moved = max(moved, work.operations * PASS * WIDTHS[work.dtype])
    arithmetic, memory = work.operations / roof.peak[work.dtype], moved / roof.bandwidth
    limit = "arithmetic" if arithmetic > memory else "memory"
    if not kind.gpu:
        return Prediction(kind, roof, max(arithmetic, memory), limit=limit)
    return Prediction(
        kind,
        roof,
        max(arithmetic, memory),
        launches=launches_of(nest) * LAUNCH[kind],
        copies=work.bytes / BUS,
        limit=limit,
    )


def launches_of(nest: Nest) -> float:
    """Kernels that one entry launches, at least: one for each parallel loop, each time.

    A serial loop whose bounds are not known counts once.
    """
    verdicts = {id(facts.loop): facts.verdict for facts in analyse(nest).loops}

    def launches(loop: For | While) -> float:
        inner = [part for part in loop.body if isinstance(part, For | While)]
        if not inner or not isinstance(verdicts[id(loop)], Carried):
            return 1.0
        trips = trips_of(loop, nest) if isinstance(loop, For) else None
        return (1.0 if trips is None else trips) * sum(map(launches, inner))

    return launches(nest.root)
