"""Wait for the device before the clock is read, or time with events.

Why it is slow: it is not; but a launch returns at once, so a clock read behind it shows the time
of launching, not of the work.
Why it may differ: with a wait, or with events, the measured times become those of the work.
"""

from __future__ import annotations

import ast

from gpuadvise.api import (
    Basis,
    Condition,
    Ignores,
    Match,
    Mistake,
    Purpose,
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import evidence
from gpuadvise.gpucode.cupy_text import mistake, types_of
from gpuadvise.gpucode.cupy_timing import around, intervals, launches, never_waits

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import time

import cupy as cp


def measure(x, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        y = cp.sqrt(x) + 1.0
        times.append(time.perf_counter() - start)
    return times
""",
        line=11,
        function="measure",
        after="""\
import time

import cupy as cp


def measure(x, repeats):
    times = []
    for _ in range(repeats):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        y = cp.sqrt(x) + 1.0
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return times
""",
    ),
    Spots(
        before="""\
import time

import cupy as cp


def measure(size, repeats):
    x = cp.ones(size)
    begin = time.time()
    for _ in range(repeats):
        x = cp.sqrt(x) + 1.0
    end = time.time()
    return float(x.sum()), (end - begin) / repeats
""",
        line=11,
        function="measure",
        after="""\
import time

import cupy as cp


def measure(size, repeats):
    x = cp.ones(size)
    cp.cuda.Device().synchronize()
    begin = time.time()
    for _ in range(repeats):
        x = cp.sqrt(x) + 1.0
    cp.cuda.Device().synchronize()
    end = time.time()
    return float(x.sum()), (end - begin) / repeats
""",
    ),
    Ignores(
        before="""\
import time

import cupy as cp


def measure(size, repeats):
    x = cp.ones(size)
    begin = time.time()
    for _ in range(repeats):
        x = cp.sqrt(x) + 1.0
    total = float(x.sum())
    return total, (time.time() - begin) / repeats
""",
        because="the sum is fetched before the clock is read",
        function="measure",
        static=True,
    ),
    Ignores(
        before="""\
import time

import cupy as cp


def measure(x, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        y = cp.sqrt(x) + 1.0
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return times
""",
        because="it waits for the device first",
        function="measure",
        static=True,
    ),
    Ignores(
        before="""\
import time

import cupy as cp


def measure(x, repeats):
    times, sums = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        sums.append(float(cp.sqrt(x).sum()))
        times.append(time.perf_counter() - start)
    return times, sums
""",
        because="float() waits for its value",
        function="measure",
        static=True,
    ),
)


@rule(cases=CASES)
def unsynchronised_timing(region: Region) -> tuple[Mistake, ...] | None:
    """The loop reads the clock while the device is still at work."""
    types = types_of(region)
    found = []
    for start, between, read in (*intervals(region), *around(region)):
        started = [node for part in between for node in launches(types, part)]
        if not started or not all(never_waits(types, part) for part in between):
            continue
        what = "the clock is read before the device has done the work"
        remedy = "call cp.cuda.Device().synchronize() before it, or use cupyx.profiler.benchmark"
        seen = evidence(region, [node.lineno for node in started])
        found.append(mistake(region, read, what, remedy, seen, _waiting(region, start, read)))
    return tuple(found) or None


def _waiting(region: Region, start: ast.stmt, read: ast.Call) -> Match | Refusal:
    """A wait before both readings of the clock: what was asked for before is no part of it."""
    source = region.source
    cupy, stop = tools.module_alias(source, "cupy"), tools.enclosing_statement(source, read)
    if cupy is None or not all(tools.stands_alone(source, s) for s in (start, stop)):
        return Refusal("a reading of the clock shares its line", read.lineno)
    line = f"{cupy}.cuda.Device().synchronize()"
    return Match(
        edits=tuple(tools.insert_before(source, s, [line]) for s in (start, stop)),
        why="",
        change="the clock is read when the device has done its work",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                "the new lines only wait: nothing is computed in another way or order",
                Basis.PROVED,
                f"lines {start.lineno}-{stop.lineno}",
            ),
        ),
        differences=("the times that the script takes of itself are those of the work",),
        purpose=Purpose.CORRECTION,
    )
