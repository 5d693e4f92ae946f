"""Builtins that the program has given another meaning: ``max = values[0]``, ``list = read(path)``.

New text asks ``type(x)`` and ``max(values)``. Where the name is a variable there, it says
``builtins.max(values)`` instead.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from .model import Match, Region
from .names import import_edit


def unshadowed(region: Region, match: Match) -> Match:
    """The match, with calls in its new text that reach the builtins they mean.

    What the program calls by such a name itself is its own function, and stays.
    """
    hidden = _hidden(region)
    if not hidden:
        return match
    above = None if region.function is not None else region.loop.lineno
    module, added = import_edit(region.source, "builtins", above=above)
    names = "|".join(sorted(hidden))
    # max(values), and map(type, values)
    meant = re.compile(rf"(?<![\w.])(?<!def )(?:(?:{names})(?=\()|(?<=map\()(?:{names})(?=,))")
    edits = tuple(
        replace(edit, text=meant.sub(rf"{module}.\g<0>", edit.text)) for edit in match.edits
    )
    if edits == match.edits:
        return match
    return replace(match, edits=edits if added is None else (added, *edits))


def _hidden(region: Region) -> set[str]:
    """Builtins that are variables where the loop stands, and are never called there."""
    own = list(ast.walk(region.function)) if region.function is not None else []
    own_names = _bound(own) - _called(own)
    file_names = _bound(_top_level(region.source.tree.body)) - _called(region.source.nodes)
    return (own_names | file_names) & set(dir(builtins))


def _top_level(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes that run in the module's own scope."""
    for node in statements:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top_level(ast.iter_child_nodes(node))


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    names = set[str]()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
    return names


def _called(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that the program calls, or lets ``map`` call."""
    names = set[str]()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id=name), *_]):
                names |= {"map", name}
            case ast.Call(func=ast.Name(id=name)):
                names.add(name)
    return names
