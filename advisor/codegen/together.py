"""Loops one after the other, rewritten as one: lists are converted once for all of them.

The statements from the first loop to the last one become the body of a loop that runs once, which
a back end rewrites like any other; that loop is taken out of what it wrote.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..edits import apply_edits, composed
from ..layout import reindent, replace_statement
from ..loopnest.ir import For, Nest
from ..loopnest.scope import dotted
from ..loopnest.sharing import share_a_list
from ..model import (
    Basis,
    Condition,
    Edit,
    Match,
    Refusal,
    Region,
    Restated,
    SiteObservation,
    Source,
)
from ..observe.values import merge
from .answers import answer
from .ast_tools import block_of
from .made_between import Moved, moved_up
from .nb_steps import better_order
from .nb_values import Unsupported
from .numba_cpu import emit
from .numpy_backend import emit as emit_arrays
from .numpy_backend import emit_products
from .numpy_backend.restructure import wrapped_once
from .restated.draft import Draft


def emit_together(region: Region) -> Match | Refusal:
    """All loops of ``region.beside`` as one compiled function."""
    return answer(_compiled, region, "a compiled form of several loops")


def converts_once(region: Region) -> bool:
    """Whether the loops share a list, which would be converted for each of them alone."""
    return share_a_list([r.nest for r in region.beside if isinstance(r.nest, Nest)])


def emit_arrays_together(region: Region) -> Match | Refusal:
    """All loops of ``region.beside`` as array statements, sums as products where there are any."""
    return answer(_arrays, region, "an array form of several loops")


def _compiled(region: Region) -> Match:
    one = _OneLoop(region)
    steps = better_order(one.nest, steps=True) is not None
    match = emit(one.region, parallel=False, steps=steps)
    if isinstance(match, Refusal) and steps:
        match = emit(one.region, parallel=False)
    return one.finished(match, "one function, compiled by numba")


def _arrays(region: Region) -> Match:
    one = _OneLoop(region)
    assert isinstance(one.nest.root, For)
    root = wrapped_once(one.nest.root, one.nest.root.body)
    inside = replace(one.region, nest=replace(one.nest, root=root))
    match = emit_products(inside)
    if not isinstance(match, Match):
        match = emit_arrays(inside)
    return one.finished(match, "whole-array NumPy statements")


class _OneLoop:
    """The loops of a region inside a loop that runs once."""

    def __init__(self, region: Region) -> None:
        self.original = region
        beside = region.beside
        block = block_of(region.source, region.loop)
        first, last = block.index(beside[0].loop), block.index(beside[-1].loop)
        nodes = block[first : last + 1]
        moved = moved_up(region, nodes)
        seen = seen_by_all(beside, {id(statement) for statement in moved.statements})
        functions = {name: f for one in beside for name, f in one.functions.items()}
        draft = Draft.of(replace(region, observation=seen, functions=functions))
        self.name = draft.free("once")
        self.draft = draft.once(nodes, _lines(region.source, nodes, moved, self.name), self.name)
        self.moved, self.tests = moved, moved.tests
        self.region = self.draft.restated()
        if isinstance(self.region.nest, Refusal):
            raise Unsupported(self.region.nest.reason, None, self.region.nest.suggestion)
        self.nest: Nest = self.region.nest

    def finished(self, match: Match | Refusal, form: str) -> Match:
        """The match without that loop. Raises Unsupported where there is none."""
        if isinstance(match, Refusal):
            raise Unsupported(match.reason, None, match.suggestion)
        source, edits = self.original.source, self.draft.edits
        plainer = _unwrapped(source, edits, self.name)
        asked = [Condition(test, Basis.OBSERVED, guarded=True, test=test) for test in self.tests]
        return replace(
            match,
            edits=_unwrapped(source, composed(source, edits, match.edits), self.name),
            change=f"the {len(self.original.beside)} loops become {form}",
            # what is asked before already need not be said twice
            ledger=(*asked, *(c for c in match.ledger if c.test not in self.tests)),
            restated=Restated(plainer, self.tests) if self.moved.statements else None,
        )


def _lines(source: Source, nodes: list[ast.stmt], moved: Moved, name: str) -> list[str]:
    """The statements in a loop that runs once, those that are moved up before it."""
    level = 1 if moved.tests else 0
    head = f"{'    ' * level}for {name} in range(1):"
    if not moved.statements:
        return [head, reindent(source, nodes, 1)]
    first = [reindent(source, node, level) for node in moved.statements]
    rest = [reindent(source, n, level + 1) for n in nodes if n not in moved.statements]
    lines = [*first, head, *rest]
    if not moved.tests:
        return lines
    return [f"if {' and '.join(moved.tests)}:", *lines, "else:", reindent(source, nodes, 1)]


# ------------------------------------------------------------------- what was seen
def seen_by_all(regions: tuple[Region, ...], moved: set[int]) -> SiteObservation:
    """What was seen at the first loop, and at the later ones of names that none sets before.

    Elements of lists may have changed in between: ranges and types cover both. ``moved``: ``id``
    of the statements that will stand before the first loop.
    """
    seen = [region.observation for region in regions]
    assert seen[0] is not None
    values, aliases = dict(seen[0].values), set(seen[0].aliases)
    for region, later in zip(regions[1:], seen[1:], strict=True):
        assert later is not None
        bound = set(_bound_between(regions[0], region, moved))
        for path, info in later.values.items():
            parts = path.split(".")
            if not any(".".join(parts[:k]) in bound for k in range(1, len(parts) + 1)):
                values[path] = merge(values[path], info) if path in values else info
        aliases |= set(later.aliases)
    return replace(seen[0], values=values, aliases=tuple(sorted(aliases)), signatures=())


def _bound_between(first: Region, later: Region, moved: set[int]) -> Iterator[str]:
    """Names and attributes that statements from one loop up to another one set."""
    block = block_of(first.source, first.loop)
    for statement in block[block.index(first.loop) : block.index(later.loop)]:
        if id(statement) in moved:
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                path = dotted(node)
                if path is not None:
                    yield path


# ---------------------------------------------------------------------- text
def _unwrapped(source: Source, edits: tuple[Edit, ...], name: str) -> tuple[Edit, ...]:
    """The edits without the loop that runs once, wherever they copied it to."""
    written = Source(source.path, apply_edits(source, edits))
    taken = [
        replace_statement(written, node, [reindent(written, node.body, 0)])
        for node in ast.walk(written.tree)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
        if node.target.id == name
    ]
    return composed(source, edits, taken)
