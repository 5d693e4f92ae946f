"""Files of numbers that a script writes, compared within a tolerance."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..model import ErrorSize, Exactness
from .compare import Tolerance, compare_numbers

if TYPE_CHECKING:
    from ..observe.sandbox import Sandbox
    from .script import Goal

SIZE_LIMIT = 64 << 20
"""Bytes of a file that is kept for comparison."""


@dataclass(frozen=True)
class ArrayFiles:
    """The ``.npy`` files that the original wrote."""

    box: Sandbox
    content: Mapping[str, bytes]

    @classmethod
    def read(cls, box: Sandbox, files: Mapping[str, str]) -> ArrayFiles:
        """Keep what the run that just ended wrote."""
        kept = {}
        for name in files:
            place = box.path(Path("/") / name)
            if name.endswith(".npy") and place.is_file() and place.stat().st_size <= SIZE_LIMIT:
                kept[name] = place.read_bytes()
        return cls(box, kept)

    def close(self, name: str, goal: Goal) -> ErrorSize | None:
        """Deviation of the file the last run wrote; None if it differs by more than allowed."""
        if goal.exactness is Exactness.BITS or name not in self.content:
            return None
        try:
            mine = _array(self.content[name])
            other = _array(self.box.path(Path("/") / name).read_bytes())
        except (OSError, ValueError, EOFError):
            return None
        if mine.dtype != other.dtype or mine.shape != other.shape:
            return None
        tolerance = Tolerance(goal.exactness, goal.reduction_length)
        try:
            return compare_numbers(mine, other, tolerance, name)
        except ValueError:
            return None


def _array(content: bytes) -> npt.NDArray[Any]:
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))
