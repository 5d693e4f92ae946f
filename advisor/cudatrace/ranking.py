"""Which functions take a GPU program's time, from the traced run: no sampled run is needed then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ..gpucode.unmeasured import regions
from ..gpumodel import GpuWork, Place
from ..model import FunctionTime, LineTime, Source
from ..observe.scalene import EMPTY, ScaleneResult

METHOD = "the GPU trace"
ENOUGH = 0.3
"""Seconds of the main thread that must have been seen at lines of the user's."""
CPU_LOOPS = 0.1
"""Part of the main thread's time in loops that do nothing on the GPU, from which on their values
and states are worth an instrumented run."""


def sampled(work: GpuWork | None) -> ScaleneResult | None:
    """Shares of functions and lines as a sampled run would give them.

    Times are those of the main thread at the user's lines, the libraries that they call included;
    what it waited for the GPU counts as waiting, the rest as Python's, which cannot be told from
    native code here. None where lines were not timed: without a GPU, or by the callback method.
    """
    if work is None or work.span <= 0.0:
        return None
    whole = sum(time.seconds for time in work.times)
    if whole < ENOUGH:
        return None
    waited = {line.place: line.waited for line in work.lines if line.place is not None}
    lines = tuple(
        LineTime(
            Path(time.place.file),
            time.place.line,
            python_share=max(0.0, time.seconds - waited.get(time.place, 0.0)) / whole,
            system_share=min(time.seconds, waited.get(time.place, 0.0)) / whole,
        )
        for time in work.times
    )
    return ScaleneResult(
        functions=_functions(work, waited, whole),
        lines=lines,
        samples=EMPTY.samples,
        elapsed=whole,
        partial=False,
        by=METHOD,
    )


def all_on_gpu(work: GpuWork | None, sources: Iterable[Source]) -> bool:
    """Whether hardly any time goes into loops without GPU work, which other rules could rewrite.

    False where lines were not timed.
    """
    if work is None or sampled(work) is None:
        return False
    launching = {(line.place.file, line.place.line) for line in work.lines if line.place}
    elsewhere: set[tuple[str, int]] = set()
    for source in sources:
        file = str(source.path)
        for region in regions(source):
            rows = range(region.lines[0], region.lines[1] + 1)
            if not region.depth and not any((file, row) in launching for row in rows):
                elsewhere |= {(file, row) for row in rows}
    whole = sum(time.seconds for time in work.times)
    spent = sum(t.seconds for t in work.times if (t.place.file, t.place.line) in elsewhere)
    return spent < CPU_LOOPS * whole


def _functions(work: GpuWork, waited: dict[Place, float], whole: float) -> tuple[FunctionTime, ...]:
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    waiting: dict[tuple[str, str], float] = defaultdict(float)
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for time in work.times:
        key = time.place.file, time.place.function
        seconds[key] += time.seconds
        waiting[key] += min(time.seconds, waited.get(time.place, 0.0))
        rows[key].append(time.place.line)
    return tuple(
        FunctionTime(
            file=Path(file),
            qualname=function,
            first_line=min(rows[file, function]),
            last_line=max(rows[file, function]),
            python_share=(seconds[file, function] - waiting[file, function]) / whole,
            native_share=0.0,
            system_share=waiting[file, function] / whole,
        )
        for file, function in sorted(seconds, key=lambda key: -seconds[key])
    )
