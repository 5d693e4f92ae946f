"""Chrome Trace Event JSON of a trace; opens in Perfetto and in speedscope.

One process for the host (a thread each for lines, functions and CUDA calls) and one a device (a
thread a stream). Findings are a third, with a track each, since the spans of one track must not
overlap unless one lies within the other. Times are microseconds from the first line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import outputs
from .attribute import NOWHERE, Attribution
from .records import DIRECTIONS, MEMORIES, Trace

HOST, DEVICES, FINDINGS = 1, 100, 2
"""Process ids of the timeline; a device's is ``DEVICES`` plus its number."""
LINE_LIMIT = 200_000
"""Line events beyond this many are left out: the viewer becomes slow, and says nothing more."""


LANES = 256
"""Tracks that a stream may have; a device runs at most 128 kernels at a time (CUDA C++ programming
guide, "Maximum number of resident grids per device")."""
Work = tuple[Any, str, str, dict[str, Any]]
"""A row of a table of device work, its name, its kind and what the viewer shows of it."""


@dataclass(frozen=True)
class Mark:
    """A finding's stretch of the timeline."""

    text: str
    start: int
    end: int
    """Nanoseconds of the trace's clock."""
    track: str = "findings"
    """Name of the finding's track: ``"CP301 life.py:12"``."""
    evidence: str = ""


def write(trace: Trace, attribution: Attribution, path: Path, marks: Sequence[Mark] = ()) -> None:
    """Write the timeline. Raises UsageProblem where the file cannot be written."""
    document = {
        "traceEvents": list(events(trace, attribution, marks)),
        "displayTimeUnit": "ns",
        "otherData": {"tool": "gpuadvise", "method": trace.method},
    }
    outputs.write(path, json.dumps(document).encode("utf-8"))


def events(
    trace: Trace, attribution: Attribution, marks: Sequence[Mark] = ()
) -> Iterator[dict[str, Any]]:
    """All events of the timeline."""
    yield from _names(trace)
    yield from _lines(trace)
    yield from _functions(trace)
    yield from _calls(trace, attribution)
    work = [*_kernels(trace), *_copies(trace)]
    lanes = _lanes([row for row, *_ in work])
    yield from _device_names(lanes)
    for (row, name, kind, args), (device, stream, lane) in zip(work, lanes, strict=True):
        process, track = DEVICES + device, _lane(stream, lane)
        yield _span(trace, process, track, name, kind, int(row["start"]), int(row["end"]), args)
    yield from _findings(trace, marks)


def _findings(trace: Trace, marks: Sequence[Mark]) -> Iterator[dict[str, Any]]:
    tracks = {name: n for n, name in enumerate(dict.fromkeys(m.track for m in marks), start=1)}
    if tracks:
        yield from _process(FINDINGS, "Findings", -1)  # above all others
    for name, number in tracks.items():
        yield _meta(FINDINGS, number, name)
    for mark in marks:
        args = {"evidence": mark.evidence} if mark.evidence else None
        track = tracks[mark.track]
        yield _span(trace, FINDINGS, track, mark.text, "finding", mark.start, mark.end, args)


def _names(trace: Trace) -> Iterator[dict[str, Any]]:
    yield from _process(HOST, "Host", 0)
    threads = {int(t) for name in ("lines", "ranges", "calls") for t in set(trace[name]["thread"])}
    for thread in sorted(threads):
        which = "main thread" if thread == trace.main_thread else f"thread {thread}"
        for row, kind in enumerate(("lines", "functions", "CUDA calls")):
            yield _meta(HOST, _row(thread, row), f"{which}: {kind}")


def _device_names(tracks: Iterable[tuple[int, int, int]]) -> Iterator[dict[str, Any]]:
    every = sorted(set(tracks))
    for device in sorted({device for device, _, _ in every}):
        yield from _process(DEVICES + device, f"GPU {device}", 1 + device)
    for device, stream, lane in every:
        name = f"stream {stream}" + (f", at the same time ({lane + 1})" if lane else "")
        yield _meta(DEVICES + device, _lane(stream, lane), name)


def _lines(trace: Trace) -> Iterator[dict[str, Any]]:
    table = trace["lines"]
    for thread in sorted({int(t) for t in table["thread"]}):
        own = table[table["thread"] == thread][:LINE_LIMIT]
        ends = [*own["time"][1:].tolist(), trace.ended]
        for (time, _, place), end in zip(own.tolist(), ends, strict=False):
            where = trace.places[place]
            name = f"{Path(where.file).name}:{where.line}"
            yield _span(trace, HOST, _row(thread, 0), name, "line", time, end)


def _functions(trace: Trace) -> Iterator[dict[str, Any]]:
    stacks: dict[int, list[tuple[int, int]]] = {}
    for time, thread, place, enter in trace["ranges"].tolist():
        stack = stacks.setdefault(thread, [])
        if enter:
            stack.append((place, time))
            continue
        while stack:
            opened, since = stack.pop()
            if opened == place:
                name = trace.places[place].function
                yield _span(trace, HOST, _row(thread, 1), name, "function", since, time)
                break


def _calls(trace: Trace, attribution: Attribution) -> Iterator[dict[str, Any]]:
    rows = zip(trace["calls"].tolist(), attribution.calls.tolist(), strict=True)
    for (start, end, thread, correlation, name), place in rows:
        args: dict[str, Any] = {"correlation": correlation}
        if place != NOWHERE:
            where = trace.places[place]
            args["line"] = f"{where.file}:{where.line}"
        row = _row(thread, 2)
        yield _span(trace, HOST, row, trace.name(name), "cuda call", start, end, args)


def _kernels(trace: Trace) -> Iterator[Work]:
    for row in trace["kernels"]:
        args = {
            "correlation": int(row["correlation"]),
            "grid": row["grid"].tolist(),
            "block": row["block"].tolist(),
            "registers per thread": int(row["registers"]),
            "shared memory": int(row["shared"]),
        }
        yield row, trace.name(int(row["name"])), "kernel", args


def _copies(trace: Trace) -> Iterator[Work]:
    for row in trace["copies"]:
        kinds = [MEMORIES.get(int(row[end]), "unknown") for end in ("source", "target")]
        args = {"bytes": int(row["bytes"]), "memory": " -> ".join(kinds)}
        name = f"copy {DIRECTIONS.get(int(row['kind']), 'other')}"
        yield row, name, "copy", args
    for row in trace["memsets"]:
        yield row, "memset", "memset", {"bytes": int(row["bytes"])}


def _lanes(rows: Sequence[Any]) -> list[tuple[int, int, int]]:
    """Device, stream and lane of each piece of work: what overlaps in a stream is put in another
    lane. Kernels of one CUDA graph do, and so do kernels that start while the last one ends."""
    found = [(0, 0, 0)] * len(rows)
    ends: dict[tuple[int, int], list[int]] = {}
    for index in sorted(range(len(rows)), key=lambda n: int(rows[n]["start"])):
        row = rows[index]
        stream = int(row["device"]), int(row["stream"])
        lanes = ends.setdefault(stream, [])
        free = (lane for lane, end in enumerate(lanes) if end <= int(row["start"]))
        lane = next(free, len(lanes))
        lanes[lane:] = [int(row["end"]), *lanes[lane + 1 :]]
        found[index] = (*stream, lane)
    return found


def _lane(stream: int, lane: int) -> int:
    """A track's number: streams have at most `LANES` of them."""
    return LANES * stream + min(lane, LANES - 1)


def _row(thread: int, row: int) -> int:
    """A number for one of the three rows of a host thread."""
    return 10 * thread + row


def _span(
    trace: Trace,
    process: int,
    thread: int,
    name: str,
    kind: str,
    start: int,
    end: int,
    args: dict[str, Any] | None = None,
) -> dict[str, Any]:
    event = {
        "ph": "X",
        "name": name,
        "cat": kind,
        "pid": process,
        "tid": thread,
        "ts": (start - trace.began) / 1000.0,
        "dur": max(0, end - start) / 1000.0,
    }
    return event if args is None else {**event, "args": args}


def _process(number: int, name: str, order: int) -> Iterator[dict[str, Any]]:
    yield _meta(number, None, name)
    place = {"sort_index": order}
    yield {"ph": "M", "name": "process_sort_index", "pid": number, "args": place}


def _meta(process: int, thread: int | None, name: str) -> dict[str, Any]:
    what = "process_name" if thread is None else "thread_name"
    event: dict[str, Any] = {"ph": "M", "name": what, "pid": process, "args": {"name": name}}
    return event if thread is None else {**event, "tid": thread}


def parse(path: Path) -> Iterable[dict[str, Any]]:
    """The events of a timeline file. Raises OSError or ValueError."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = document["traceEvents"]
    return found
