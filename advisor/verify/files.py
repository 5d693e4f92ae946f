"""Files of numbers that a script writes, compared within a tolerance."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """The ``.npy`` files that a run wrote."""

    content: Mapping[str, bytes] = field(default_factory=dict)
    goal: Goal | None = None

    @classmethod
    def read(cls, box: Sandbox, files: Mapping[str, str], goal: Goal | None) -> ArrayFiles:
        """Keep what the run that just ended wrote; None: the original's."""
        kept: dict[str, bytes] = {}
        if goal is not None and goal.exactness is Exactness.BITS:
            return cls(kept, goal)
        for name in files:
            place = box.path(Path("/") / name)
            if name.endswith(".npy") and place.is_file() and place.stat().st_size <= SIZE_LIMIT:
                kept[name] = place.read_bytes()
        return cls(kept, goal)

    def deviation(self, name: str, original: ArrayFiles) -> ErrorSize | None:
        """How far a file is from the original's; None if by more than the goal allows."""
        if self.goal is None or name not in self.content or name not in original.content:
            return None
        try:
            mine, other = _array(original.content[name]), _array(self.content[name])
        except (ValueError, EOFError):
            return None
        if mine.dtype != other.dtype or mine.shape != other.shape:
            return None
        tolerance = Tolerance(self.goal.exactness, self.goal.reduction_length)
        try:
            return compare_numbers(mine, other, tolerance, name)
        except ValueError:
            return None


def _array(content: bytes) -> npt.NDArray[Any]:
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))
