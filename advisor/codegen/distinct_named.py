"""Loops that count substrings without giving them a name: ``counts[text[i : i + k]] += 1``."""

from __future__ import annotations

import ast
from dataclasses import replace

from ..loopnest.scope import dotted
from ..model import Edit, Match, Refusal, Region, Restated
from ..patch import PatchError, composed
from .distinct_text import once_for_each
from .restated.draft import Draft


def once_for_each_named(region: Region) -> Match | Refusal | None:
    """The rewrite of the loop as it is, else of the one in which the substring has a name."""
    found = once_for_each(region)
    if found is not None or region.observation is None:
        return found
    try:
        draft = _named(Draft.of(region))
        if draft is None:
            return None
        found = once_for_each(draft.restated())
        if not isinstance(found, Match):
            return found
        edits = composed(region.source, draft.edits, found.edits)
    except PatchError as error:
        return Refusal(str(error), region.loop.lineno)
    return replace(found, edits=edits, restated=Restated(draft.edits, ()))


def _named(draft: Draft) -> Draft | None:
    """The loop over ``range(stop)`` with one name for its one substring; None without one."""
    loop = draft.loop
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[*first, stop], keywords=[]),
            orelse=[],
        ):
            pass
        case _:
            return None
    edits = []
    if first:
        if len(first) > 1 or not (isinstance(first[0], ast.Constant) and first[0].value == 0):
            return None
        edits.append(Edit(draft.source.span(first[0])[0], draft.source.span(stop)[0], ""))
    nodes = [n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Subscript)]
    parts = [node for node in nodes if _is_substring(draft, node, index)]
    if len({ast.unparse(part) for part in parts}) != 1:
        return None
    inside = {id(n) for part in parts for n in ast.walk(part)}
    names = (n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name))
    if any(n.id == index and id(n) not in inside for n in names):
        return None
    match loop.body[0]:
        case ast.Assign(targets=[ast.Name()], value=value) if value in parts:
            if len(parts) > 1 or not edits:
                return None
        case _:
            name = draft.free("part")
            whole = draft.source.text(parts[0])
            edits += draft.above(loop.body[0], [f"{name} = {whole}"])
            edits += [Edit(*draft.source.span(part), name) for part in parts]
    return draft.advanced(edits)


def _is_substring(draft: Draft, node: ast.AST, index: str) -> bool:
    """``text[i : i + k]`` of a string, which raises nothing."""
    match node:
        case ast.Subscript(
            value=ast.Name() | ast.Attribute() as owner,
            slice=ast.Slice(
                lower=ast.Name(id=low),
                upper=ast.BinOp(
                    left=ast.Name(id=left), op=ast.Add(), right=ast.Name() | ast.Constant()
                ),
                step=None,
            ),
            ctx=ast.Load(),
        ):
            seen = draft.values.get(dotted(owner) or "")
            return low == left == index and seen is not None and seen.kind == "str"
    return False
