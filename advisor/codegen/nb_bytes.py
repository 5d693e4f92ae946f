"""Bytearrays: int64 arrays for the length of the loop, and their ValueError.

Python reads a byte as an int, which uint8 arithmetic would wrap; and refuses to store a number that
is no byte, where an array would keep its last eight bits.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..loopnest.ir import PY_INT, Nest
from .nb_state import State
from .nb_values import Num, Unsupported, View

KEY = "byte"
"""The helper's key among the checked functions."""
LARGEST = 255


def holds_bytes(state: State, view: View) -> bool:
    """Whether the array stands for a bytearray, or for bytes, which are only read."""
    nest = state.region.nest
    if not isinstance(nest, Nest) or view.array not in nest.arrays:
        return False
    return nest.arrays[view.array].container in ("bytearray", "bytes")


def byte(state: State, value: Num, target: ast.Subscript, source: ast.expr | None) -> Num:
    """A value about to be stored into a bytearray; a look at it where it may be no byte.

    ``source``: the expression that gives it, None if it has no text of its own. Raises Unsupported
    for what is no int.
    """
    text = ast.unparse(target)
    if value.types != {PY_INT}:
        held = " or ".join(sorted(map(str, value.types)))
        raise Unsupported(f"`{text}` of a bytearray gets {held}", target.lineno)
    if value.within(0, LARGEST):
        return value
    if state.recording:
        if source is None:
            raise Unsupported(
                f"`{text}` may get an int that is no byte",
                target.lineno,
                "write it out: x[i] = x[i] + e",
            )
        state.checked[KEY] = "0..255"
        state.may_raise = True
        state.wrap(source, f"\0fn.{KEY}(")
    low = 0 if value.low is None else min(max(value.low, 0), LARGEST)
    high = LARGEST if value.high is None else max(min(value.high, LARGEST), 0)
    return replace(value, low=min(low, high), high=max(low, high))
