"""Wait for the device before the clock is read, or time with events.

Why it is slow: it is not; but a launch returns at once, so a clock read behind it shows the time
of launching, not of the work.
Why it may differ: with a wait, or with events, the measured times become those of the work.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.api import Ignores, Mistake, Region, Spots, rule
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import evidence, meaning
from gpuadvise.gpucode.cupy import Types
from gpuadvise.gpucode.cupy_names import own_function
from gpuadvise.gpucode.cupy_text import mistake, types_of

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
        after=None,  # the printed times are the script's output: they change on purpose
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
_CLOCKS = ("time.perf_counter", "time.time", "time.monotonic", "time.perf_counter_ns")
_WAITS = frozenset({"get", "item", "synchronize", "tolist", "done", "set"})


@rule(cases=CASES)
def unsynchronised_timing(region: Region) -> tuple[Mistake, ...] | None:
    """The loop reads the clock while the device is still at work."""
    types = types_of(region)
    found = []
    for between, read in _intervals(region):
        launches = [node for part in between for node in _launches(types, part)]
        if not launches or any(_may_wait(types, part, set()) for part in between):
            continue
        what = "the clock is read before the device has done the work"
        remedy = "call cp.cuda.Device().synchronize() before it, or use cupyx.profiler.benchmark"
        seen = evidence(region, [node.lineno for node in launches])
        found.append(mistake(region, read, what, remedy, seen, None))
    return tuple(found) or None


def _intervals(region: Region) -> Iterator[tuple[list[ast.stmt], ast.Call]]:
    """Statements between ``start = clock()`` and ``clock() - start``, with that second call."""
    source, body = region.source, region.loop.body
    for first, statement in enumerate(body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                if meaning(source, call.func) not in _CLOCKS:
                    continue
            case _:
                continue
        for last in range(first + 1, len(body)):
            read = _elapsed(region, body[last], name)
            if read is not None:
                yield body[first + 1 : last], read
                break


def _elapsed(region: Region, statement: ast.stmt, name: str) -> ast.Call | None:
    for node in tools.own_nodes(statement):
        match node:
            case ast.BinOp(left=ast.Call() as call, op=ast.Sub(), right=ast.Name(id=start)):
                if start == name and meaning(region.source, call.func) in _CLOCKS:
                    return call
    return None


def _launches(types: Types, statement: ast.stmt) -> list[ast.expr]:
    """What certainly starts work on the device."""
    return [
        node
        for node in tools.own_nodes(statement)
        if isinstance(node, ast.BinOp | ast.Call) and types.on_device(node)
    ]


def _may_wait(types: Types, statement: ast.AST, done: set[str]) -> bool:
    """Whether something in the statement waits for the device, or may."""
    for node in tools.own_nodes(statement):
        if isinstance(node, ast.If | ast.While | ast.With | ast.For):
            return True
        if not isinstance(node, ast.Call):
            continue
        called = meaning(types.source, node.func) or ""
        if called == "cupy.asnumpy" or ".cuda." in called or called.startswith("cupyx"):
            return True
        if isinstance(node.func, ast.Attribute) and node.func.attr in _WAITS:
            return True
        if called.startswith(("cupy.", "numpy.", "math.")):
            continue
        if not isinstance(node.func, ast.Name):
            continue
        function = own_function(types.source, node.func.id)
        if function is None:
            return True
        if function.name not in done and _may_wait(types, function, {*done, function.name}):
            return True
    return False
