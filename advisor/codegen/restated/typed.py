"""A loop only for the types of numbers that were seen: what hangs on them holds in Python, too."""

from __future__ import annotations

import ast

from ...loopnest.scope import own_nodes
from ...model import Basis, Condition
from .draft import Draft


def on_seen_types(draft: Draft) -> Draft:
    """The draft on the types seen of all numbers that the loop reads and does not assign."""
    names = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Name)]
    stored = {n.id for n in names if not isinstance(n.ctx, ast.Load)}
    for name in dict.fromkeys(n.id for n in names if n.id not in stored):
        seen = draft.values.get(name)
        if seen is not None and seen.kind in ("bool", "int", "float"):
            test = f"type({name}) is {seen.kind}"
            draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return draft
