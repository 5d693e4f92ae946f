"""Reads whole programs the way the tool does where there is no GPU: every loop, every rule."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.model import Mistake, Refusal, Region, Site, Source
from gpuadvise.registry import rules


def mistakes(source: Source, prefix: tuple[str, ...]) -> list[tuple[str, Region, Mistake]]:
    """What the rules of a family name in a file, each rewrite once."""
    found: dict[tuple[object, ...], tuple[str, Region, Mistake]] = {}
    for rule in rules():
        for region in regions(source) if rule.code.startswith(prefix) else ():
            answer = rule.function(region)
            for mistake in answer if isinstance(answer, tuple) else ():
                edits = mistake.match.edits if mistake.match else ()
                key = (rule.code, mistake.line, edits)
                found.setdefault(key, (rule.code, region, mistake))
    return list(found.values())


def regions(source: Source) -> Iterator[Region]:
    """Every loop of a file, outer loops first."""
    scopes: list[ast.Module | ast.FunctionDef] = [source.tree]
    scopes += [n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef)]
    for scope in scopes:
        for node in _own(scope):
            if isinstance(node, ast.For | ast.While):
                function = scope if isinstance(scope, ast.FunctionDef) else None
                yield Region(
                    site=Site(source.path, node.lineno, function.name if function else "<module>"),
                    source=source,
                    loop=node,
                    function=function,
                    class_name=None,
                    share=0.99,
                    depth=0,
                    observation=None,
                    nest=Refusal("only read"),
                )


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _own(child)
