"""The two packages whose generators are Mersenne Twisters: what they draw, and their state."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ...loopnest.scope import dotted, table
from ...model import ValueInfo
from ..draws_find import LEGACY, PYTHON
from ..nb_values import Unsupported
from .twister_numpy import CHOSEN_BELOW, NUMPY_KINDS, NUMPY_METHODS
from .twister_text import BELOW, KINDS, METHODS, Kind, Method


@dataclass(frozen=True)
class State:
    """Names of the text: the generator, NumPy, and new ones."""

    generator: str
    numpy: str
    before: str
    after: str
    second: str
    words: str
    kept: str
    pairs: bool
    """Some numbers come in pairs: the second one is kept."""


class Family(Protocol):
    """A package's generators."""

    kinds: Mapping[str, Kind]

    def method(self, name: str, call: ast.Call, seen: Mapping[str, ValueInfo]) -> Method | None:
        """What a method does with these arguments; None where it has no compiled form."""

    def choices(self, items: str, numpy: str) -> str:
        """Numbers that are chosen from where they are written, as the generator has them."""

    def chosen_from(self, items: list[float]) -> object:
        """What these are."""

    def same_kind(self, generator: str, package: str, *, module: bool) -> str:
        """The test that a generator is one whose steps are known; empty if it always is."""

    def above(self, state: State) -> list[str]:
        """The lines that take the generator's state."""

    def behind(self, state: State) -> list[str]:
        """The lines that give the generator the state that the loop left."""


class _Python:
    """The module ``random``."""

    kinds: Mapping[str, Kind] = KINDS

    def method(self, name: str, call: ast.Call, seen: Mapping[str, ValueInfo]) -> Method | None:
        """See `Family`."""
        return BELOW if name == "randrange" and len(call.args) == 1 else METHODS.get(name)

    def choices(self, items: str, numpy: str) -> str:
        """A list."""
        return f"[{items}]"

    def chosen_from(self, items: list[float]) -> object:
        """A list."""
        return items

    def same_kind(self, generator: str, package: str, *, module: bool) -> str:
        """A subclass may draw otherwise; the module's own is none."""
        return "" if module else f"type({generator}) is {package}.Random"

    def above(self, state: State) -> list[str]:
        """``getstate()``."""
        lines = [
            f"{state.before} = {state.generator}.getstate()",
            f"{state.words} = {state.numpy}.array({state.before}[1], dtype={state.numpy}.int64)",
        ]
        if state.pairs:
            old = f"{state.before}[2]"
            lines.append(f"{state.kept} = {state.numpy}.array([{old} or 0.0, {old} is not None])")
        return lines

    def behind(self, state: State) -> list[str]:
        """``setstate()``."""
        second = f"{state.before}[2]"
        lines = []
        if state.pairs:
            second = state.second
            lines.append(f"{second} = {state.kept}[0].item() if {state.kept}[1] else None")
        words = f"(*{state.words}.tolist(),)"
        return [
            *lines,
            f"{state.after} = ({state.before}[0], {words}, {second})",
            f"if {state.after} != {state.before}:"
            "  # else the loop ran in Python, with the generator itself",
            f"    {state.generator}.setstate({state.after})",
        ]


class _Numpy:
    """``numpy.random``, and ``RandomState`` objects."""

    kinds: Mapping[str, Kind] = NUMPY_KINDS

    def method(self, name: str, call: ast.Call, seen: Mapping[str, ValueInfo]) -> Method | None:
        """A choice from an array gives one of its elements, one from a number one below it."""
        method = NUMPY_METHODS.get(name)
        if name != "choice" or method is None or not call.args:
            return method
        if table(call.args[0]) is not None:
            return method
        known = seen.get(dotted(call.args[0]) or "")
        if known is not None and known.kind == "ndarray" and known.ndim == 1:
            return method
        whole = known is not None and known.kind == "int"
        return CHOSEN_BELOW if whole or _is_whole(call.args[0]) else None

    def choices(self, items: str, numpy: str) -> str:
        """An array: its elements are NumPy's numbers."""
        return f"{numpy}.array([{items}])"

    def chosen_from(self, items: list[float]) -> object:
        """An array."""
        import numpy as np

        return np.array(items)

    def same_kind(self, generator: str, package: str, *, module: bool) -> str:
        """The words may be another bit generator's."""
        kind = f'{generator}.get_state(legacy=False)["bit_generator"] == "MT19937"'
        return kind if module else f"type({generator}) is {package}.RandomState and {kind}"

    def above(self, state: State) -> list[str]:
        """``get_state()``."""
        before, numpy = state.before, state.numpy
        lines = [
            f"{before} = {state.generator}.get_state()",
            f"{state.words} = {numpy}.append({before}[1], {before}[2])",
        ]
        if state.pairs:
            lines.append(f"{state.kept} = {numpy}.array([{before}[4], {before}[3]])")
        return lines

    def behind(self, state: State) -> list[str]:
        """``set_state()``."""
        before, words = state.before, state.words
        moved = [f"{words}[-1] != {before}[2]", f"({words}[:-1] != {before}[1]).any()"]
        kept = f"*{before}[3:]"
        if state.pairs:
            moved.append(f"{state.kept}[1] != {before}[3]")
            kept = f"int({state.kept}[1]), {state.kept}[0].item()"
        return [
            "# else the loop ran in Python, with the generator itself",
            f"if {' or '.join(moved)}:",
            f"    {state.after} = ({before}[0], {words}[:-1], {words}[-1].item(), {kept})",
            f"    {state.generator}.set_state({state.after})",
        ]


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


_FAMILIES: Mapping[str, Family] = {PYTHON: _Python(), LEGACY: _Numpy()}


def family_of(kind: str) -> Family:
    """The family of a generator of that kind. Raises Unsupported."""
    if kind not in _FAMILIES:
        raise Unsupported("the generator's steps have no compiled form")
    return _FAMILIES[kind]
