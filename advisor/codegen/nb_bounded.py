"""Python ints that may outgrow 64 bits: looked at where the compiled loop stores them.

``path[i][j] = min(path[i][j], path[i][k] + path[k][j])``: nothing bounds the elements but the data.
Where all else fails, every int that a variable or a list keeps is assumed to lie within
``[-2**bits, 2**bits]``; what is computed from such numbers before it is stored is proved to fit 64
bits; and a store that may leave the range is looked at. One that does raises, lists and arrays stay
as they were, and the loop in Python starts again from there.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..loopnest.ir import PY_INT
from .nb_state import State
from .nb_values import Num, Outgrown

BITS = (61, 52, 30, 20)
"""Ranges tried: sums of four, exact as floats, products of two, products of three."""

KEY = "bounded"
"""The helper's key among the checked functions."""


def bounded(
    state: State,
    value: Num,
    source: ast.expr | None,
    augmented: ast.expr | None,
    variable: bool = False,
) -> Num:
    """A value about to be stored, within the range; a look at it where it may be outside.

    ``source``: the expression that gives it; ``augmented``: the target of ``x += e``; neither: it
    comes from something without text, such as ``for i in range(n)``, and keeps its range.
    ``variable``: it is no element of a list. ``best = max(best, t[i][k] + t[k][j])`` twice as large
    as any element needs no look before it is stored. Raises Outgrown where it cannot be looked at.
    """
    bits = state.assumption.checked
    limit = 2**bits
    node = source if augmented is None else augmented
    free = 2 * limit if variable and state.assumption.roomy else limit
    if not bits or node is None or value.types != {PY_INT} or value.within(-free, free):
        return value
    if state.recording:
        state.checked[KEY] = str(bits)
        state.may_raise = True
        if augmented is None:
            state.wrap(node, f"\0fn.{KEY}(")
        else:
            state.bounds[(node.lineno, node.col_offset)] = augmented
    # To `free`, though the look is stricter: a larger value must not get a smaller range, or the
    # ranges at the head of a loop would not stand still.
    low = -free if value.low is None else max(value.low, -free)
    high = free if value.high is None else min(value.high, free)
    return replace(value, low=min(low, high), high=max(low, high))


def looks(state: State, spelled: dict[str, str]) -> dict[tuple[int, int], list[str]]:
    """Statements below ``x += e``, by the place of ``x``; ``spelled`` gives the parameters' names.

    Raises Outgrown where an index is computed otherwise in compiled code: `State.edits` has that.
    """
    from .nb_text import with_params

    found = {}
    for place, target in state.bounds.items():
        start, end = state.source.span(target)
        if any(start <= e.start and e.end <= end for e in state.edits):
            raise Outgrown(f"{ast.unparse(target)} may outgrow 64 bits", target.lineno)
        found[place] = [f"\0fn.{KEY}({with_params(ast.unparse(target), spelled)})"]
    return found
