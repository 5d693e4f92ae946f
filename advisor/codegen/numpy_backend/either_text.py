"""The text about lists of ints and floats, see `either`: what is asked, and what goes back."""

from __future__ import annotations

from ...loopnest.affine import Affine, affine, constant, extent_symbol, variable
from ...loopnest.ir import ArrayInput, Expr
from ..nb_lists import write_back
from .normal import NotVectorisable
from .session import Session

BITS = 31
"""Ints of so many bits, and sums of some of them, are floats without loss."""


def both_types(name: str, info: ArrayInput) -> list[str]:
    """Tests that the elements are floats and small ints."""
    bound = f"2**{BITS}"
    if info.ndim == 1:
        return [
            f"type({name}) is list",
            f"set(map(type, {name})) <= {{float, int}}",
            f"min({name}, default=0) >= -({bound})",
            f"max({name}, default=0) <= {bound}",
        ]
    tests = [
        f"type({name}) is list",
        f"set(map(type, {name})) == {{list}}",
        f"len(set(map(len, {name}))) == 1",
        f"all(row and set(map(type, row)) <= {{float, int}} for row in {name})",
        f"min(map(min, {name})) >= -({bound})",
        f"max(map(max, {name})) <= {bound}",
    ]
    if info.written:
        tests.append(f"len(set(map(id, {name}))) == len({name})")
    return tests


def box_back(session: Session, name: str, array: str) -> list[str]:
    """Lines that put back what the loop stored; the other elements may be ints."""
    info = session.nest.arrays[name]
    parts = []
    for axis, (start, stop) in enumerate(session.nest.either[name]):
        size = variable(extent_symbol(name, axis))
        parts.append(_slice(session, start, stop, size))
    if all(part == ":" for part in parts):
        return write_back(name, array, info.ndim, session.fresh, info.shape[-1] or 0)
    if info.ndim == 1:
        return [f"{name}[{parts[0]}] = {array}[{parts[0]}].tolist()"]
    row, values = session.fresh("row"), session.fresh("values")
    first = "" if parts[0] == ":" else f"[{parts[0]}]"
    inner = f"{array}[{', '.join(parts)}]" if first or parts[1] != ":" else array
    return [
        f"for {row}, {values} in zip({name}{first}, {inner}):",
        f"    {row}[{parts[1]}] = {values}.tolist()",
    ]


def _slice(session: Session, start: Expr, stop: Expr, size: Affine) -> str:
    low, high = affine(start), affine(stop)
    if low is None or high is None:
        raise NotVectorisable("the bounds of what is stored are not known in front", start.line)
    facts = session.facts
    first = "" if facts.equal(low, constant(0)) else facts.text(facts.canonical(low))
    last = "" if facts.equal(high, size) else facts.text(facts.canonical(high))
    return f"{first}:{last}"
