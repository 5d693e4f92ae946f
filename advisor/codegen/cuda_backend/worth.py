"""Whether a nest does enough with its data to be worth taking them to the device and back."""

from __future__ import annotations

from ...loopnest.ir import Call, Expr, For, If, Nest, Stmt, UserCall, While, expressions, walk
from ...loopnest.ranges import Observed, ranges_of
from ...model import Region
from ..nb_values import compiled

COPY = 1.0e-10
"""Seconds a byte between pageable memory and the device: 9 to 12 GB/s were measured."""
OPERATION = 1.0e-10
"""Seconds an operation of a compiled loop, on a few cores."""
_CALL = 10
"""Operations that a library function stands for."""
_UNKNOWN = 16
"""Trips of a loop of which nothing is known."""


def not_worth(region: Region) -> str | None:
    """Why a single nest had better stay on the CPU, in words; None if a trial should decide.

    Copies both ways against the work that is done each time, by the sizes seen at entry.
    """
    nest = region.nest
    assert isinstance(nest, Nest)
    size = _bytes_copied(nest)
    if size is None:
        return None
    trips = ranges_of(nest, Observed.EVERYTHING).trips
    work = _operations((nest.root,), trips)
    if size * COPY <= work * OPERATION:
        return None
    return (
        f"each time, {_amount(size)} would be copied to the device and back for "
        f"{work / size:.2g} operations a byte: that takes longer than the loops, compiled"
    )


def _bytes_copied(nest: Nest) -> int | None:
    total = 0
    for array in nest.arrays.values():
        count = 1
        for extent in array.shape:
            if extent is None:
                return None
            count *= extent
        copies = 2 if array.written else 1
        total += count * _width(compiled(array.element)) * copies
    return total


def _width(dtype: str) -> int:
    """Bytes of an element."""
    digits = "".join(c for c in dtype if c.isdigit())
    return max(1, int(digits) // 8) if digits else 1


def _operations(body: tuple[Stmt, ...], trips: dict[int, int | None]) -> float:
    total = 0.0
    for statement in body:
        total += sum(_cost(top) for top in expressions(statement))
        match statement:
            case If(then=then, orelse=orelse):
                total += max(_operations(then, trips), _operations(orelse, trips))
            case For(body=inner) | While(body=inner):
                known = trips.get(id(statement))
                total += (_UNKNOWN if known is None else known) * (1 + _operations(inner, trips))
    return total


def _cost(expr: Expr) -> int:
    return sum(_CALL if isinstance(e, Call | UserCall) else 1 for e in walk(expr))


def _amount(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} bytes"
