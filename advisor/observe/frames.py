"""What is seen of a pandas frame: its columns. Pandas is not imported here."""

from __future__ import annotations

import sys
from typing import Any

MAX_COLUMNS = 1000
"""Columns up to which they are listed."""


def is_frame(value: object) -> bool:
    """Whether it is a ``DataFrame`` and no subclass, whose rows may be something else."""
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return frame is not None and type(value) is frame


def columns_of(frame: Any) -> tuple[tuple[str, str], ...]:
    """Label and dtype of each column; empty unless every label is text, and its own."""
    if len(frame.columns) > MAX_COLUMNS:
        return ()
    labels = list(frame.columns)
    if not all(type(label) is str for label in labels) or len(set(labels)) < len(labels):
        return ()
    return tuple((label, str(dtype)) for label, dtype in zip(labels, frame.dtypes, strict=True))
