"""Frames and series of pandas as inputs: their rows, labels, and the numbers in their columns.

A frame is one input, of which rows and labels change; each of its columns of numbers is another,
whose values and type change. A series is such a column on its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

MAX_COLUMNS = 8
"""Columns of a frame that are inputs of their own."""
Form = Callable[[Any], Any]


def pandas_loaded() -> Any:
    """pandas, if the program has it."""
    pandas = sys.modules.get("pandas")
    return pandas if hasattr(pandas, "DataFrame") else None


def is_frame(value: Any) -> bool:
    """A frame, of no class of the program's own."""
    pandas = pandas_loaded()
    return pandas is not None and type(value) is pandas.DataFrame


def is_numbers(series: Any) -> bool:
    """A series of NumPy numbers."""
    pandas, numpy = pandas_loaded(), sys.modules.get("numpy")
    if pandas is None or numpy is None or type(series) is not pandas.Series:
        return False
    return isinstance(series.dtype, numpy.dtype) and series.dtype.kind in "biufc"


def columns_of(frame: Any, named: Collection[str]) -> list[int]:
    """Places of the columns of numbers; those whose labels the program mentions come first."""
    found = [at for at in range(frame.shape[1]) if is_numbers(frame.iloc[:, at])]
    found.sort(key=lambda at: frame.columns[at] not in named)
    return found[:MAX_COLUMNS]


def column(get: Callable[[], Any], at: int) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Reads and writes one column of the frame that ``get`` gives, as an array."""

    def values() -> Any:
        return get().iloc[:, at].to_numpy()

    def put(new: Any) -> None:
        frame = get()
        if len(new) != len(frame):
            raise ValueError("a column of another length")
        frame.isetitem(at, new)

    return values, put


def series(
    get: Callable[[], Any], put: Callable[[Any], None]
) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """The same for a series; one of another length gets labels for it."""

    def put_values(new: Any) -> None:
        old = get()
        index = old.index if len(new) == len(old) else labels(old.index, len(new))
        put(type(old)(new, index=index, name=old.name))

    return lambda: get().to_numpy(), put_values


def labels(index: Any, size: int) -> Any:
    """As many labels: numbers from zero go on, others begin again."""
    pandas = pandas_loaded()
    if isinstance(index, pandas.RangeIndex) or len(index) == 0:
        return pandas.RangeIndex(size, name=index.name)
    return index.take([k % len(index) for k in range(size)])


def with_rows(frame: Any, size: int) -> Any:
    """A frame of so many rows; they repeat in their order."""
    if size == len(frame):
        return frame
    if len(frame) == 0:
        return frame
    taken = frame.take([k % len(frame) for k in range(size)])
    taken.index = labels(frame.index, size)
    return taken


# ------------------------------------------------------------------- other frames
def _one_label(frame: Any) -> Any:
    return frame.set_axis([0] * len(frame), axis=0) if len(frame) > 1 else None


def _text_labels(frame: Any) -> Any:
    return frame.set_axis([f"row {k}" for k in range(len(frame))], axis=0)


def _column_twice(frame: Any) -> Any:
    if frame.shape[1] == 0:
        return None
    return pandas_loaded().concat([frame, frame.iloc[:, :1]], axis=1)


def _one_column_less(frame: Any) -> Any:
    return frame.iloc[:, :-1].copy() if frame.shape[1] > 1 else None


def _one_column_more(frame: Any) -> Any:
    return frame.assign(**{"of text": "text"})


def _texts_moved_on(frame: Any) -> Any:
    """Columns that are not of numbers, one row on: they meet other numbers."""
    moved = [at for at in range(frame.shape[1]) if not is_numbers(frame.iloc[:, at])]
    if not moved or len(frame) < 2:
        return None
    new = frame.copy()
    for at in moved:
        old = frame.iloc[:, at]
        new.isetitem(at, old.take([-1, *range(len(old) - 1)]).set_axis(frame.index))
    return new


def _as_subclass(frame: Any) -> Any:
    """A subclass that shows: it has no rows for those who go through them."""

    def nothing(self: Any, *args: Any, **options: Any) -> Iterator[Any]:
        return iter(())

    own = {"iterrows": nothing, "itertuples": nothing, "apply": lambda self, *a, **o: None}
    return type("Subclass", (type(frame),), own)(frame)


def with_missing(values: Any) -> Any:
    """The numbers of a column in pandas' own type, one of them missing."""
    if len(values) == 0 or values.dtype.kind not in "iuf":
        return None
    kind = {"i": "Int64", "u": "UInt64", "f": "Float64"}[values.dtype.kind]
    new = pandas_loaded().array(values, dtype=kind)
    new[len(new) // 2] = None
    return new


FRAMES: dict[str, tuple[str, Form]] = {
    "reversed": ("with its rows in reverse order", lambda frame: frame.iloc[::-1].copy()),
    "one label": ("with one label for all rows", _one_label),
    "texts moved on": ("with other texts beside its numbers", _texts_moved_on),
    "one column less": ("without its last column", _one_column_less),
    "column twice": ("with two columns of one label", _column_twice),
    "subclass": ("as a subclass of DataFrame", _as_subclass),
    "one column more": ("with a column of text more", _one_column_more),
    "text labels": ("with texts as labels of its rows", _text_labels),
    "objects": ("of Python objects", lambda frame: frame.astype(object)),
    "a number": ("a number", lambda frame: 7),
}
