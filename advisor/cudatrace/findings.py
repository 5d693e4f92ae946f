"""Mistakes in GPU code that a trace shows, and the stretches of the timeline that they cover.

The rules are the same as in the full journey. They read the program's text and the work by line;
here nothing is tried, so a finding names its remedy and no rewrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ..diagnose.hotspots import MIN_SHARE
from ..diagnose.regions import regions
from ..diagnose.sites import find_sites
from ..gpucode.asking import named_mistakes
from ..gpumodel import GpuWork, LineWork, Place
from ..model import Advice, FunctionTime, LineTime, Profile, Region, RunResult, Source
from ..registry import rules
from .attribute import NOWHERE, Attribution
from .chrome import Mark
from .evidence import by_line
from .records import Trace


def findings(
    trace: Trace, attribution: Attribution, run: RunResult, sources: Mapping[Path, Source]
) -> tuple[Advice, ...]:
    """The mistakes, most costly first. ``run``: the traced run."""
    span = trace.span * 1e-9
    work = GpuWork(attribution.lines, attribution.coverage, span, run.wall, times=attribution.times)
    found: dict[tuple[str, Path, int], Advice] = {}
    for region in _regions(work, run, sources):
        for rule in rules():
            for advice in named_mistakes(rule, region):
                key = (rule.code, region.source.path, advice.mistake.line)
                found.setdefault(key, advice)
    return tuple(sorted(found.values(), key=lambda advice: -(advice.mistake.cost or 0.0)))


def _regions(work: GpuWork, run: RunResult, sources: Mapping[Path, Source]) -> Iterator[Region]:
    """The loops that took part in the program's GPU work, outer before inner."""
    # Not of the whole run: of a short one most is the libraries' start.
    busy = sum(_seconds(line) for line in work.lines if line.calls)
    least = MIN_SHARE * busy / (work.span or 1.0)
    every = find_sites(sources, ())
    for chain in regions(sources, every, _profile(work, run), {}, min_share=least):
        for region in chain:
            if region.function is not None or region.site.qualname == "<module>":
                yield replace(region, gpu=by_line(work, region.source.path))


def _profile(work: GpuWork, run: RunResult) -> Profile:
    """Shares of the traced run by line and by function, of the main thread."""
    whole = work.span or 1.0
    lines: dict[tuple[Path, int], float] = {}
    functions: dict[tuple[Path, str], float] = {}
    for place, seconds in _places_and_seconds(work):
        file, share = Path(place.file), seconds / whole
        lines[file, place.line] = lines.get((file, place.line), 0.0) + share
        functions[file, place.function] = functions.get((file, place.function), 0.0) + share
    return Profile(
        bare=run,
        functions=tuple(
            FunctionTime(file, name, 0, 0, min(1.0, share), 0.0)
            for (file, name), share in functions.items()
        ),
        lines=tuple(LineTime(*place, share=min(1.0, share)) for place, share in lines.items()),
        method="CUDA trace",
    )


def _places_and_seconds(work: GpuWork) -> Iterator[tuple[Place, float]]:
    """Where the main thread was, and how long; by CUDA calls alone where lines were not timed."""
    if work.times:
        yield from ((time.place, time.seconds) for time in work.times)
    else:
        yield from ((line.place, line.api) for line in work.lines if line.place is not None)


def _seconds(line: LineWork) -> float:
    """At the line; where lines were not timed (Python 3.11), in its CUDA calls."""
    return line.host or line.api


# ------------------------------------------------------------------- timeline
def marks(trace: Trace, attribution: Attribution, found: Iterable[Advice]) -> tuple[Mark, ...]:
    """For each finding, the times in which its loop ran, from the line's first turn on."""
    made: list[Mark] = []
    for advice in found:
        file = advice.region.source.path
        track = f"{advice.rule} {file.name}:{advice.mistake.line}"
        stretches = _by_lines if trace.method == "lines" else _by_calls
        for start, end in stretches(trace, attribution, advice):
            made.append(Mark(advice.mistake.what, start, end, track, advice.mistake.evidence))
    return tuple(made)


def _by_lines(trace: Trace, attribution: Attribution, advice: Advice) -> Iterator[tuple[int, int]]:
    """A stretch ends when its thread is at a line of the function that is outside the loop."""
    here, outside = _places(trace, advice)
    table = trace["lines"]
    for thread in sorted({int(number) for number in table["thread"]}):
        opened: int | None = None
        for time, _, place in table[table["thread"] == thread].tolist():
            if place in here:
                opened = time if opened is None else opened
            elif opened is not None and place in outside:
                yield opened, time
                opened = None
        if opened is not None:
            yield opened, trace.ended


def _by_calls(trace: Trace, attribution: Attribution, advice: Advice) -> Iterator[tuple[int, int]]:
    """Lines have no times here: from the line's first CUDA call to its last."""
    here, _ = _places(trace, advice)
    rows = [
        (start, end)
        for (start, end, *_), place in zip(
            trace["calls"].tolist(), attribution.calls.tolist(), strict=True
        )
        if place != NOWHERE and place in here
    ]
    if rows:
        yield min(start for start, _ in rows), max(end for _, end in rows)


def _places(trace: Trace, advice: Advice) -> tuple[frozenset[int], frozenset[int]]:
    """Numbers of the finding's own places, and of those in its function that are not its loop."""
    first, last = advice.region.lines
    function = advice.region.site.qualname
    here, outside = set(), set()
    for number, place in enumerate(trace.places):
        if Path(place.file) != advice.region.source.path:
            continue
        if place.line == advice.mistake.line:
            here.add(number)
        elif not first <= place.line <= last and _named(place.function) == function:
            outside.add(number)
    return frozenset(here), frozenset(outside)


def _named(qualname: str) -> str:
    """Python's name of a function as the program's text has it: without ``<locals>``."""
    return qualname.replace(".<locals>", "")
