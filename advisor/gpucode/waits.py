"""Waits for the whole device in a loop: which there are, and the text without them."""

from __future__ import annotations

import ast

from ..codegen import ast_tools as tools
from ..model import Basis, Condition, Edit, Match, Region, Source
from . import torch_loops as loops


def waits_in(region: Region, name: str) -> list[ast.Expr]:
    """Statements of the loop that are nothing but a call of the function named in full.

    None that serves a measurement, and none behind a loop inside: once an epoch costs nothing.
    """
    source, loop = region.source, region.loop
    if loops.times(source, loop):
        return []
    return [
        statement
        for call in loops.calls_of(source, loop, name)
        if isinstance(statement := tools.enclosing_statement(source, call), ast.Expr)
        and statement.value is call
        and not _after_inner_loop(source, statement)
    ]


def _after_inner_loop(source: Source, statement: ast.stmt) -> bool:
    block = tools.block_of(source, statement)
    earlier = block[: block.index(statement)]
    return any(isinstance(part, ast.For | ast.While) for part in earlier)


def inside_another(region: Region) -> bool:
    """Whether another loop of the same frame is around the region's."""
    return bool(loops.enclosing(region.source, region.loop))


def without(region: Region, waits: list[ast.Expr]) -> Match | None:
    """The loop without its waits; where the program takes times, with one behind the loop.

    None where they may order something: streams, copies that run on, another library, a thread.
    """
    source, loop = region.source, region.loop
    scope = region.function or source.tree
    if loops.orders_by_hand(source) is not None or not loops.only_known_imports(source):
        return None
    # try: .. synchronize() / except RuntimeError: a failed kernel shows here
    if tools.handlers_around(source, scope, loop) is not None:
        return None
    if any(isinstance(n, ast.Try | ast.TryStar) for n in tools.own_nodes(loop)):
        return None
    if not all(tools.stands_alone(source, statement) for statement in waits):
        return None
    timed = loops.times(source, source.tree)
    if timed and not _may_wait_behind(region, scope):
        return None
    edits = [_removed(source, statement, waits) for statement in waits]
    if timed:
        edits.append(tools.insert_after(source, loop, [source.text(waits[0])]))
    return Match(
        edits=tuple(edits),
        why="",
        change="the wait in the loop is left out" + (", one stays behind it" if timed else ""),
        ledger=(
            Condition(
                "one stream, and no copy that runs on: what reaches the host is waited for",
                Basis.PROVED,
                "the file uses no streams, graphs, non_blocking copies, threads or other libraries",
            ),
        ),
        differences=("an error in a kernel is raised by a later statement",),
    )


def _may_wait_behind(region: Region, scope: ast.AST) -> bool:
    """Whether one wait behind the loop keeps the times that are taken around the function.

    ``start = time.time(); train(); print(time.time() - start)``: all work has to be done when
    ``train`` returns. A time taken in the function itself, or a return in the loop, is too near.
    """
    source, loop = region.source, region.loop
    if loop.orelse or not tools.stands_alone(source, loop):
        return False
    if loops.innermost(source, loop) is not None or loops.times(source, scope):
        return False
    return not any(isinstance(n, ast.Return | ast.Yield) for n in tools.own_nodes(loop))


def _removed(source: Source, statement: ast.Expr, waits: list[ast.Expr]) -> Edit:
    """The statement's line goes; where nothing else is in the block, ``pass`` stays."""
    block = tools.block_of(source, statement)
    if block[0] is statement and all(part in waits for part in block):
        return tools.replace_lines(source, statement, ["pass"])
    assert statement.end_lineno is not None
    first = source.line_starts[statement.lineno - 1]
    return Edit(first, min(source.line_starts[statement.end_lineno], len(source.data)), "")
