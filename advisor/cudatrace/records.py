"""The event stream of one traced run, as columns; written in the script's process, read here.

All times are nanoseconds of CUPTI's clock, which host and device records share. Columns are NumPy
structured arrays, so that a million events cost no Python loop. The file is an ``.npz`` without
pickled objects: tables by name, and the texts that they point to as one JSON document.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..gpumodel import Place

Table = npt.NDArray[Any]

LINES = np.dtype([("time", "u8"), ("thread", "u4"), ("place", "i4")])
"""From ``time`` on, ``thread`` executed ``place`` (index into ``Trace.places``)."""
RANGES = np.dtype([("time", "u8"), ("thread", "u4"), ("place", "i4"), ("enter", "i1")])
"""A function of the user's was entered (1) or left (0)."""
CALLS = np.dtype(
    [("start", "u8"), ("end", "u8"), ("thread", "u4"), ("correlation", "u4"), ("name", "i4")]
)
"""Calls of the CUDA runtime and driver; ``name`` is an index into ``Trace.names``."""
KERNELS = np.dtype(
    [
        ("start", "u8"),
        ("end", "u8"),
        ("correlation", "u4"),
        ("device", "u4"),
        ("stream", "u4"),
        ("name", "i4"),
        ("grid", "i4", (3,)),
        ("block", "i4", (3,)),
        ("registers", "u2"),
        ("shared", "i4"),
    ]
)
"""``registers`` a thread; ``shared`` bytes a block, static and dynamic together."""
COPIES = np.dtype(
    [
        ("start", "u8"),
        ("end", "u8"),
        ("correlation", "u4"),
        ("device", "u4"),
        ("stream", "u4"),
        ("bytes", "u8"),
        ("kind", "u1"),
        ("source", "u1"),
        ("target", "u1"),
    ]
)
"""``kind`` is a `Direction`, ``source`` and ``target`` are `Memory` values of CUPTI's."""
MEMSETS = np.dtype(
    [
        ("start", "u8"),
        ("end", "u8"),
        ("correlation", "u4"),
        ("device", "u4"),
        ("stream", "u4"),
        ("bytes", "u8"),
    ]
)
SYNCS = np.dtype([("start", "u8"), ("end", "u8"), ("correlation", "u4"), ("kind", "u1")])
"""``kind``: 1 event, 2 stream waits for event (no wait of the host), 3 stream, 4 context."""
MEMORY = np.dtype(
    [("time", "u8"), ("correlation", "u4"), ("bytes", "u8"), ("release", "u1"), ("kind", "u1")]
)
"""Allocations and releases of device memory by the driver (pools hide theirs from it)."""

TABLES: Mapping[str, np.dtype[Any]] = {
    "lines": LINES,
    "ranges": RANGES,
    "calls": CALLS,
    "kernels": KERNELS,
    "copies": COPIES,
    "memsets": MEMSETS,
    "syncs": SYNCS,
    "memory": MEMORY,
}

DIRECTIONS: Mapping[int, str] = {
    1: "host to device",
    2: "device to host",
    8: "device to device",
    9: "host to host",
    10: "peer to peer",
}
"""CUPTI's ``CUpti_ActivityMemcpyKind``, those that Python programs produce."""
MEMORIES: Mapping[int, str] = {
    1: "pageable",
    2: "pinned",
    3: "device",
    4: "array",
    5: "managed",
}
"""CUPTI's ``CUpti_ActivityMemoryKind``."""
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
PAGEABLE, PINNED = 1, 2


@dataclass(frozen=True)
class Trace:
    """Everything that was recorded in one run. Tables are sorted by their first column."""

    tables: Mapping[str, Table]
    places: tuple[Place, ...]
    names: tuple[str, ...]
    main_thread: int
    """Operating system's id of the thread that ran the script."""
    began: int
    """Time of the script's first line."""
    ended: int
    """Time at which the script had ended, or at which recording stopped."""
    notes: tuple[str, ...] = ()
    method: str = "lines"
    """``lines`` (line events joined by time) or ``callback`` (a frame walk in every CUDA call)."""
    dropped: int = 0
    """Records that CUPTI lost because its buffers were full."""
    window: str | None = None
    """Why recording ended before the script did; None where it did not."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    @property
    def span(self) -> int:
        """Nanoseconds from the first line to the end."""
        return max(0, self.ended - self.began)

    def name(self, index: int) -> str:
        """A kernel's or call's name."""
        return self.names[index]


def save(trace: Trace, path: Path) -> None:
    """Write a trace. Raises OSError."""
    texts = {
        "places": [[p.file, p.line, p.function] for p in trace.places],
        "names": list(trace.names),
        "main_thread": trace.main_thread,
        "began": trace.began,
        "ended": trace.ended,
        "notes": list(trace.notes),
        "method": trace.method,
        "dropped": trace.dropped,
        "window": trace.window,
        "extra": dict(trace.extra),
    }
    document = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, texts=document, **dict(trace.tables))


def load(path: Path) -> Trace:
    """Read a trace. Raises OSError, or ValueError where the file is no trace of ours."""
    try:
        # Opened here: NumPy leaves the file open where it turns out to be no archive.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            texts = json.loads(file["texts"].tobytes())
            tables = {name: _table(file[name], dtype) for name, dtype in TABLES.items()}
        return Trace(
            tables=tables,
            places=tuple(Place(*place) for place in texts.pop("places")),
            names=tuple(texts.pop("names")),
            notes=tuple(texts.pop("notes")),
            **texts,
        )
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        raise ValueError(f"{path.name} is no trace of this version ({problem})") from None


def _table(data: Table, dtype: np.dtype[Any]) -> Table:
    if data.dtype != dtype:
        raise ValueError(f"a table has the columns {data.dtype.names}")
    return data


def empty() -> dict[str, Table]:
    """All tables, without a row."""
    return {name: np.zeros(0, dtype=dtype) for name, dtype in TABLES.items()}
