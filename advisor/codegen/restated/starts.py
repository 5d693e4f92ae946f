"""Variables that only the loop assigns get a number above it, where no one can tell."""

from __future__ import annotations

import ast
from itertools import combinations, islice

from ...loopnest.definite import bound_before
from ...loopnest.ir import Kind, Nest
from ...loopnest.liveness import live_after, read_before_assigned
from ...loopnest.scope import own_nodes
from ...model import Edit
from .draft import Draft, constant_info

_MOST = 12
"""Combinations of types of one size that are tried."""
_START: dict[Kind, bool | int | float] = {Kind.BOOL: False, Kind.INT: 0, Kind.FLOAT: 0.0}


def with_starts(draft: Draft, nest: Nest) -> Draft:
    """``i = j = 0`` above a loop behind which ``i`` and ``j`` are read only if it ran.

    Compiled code hands back a value for them in any case. In the user's text no one reads them
    behind the loop, and what the new text reads there it reads behind a flag.
    """
    loop, function = draft.loop, draft.function
    known = bound_before(draft.source, function, loop)
    read = live_after(draft.region.source, draft.region.function, draft.region.loop)
    if known is None or read is None or function is None:
        return draft
    kept = known | read | read_before_assigned(loop)
    names = [n for n in sorted(nest.live_out) if n not in kept and n.isidentifier()]
    starts: dict[str, list[str]] = {}
    values = {}
    for name in names:
        start = start_of(nest, name)
        if start is not None:
            starts.setdefault(repr(start), []).append(name)
            values[name] = constant_info(start)
    lines = [f"{' = '.join(same)} = {text}" for text, same in starts.items()]
    return draft.advanced(draft.above(loop, lines), values)


def start_of(nest: Nest, name: str) -> bool | int | float | None:
    """A number of the one type that the variable has; None where it may have several."""
    type_ = nest.privates[name]
    if type_.is_python and type_.kind in _START and len(nest.joined.get(name, ())) < 2:
        return _START[type_.kind]
    return None


def with_float_starts(draft: Draft, names: frozenset[str]) -> Draft:
    """``smallest = 0`` as ``smallest = 0.0`` where no one reads it before it is set."""
    scope = draft.function or draft.source.tree
    first, last = draft.extent
    edits = []
    for node in own_nodes(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=0) as value):
                start, end = draft.source.span(value)
                if name in names and first <= start < last:
                    edits.append(Edit(start, end, "0.0"))
    above = {name: constant_info(0.0) for name in names if name in draft.values}
    return draft.advanced(edits, above)


def with_fitting_starts(draft: Draft) -> Draft:
    """The draft with each new variable started as an int or a float, whichever it holds."""
    open_ = sorted(draft.open)
    for count in range(len(open_) + 1):
        for names in islice(combinations(open_, count), _MOST):
            tried = with_float_starts(draft, frozenset(names))
            nest = tried.restated().nest
            if isinstance(nest, Nest) and not draft.open & set(nest.joined):
                return tried
    return draft
