"""What the two recorders hold, put together into a `Trace`."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..gpumodel import Place
from . import records
from .records import Table, Trace

if TYPE_CHECKING:
    from .callwalk import CallWalker
    from .cupti import Cupti
    from .lineclock import LineClock

Event = tuple[int, int, types.CodeType, int]


class _Places:
    """Numbers the places as they come."""

    def __init__(self) -> None:
        self.index: dict[tuple[int, int], int] = {}
        self.found: list[Place] = []

    def of(self, code: types.CodeType, line: int) -> int:
        key = (id(code), line)
        number = self.index.get(key)
        if number is None:
            number = self.index[key] = len(self.found)
            self.found.append(Place(code.co_filename, line, code.co_qualname))
        return number


def trace_of(
    cupti: Cupti,
    lines: LineClock | CallWalker,
    *,
    main_thread: int,
    span: tuple[int, int],
    notes: tuple[str, ...],
    window: str | None,
) -> Trace:
    """The trace of a run that has ended."""
    places = _Places()
    tables, names = cupti.tables()
    tables["lines"] = line_table(lines.events(), places, every=lines.method == "callback")
    tables["ranges"] = range_table(lines.function_events(), places)
    return Trace(
        tables=tables,
        places=tuple(places.found),
        names=tuple(names),
        main_thread=main_thread,
        began=span[0],
        ended=span[1],
        notes=notes,
        window=window,
        method=lines.method,
        dropped=cupti.dropped,
    )


def line_table(events: Iterator[Event], places: _Places, *, every: bool = False) -> Table:
    """Line events by time; of several in a row at one place in one thread the first is kept.

    ``every``: keep all, where an event stands for one call and not for the time from it on.
    """
    rows = [(time, thread, places.of(code, line)) for thread, time, code, line in events]
    table = np.array(rows, dtype=records.LINES)
    if every or len(table) == 0:
        return table[np.argsort(table["time"], kind="stable")]
    repeated = np.zeros(len(table), dtype=bool)
    repeated[1:] = (table["place"][1:] == table["place"][:-1]) & (
        table["thread"][1:] == table["thread"][:-1]
    )
    table = table[~repeated]
    return table[np.argsort(table["time"], kind="stable")]


def range_table(events: Iterator[Event], places: _Places) -> Table:
    """Entries and exits of functions, by time."""
    rows = [
        (time, thread, places.of(code, code.co_firstlineno), enter)
        for thread, time, code, enter in events
    ]
    table = np.array(rows, dtype=records.RANGES)
    return table[np.argsort(table["time"], kind="stable")]
