"""Two buffers that change places, ``old, new = new, old``, as an exchange of their elements.

Compiled code knows each array by one name. Behind the loop the names are exchanged as often as
they were in it, and the elements with them: whoever else has one of the buffers finds in it what
the loop has put there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from ...loopnest.scope import dotted, own_nodes
from ...model import Basis, Condition, ValueInfo
from ...names import import_edit
from .draft import Draft, constant_info

_MOST = 3
"""Buffers in one rotation."""


def without_swaps(draft: Draft) -> Draft:
    """The draft with buffers that stay in place; unchanged where there are other assignments."""
    found = list(rotations(draft))
    if not found or len({tuple(to) + tuple(of) for _, to, of in found}) > 1:
        return draft
    _, to, _ = found[0]
    if any(is_assigned_otherwise(draft, path, [node for node, _, _ in found]) for path in to):
        return draft
    rank = draft.values[to[0]].ndim or 0
    return _rotated(draft, found, rank) if 1 <= rank <= 2 else draft


def rotations(draft: Draft) -> Iterator[tuple[ast.Assign, list[str], list[str]]]:
    """Assignments that hand each buffer another one's place: (statement, targets, values)."""
    for node in own_nodes(draft.loop):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)):
                to, of = [dotted(e) or "" for e in left], [dotted(e) or "" for e in right]
                is_rotation = set(to) == set(of) and 2 <= len(to) == len(set(to)) <= _MOST
                moved = all(one != other for one, other in zip(to, of, strict=False))
                if is_rotation and moved and _are_alike(draft, to):
                    yield node, to, of


def _are_alike(draft: Draft, paths: Sequence[str]) -> bool:
    """Buffers of one type and one number of dimensions."""
    seen = [draft.values.get(path) for path in paths]
    first = seen[0]
    return first is not None and all(
        one is not None
        and one.kind in ("list", "ndarray")
        and (one.kind, one.ndim, one.dtype) == (first.kind, first.ndim, first.dtype)
        and _element(one) == _element(first)
        for one in seen
    )


def _element(info: ValueInfo) -> str:
    return "" if info.element is None else info.element.kind


def is_assigned_otherwise(draft: Draft, path: str, known: Sequence[ast.Assign]) -> bool:
    """Whether the loop gives the name, or a part of the path, another value somewhere."""
    inside = {id(n) for node in known for n in ast.walk(node)}
    for node in own_nodes(draft.loop):
        if isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found = dotted(node) or ""
            if id(node) not in inside and (path + ".").startswith(found + "."):
                return True
    return False


# ----------------------------------------------------------------------- text
def _rotated(
    draft: Draft, found: Sequence[tuple[ast.Assign, list[str], list[str]]], rank: int
) -> Draft:
    _, to, of = found[0]
    # a list of one number: it keeps its count where the loop raises
    count = draft.free("turns")
    row, column = draft.free("k", count), draft.free("m", count)
    is_array = draft.values[to[0]].kind == "ndarray"
    index = f"[{row}]" if rank == 1 else f"[{row}, {column}]" if is_array else f"[{row}][{column}]"
    left, right = (", ".join(path + index for path in paths) for paths in (to, of))
    lines = [f"for {row} in range(len({to[0]})):"]
    if rank == 2:
        lines.append(f"    for {column} in range(len({to[0]}[{'0' if not is_array else row}])):")
    lines.append(f"{'    ' * rank}{left} = {right}")
    lines.append(f"{count}[0] = ({count}[0] + 1) % {len(to)}")
    edits = [edit for node, _, _ in found for edit in draft.instead(node, lines)]
    number = ValueInfo("list", "builtins.list", ndim=1, shape=(1,), element=constant_info(0))
    above = draft.above(draft.loop, [f"{count} = [0]"])
    new = draft.advanced([*above, *edits], {count: number})
    turn = draft.free("_turn", count)
    head = f"if {count}[0]:" if len(to) == 2 else f"for {turn} in range({count}[0]):"
    new = new.finally_([head, *(f"    {line}" for line in _handed_back(draft, to, of, rank))])
    new = replace(new, names=new.names | {count, row, column})
    numpy, numpy_edit = import_edit(draft.source, "numpy", "np")
    if is_array:
        new = new.importing(numpy_edit)
    for test in _tests(draft, to, rank, numpy):
        new = new.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return new


def _handed_back(draft: Draft, to: Sequence[str], of: Sequence[str], rank: int) -> list[str]:
    """The lines that exchange names and elements once."""
    saved = draft.free("saved")
    is_array = draft.values[to[0]].kind == "ndarray"
    exchange = f"{', '.join(to)} = {', '.join(of)}"
    if is_array or rank == 1:
        copies = ", ".join(f"{path}.copy()" for path in to)
        wholes = ", ".join(f"{path}[:]" for path in to)
        return [f"{saved} = {copies}", exchange, f"{wholes} = {saved}"]
    row = draft.free("row")
    copies = ", ".join(f"[{row}[:] for {row} in {path}]" for path in to)
    lines = [f"{saved} = {copies}", exchange]
    k = draft.free("k")
    lines.append(f"for {k} in range(len({to[0]})):")
    for number, path in enumerate(to):
        lines.append(f"    {path}[{k}][:] = {saved}[{number}][{k}]")
    return lines


def _tests(draft: Draft, paths: Sequence[str], rank: int, numpy: str) -> Iterator[str]:
    """The buffers are of one size and type, and share nothing."""
    first, *others = paths
    if draft.values[first].kind == "ndarray":
        for path in paths:
            yield f"type({path}) is {numpy}.ndarray"
        yield f"{first}.ndim == {rank}"
        for other in others:
            yield f"{first}.shape == {other}.shape"
            yield f"{first}.dtype == {other}.dtype"
        for one, other in combinations(paths, 2):
            yield f"not {numpy}.may_share_memory({one}, {other})"
        return
    for path in paths:
        yield f"type({path}) is list"
    if rank == 2:
        for path in paths:
            yield f"set(map(type, {path})) == {{list}}"
        widths = ", ".join(f"*map(len, {path})" for path in paths)
        yield f"len({{{widths}}}) == 1"
        # the same row twice would be exchanged twice
        rows = ", ".join(f"*map(id, {path})" for path in paths)
        yield f"len({{{rows}}}) == {' + '.join(f'len({path})' for path in paths)}"
    for other in others:
        yield f"len({first}) == len({other})"
