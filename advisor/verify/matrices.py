"""Lists of lists that stand for a matrix: as far as tolerances go they are one thing.

A product of matrices rounds every element by what the largest terms are, also in a row that comes
out as zero: there ``1e-29`` in place of ``0.0`` says nothing. An array is compared as a whole, and
so are lists of equally long lists of floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .capture import Capture
from .tolerance import largest

_Shape = tuple[int, ...]


class Matrices:
    """The largest number of the matrix that a list is a part of."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.known: dict[int, float] = {}

    def around(self, node: int) -> float:
        """For a list, by its number in the capture; 0 if it is no part of a matrix."""
        if node not in self.known:
            self.known[node] = 0.0
            found = self._measured(node, set())
            if found is not None and len(found[0]) > 1:
                self.known |= dict.fromkeys(self._below(node), found[1])
        return self.known[node]

    def _measured(self, number: int, seen: set[int]) -> tuple[_Shape, float] | None:
        """Shape and largest number of a regular (nested) list of floats; None for all else."""
        node = self.capture.nodes[number]
        if node["t"] != "list" or number in seen:
            return None
        seen.add(number)  # one row twice, or a list that holds itself
        floats = self._floats(node)
        if floats is not None:
            return (len(floats),), largest(floats)
        values = node.get("v")
        if not values or not all(isinstance(v, list) and v[0] == "r" for v in values):
            return None
        parts = [self._measured(value[1], seen) for value in values]
        shapes = {None if part is None else part[0] for part in parts}
        if None in shapes or len(shapes) > 1:
            return None
        (shape,) = shapes
        assert shape is not None
        return (len(values), *shape), max(part[1] for part in parts if part is not None)

    def _floats(self, node: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        if node.get("p") == "d":
            data = self.capture.bytes_of(node)
            return None if data is None else np.frombuffer(data, np.float64)
        values = node.get("v")
        if values and all(type(value) is float for value in values):
            return np.array(values)
        return None

    def _below(self, number: int) -> Iterator[int]:
        """The list and all lists in it."""
        yield number
        for value in self.capture.nodes[number].get("v", ()):
            if isinstance(value, list):
                yield from self._below(value[1])
