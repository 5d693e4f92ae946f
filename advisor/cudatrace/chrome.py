"""Chrome Trace Event JSON of a trace; opens in Perfetto and in speedscope.

One process for the host (a thread each for lines, functions and CUDA calls) and one a device (a
thread a stream). Findings have a track of their own. Times are microseconds from the first line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .attribute import NOWHERE, Attribution
from .records import DIRECTIONS, MEMORIES, Trace

HOST, DEVICES, FINDINGS = 1, 100, 2
"""Process ids of the timeline; a device's is ``DEVICES`` plus its number."""
LINE_LIMIT = 200_000
"""Line events beyond this many are left out: the viewer becomes slow, and says nothing more."""


@dataclass(frozen=True)
class Mark:
    """A finding's stretch of the timeline."""

    text: str
    start: int
    end: int
    """Nanoseconds of the trace's clock."""


def write(trace: Trace, attribution: Attribution, path: Path, marks: Sequence[Mark] = ()) -> None:
    """Write the timeline. Raises OSError."""
    document = {
        "traceEvents": list(events(trace, attribution, marks)),
        "displayTimeUnit": "ns",
        "otherData": {"tool": "gpuadvise", "method": trace.method},
    }
    path.write_text(json.dumps(document), encoding="utf-8")


def events(
    trace: Trace, attribution: Attribution, marks: Sequence[Mark] = ()
) -> Iterator[dict[str, Any]]:
    """All events of the timeline."""
    yield from _names(trace, bool(marks))
    yield from _lines(trace)
    yield from _functions(trace)
    yield from _calls(trace, attribution)
    yield from _kernels(trace)
    yield from _copies(trace)
    for mark in marks:
        yield _span(trace, FINDINGS, 1, mark.text, "finding", mark.start, mark.end)


def _names(trace: Trace, marks: bool) -> Iterator[dict[str, Any]]:
    yield _meta(HOST, None, "Host")
    if marks:
        yield _meta(FINDINGS, None, "Findings")
        yield _meta(FINDINGS, 1, "findings")
    threads = {int(t) for name in ("lines", "ranges", "calls") for t in set(trace[name]["thread"])}
    for thread in sorted(threads):
        which = "main thread" if thread == trace.main_thread else f"thread {thread}"
        for row, kind in enumerate(("lines", "functions", "CUDA calls")):
            yield _meta(HOST, _row(thread, row), f"{which}: {kind}")
    streams = {
        (int(device), int(stream))
        for name in ("kernels", "copies", "memsets")
        for device, stream in set(trace[name][["device", "stream"]].tolist())
    }
    for device in sorted({device for device, _ in streams}):
        yield _meta(DEVICES + device, None, f"GPU {device}")
    for device, stream in sorted(streams):
        yield _meta(DEVICES + device, stream, f"stream {stream}")


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


def _kernels(trace: Trace) -> Iterator[dict[str, Any]]:
    for row in trace["kernels"]:
        args = {
            "correlation": int(row["correlation"]),
            "grid": row["grid"].tolist(),
            "block": row["block"].tolist(),
            "registers per thread": int(row["registers"]),
            "shared memory": int(row["shared"]),
        }
        name = trace.name(int(row["name"]))
        yield _on_device(trace, row, name, "kernel", args)


def _copies(trace: Trace) -> Iterator[dict[str, Any]]:
    for row in trace["copies"]:
        kinds = [MEMORIES.get(int(row[end]), "unknown") for end in ("source", "target")]
        args = {"bytes": int(row["bytes"]), "memory": " -> ".join(kinds)}
        name = f"copy {DIRECTIONS.get(int(row['kind']), 'other')}"
        yield _on_device(trace, row, name, "copy", args)
    for row in trace["memsets"]:
        yield _on_device(trace, row, "memset", "memset", {"bytes": int(row["bytes"])})


def _on_device(trace: Trace, row: Any, name: str, kind: str, args: Any) -> dict[str, Any]:
    process, thread = DEVICES + int(row["device"]), int(row["stream"])
    return _span(trace, process, thread, name, kind, int(row["start"]), int(row["end"]), args)


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


def _meta(process: int, thread: int | None, name: str) -> dict[str, Any]:
    what = "process_name" if thread is None else "thread_name"
    event: dict[str, Any] = {"ph": "M", "name": what, "pid": process, "args": {"name": name}}
    return event if thread is None else {**event, "tid": thread}


def parse(path: Path) -> Iterable[dict[str, Any]]:
    """The events of a timeline file. Raises OSError or ValueError."""
    document = json.loads(path.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = document["traceEvents"]
    return found
