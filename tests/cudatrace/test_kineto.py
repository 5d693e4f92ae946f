"""Traces of PyTorch's profiler as our tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuadvise.cudatrace.attribute import attribute
from gpuadvise.cudatrace.kineto import tables
from gpuadvise.cudatrace.records import LINES, RANGES, Trace
from gpuadvise.gpumodel import Place

BASE = 1_700_000_000_000_000_000


def span(cat: str, name: str, ts: float, dur: float, tid: int = 10, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": tid, "args": args}


def document(*events: dict[str, Any]) -> dict[str, Any]:
    return {"baseTimeNanoseconds": BASE, "traceEvents": list(events)}


def test_times_are_the_systems_clock_to_the_nanosecond() -> None:
    found, names = tables(
        document(span("cuda_runtime", "cudaLaunchKernel_v7000", 12.345, 1.5, correlation=7))
    )
    (call,) = found["calls"].tolist()
    assert call == (BASE + 12_345, BASE + 13_845, 10, 7, 0)
    assert names == ["cudaLaunchKernel"]


def test_kernels_copies_and_memsets_have_their_sizes() -> None:
    on = {"device": 1, "stream": 7}
    found, names = tables(
        document(
            span(
                "kernel",
                "square",
                5,
                2,
                correlation=3,
                grid=[4, 1, 1],
                block=[128, 2, 1],
                **{"registers per thread": 16, "shared memory": 1024},
                **on,
            ),
            span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 8, 1, bytes=800, **on),
            span("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 9, 1, bytes=80, **on),
            span("gpu_memset", "Memset (Device)", 10, 1, bytes=64, **on),
        )
    )
    (kernel,) = found["kernels"]
    assert kernel["grid"].tolist() == [4, 1, 1]
    assert kernel["block"].tolist() == [128, 2, 1]
    assert (kernel["registers"], kernel["shared"], kernel["device"]) == (16, 1024, 1)
    assert names[kernel["name"]] == "square"
    kinds = [(c["kind"], c["source"], c["target"], c["bytes"]) for c in found["copies"]]
    assert kinds == [(1, 1, 3, 800), (2, 3, 2, 80)]
    assert found["memsets"]["bytes"].tolist() == [64]


def test_synchronisations_are_taken_from_the_calls_where_they_are_not_recorded() -> None:
    call = span("cuda_runtime", "cudaStreamSynchronize", 5, 20, correlation=3)
    recorded = span("cuda_sync", "Stream Sync", 6, 18, correlation=3, cuda_sync_kind="Stream Sync")
    assert tables(document(call))[0]["syncs"].tolist() == [(BASE + 5000, BASE + 25_000, 3, 0)]
    both = tables(document(call, recorded))[0]["syncs"]
    assert both.tolist() == [(BASE + 6000, BASE + 24_000, 3, 3)]


@pytest.mark.parametrize(
    ("name", "release"),
    [("cudaMalloc", 0), ("cuMemAlloc_v2", 0), ("cudaFree", 1), ("cuMemFree_v2", 1)],
)
def test_allocations_are_told_from_releases(name: str, release: int) -> None:
    found = tables(document(span("cuda_runtime", name, 5, 1, correlation=4)))[0]
    assert found["memory"]["release"].tolist() == [release]


def test_other_events_and_missing_figures_are_passed_over() -> None:
    found, names = tables(
        document(
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
            span("cpu_op", "aten::add", 1, 2),
            span("ac2g", "ac2g", 1, 2),
            span("kernel", "bare", 3, 1, tid=-1, stream=-1),
        )
    )
    assert len(found["calls"]) == 0
    assert found["kernels"]["block"].tolist() == [[1, 1, 1]]
    assert names == ["bare"]


@pytest.mark.parametrize("wrong", [{}, {"traceEvents": None}])
def test_what_is_no_trace_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="traceEvents"):
        tables(wrong)


def test_calls_are_put_on_lines_by_the_systems_clock() -> None:
    found, names = tables(
        document(
            span("cuda_runtime", "cudaLaunchKernel", 10, 1, correlation=1),
            span("cuda_driver", "cuLaunchKernel", 30, 1, correlation=2),
            span("kernel", "a", 12, 1, correlation=1),
            span("kernel", "b", 32, 1, correlation=2),
        )
    )
    found["lines"] = np.array([(BASE, 10, 0), (BASE + 25_000, 10, 1)], dtype=LINES)
    found["ranges"] = np.zeros(0, dtype=RANGES)
    places = (Place("s.py", 1, "<module>"), Place("s.py", 2, "<module>"))
    trace = Trace(found, places, tuple(names), 10, BASE, BASE + 50_000)
    work = {w.place.line if w.place else 0: list(w.names) for w in attribute(trace).lines}
    assert work == {1: ["a"], 2: ["b"]}


def test_threads_get_the_systems_numbers() -> None:
    """Kineto writes half of Python's number, without its sign: 0x7f20_f000_0001 -> 0x0fff_ffff."""
    document_ = document(
        span("cuda_runtime", "cudaFree", 1, 1, tid=0x37A3_6600),
        span("cuda_runtime", "cudaFree", 2, 1, tid=0x0FFF_FFFF),
        span("cuda_runtime", "cudaFree", 3, 1, tid=55),
    )
    threads = {0x7F20_37A3_6600: 401, 0x7F20_F000_0001: 402}
    assert tables(document_, threads)[0]["calls"]["thread"].tolist() == [401, 402, 55]


RECORDED = Path(__file__).parents[1] / "data" / "cudatrace" / "torch_profiler.json.gz"


def test_a_recorded_trace_falls_between_the_times_that_the_program_took() -> None:
    """Recorded on an H200 (PyTorch 2.11): the program noted the time before each of its steps.

    Three rounds of a product with backward, ``.item()``, and a CuPy product with ``.get()``.
    """
    with gzip.open(RECORDED) as file:
        recorded = json.load(file)
    found, names = tables(recorded)
    marks = recorded["marks"]
    rows = [(time, 0, number) for number, (_, time) in enumerate(marks)]
    found["lines"] = np.array(rows, dtype=LINES)
    found["ranges"] = np.zeros(0, dtype=RANGES)
    places = tuple(Place("s.py", n, step) for n, (step, _) in enumerate(marks))
    trace = Trace(found, places, tuple(names), 0, marks[0][1], marks[-1][1])
    work = attribute(trace)
    assert work.coverage == 1.0
    steps: dict[str, list[Any]] = {"torch": [], "item": [], "cupy": []}
    for line in sorted(work.lines, key=lambda line: line.place.line if line.place else 0):
        if line.place is not None and line.place.function in steps:
            steps[line.place.function].append(line)
    assert [list(w.names) for w in steps["cupy"]] == [["cupy_multiply__float64_float_float64"]] * 3
    assert all("reduce_kernel" in next(iter(w.names)) for w in steps["item"])
    copied = [(c.direction, c.source, c.target, c.bytes) for w in steps["cupy"] for c in w.copies]
    assert copied == [("device to host", "device", "pageable", 8000)] * 3
    assert all(w.kernels >= 6 for w in steps["torch"])
    assert len(found["kernels"]) == sum(w.kernels for ws in steps.values() for w in ws)
