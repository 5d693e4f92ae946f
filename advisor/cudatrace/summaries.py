"""The five summaries that ``nsys stats`` users know, from our own trace.

Columns and their order are those of nsys 2022 and later; times are nanoseconds, sizes MB of 10^6
bytes, and ``Time (%)`` is a share of that table, never of wall time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .records import DIRECTIONS, Table, Trace

Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Row:
    """One line of a summary. Sizes take bytes where times take nanoseconds."""

    name: str
    count: int
    total: float
    mean: float
    median: float
    least: float
    most: float
    deviation: float
    share: float
    """Of this table's total, in [0, 1]."""


@dataclass(frozen=True)
class Summary:
    """One of the five tables."""

    title: str
    key: str
    """nsys's name of the report: ``cuda_api_sum``."""
    unit: str
    """``ns`` or ``MB``."""
    counts: str
    """Heading of the counts: ``Num Calls``, ``Instances``, ``Count``."""
    named: str
    """Heading of the names: ``Name``, ``Range``, ``Operation``."""
    rows: tuple[Row, ...]


def summaries(trace: Trace) -> tuple[Summary, ...]:
    """All five, in nsys's order."""
    return (ranges(trace), calls(trace), kernels(trace), memory_times(trace), memory_sizes(trace))


def calls(trace: Trace) -> Summary:
    """CUDA runtime and driver calls."""
    rows = _rows(_grouped(trace["calls"], trace.names))
    return Summary("CUDA API summary", "cuda_api_sum", "ns", "Num Calls", "Name", rows)


def kernels(trace: Trace) -> Summary:
    """Kernels, by name."""
    rows = _rows(_grouped(trace["kernels"], trace.names))
    return Summary("GPU kernel summary", "cuda_gpu_kern_sum", "ns", "Instances", "Name", rows)


def memory_times(trace: Trace) -> Summary:
    """Copies and memsets, by time on the device."""
    groups = {name: _lasting(part) for name, part in _operations(trace)}
    title = "GPU memory operations, by time"
    return Summary(title, "cuda_gpu_mem_time_sum", "ns", "Count", "Operation", _rows(groups))


def memory_sizes(trace: Trace) -> Summary:
    """Copies and memsets, by size."""
    groups = {name: part["bytes"].astype(float) for name, part in _operations(trace)}
    title = "GPU memory operations, by size"
    return Summary(title, "cuda_gpu_mem_size_sum", "MB", "Count", "Operation", _rows(groups))


def ranges(trace: Trace) -> Summary:
    """The user's functions, calls of others included: what NVTX ranges around them would give."""
    lasting: dict[str, list[int]] = {}
    stacks: dict[int, list[tuple[int, int]]] = {}
    for time, thread, place, enter in trace["ranges"].tolist():
        stack = stacks.setdefault(thread, [])
        if enter:
            stack.append((place, time))
            continue
        while stack:
            opened, since = stack.pop()
            if opened == place:
                lasting.setdefault(range_name(trace, place), []).append(time - since)
                break
    rows = _rows({name: np.array(times, dtype=float) for name, times in lasting.items()})
    return Summary("Functions as ranges", "nvtx_sum", "ns", "Instances", "Range", rows)


def range_name(trace: Trace, place: int) -> str:
    """A function's name as the ranges table and the timeline show it."""
    return trace.places[place].function


def _operations(trace: Trace) -> Iterable[tuple[str, Table]]:
    copies = trace["copies"]
    for kind in np.unique(copies["kind"]):
        words = DIRECTIONS.get(int(kind), "other").replace(" to ", "-to-").title()
        yield f"[CUDA memcpy {words.replace('-To-', '-to-')}]", copies[copies["kind"] == kind]
    if len(trace["memsets"]):
        yield "[CUDA memset]", trace["memsets"]


def _grouped(table: Table, names: tuple[str, ...]) -> dict[str, Numbers]:
    lasting = _lasting(table)
    return {names[n]: lasting[table["name"] == n] for n in np.unique(table["name"])}


def _lasting(table: Table) -> Numbers:
    return np.asarray(table["end"] - table["start"], dtype=float)


def _rows(groups: Mapping[str, Numbers]) -> tuple[Row, ...]:
    whole = sum(float(numbers.sum()) for numbers in groups.values())
    rows = [
        Row(
            name=name,
            count=len(numbers),
            total=float(numbers.sum()),
            mean=float(numbers.mean()),
            median=float(np.median(numbers)),
            least=float(numbers.min()),
            most=float(numbers.max()),
            deviation=float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0,
            share=float(numbers.sum()) / whole if whole else 0.0,
        )
        for name, numbers in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.total))
