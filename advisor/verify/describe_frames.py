"""What pandas' frames, series and indices hold: labels, dtypes and values.

Their own attributes say more than a program can tell: in which blocks columns of one dtype lie,
and which look-ups were made before. A rewrite that adds a column at once lays it down otherwise
than a loop that fills it cell by cell, and the frame is the same. What a view shares with its frame
is not told either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Encode = Callable[[Any], Any]
Node = dict[str, Any]

_MACHINERY = frozenset(
    {"_mgr", "_item_cache", "_attrs", "_flags", "_name", "_names", "_cacher", "_is_copy", "_index"}
)
"""Attributes in which pandas keeps what is told here by content, and what it only remembers."""


def frame_node(thing: Any, value: Encode) -> Node | None:
    """The node of a frame, a series or an index of pandas, if it is one."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "DataFrame"):
        return None
    kind = type(thing)
    if issubclass(kind, pandas.DataFrame):
        return {"t": "frame", "a": _frame(thing, value)}
    if issubclass(kind, pandas.Series):
        return {"t": "series", "a": _series(thing, value)}
    if issubclass(kind, pandas.Index):
        return {"t": "index", "a": _index(thing, value, pandas)}
    return None


def _frame(thing: Any, value: Encode) -> list[list[Any]]:
    columns = [
        [f"column {label!r} at {place}", value(_own(thing.iloc[:, place]._values))]
        for place, label in enumerate(thing.columns)
    ]
    return [
        ["columns", value(thing.columns)],
        ["index", value(thing.index)],
        *columns,
        *_beside(thing, value),
    ]


def _series(thing: Any, value: Encode) -> list[list[Any]]:
    return [
        ["name", value(thing.name)],
        ["index", value(thing.index)],
        ["values", value(_own(thing._values))],
        *_beside(thing, value),
    ]


def _beside(thing: Any, value: Encode) -> list[list[Any]]:
    """Attributes and flags that the program has set on a frame or series."""
    mine = [[n, value(v)] for n, v in vars(thing).items() if n not in _MACHINERY]
    flags = thing.flags.allows_duplicate_labels
    return [["attrs", value(dict(thing.attrs))], ["duplicate labels", value(flags)], *mine]


def _index(thing: Any, value: Encode, pandas: Any) -> list[list[Any]]:
    """In tuples all through: nobody can change an index, or tell two equal ones from one."""
    names = ["names", value(tuple(thing.names))]
    if isinstance(thing, pandas.MultiIndex):
        dtypes = tuple(str(level.dtype) for level in thing.levels)
        return [names, ["dtypes", value(dtypes)], ["values", value(tuple(thing.tolist()))]]
    if isinstance(thing, pandas.RangeIndex):
        return [names, ["range", value((thing.start, thing.stop, thing.step))]]
    kind = (str(thing.dtype), str(getattr(thing, "freq", None)))
    # Dates by their numbers: a million Timestamps would be a million objects.
    values = thing.asi8 if hasattr(thing, "asi8") else thing
    return [names, ["dtype", value(kind)], ["values", value(tuple(values.tolist()))]]


def _own(values: Any) -> Any:
    """The values in memory of their own: the blocks that they lie in are nobody's business."""
    return values.copy()
