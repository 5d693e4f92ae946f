"""Rolled copies of one array as slices of a copy with a wrapped border, made once a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..model import Source
from . import rolls
from .bf_values import Env, dotted, rolled_array
from .wrapped import Border, slices

FEWEST = 2
"""Rolls of one array from which one copy with a border moves less memory."""


@dataclass(frozen=True)
class Halo:
    """The array as written, the cells needed around it, and the calls that need them."""

    base: str
    border: Border
    calls: tuple[rolls.Roll, ...]

    def slice_of(self, node: ast.expr, wrapped: str) -> str | None:
        """The part of the bordered copy that equals a rolled copy."""
        for call in self.calls:
            if call.node is node:
                return f"{wrapped}[{slices(call, self.base, self.border)}]"
        return None


def halos(source: Source, value: ast.expr, env: Env) -> Iterator[Halo]:
    """The arrays that an expression rolls often enough."""
    found: dict[str, list[rolls.Roll]] = {}
    for roll in _outermost(source, value):
        known = rolled_array(source, roll.node, env)
        name = dotted(roll.base)
        if known is not None and name is not None:
            found.setdefault(name, []).append(roll)
    for name, calls in found.items():
        ndim = len(getattr(env[name], "shape", ()))
        if len(calls) >= FEWEST:
            yield Halo(name, _border(calls, ndim), tuple(calls))


def _outermost(source: Source, node: ast.AST) -> Iterator[rolls.Roll]:
    roll = rolls.parse(source, node) if isinstance(node, ast.expr) else None
    if roll is not None:
        yield roll
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost(source, child)


def _border(calls: list[rolls.Roll], ndim: int) -> Border:
    border = [(0, 0)] * ndim
    for call in calls:
        for axis, shift in call.shifts.items():
            along = 0 if axis is None else axis % ndim
            before, after = border[along]
            border[along] = (max(before, shift.constant), max(after, -shift.constant))
    return tuple(border)
