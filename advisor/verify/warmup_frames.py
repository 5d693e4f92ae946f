"""Frames and series of pandas before a first call: how their numbers are moved on, and put back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any


def _manager(thing: Any) -> Any:
    """What holds the blocks of a frame or series; None for all else."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "DataFrame"):
        return None
    if not isinstance(thing, pandas.DataFrame | pandas.Series):
        return None
    return getattr(thing, "_mgr", None)


def saved(thing: Any) -> tuple[list[Any], Callable[[], None]] | None:
    """The arrays of a frame or series, and how its columns are put back; None for all else.

    A copy would do for neither: the object stays the same one, and pandas copies what it is about
    to change as long as somebody else has a copy, which would be part of the time measured.
    """
    manager = _manager(thing)
    if manager is None:
        return None
    blocks, axes = manager.blocks, list(manager.axes)
    places = [(block, block.mgr_locs) for block in blocks]

    def undo() -> None:
        # What cannot be put back shows: the state is compared with what it was.
        with contextlib.suppress(AttributeError, TypeError):
            same = all(now is old for now, old in zip(manager.axes, axes, strict=True))
            if manager.blocks is blocks and same:
                return
            for block, place in places:
                block.mgr_locs = place
            manager.blocks, manager.axes = blocks, list(axes)
            for name in ("_blknos", "_blklocs"):
                if getattr(manager, name, None) is not None:
                    setattr(manager, name, None)

    return list(manager.arrays), undo


def move_on(thing: Any) -> bool:
    """Move the numbers of every column on, each by another number of rows; False for all else.

    The second row then has the values of the first: the same numbers in another order would have
    the same sum.
    """
    manager = _manager(thing)
    if manager is None:
        return False
    np: Any = sys.modules["numpy"]
    columns = 0
    for array in manager.arrays:
        if type(array) is not np.ndarray or array.dtype.kind not in "biufc":
            continue
        rows = array.reshape(1, -1) if array.ndim == 1 else array
        if rows.shape[-1] < 2 or not array.flags.writeable:
            continue
        for row in rows:
            columns += 1
            row[...] = np.roll(row, columns)
            row[1] = row[0]
    return True
