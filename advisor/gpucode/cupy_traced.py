"""What a trace says of a whole loop: the lines that it runs, in it and in functions it calls."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..codegen import ast_tools as tools
from ..gpumodel import CopyWork, LineWork
from ..model import Region, Source
from .cupy_names import own_function


def traced_lines(region: Region) -> tuple[LineWork, ...]:
    """Work of all lines that the loop runs in this file; empty where nothing was traced."""
    if region.gpu is None:
        return ()
    spans = [region.lines]
    found: dict[str, ast.FunctionDef] = {}
    for part in repeated(region.loop):
        _called(region.source, part, found)
    for function in found.values():
        spans.append((function.lineno, function.end_lineno or function.lineno))
    return tuple(
        work
        for line, work in sorted(region.gpu.items())
        if any(first <= line <= last for first, last in spans)
    )


def repeated(loop: ast.For | ast.While) -> list[ast.AST]:
    """What runs in each step: not ``train()`` of ``for loss in train(): print(loss)``."""
    return [*loop.body, *([loop.test] if isinstance(loop, ast.While) else [])]


def _called(
    source: Source, node: ast.AST, found: dict[str, ast.FunctionDef]
) -> dict[str, ast.FunctionDef]:
    nodes = (node, *tools.own_nodes(node))
    for name in [n.id for n in nodes if isinstance(n, ast.Name)]:
        function = own_function(source, name)
        if function is not None and name not in found:
            found[name] = function
            _called(source, function, found)
    return found


def median_kernel(lines: tuple[LineWork, ...]) -> float:
    """Median time of a kernel, seconds; each kernel counts with the mean of those of its name."""
    times = [(total / n, n) for work in lines for n, total in work.names.values() if n]
    half = sum(count for _, count in times) / 2
    for time, count in sorted(times):
        half -= count
        if half <= 0:
            return time
    return 0.0


def example(
    host: float,
    *,
    kernels: Mapping[str, tuple[int, float]] | None = None,
    copies: tuple[CopyWork, ...] = (),
) -> LineWork:
    """A line of a trace, for the cases of rules: times in seconds."""
    names = dict(kernels or {})
    busy = sum(seconds for _, seconds in names.values())
    return LineWork(
        place=None,
        host=host,
        names=names,
        kernels=sum(count for count, _ in names.values()),
        kernel_time=busy,
        gpu=busy + sum(copy.seconds for copy in copies),
        copies=copies,
    )
