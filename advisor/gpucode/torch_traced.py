"""What a trace says of a PyTorch loop: its own lines, and those of functions and models it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..gpumodel import LineWork
from ..model import Region, Source
from .cupy_traced import median_kernel, repeated
from .torch_text import own_class, own_function


def traced_lines(region: Region) -> tuple[LineWork, ...]:
    """Work of all lines that an outermost loop may run in this file; empty if not traced.

    A model is called by a name that says nothing of its class: where the loop calls anything that
    is no function of the file, the methods of all its classes count.
    """
    if region.gpu is None or region.depth:
        return ()
    spans = [region.lines, *_spans(region.source, repeated(region.loop))]
    return tuple(
        work
        for line, work in sorted(region.gpu.items())
        if any(first <= line <= last for first, last in spans)
    )


def _spans(source: Source, parts: Iterable[ast.AST]) -> Iterator[tuple[int, int]]:
    todo: list[ast.AST] = list(parts)
    done: set[ast.AST] = set()
    while todo:
        for node in ast.walk(todo.pop()):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            called = own_function(source, node.func.id)
            if called is not None and called not in done:
                done.add(called)
                todo.append(called)
                yield called.lineno, called.end_lineno or called.lineno
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and own_class(source, node.name) is node:
            yield node.lineno, node.end_lineno or node.lineno


def device_time(
    lines: Iterable[LineWork], *, names: Iterable[str], but: Iterable[str] = ()
) -> float:
    """Seconds of kernels whose name holds one of some words, and none of others."""
    wanted, not_wanted = tuple(names), tuple(but)
    return sum(
        seconds
        for work in lines
        for name, (_, seconds) in work.names.items()
        if any(word in name for word in wanted) and not any(word in name for word in not_wanted)
    )


FULL = ("sgemm", "simt_s", "f32f32_f32f32", "gemmSN")
"""Names of kernels that multiply float32 matrices on ordinary cores."""
TENSOR = ("tf32", "bf16", "f16", "1688", "16816", "884", "hgemm")
"""Words in names of kernels on tensor cores, or of other types."""
SHARE, BUSY = 0.4, 0.5
"""Of the GPU's time that such kernels take; of the loop's time that the GPU works."""


def weighty(
    region: Region, names: Iterable[str], but: Iterable[str] = (), share: float = SHARE
) -> tuple[float, float] | None:
    """Seconds of some kernels and of all GPU work in a loop, where both weigh enough to matter."""
    lines = traced_lines(region)
    host, busy = sum(work.host for work in lines), sum(work.gpu for work in lines)
    spent = device_time(lines, names=names, but=but)
    return None if not lines or busy < BUSY * host or spent < share * busy else (spent, busy)


MANY, SHORT, LAUNCH = 1000, 10e-6, 60e-6
"""Kernels, seconds of the median one, and host seconds a kernel: recording gradients and tracing
take up to 50 microseconds beside the launch; where it is more, the loop does something else as
well. A small language model, well written, took 84 with what compiles at its start."""


@dataclass(frozen=True)
class LaunchBound:
    """A loop whose kernels are shorter than their launches."""

    kernels: int
    median: float
    """Seconds of the median kernel,"""
    busy: float
    """of all work on the GPU,"""
    host: float
    """and of the main thread in the loop's lines."""


def launch_bound(region: Region) -> LaunchBound | None:
    """What was traced of such a loop; None of any other."""
    lines = traced_lines(region)
    kernels, median = sum(work.kernels for work in lines), median_kernel(lines)
    host, busy = sum(work.host for work in lines), sum(work.gpu for work in lines)
    if kernels < MANY or median >= SHORT or busy >= BUSY * host:
        return None
    calls = sum(work.calls for work in lines)
    if host > LAUNCH * kernels or 0 < 2 * calls < kernels:
        return None
    return LaunchBound(kernels, median, busy, host)


def imports_torch(source: Source) -> bool:
    """Whether the file imports PyTorch under one name."""
    return tools.module_alias(source, "torch") is not None
