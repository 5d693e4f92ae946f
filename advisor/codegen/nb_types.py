"""The type a variable has after the loop, where the data decide it.

``total = 0.0`` and ``if hit: total += a[i]`` leave a ``float`` if nothing was hit and a
``numpy.float64`` else. Compiled code keeps no such difference: where every assignment gives one
other type, or keeps the type there was, a flag beside the variable says which it is at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..loopnest.ir import Kind, Scalar
from ..model import Region
from .nb_analyse import Analysed
from .nb_parallel import only_exceeded
from .nb_state import Stored
from .nb_values import Num


@dataclass(frozen=True)
class Kept:
    """``worst = max(worst, d)``: the value at entry, with its type, unless something exceeds it."""

    other: Scalar


@dataclass(frozen=True)
class Flagged:
    """A flag is set where the variable gets the other type, and cleared where it gets its own."""

    own: Scalar
    """Its type at entry."""
    other: Scalar
    marks: tuple[tuple[tuple[int, int], bool], ...]
    """Place of an assignment target (line, column) -> what the flag becomes there."""
    changes: bool
    """It may have another value although it has its type from entry."""


@dataclass(frozen=True)
class Open:
    """It cannot be told; the usual type is taken."""

    mixed: bool
    """Not even whether it is an int or a float."""


TypeAfter = Kept | Flagged | Open


def type_after(region: Region, found: Analysed, path: str) -> TypeAfter | None:
    """How the type of a live-out scalar is found out; None where it is the same in every run."""
    value = found.env[path]
    if not isinstance(value, Num) or not value.also:
        return None
    entry = found.entry.get(path)
    stores = found.state.stores.get(path, {})
    undecided = Open(mixed=len({t.kind for t in value.types}) > 1)
    if not isinstance(entry, Num) or entry.also or not stores:
        return undecided
    own = entry.type
    others = frozenset[Scalar]().union(*(s.types for s in stores.values())) - {own}
    if len(others) != 1:
        return undecided
    (other,) = others
    if Kind.COMPLEX in (own.kind, other.kind) and own.kind is not other.kind:
        return undecided
    # m = max(m, v, k) with k of m's own type: k may be what exceeds it
    if only_exceeded(region.loop, path) and all(_gives(s, other) for s in stores.values()):
        return Kept(other)
    marks: list[tuple[tuple[int, int], bool]] = []
    changes = False
    for place, stored in stores.items():
        if stored.types == frozenset({other}):
            marks.append((place, True))
        elif stored.types == frozenset({own}):
            marks.append((place, False))
            changes = True
        elif all(stored.after.get(t) == frozenset({t}) for t in (own, other)):
            changes = True  # c += 1 keeps a float a float, and a float64 a float64
        else:
            return undecided
    return Flagged(own, other, tuple(marks), changes)


def _gives(stored: Stored, type_: Scalar) -> bool:
    return frozenset({type_}) in (stored.types, stored.after.get(type_))
