"""A nest with text, as one with numbers only; what that rests on is checked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..model import ValueInfo
from .bindings import Stop
from .intervals import hull
from .ir import CHAR, ArrayInput, Expr, For, Interval, Nest, ScalarInput, While
from .lower_text import Need
from .ranges import Observed, interval
from .text import (
    EMPTY,
    LAST_ASCII,
    KnownText,
    characters,
    expr_in_numbers,
    in_numbers,
    number_of,
    numeric,
    words_of,
)


def numbered(
    nest: Nest,
    values: Mapping[str, ValueInfo],
    known: KnownText,
    needs: Sequence[Need],
) -> Nest:
    """The nest with the number of each text in its place. Raises Stop.

    ``values``: what was seen at entry.
    """
    text = _text_of(nest)
    if not text and not needs and not any(a.container == "str" for a in nest.arrays.values()):
        return nest
    line = nest.root.line
    for name in sorted(set(nest.scalars) & set(nest.arrays)):
        raise Stop(f"{name} is a character here and a string there", line)
    literals = {n: known.literal(n) for n in nest.scalars if n in text}
    given = {t for t in literals.values() if t is not None and len(t) > 1}
    words = tuple(sorted({*words_of((nest.root,)), *given}))
    root = in_numbers(nest.root, words)
    assert isinstance(root, For | While)
    result = replace(
        nest,
        root=root,
        arrays={n: _array(a, values) for n, a in nest.arrays.items()},
        scalars={
            n: _scalar(s, values[n], literals[n], words) if n in text else s
            for n, s in nest.scalars.items()
        },
        privates={n: numeric(kind) for n, kind in nest.privates.items()},
        text=text,
        words=words,
    )
    for need in needs:
        _check(need, expr_in_numbers(need.expr, words), result)
    return result


def _text_of(nest: Nest) -> frozenset[str]:
    grown = {n for n, a in nest.arrays.items() if a.element == CHAR and a.container != "str"}
    private = {n for n, kind in nest.privates.items() if kind == CHAR}
    return frozenset(grown | private | {n for n, s in nest.scalars.items() if s.type == CHAR})


def _array(info: ArrayInput, values: Mapping[str, ValueInfo]) -> ArrayInput:
    if info.container == "str":
        ascii_only = (values[info.name].maximum or 0) <= LAST_ASCII
        return replace(info, element=numeric(info.element), interval=characters(ascii_only))
    return replace(info, element=numeric(info.element))


def _scalar(
    info: ScalarInput, seen: ValueInfo, literal: str | None, words: tuple[str, ...]
) -> ScalarInput:
    """A short text seen at entry, or one that the code shows."""
    if literal is not None:
        value = number_of(literal, words)
        room = Interval(value, value)
        return replace(info, type=numeric(info.type), interval=room, literal=value)
    room = characters((seen.maximum or 0) <= LAST_ASCII)
    low = EMPTY if seen.min_shape != (1,) else 0
    return replace(info, type=numeric(info.type), interval=Interval(low, room.high), literal=None)


def _check(need: Need, expr: Expr, nest: Nest) -> None:
    found = hull((interval(expr, nest, observed=Observed.NOTHING), need.within))
    if found != need.within:
        raise Stop(need.why, expr.line)
