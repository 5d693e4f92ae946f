"""Whose line is it: CUDA calls to source lines, and what each line costs on host and device.

A call belongs to the line its thread was at when the call started (`records.LINES`, by bisection).
A thread that never executed a line of the user's (autograd's worker, a library's pool) works for
the line that the main thread was at. Kernels, copies and synchronisations belong to the call with
their correlation id. A graph's kernels thus belong to the line that launched the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..gpumodel import CopyWork, LineWork, PlaceTime
from .records import DEVICE_TO_HOST, DIRECTIONS, MEMORIES, Table, Trace

NOWHERE = -1
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Attribution:
    """By line, with how much of the events has one."""

    lines: tuple[LineWork, ...]
    """Longest first: host seconds in CUDA calls and device seconds together."""
    covered: Mapping[str, tuple[int, int]]
    """Kind of event -> with a line, all."""
    calls: Ints = field(repr=False, default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Place of every call (index into ``Trace.places``), or -1."""
    times: tuple[PlaceTime, ...] = ()
    """The main thread's wall time by place."""

    @property
    def coverage(self) -> float:
        """Share of kernels, copies and synchronisations that carry a line."""
        found = sum(with_line for with_line, _ in self.covered.values())
        total = sum(all_of_them for _, all_of_them in self.covered.values())
        return found / total if total else 1.0


def attribute(trace: Trace) -> Attribution:
    """Put every event of the trace on a line."""
    places = call_places(trace)
    waits = _Waits.of(trace)
    device = {
        name: _place_of(trace["calls"], places, trace[name]["correlation"])
        for name in ("kernels", "copies", "memsets", "syncs", "memory")
    }
    host, idle = _by_line(trace)
    found = set(places.tolist()).union(*(set(column.tolist()) for column in device.values()))
    lines = [_line(trace, number, places, device, waits, host, idle) for number in found]
    merged = _merged(trace, lines)
    covered = {
        name: (int((device[name] != NOWHERE).sum()), len(device[name]))
        for name in ("kernels", "copies", "syncs")
    }
    times = tuple(PlaceTime(trace.places[number], seconds) for number, seconds in host.items())
    return Attribution(tuple(merged), covered, places, times)


def call_places(trace: Trace) -> Ints:
    """For every call, the place its thread was at when it started; -1 where none is known."""
    calls, lines = trace["calls"], trace["lines"]
    places = np.full(len(calls), NOWHERE, dtype=np.int64)
    if trace.method == "callback":
        return _by_correlation(calls["correlation"], lines["time"], lines["place"].astype(np.int64))
    main = lines[lines["thread"] == trace.main_thread]
    for thread in np.unique(calls["thread"]):
        own = lines[lines["thread"] == thread]
        chosen = calls["thread"] == thread
        found = _bisect(own, calls["start"][chosen])
        # Before a thread's first line, and in threads without any: the main thread's line.
        missing = found == NOWHERE
        found[missing] = _bisect(main, calls["start"][chosen][missing])
        places[chosen] = found
    return places


def _bisect(lines: Table, times: Table) -> Ints:
    if len(lines) == 0:
        return np.full(len(times), NOWHERE, dtype=np.int64)
    at = np.searchsorted(lines["time"], times, side="right") - 1
    return np.where(at >= 0, lines["place"][np.maximum(at, 0)], NOWHERE).astype(np.int64)


def _by_correlation(wanted: Table, keys: Table, values: Table) -> Ints:
    """``values`` of the rows of ``keys`` that equal ``wanted``; -1 where there is none."""
    if len(keys) == 0:
        return np.full(len(wanted), NOWHERE, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    row = order[at]
    return np.where(keys[row] == wanted, values[row], NOWHERE).astype(np.int64)


def _place_of(calls: Table, places: Ints, correlation: Table) -> Ints:
    return _by_correlation(correlation, calls["correlation"], places)


# ------------------------------------------------------------------- waiting
@dataclass(frozen=True)
class _Waits:
    """Seconds the host waited, by call."""

    sync: npt.NDArray[np.float64]
    copy: npt.NDArray[np.float64]
    is_sync: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, trace: Trace) -> _Waits:
        """Explicit: calls that only wait. Implicit: a copy's call that lasts until the copy's end,
        for the part before the copy could start (kernels before it in its stream)."""
        calls = trace["calls"]
        lasting = (calls["end"] - calls["start"]).astype(np.float64) * 1e-9
        waiting = np.array([_only_waits(name) for name in trace.names] or [False])
        is_sync = waiting[calls["name"]] if len(calls) else np.zeros(0, dtype=bool)
        return cls(np.where(is_sync, lasting, 0.0), _copy_waits(trace), is_sync)


def _only_waits(name: str) -> bool:
    return name.endswith(("Synchronize", "Synchronize_v2"))


def _copy_waits(trace: Trace) -> npt.NDArray[np.float64]:
    calls, copies = trace["calls"], trace["copies"]
    waits = np.zeros(len(calls))
    if len(calls) == 0 or len(copies) == 0:
        return waits
    row = _by_correlation(
        copies["correlation"], calls["correlation"], np.arange(len(calls), dtype=np.int64)
    )
    known = row != NOWHERE
    copies, row = copies[known], row[known]
    start, end = calls["start"][row], calls["end"][row]
    blocking = (copies["kind"] == DEVICE_TO_HOST) & (end >= copies["end"])
    before = np.maximum(copies["start"].astype(np.int64) - start.astype(np.int64), 0) * 1e-9
    np.add.at(waits, row[blocking], before[blocking])
    return waits


# ---------------------------------------------------------------------- lines
def _line(
    trace: Trace,
    number: int,
    places: Ints,
    device: Mapping[str, Ints],
    waits: _Waits,
    host: Mapping[int, float],
    idle: Mapping[int, float],
) -> LineWork:
    calls = places == number
    table = trace["calls"][calls]
    kernels = trace["kernels"][device["kernels"] == number]
    copies = trace["copies"][device["copies"] == number]
    memsets = trace["memsets"][device["memsets"] == number]
    memory = trace["memory"][device["memory"] == number]
    managing = np.array([_manages_memory(name) for name in trace.names] or [False])
    kernel_time = _seconds(kernels)
    return LineWork(
        place=trace.places[number] if number != NOWHERE else None,
        host=host.get(number, 0.0),
        calls=int(calls.sum()),
        api=_seconds(table),
        kernels=len(kernels),
        gpu=kernel_time + _seconds(copies) + _seconds(memsets),
        kernel_time=kernel_time,
        names=_by_name(trace, kernels),
        copies=_copy_work(copies),
        syncs=int(waits.is_sync[calls].sum()),
        sync_wait=float(waits.sync[calls].sum()),
        copy_waits=int((waits.copy[calls] > 0).sum()),
        copy_wait=float(waits.copy[calls].sum()),
        allocations=int((memory["release"] == 0).sum()),
        frees=int((memory["release"] == 1).sum()),
        memory_api=_seconds(table[managing[table["name"]]]) if len(table) else 0.0,
        idle=idle.get(number, 0.0),
    )


def _manages_memory(name: str) -> bool:
    return any(word in name for word in ("Alloc", "Malloc", "Free"))


def _seconds(table: Table) -> float:
    return float((table["end"] - table["start"]).sum()) * 1e-9 if len(table) else 0.0


def _by_name(trace: Trace, kernels: Table) -> dict[str, tuple[int, float]]:
    found = {}
    for name in np.unique(kernels["name"]):
        rows = kernels[kernels["name"] == name]
        found[trace.name(int(name))] = (len(rows), _seconds(rows))
    return dict(sorted(found.items(), key=lambda item: -item[1][1]))


def _copy_work(copies: Table) -> tuple[CopyWork, ...]:
    keys = copies[["kind", "source", "target"]]
    return tuple(
        CopyWork(
            direction=DIRECTIONS.get(int(key["kind"]), "other"),
            source=MEMORIES.get(int(key["source"]), "unknown"),
            target=MEMORIES.get(int(key["target"]), "unknown"),
            count=int((keys == key).sum()),
            bytes=int(copies["bytes"][keys == key].sum()),
            seconds=_seconds(copies[keys == key]),
        )
        for key in np.unique(keys)
    )


def _merged(trace: Trace, lines: list[LineWork]) -> list[LineWork]:
    """Longest first. Places differ by function, so a line is one row a function."""
    return sorted(lines, key=lambda work: -(work.api + work.gpu + work.idle))


# ----------------------------------------------------------------- host, idle
def busy_intervals(trace: Trace) -> tuple[Ints, Ints]:
    """Start and end of the times in which the device did anything, joined and in order."""
    parts = [trace[name] for name in ("kernels", "copies", "memsets")]
    start = np.concatenate([part["start"] for part in parts]).astype(np.int64)
    end = np.concatenate([part["end"] for part in parts]).astype(np.int64)
    if len(start) == 0:
        return start, end
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    opens = np.ones(len(start), dtype=bool)
    opens[1:] = start[1:] > reach[:-1]
    closes = np.append(opens[1:], True)
    return start[opens], reach[closes]


def _by_line(trace: Trace) -> tuple[dict[int, float], dict[int, float]]:
    """Seconds of the main thread at each place, and those of them in which the device idled.

    Idle counts from the device's first work to its last: what is before is start-up.
    """
    lines = trace["lines"][trace["lines"]["thread"] == trace.main_thread]
    if len(lines) == 0 or trace.method == "callback":
        return {}, {}
    edges = np.append(lines["time"], max(trace.ended, int(lines["time"][-1]))).astype(np.int64)
    host = np.diff(edges)
    start, end = busy_intervals(trace)
    idle = np.zeros(len(host))
    if len(start):
        # Total idle time up to a moment: grows in the gaps, constant while the device is busy.
        gaps = np.concatenate([[0], np.cumsum(start[1:] - end[:-1])])
        moments = np.stack([start, end], axis=1).ravel()
        idle = np.diff(np.interp(edges, moments, np.repeat(gaps, 2)))
    return _totals(lines["place"], host), _totals(lines["place"], idle)


def _totals(places: Table, nanoseconds: npt.NDArray[Any]) -> dict[int, float]:
    sums = np.bincount(places, weights=nanoseconds)
    return {int(number): float(sums[number]) * 1e-9 for number in np.unique(places)}
