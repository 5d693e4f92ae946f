"""How far apart in memory the elements are that a loop touches one after the other."""

from __future__ import annotations

from enum import StrEnum

from ..loopnest.accesses import Access
from ..loopnest.fold import loads, reads
from ..loopnest.ir import Binary, Expr, Nest, Var


class Stride(StrEnum):
    """Distance between the elements of two iterations that follow each other."""

    NONE = "none"
    """The same element."""
    ONE = "one"
    """Neighbours."""
    FAR = "far"
    """Another row, or unknown."""


def stride(nest: Nest, access: Access, index: str) -> Stride:
    """The stride of an access along a loop, by the name of its index."""
    array = nest.arrays[access.array]
    if not any(index in reads(e) for e in access.index):
        return Stride.NONE
    if not array.c_contiguous and array.container == "ndarray":
        return Stride.FAR
    if any(index in reads(e) for e in access.index[:-1]):
        return Stride.FAR
    return Stride.ONE if access.index and _unit(access.index[-1], index) else Stride.FAR


def _unit(expr: Expr, index: str) -> bool:
    """Whether the expression grows by one where the index does: ``j``, ``i * n + j``."""
    if loads(expr):
        return False
    match expr:
        case Var(name=name):
            return name == index
        case Binary(op="+", left=left, right=right):
            if index not in reads(left):
                return _unit(right, index)
            return index not in reads(right) and _unit(left, index)
        case Binary(op="-", left=left, right=right):
            return index not in reads(right) and _unit(left, index)
    return False
