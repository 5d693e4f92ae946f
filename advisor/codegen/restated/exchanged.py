"""Two rows that change places, ``previous, current = current, previous``, element by element.

Where the function made both rows and nobody else has them, no one can tell the lists from their
contents: nothing needs to be put right behind the loop.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise

from ...model import Basis, Condition
from ..list_uses import fresh_before, keeps_no_reference, uses_between
from .draft import Draft
from .swaps import is_assigned_otherwise, rotations


def with_exchanged_rows(draft: Draft) -> Draft:
    """The draft with rows that stay in place; unchanged where they may have other names."""
    if not isinstance(draft.loop, ast.For) or draft.function is None:
        return draft
    found = [one for one in rotations(draft) if draft.values[one[1][0]].kind == "list"]
    for node, names, _ in found:
        others = [n for n, to, _ in found if set(to) & set(names)]
        if is_assigned_otherwise(draft, names[0], others) or len(others) > 1:
            return draft
        if not all(_is_private(draft, name, node) for name in names):
            return draft
    for node, names, values in found:
        place = draft.free("k", *names)
        left, right = (", ".join(f"{n}[{place}]" for n in row) for row in (names, values))
        lines = [f"for {place} in range(len({names[0]})):", f"    {left} = {right}"]
        draft = draft.advanced(draft.instead(_same(draft, node), lines))
        draft = replace(draft, names=draft.names | {place})
        for one, other in pairwise(names):
            test = f"len({one}) == len({other})"
            condition = Condition(test, Basis.OBSERVED, guarded=True, test=test)
            draft = draft.asking(test, condition)
    return draft


def _is_private(draft: Draft, name: str, swap: ast.Assign) -> bool:
    """A list of numbers, made just above the loop, of which only elements are used until then."""
    if draft.values[name].ndim != 1 or not name.isidentifier():
        return False
    made = fresh_before(draft.source, draft.loop, name)
    if made is None:
        return False
    inside = {id(node) for node in ast.walk(swap)}
    uses = (u for u in uses_between(draft.source, made, draft.loop, name) if id(u) not in inside)
    return all(keeps_no_reference(draft.source, use) for use in uses)


def _same(draft: Draft, swap: ast.Assign) -> ast.Assign:
    """The statement in the draft's present text."""
    text = ast.unparse(swap)
    alike = (n for n in ast.walk(draft.loop) if isinstance(n, ast.Assign))
    return next(node for node in alike if ast.unparse(node) == text)
