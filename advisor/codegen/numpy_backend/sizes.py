"""How often loops run and how large arrays are, as observed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...loopnest.affine import Affine, affine, extent_of
from ...loopnest.fold import reads
from ...loopnest.ir import For, Load, Nest, expressions, statements, walk
from .reduced import sums_of_rows

ROWS = 2**18
"""Terms of sums, for all elements of an array, that are computed at once: they fit a cache."""
Ends = Mapping[str, tuple[float, float]]
"""The least and greatest index of the loops around."""


def trips(loop: For, nest: Nest, around: Ends) -> float:
    """Observed number of iterations, the longest row of a triangle; unknown loops count 100."""
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None:
        return 100.0
    length = greatest(stop - start, nest, around)
    return 100.0 if length is None else max(0.0, length / loop.step)


def within(loop: For, nest: Nest, around: Ends) -> Ends:
    """The ends of the loops inside this one."""
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None:
        return around
    low, high = (start, stop - 1) if loop.step > 0 else (stop + 1, start)
    least, most = greatest(-low, nest, around), greatest(high, nest, around)
    if least is None or most is None:
        return around
    return {**around, loop.index: (-least, most)}


def greatest(form: Affine, nest: Nest, around: Ends) -> float | None:
    """The largest value that a form had at the observed entries; None if that is not known."""
    total = float(form.const)
    for symbol, factor in form.pairs:
        pair = extent_of(symbol)
        size: float | int | None = None
        if pair is not None and pair[0] in nest.arrays:
            size = nest.arrays[pair[0]].shape[pair[1]]
        elif symbol in nest.scalars:
            interval = nest.scalars[symbol].interval
            size = interval.high if factor > 0 else interval.low
        elif symbol in around:
            size = around[symbol][factor > 0]
        if size is None:
            return None
        total += factor * size
    return total


def size_of(nest: Nest, array: str) -> float:
    """Observed number of elements of an array."""
    info = nest.arrays[array]
    return math.prod((100.0 if extent is None else extent for extent in info.shape), start=1.0)


def rows_fit(loop: For, around: For, nest: Nest) -> bool:
    """Whether a loop in another one only adds up, and all of its terms fit into the cache."""
    if not sums_of_rows(loop) or (loop.step, around.step) != (1, 1):
        return False
    both = {loop.index, around.index}
    found = (e for s in statements(loop.body) for e in expressions(s))
    places = (i for e in found for p in walk(e) if isinstance(p, Load) for i in p.index)
    if any(both <= reads(place) for place in places):
        return False  # x[i + k]: a matrix of places
    total = 1.0
    for one in (loop, around):
        start, stop = affine(one.start), affine(one.stop)
        length = None if start is None or stop is None else greatest(stop - start, nest, {})
        if length is None:
            return False
        total *= length
    return total <= ROWS
