"""Generators whose steps can be compiled: what they draw, and how their state is kept."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ...loopnest.scope import dotted, table
from ...model import ValueInfo
from ..draws_find import GENERATOR, LEGACY, PYTHON
from ..nb_values import Unsupported
from .twister_numpy import CHOSEN_BELOW, NUMPY_KINDS, NUMPY_METHODS
from .twister_raw import CHOSEN, RAW_KINDS, RAW_METHODS
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
    most: str = ""
    """How many numbers the loop can take, where they are drawn beforehand."""


class Family(Protocol):
    """A package's generators."""

    kinds: Mapping[str, Kind]
    beforehand: bool
    """Raw numbers are drawn before the loop; Python runs the user's own loop."""

    def arrays(self, state: State) -> dict[str, ValueInfo]:
        """What is seen of the arrays that the lines above the loop make."""

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
    beforehand = False

    def arrays(self, state: State) -> dict[str, ValueInfo]:
        """The words with their position, and the second number with its flag."""
        return _words(state)

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
    beforehand = False

    def arrays(self, state: State) -> dict[str, ValueInfo]:
        """As for Python's generator."""
        return _words(state)

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


class _Raw:
    """``numpy.random.Generator`` objects on a PCG64, which ``default_rng`` makes."""

    kinds: Mapping[str, Kind] = RAW_KINDS
    beforehand = True

    def arrays(self, state: State) -> dict[str, ValueInfo]:
        """Halves of the raw numbers; how many were taken, a half left over, whether it is."""
        return {state.words: _array("uint32", None), state.kept: _array("int64", 4)}

    def method(self, name: str, call: ast.Call, seen: Mapping[str, ValueInfo]) -> Method | None:
        """As for the older generator."""
        method = RAW_METHODS.get(name)
        if name != "choice" or method is None or not call.args:
            return method
        known = seen.get(dotted(call.args[0]) or "")
        if table(call.args[0]) is not None or (
            known is not None and known.kind == "ndarray" and known.ndim == 1
        ):
            return method
        whole = known is not None and known.kind == "int"
        return CHOSEN if whole or _is_whole(call.args[0]) else None

    def choices(self, items: str, numpy: str) -> str:
        """An array."""
        return f"{numpy}.array([{items}])"

    def chosen_from(self, items: list[float]) -> object:
        """An array."""
        return _Numpy().chosen_from(items)

    def same_kind(self, generator: str, package: str, *, module: bool) -> str:
        """Other bit generators give other raw numbers."""
        own = f"type({generator}) is {package}.Generator"
        return f"{own} and type({generator}.bit_generator) is {package}.PCG64"

    def above(self, state: State) -> list[str]:
        """Raw numbers, and the generator as it was."""
        source, before = f"{state.generator}.bit_generator", state.before
        left = f'{before}["uinteger"], {before}["has_uint32"]'
        halves = f'astype("<u8", copy=False).view({state.numpy}.uint32)'
        return [
            f"{before} = {source}.state",
            "# as many as the loop can take, and some for those that are not used",
            f"{state.words} = {source}.random_raw({state.most}).{halves}",
            f"{source}.state = {before}",
            f"{state.kept} = {state.numpy}.array([0, {left}, 0])",
        ]

    def behind(self, state: State) -> list[str]:
        """The generator goes on behind the raw numbers that were taken."""
        source, taken, after = f"{state.generator}.bit_generator", state.kept, state.after
        return [
            "# else the loop ran in Python, with the generator itself",
            f'if {taken}[0] or {taken}[2] != {state.before}["has_uint32"]:',
            f"    {source}.random_raw(int({taken}[0]), output=False)",
            f"    {after} = {source}.state",
            f'    {after}["uinteger"], {after}["has_uint32"] = {taken}[1:3].tolist()',
            f"    {source}.state = {after}",
        ]


def _words(state: State) -> dict[str, ValueInfo]:
    values = {state.words: _array("int64", 625)}
    if state.pairs:
        values[state.kept] = _array("float64", 2)
    return values


def _array(dtype: str, extent: int | None) -> ValueInfo:
    shape = (extent,)
    least = (extent or 1,)
    return ValueInfo(
        "ndarray",
        "numpy.ndarray",
        dtype=dtype,
        ndim=1,
        shape=shape,
        min_shape=least,
        max_shape=None if extent is None else least,
        c_contiguous=True,
        writeable=True,
    )


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


_FAMILIES: Mapping[str, Family] = {
    PYTHON: _Python(),
    LEGACY: _Numpy(),
    GENERATOR: _Raw(),
}


def family_of(kind: str) -> Family:
    """The family of a generator of that kind. Raises Unsupported."""
    if kind not in _FAMILIES:
        raise Unsupported("the generator's steps have no compiled form")
    return _FAMILIES[kind]
