"""Subscripts that are a distance apart which the data give: ``best[w]`` and ``best[w - weight]``.

Which of two iterations comes first hangs on the sign of the distance. Where it was never negative,
that is asked in front: of a variable, or of all elements of the list that it is taken from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from ...loopnest.affine import Affine, affine, extent_of
from ...loopnest.ir import (
    ArrayInput,
    Assign,
    Const,
    Expr,
    For,
    Interval,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    expressions,
    statements,
    walk,
)

_MOST = 60
"""Subscripts of one array that are compared with each other."""


@dataclass(frozen=True)
class Shift:
    """A variable that takes one element after the other, none of them seen below zero."""

    least: str
    """The least of all elements, as text; 0 where there are none."""
    most: str
    interval: Interval


# ---------------------------------------------------------------- distances
def shifts(nest: Nest) -> dict[str, Shift]:
    """Variables of the nest that are such distances, each set in one place."""
    found = {}
    names = _distances(nest)
    if not names:
        return {}
    assigned = [s for s in statements((nest.root,)) if isinstance(s, Assign)]
    for name in names & nest.privates.keys():
        places = [s for s in assigned if s.name == name]
        if len(places) == 1 and isinstance(places[0].value, Load):
            shift = taken(places[0].value, nest)
            if shift is not None:
                found[name] = shift
    return found


def natural_distances(nest: Nest) -> Iterator[str]:
    """Whole numbers from outside the nest that are such distances, never seen below zero."""
    for name in sorted(_distances(nest) & nest.scalars.keys() - nest.privates.keys()):
        scalar = nest.scalars[name]
        low = scalar.interval.low
        if scalar.type.kind is Kind.INT and scalar.literal is None and low is not None and low >= 0:
            yield name


def _distances(nest: Nest) -> frozenset[str]:
    """Symbols that two subscripts of a written array differ by, and that are no loop's index."""
    body = list(statements((nest.root,)))
    stored = [s for s in body if isinstance(s, Store)]
    indices = {s.index for s in body if isinstance(s, For)}
    found: set[str] = set()
    for array in {s.array for s in stored}:
        written = (s.index for s in stored if s.array == array)
        places = list(dict.fromkeys((*written, *_indices(body, array))))
        for one, other in combinations(places[:_MOST], 2):
            for f, g in zip(map(affine, one), map(affine, other), strict=True):
                found |= _only_symbol(f, g)
    return frozenset(name for name in found - indices if extent_of(name) is None)


def _indices(body: Iterable[Stmt], array: str) -> Iterator[tuple[Expr, ...]]:
    for statement in body:
        for part in (p for e in expressions(statement) for p in walk(e)):
            if isinstance(part, Load) and part.array == array:
                yield part.index


def _only_symbol(f: Affine | None, g: Affine | None) -> frozenset[str]:
    if f is None or g is None:
        return frozenset()
    pairs = (f - g).pairs
    return frozenset(name for name, factor in pairs if len(pairs) == 1 and abs(factor) == 1)


def taken(load: Load, nest: Nest) -> Shift | None:
    """The element of a list or an array of whole numbers; of a list of rows one of its columns."""
    info = nest.arrays[load.array]
    low = info.interval.low
    if not _holds_counts(info) or low is None or low < 0:
        return None
    name = info.name
    match load.index:
        case (_,) if info.container == "ndarray":
            return Shift(f"{name}.min(initial=0)", f"{name}.max(initial=0)", info.interval)
        case (_,):
            items = name
        case (_, Const(value=int() as column)) if info.container != "ndarray":
            items = f"(row[{column}] for row in {name})"
            return Shift(f"min({items}, default=0)", f"max({items}, default=0)", Interval(0, None))
        case _:
            return None
    return Shift(f"min({items}, default=0)", f"max({items}, default=0)", info.interval)


def _holds_counts(info: ArrayInput) -> bool:
    whole = info.element.kind is Kind.INT and info.element.dtype in (None, "int64")
    plain = type(info) is ArrayInput and info.container in ("list", "tuple", "ndarray")
    return whole and plain and not info.written and not info.aliases
