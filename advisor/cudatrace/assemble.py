"""What the two recorders hold, put together into a `Trace`."""

from __future__ import annotations

import array
import types
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..gpumodel import Place
from . import records
from .records import Table, Trace

if TYPE_CHECKING:
    from .callwalk import CallWalker
    from .cupti import Cupti
    from .lineclock import LineClock
    from .torchrecorder import TorchRecorder

Streams = Mapping[int, "array.array[int]"]
"""Thread -> its events, three numbers each, one after the other."""


class _Places:
    """Numbers the places as they come."""

    def __init__(self, codes: Mapping[int, types.CodeType]) -> None:
        self.codes = codes
        self.index: dict[tuple[int, int], int] = {}
        self.found: list[Place] = []

    def of(self, code: Table, line: Table | None = None) -> Table:
        """Numbers of the places of many events; ``line``: None for the functions' first lines."""
        codes, which = np.unique(code, return_inverse=True)
        # One number for both, which sorts faster than pairs.
        keys = which.astype(np.uint64) << np.uint64(32)
        pairs, where = np.unique(keys if line is None else keys | line, return_inverse=True)
        numbers = [
            self._of(int(codes[pair >> 32]), None if line is None else pair & 0xFFFFFFFF)
            for pair in pairs.tolist()
        ]
        return np.array(numbers, dtype=np.int32)[where]

    def _of(self, number: int, line: int | None) -> int:
        code = self.codes[number]
        line = code.co_firstlineno if line is None else line
        known = self.index.get((number, line))
        if known is None:
            known = self.index[number, line] = len(self.found)
            self.found.append(Place(code.co_filename, line, code.co_qualname))
        return known


def trace_of(
    recorder: Cupti | TorchRecorder,
    lines: LineClock | CallWalker,
    *,
    main_thread: int,
    span: tuple[int, int],
    notes: tuple[str, ...],
    window: str | None,
) -> Trace:
    """The trace of a run that has ended; nothing in it starts outside the span."""
    places = _Places(lines.codes)
    tables, names = recorder.tables()
    by_call = lines.method == "callback"
    tables["ranges"] = range_table(lines.ranges, places)
    found = line_table(lines.lines, places, every=by_call)
    if not by_call:  # where they are of calls, they have correlation ids for times
        tables["lines"] = found
    if window is not None:
        # Calls go on being recorded for a moment, whose lines or kernels there was no room for.
        tables = {name: up_to(table, span[1]) for name, table in tables.items()}
    tables["lines"] = found if by_call else tables["lines"]
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
        dropped=recorder.dropped,
        extra={"devices": recorder.devices()},
    )


def up_to(table: Table, moment: int) -> Table:
    """The rows that begin at a moment or before; a table's first column is its time."""
    return table[table[(table.dtype.names or ())[0]] <= moment]


def line_table(streams: Streams, places: _Places, *, every: bool = False) -> Table:
    """Line events by time; of several in a row at one place in one thread the first is kept.

    ``every``: keep all, where an event stands for one call and not for the time from it on.
    """
    parts = [np.zeros(0, dtype=records.LINES)]
    for thread, events in _events(streams):
        table = np.zeros(len(events), dtype=records.LINES)
        table["time"], table["thread"] = events[:, 0], thread
        table["place"] = places.of(events[:, 1], events[:, 2])
        repeated = np.zeros(len(table), dtype=bool)
        repeated[1:] = table["place"][1:] == table["place"][:-1]
        parts.append(table if every else table[~repeated])
    return _by_time(parts)


def range_table(streams: Streams, places: _Places) -> Table:
    """Entries and exits of functions, by time."""
    parts = [np.zeros(0, dtype=records.RANGES)]
    for thread, events in _events(streams):
        table = np.zeros(len(events), dtype=records.RANGES)
        table["time"], table["thread"] = events[:, 0], thread
        table["place"], table["enter"] = places.of(events[:, 1]), events[:, 2]
        parts.append(table)
    return _by_time(parts)


def _events(streams: Streams) -> Iterator[tuple[int, Table]]:
    """Thread, and a row of three numbers for each of its events."""
    for thread, stream in list(streams.items()):
        # A copy: a thread that is just leaving its handler may still add to its own.
        numbers = np.frombuffer(stream.tobytes(), dtype=np.uint64)
        if len(numbers) >= 3:
            yield thread, numbers[: len(numbers) // 3 * 3].reshape(-1, 3)


def _by_time(parts: list[Table]) -> Table:
    table = np.concatenate(parts)
    return table[np.argsort(table["time"], kind="stable")]
