"""What loops that stand one after the other have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .ir import Kind, Nest

_CONVERTED = frozenset({"list", "bytearray"})


def share_a_list(nests: Sequence[Nest]) -> bool:
    """Whether a list is converted for at least two of the loops, each for itself."""
    used = Counter(
        name
        for nest in nests
        for name, array in nest.arrays.items()
        if array.container in _CONVERTED
    )
    return any(count > 1 for count in used.values())


def hand_on_a_matrix(nests: Sequence[Nest]) -> bool:
    """Whether one loop stores into an array of floats with rows that a later one works on."""
    made: set[str] = set()
    for nest in nests:
        matrices = {
            name: array
            for name, array in nest.arrays.items()
            if array.container == "ndarray" and array.ndim > 1 and array.element.kind is Kind.FLOAT
        }
        if made & set(matrices):
            return True
        made |= {name for name, array in matrices.items() if array.written}
    return False
