"""How long a version of a hot loop takes: at least, and about.

The first is what it would take if nothing but the roof held it back: a floor, and said to be one.
On top come whatever a back end does besides the loop's work. Counted of that are only what is the
same for every loop: NumPy goes over whole arrays once for each operation, a GPU's data cross the
bus, and each launch has its price.

The second is an estimate. Compiled loops seldom fill vector units, but do about one operation a
cycle; arrays that fit the cache do not come from memory; calls, threads, allocations and the one
thread of a kernel that does most take their time too. How far measured times are from it is the
model's error, and kept in ``benchmarks/results/predicted.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from ..crossover.versions import Kind
from ..loopnest.dependence import Carried, Parallel, analyse
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
CYCLE = 1 / 3.0e9
"""Seconds of a core's cycle."""
PER_CALL = 1.0e-6
"""Seconds of a call into compiled code, or of one operation of NumPy, beside its work."""
THREADS = 30e-6
"""Seconds to start and join threads."""
CACHES = ((1e6, 5.0), (16e6, 2.0))
"""(bytes up to which data stay in a cache, how many times as fast as memory it is)."""
ENTRY, ARRAY = 150e-6, 300e-6
"""Seconds to look at the device and to configure kernels, and to make an array on the device, copy
to it and free it, beside its bytes: numba-cuda asks the driver for each."""
FILLED = 0.5
"""Part of a GPU's roof that plain kernels reach: see ``benchmarks/results/roofline.md``."""
WAIT, CLOCK = 6.0, 1.7e9
"""Cycles that one thread takes for an operation which waits for another, and those of a second."""
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
    expected: float = 0.0
    """Seconds that are likely, no floor."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.work + self.launches + self.copies


def predict(nest: Nest, work: Work, kind: Kind, roof: Roof, *, product: bool = False) -> Prediction:
    """The floor of one version's time, and an estimate. ``product``: BLAS does the work."""
    moved = work.bytes
    if kind is Kind.NUMPY and not product:
        moved = max(moved, work.operations * PASS * WIDTHS[work.dtype])
    arithmetic, memory = work.operations / roof.peak[work.dtype], moved / roof.bandwidth
    limit = "arithmetic" if arithmetic > memory else "memory"
    floor = max(arithmetic, memory)
    if not kind.gpu:
        expected = _on_cpu(nest, work, kind, roof, floor if product else None)
        return Prediction(kind, roof, floor, limit=limit, expected=expected)
    launches, copies = launches_of(nest) * LAUNCH[kind], work.bytes / BUS
    fixed = launches + copies + ENTRY + ARRAY * len(nest.arrays)
    expected = fixed + max(floor / FILLED, one_thread(nest, work))
    return Prediction(kind, roof, floor, launches, copies, limit, expected)


def _on_cpu(nest: Nest, work: Work, kind: Kind, roof: Roof, product: float | None) -> float:
    """Seconds of one entry, about."""
    if product is not None:
        return PER_CALL + product
    if kind is Kind.NUMPY:
        elements = max(1.0, max((size_of(nest, name) for name in nest.arrays), default=1.0))
        passes = work.operations / elements
        moved = elements * PASS * WIDTHS[work.dtype]
        return passes * (PER_CALL + moved / (roof.bandwidth * _cached(moved)))
    memory = work.bytes / (roof.bandwidth * _cached(work.bytes))
    if kind is Kind.PARALLEL:
        found = re.search(r"\d+", roof.device)
        cores = int(found[0]) if found else 1
        return THREADS + max(work.cycles * CYCLE / cores, memory)
    return PER_CALL + max(work.cycles * CYCLE, memory)


def _cached(moved: float) -> float:
    """How many times as fast as memory the cache is that holds so many bytes."""
    return next((factor for upto, factor in CACHES if moved <= upto), 1.0)


def size_of(nest: Nest, name: str) -> float:
    """Elements of an array; 0 where they differ between entries."""
    shape = nest.arrays[name].shape
    return float(prod(extent or 0 for extent in shape))


def one_thread(nest: Nest, work: Work) -> float:
    """Seconds that the threads of a kernel take where there are too few to hide what each waits."""
    threads = max(1.0, threads_of(nest))
    steps = launches_of(nest)
    return work.cycles / (threads * steps) * WAIT / CLOCK * steps


def threads_of(nest: Nest) -> float:
    """Threads of the largest launch: the product of the trips of parallel loops in one another."""
    verdicts = {id(facts.loop): facts.verdict for facts in analyse(nest).loops}

    def threads(loop: For | While) -> float:
        inner = [part for part in loop.body if isinstance(part, For | While)]
        below = max(map(threads, inner), default=1.0)
        parallel = isinstance(loop, For) and isinstance(verdicts[id(loop)], Parallel)
        trips = trips_of(loop, nest) if parallel and isinstance(loop, For) else 1.0
        return below * (1.0 if trips is None else trips)

    return threads(nest.root)


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
