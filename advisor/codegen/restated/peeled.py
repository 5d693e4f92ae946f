"""A loop that does something else in its first iterations, as two loops.

``for i in range(n): if i < width - 1: out.append(None) else: out.append(..)``: the first loop runs
up to ``width - 1`` as it did, and the second has no condition any more.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ...layout import reindent
from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, Edit
from .bounds import added, linear, spelled
from .draft import Draft
from .typed import on_seen_types


@dataclass(frozen=True)
class _Parts:
    """What the loop does before and from some index on."""

    index: str
    start: str
    stop: str
    cut: str
    first: Sequence[ast.stmt]
    rest: Sequence[ast.stmt]


def with_peeled_start(draft: Draft) -> Draft:
    """The draft with the first iterations in a loop of their own, where they are of their own."""
    parts = _parts(draft)
    loop = draft.loop
    if parts is None or not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return draft
    source = draft.source
    head = f"for {parts.index} in range({parts.start}, {parts.cut}):"
    lines = [head, *reindent(source, list(parts.first), 1).split("\n")]
    if loop.body[1:]:
        second = _without_lines(draft, loop.body[0])
    else:
        second = draft.instead(loop.body[0], reindent(source, list(parts.rest), 0).split("\n"))
    edits = [
        *draft.above(loop, lines),
        Edit(*source.span(loop.iter), f"range({parts.cut}, {parts.stop})"),
        *second,
    ]
    draft = on_seen_types(draft).advanced(edits)
    for test in (f"{parts.start} <= {parts.cut}", f"{parts.cut} <= {parts.stop}"):
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return draft


def _without_lines(draft: Draft, node: ast.stmt) -> list[Edit]:
    """The draft without the lines of a statement. Raises PatchError if it shares one."""
    draft.indent(node)
    assert node.end_lineno is not None
    starts = draft.source.line_starts
    return [Edit(starts[node.lineno - 1], starts[node.end_lineno], "")]


def _parts(draft: Draft) -> _Parts | None:
    loop = _with_else(draft.loop)
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[*first, stop], keywords=[]),
            body=[
                ast.If(
                    test=ast.Compare(left=ast.Name(id=left), ops=[op], comparators=[end]),
                    body=then,
                    orelse=[_, *_] as other,
                )
            ],
            orelse=[],
        ) if left == index and len(first) < 2:
            pass
        case _:
            return None
    bounds = [*first, stop, end]
    if not all(_is_fixed(draft, bound) for bound in bounds) or _leaves(loop):
        return None
    beyond = {"": 1} if isinstance(op, ast.LtE | ast.Gt) else {}
    cut = spelled(added(linear(end), beyond))
    start = ast.unparse(first[0]) if first else "0"
    if isinstance(op, ast.Lt | ast.LtE):
        return _Parts(index, start, ast.unparse(stop), cut, then, other)
    if isinstance(op, ast.Gt | ast.GtE):
        return _Parts(index, start, ast.unparse(stop), cut, other, then)
    return None


def _with_else(loop: ast.For | ast.While) -> ast.For | ast.While:
    """``if i < n: out.append(None); continue`` as ``if .. else`` with what follows."""
    match loop:
        case ast.For(body=[ast.If(body=[*then, ast.Continue()], orelse=[]) as first, *rest]) if (
            then and rest
        ):
            chosen = ast.If(test=first.test, body=then, orelse=rest)
            return ast.For(target=loop.target, iter=loop.iter, body=[chosen], orelse=loop.orelse)
    return loop


def _is_fixed(draft: Draft, node: ast.expr) -> bool:
    """Sums of whole numbers and lengths that the loop leaves alone."""
    stored = {
        n.id
        for n in ast.walk(draft.loop)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.Name(id=name):
            seen = draft.values.get(name)
            return seen is not None and seen.kind == "int" and name not in stored
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _is_fixed(draft, left) and _is_fixed(draft, right)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            return name not in stored and not _is_handled(draft, name)
    return False


def _is_handled(draft: Draft, name: str) -> bool:
    """Whether the loop calls a method of a list, or hands the list on."""
    for node in ast.walk(draft.loop):
        match node:
            case ast.Attribute(value=ast.Name(id=found)) if found == name:
                return True
            case ast.Call(func=function, args=args):
                given = any(isinstance(a, ast.Name) and a.id == name for a in args)
                if given and ast.unparse(function) != "len":
                    return True
            case _:
                pass
    return False


def _leaves(loop: ast.For) -> bool:
    """Whether anything but its end ends an iteration, or other scopes see the index.

    The ``continue`` that stands for an ``else`` is gone by now.
    """
    odd = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda)
    return any(isinstance(node, odd) for node in own_nodes(loop))
