"""What the GPU did at each line, for the rules; and which programs could do anything there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..gpumodel import GpuWork, LineWork
from ..model import Source, Target
from ..observe.sandbox import Sandbox
from ..report.gpu import device_words
from .attribute import attribute
from .traced import trace_run

LIBRARIES = frozenset({"cupy", "cupyx", "torch", "numba.cuda", "pycuda", "cuda"})
"""Top-level packages (and one module) whose import makes a program one that may use a GPU."""


def uses_gpu(sources: Iterable[Source]) -> bool:
    """Whether one of the files imports a library that works on GPUs."""
    return any(_imported(source) & LIBRARIES for source in sources)


def _imported(source: Source) -> set[str]:
    found: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # ``from numba import cuda``
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            found.add(name.partition(".")[0])
            found.add(".".join(name.split(".")[:2]))
    return found


def gather(
    box: Sandbox, target: Target, *, limit: float | None, stdin: Path | None
) -> tuple[GpuWork | None, tuple[str, ...]]:
    """Trace one run in the sandbox: the work by line, and what the user should know of it."""
    traced = trace_run(box, target, limit=limit, stdin=stdin)
    notes = list(traced.notes)
    if traced.samples.missing is not None:
        notes.append(f"no utilisation, power or clocks of the GPU: {traced.samples.missing}")
    if traced.trace is None:
        said = "; ".join(traced.notes) or "nothing was recorded"
        untraced = f"GPU work was not traced: {said}; what the rules say of it is not measured"
        seen = (f"NVML alone saw: {device_words(device)}" for device in traced.samples.devices)
        return None, (untraced, *seen)
    found = attribute(traced.trace)
    if not len(traced.trace["calls"]):
        return None, tuple(notes)
    if traced.trace.window is not None:
        notes.append(f"GPU work was not traced to the script's end: {traced.trace.window}")
    work = GpuWork(
        lines=found.lines,
        coverage=found.coverage,
        span=traced.trace.span * 1e-9,
        traced=traced.run.wall,
        devices=traced.samples.devices,
        notes=tuple(notes),
        times=found.times,
    )
    return work, tuple(notes)


def by_line(work: GpuWork | None, file: Path) -> Mapping[int, LineWork] | None:
    """The work of one file's lines; of a line in two functions the busier is kept.

    Lines of functions that made no CUDA call are there with their time alone: what the GPU waits
    for may be the line that makes the next batch.
    """
    if work is None:
        return None
    found: dict[int, LineWork] = {}
    for line in work.lines:  # the busiest first
        if line.place is not None and Path(line.place.file) == file:
            found.setdefault(line.place.line, line)
    for time in work.times:
        if Path(time.place.file) == file and time.place.function != "<module>":
            found.setdefault(time.place.line, LineWork(time.place, time.seconds))
    return found
