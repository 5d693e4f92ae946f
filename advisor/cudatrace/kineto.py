"""The trace that PyTorch's profiler writes (Chrome Trace JSON of Kineto), as our tables.

Times in the file are microseconds, with nanoseconds as decimals, from ``baseTimeNanoseconds`` on;
with that added they are the system's clock (``time.time_ns``). Files of PyTorch before 2.3 have
no such field, and count from the epoch itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import records
from .records import Table

CALLS = frozenset({"cuda_runtime", "cuda_driver"})
_COPY = re.compile(r"Memcpy (\w)to(\w) \((\w+) -> (\w+)\)")
_KINDS = {"HD": 1, "DH": 2, "DD": 8, "HH": 9, "PP": 10}
_MEMORIES = {"pageable": 1, "pinned": 2, "device": 3, "array": 4, "managed": 5}
_SYNCS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
_RELEASES = ("Free",)
_OBTAINS = ("Malloc", "MemAlloc", "HostAlloc", "MemHostAlloc")

Event = Mapping[str, Any]


def tables(
    document: Mapping[str, Any], threads: Mapping[int, int] | None = None
) -> tuple[dict[str, Table], list[str]]:
    """Calls and device work of a trace, with the names that they point to.

    ``threads``: Python's number of a thread -> the operating system's. Kineto writes the lower
    half of Python's. Raises ValueError where the document is no such trace.
    """
    known = _written(threads or {})
    events = document.get("traceEvents")
    if not isinstance(events, list):
        raise ValueError("it has no traceEvents")
    base = int(document.get("baseTimeNanoseconds", 0))
    names: dict[str, int] = {}
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in records.TABLES}
    for event in events:
        if event.get("ph") == "X":
            _add(event, base, names, rows, known)
    if not rows["syncs"]:
        rows["syncs"] = list(_waiting(rows["calls"], list(names)))
    found = {
        name: np.array(rows[name], dtype=dtype)
        for name, dtype in records.TABLES.items()
        if name not in ("lines", "ranges")
    }
    order = {
        name: table[np.argsort(table[(table.dtype.names or ())[0]], kind="stable")]
        for name, table in found.items()
    }
    return order, list(names)


def _add(
    event: Event,
    base: int,
    names: dict[str, int],
    rows: dict[str, list[tuple[Any, ...]]],
    threads: Mapping[int, int],
) -> None:
    kind, args = str(event.get("cat", "")).lower(), event.get("args", {})
    correlation = _number(args.get("correlation"))
    start = base + round(float(event["ts"]) * 1000)
    end = start + round(float(event.get("dur", 0)) * 1000)
    on = (start, end, correlation, _number(args.get("device")), _number(args.get("stream")))
    name = str(event.get("name", "?"))
    if kind in CALLS:
        plain = "other driver call" if name == "INVALID" else re.sub(r"_v\d{4,}$", "", name)
        number = names.setdefault(plain, len(names))
        thread = _number(event.get("tid"))
        rows["calls"].append((start, end, threads.get(thread, thread), correlation, number))
        if change := _memory_change(name):
            rows["memory"].append((start, correlation, 0, change == "release", 3))
    elif kind == "kernel":
        number = names.setdefault(name, len(names))
        shape = (_three(args.get("grid")), _three(args.get("block")))
        registers = _number(args.get("registers per thread"))
        rows["kernels"].append((*on, number, *shape, registers, _number(args.get("shared memory"))))
    elif kind == "gpu_memcpy" and (way := _COPY.match(name)):
        ends = (_MEMORIES.get(way[n].lower(), 0) for n in (3, 4))
        kinds = (_KINDS.get(f"{way[1]}{way[2]}", 0), *ends)
        rows["copies"].append((*on, _number(args.get("bytes")), *kinds))
    elif kind == "gpu_memset":
        rows["memsets"].append((*on, _number(args.get("bytes"))))
    elif kind == "cuda_sync":
        which = _SYNCS.get(str(args.get("cuda_sync_kind", name)), 0)
        rows["syncs"].append((start, end, correlation, which))


def _written(threads: Mapping[int, int]) -> dict[int, int]:
    """The numbers that Kineto may write for a thread: 32 bits, negative ones without their sign."""
    found = {}
    for number, native in threads.items():
        half = number & 0xFFFFFFFF
        found[half] = found[2**32 - half] = native
    return found


def _waiting(calls: Iterable[tuple[Any, ...]], names: list[str]) -> Iterable[tuple[Any, ...]]:
    """A profiler that records no synchronisations still has the calls that do nothing else."""
    for start, end, _, correlation, name in calls:
        if names[name].endswith("Synchronize"):
            yield start, end, correlation, 0


def _memory_change(name: str) -> str | None:
    plain = name.removeprefix("cuda").removeprefix("cu")
    if plain.startswith(_OBTAINS):
        return "obtain"
    return "release" if plain.startswith(_RELEASES) or plain.startswith("MemFree") else None


def _number(value: object) -> int:
    """An unsigned number; -1 (no stream) and texts ("stream 7" in old files) are 0."""
    return int(value) if isinstance(value, (int, float)) and value >= 0 else 0


def _three(value: object) -> tuple[int, int, int]:
    if isinstance(value, list) and len(value) == 3:
        return _number(value[0]), _number(value[1]), _number(value[2])
    return 1, 1, 1
