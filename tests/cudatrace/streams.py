"""Hand-made event streams: each row says what it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuadvise.cudatrace import records
from gpuadvise.cudatrace.records import Trace
from gpuadvise.gpumodel import Place

MAIN, WORKER = 10, 11
NAMES = (
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cudaStreamSynchronize",
    "cuMemAlloc_v2",
    "kernel_a",
)
LAUNCH, COPY, SYNC, ALLOC, KERNEL = range(5)


def trace(
    *,
    lines: Sequence[tuple[int, int, int]] = (),
    calls: Sequence[tuple[int, int, int, int, int]] = (),
    kernels: Sequence[tuple[int, int, int]] = (),
    copies: Sequence[tuple[int, int, int, int, int, int, int]] = (),
    syncs: Sequence[tuple[int, int, int]] = (),
    memory: Sequence[tuple[int, int, int, int]] = (),
    ranges: Sequence[tuple[int, int, int, int]] = (),
    ended: int = 1000,
    method: str = "lines",
) -> Trace:
    """A trace of a file with lines 1 to 9.

    lines: time, thread, line; calls: start, end, thread, correlation, name; kernels: start, end,
    correlation; copies: start, end, correlation, bytes, kind, source, target; syncs: start, end,
    correlation; memory: time, correlation, bytes, release; ranges: time, thread, line, enter.
    """
    tables = records.empty()
    tables["lines"] = np.array([(t, th, n - 1) for t, th, n in lines], dtype=records.LINES)
    tables["ranges"] = np.array([(t, th, n - 1, e) for t, th, n, e in ranges], dtype=records.RANGES)
    tables["calls"] = np.array(list(calls), dtype=records.CALLS)
    tables["kernels"] = np.array(
        [(s, e, c, 0, 7, KERNEL, (1, 1, 1), (32, 1, 1), 16, 0) for s, e, c in kernels],
        dtype=records.KERNELS,
    )
    tables["copies"] = np.array(
        [(s, e, c, 0, 7, b, k, a, z) for s, e, c, b, k, a, z in copies], dtype=records.COPIES
    )
    tables["syncs"] = np.array([(s, e, c, 3) for s, e, c in syncs], dtype=records.SYNCS)
    tables["memory"] = np.array([(t, c, b, r, 3) for t, c, b, r in memory], dtype=records.MEMORY)
    places = tuple(Place("/home/user/script.py", line, "run") for line in range(1, 10))
    return Trace(tables, places, NAMES, MAIN, 0, ended, method=method)
