"""What a trace says of a PyTorch loop: its own lines, and those of functions and models it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..codegen import ast_tools as tools
from ..gpumodel import LineWork
from ..model import Region, Source
from .torch_text import own_class, own_function


def traced_lines(region: Region) -> tuple[LineWork, ...]:
    """Work of all lines that an outermost loop may run in this file; empty if not traced.

    A model is called by a name that says nothing of its class: where the loop calls anything that
    is no function of the file, the methods of all its classes count.
    """
    if region.gpu is None or region.depth:
        return ()
    spans = [region.lines, *_spans(region.source, region.loop)]
    return tuple(
        work
        for line, work in sorted(region.gpu.items())
        if any(first <= line <= last for first, last in spans)
    )


def _spans(source: Source, loop: ast.AST) -> Iterator[tuple[int, int]]:
    todo: list[ast.AST] = [loop]
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


def imports_torch(source: Source) -> bool:
    """Whether the file imports PyTorch under one name."""
    return tools.module_alias(source, "torch") is not None
