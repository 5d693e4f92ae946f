"""Mistakes in GPU code that the text alone shows, where the program cannot run: no GPU is here."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..model import Advice, Refusal, Region, Site, Source
from ..registry import rules
from .asking import named_mistakes

NOT_RUN = Refusal("the program did not run here")


def advice(sources: Iterable[Source]) -> tuple[Advice, ...]:
    """What the rules on GPU code say of every loop of some files, in the order of the lines.

    Nothing is measured, so nothing is known of which of them matters, and no rewrite is offered.
    """
    found: dict[tuple[object, ...], Advice] = {}
    for source in sources:
        for region in regions(source):
            for rule in rules():
                for one in named_mistakes(rule, region):
                    found.setdefault((rule.code, source.path, one.mistake.line), one)
    return tuple(sorted(found.values(), key=lambda a: (a.region.source.path, a.mistake.line)))


def regions(source: Source) -> Iterator[Region]:
    """Every loop of a file as a region of which only the text is known, outer loops first."""
    owners: list[tuple[ast.Module | ast.FunctionDef, str | None]] = [(source.tree, None)]
    for node in source.nodes:
        holder = node.name if isinstance(node, ast.ClassDef) else None
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            owners += [(n, holder) for n in node.body if isinstance(n, ast.FunctionDef)]
    for owner, class_name in owners:
        function = owner if isinstance(owner, ast.FunctionDef) else None
        name = "<module>" if function is None else function.name
        for loop, depth in _loops(owner, 0):
            yield Region(
                site=Site(source.path, loop.lineno, f"{class_name}.{name}" if class_name else name),
                source=source,
                loop=loop,
                function=function,
                class_name=class_name,
                share=0.0,
                depth=depth,
                observation=None,
                nest=NOT_RUN,
            )


def _loops(node: ast.AST, depth: int) -> Iterator[tuple[ast.For | ast.While, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(child, ast.For | ast.While):
            yield child, depth
            yield from _loops(child, depth + 1)
        else:
            yield from _loops(child, depth)
