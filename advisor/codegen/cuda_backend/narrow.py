"""Whole numbers in fewer bytes on the device: a board of zeros and ones in int8 instead of int64.

What a time loop stores depends on what it loads. Where all its arrays of int64 stay within a range
that int8 holds, given that they start within it, their copies on the device may be int8: numba
computes with int64 all the same, and only loads and stores are narrower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...loopnest.intervals import hull
from ...loopnest.ir import (
    UNBOUNDED,
    Binary,
    Bool,
    Compare,
    Const,
    Dim,
    Expr,
    Interval,
    Len,
    Load,
    Nest,
    Select,
    Unary,
    Var,
    expressions,
    statements,
    walk,
)
from ...loopnest.ranges import Observed, Ranges

WIDE = "int64"
_LEAST, _MOST = -127, 127
"""Without -128, whose negative does not fit."""
_ROUNDS = 3
_PLAIN = (Const, Var, Dim, Len, Load, Unary, Binary, Compare, Bool, Select)
"""Expressions of which numba's result does not depend on how wide a whole number was stored."""
_OPERATIONS = frozenset(["+", "-", "*", "&", "|", "^", "//", "%"])


@dataclass(frozen=True)
class Narrow:
    """Arrays that may be int8 on the device, by their names in the launcher, and their range."""

    arrays: frozenset[str]
    low: int
    high: int

    def test(self, entry: Sequence[str], each: str) -> str:
        """Whether all values of the arrays from before the loop are in the range, as text."""
        wide = [name for name in entry if name in self.arrays]
        one = wide[0] if len(wide) == 1 else each
        inside = f"{one}.size and {self.low} <= {one}.min() and {one}.max() <= {self.high}"
        return inside if len(wide) == 1 else f"all({inside} for {each} in ({', '.join(wide)}))"


def narrowed(
    entry: Sequence[str], fresh: Sequence[str], nests: Sequence[tuple[Nest, Mapping[str, str]]]
) -> Narrow | None:
    """The arrays of int64 of a time loop, all of them or none.

    ``nests``: each with the launcher's names for its arrays, where they differ.
    """
    wide = {name for nest, names in nests for name in _wide(nest, names)}
    others = {name for nest, names in nests for name in _named(nest, names)} - wide
    if not wide & set(entry) or others & wide or not wide <= {*entry, *fresh}:
        return None
    if not all(_is_plain(nest) for nest, _ in nests):
        return None
    seen = Interval(0, 0)  # what np.zeros() makes
    for nest, names in nests:
        for path, array in nest.arrays.items():
            if names.get(path, path) in wide & set(entry):
                seen = hull((seen, array.interval))
    for _ in range(_ROUNDS):
        if not _fits(seen):
            return None
        after = seen
        for nest, names in nests:
            after = hull((after, _stored(nest, names, wide, seen)))
        if after == seen:
            assert isinstance(seen.low, int) and isinstance(seen.high, int)
            return Narrow(frozenset(wide), seen.low, seen.high)
        seen = after
    return None


def _named(nest: Nest, names: Mapping[str, str]) -> Iterator[str]:
    for path, array in nest.arrays.items():
        if array.element.dtype != WIDE:
            yield names.get(path, path)


def _wide(nest: Nest, names: Mapping[str, str]) -> Iterator[str]:
    for path, array in nest.arrays.items():
        if array.element.dtype == WIDE:
            yield names.get(path, path)


def _fits(seen: Interval) -> bool:
    low, high = seen.low, seen.high
    whole = isinstance(low, int) and isinstance(high, int)
    return whole and low >= _LEAST and high <= _MOST  # type: ignore[operator]


def _is_plain(nest: Nest) -> bool:
    tops = (top for s in statements((nest.root,)) for top in expressions(s))
    return all(_may(expr) for top in tops for expr in walk(top))


def _may(expr: Expr) -> bool:
    if isinstance(expr, Binary):
        return expr.op in _OPERATIONS
    return isinstance(expr, _PLAIN)


def _stored(nest: Nest, names: Mapping[str, str], wide: set[str], seen: Interval) -> Interval:
    """What the nest leaves in these arrays if they start in the range, whatever else it gets."""
    arrays = {
        path: replace(
            array,
            interval=seen if names.get(path, path) in wide else UNBOUNDED,
            shape=(None,) * array.ndim,
        )
        for path, array in nest.arrays.items()
    }
    scalars = {
        name: replace(scalar, interval=UNBOUNDED, constant=False, seen_equal=())
        for name, scalar in nest.scalars.items()
    }
    ranges = Ranges(replace(nest, arrays=arrays, scalars=scalars), Observed.EVERYTHING)
    found = seen
    for path in arrays:
        if names.get(path, path) in wide:
            found = hull((found, ranges.table.get(f"{path}[]", seen)))
    return found
