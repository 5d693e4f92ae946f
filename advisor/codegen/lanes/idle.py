"""Statements of the user's loop that only the computation needs that is taken out of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ...loopnest.ir import Assign, Nest
from ...model import Edit, Region, Source
from .unit import Unit


def idle(region: Region, nest: Nest, unit: Unit) -> Sequence[ast.stmt]:
    """Plain assignments of what nobody else reads.

    All of them ran for all lanes before the loop starts, and none raised.
    """
    own = [s for s in ast.walk(region.loop) if isinstance(s, ast.Assign)]
    made: dict[int, set[str]] = {}
    for step in unit.steps:
        if isinstance(step, Assign):
            made.setdefault(id(step.node), set()).add(step.name)
    found = [s for s in own if id(s) in made and _is_plain(s, region)]
    while True:
        read = _read(region, [*found, unit.place])
        kept = [s for s in found if not made[id(s)] & (read | nest.live_out)]
        if len(kept) == len(found):
            return kept
        found = kept


def _is_plain(statement: ast.Assign, region: Region) -> bool:
    """Names get values, in a line of its own."""
    names = [n for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.expr)]
    if not all(isinstance(n, ast.Name | ast.Tuple) for n in names):
        return False
    line = region.source.lines[statement.lineno - 1].encode()
    alone = not line[: statement.col_offset].strip()
    return alone and not any(isinstance(n, ast.NamedExpr) for n in ast.walk(statement))


def _read(region: Region, gone: Sequence[ast.AST]) -> frozenset[str]:
    """Names that the rest of the loop reads."""
    left_out = {id(inner) for node in gone for inner in ast.walk(node)}
    nodes = [node for node in ast.walk(region.loop) if id(node) not in left_out]
    read = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    targets = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    return frozenset(read | {t.id for t in targets if isinstance(t, ast.Name)})


def without(source: Source, statement: ast.stmt) -> Edit:
    """The file without the statement and its line ends."""
    start, end = source.line_starts[statement.lineno - 1], source.span(statement)[1]
    assert statement.end_lineno is not None
    return Edit(start, max(end, source.line_starts[statement.end_lineno]), "")


__all__ = ["idle", "without"]
