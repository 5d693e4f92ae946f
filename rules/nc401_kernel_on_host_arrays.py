"""Keep the arrays of a ``numba.cuda`` kernel on the device for the whole loop.

Why it is slow: a kernel that is launched on a NumPy array copies it to the device before and back
after every launch.
Why it may differ: the host arrays get their new values after the loop, not after each launch; so
nothing but launches may look at them in the loop, and arrays that come from elsewhere are tested
before it: plain, contiguous, writeable, and without shared memory. Else the original loop runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Mistake,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import numba as kernels
from gpuadvise.gpucode import numba_resident as resident
from gpuadvise.names import import_edit

HOST_ARRAY = "NumbaPerformanceWarning: Host array used in CUDA kernel"
KERNEL = """\
import numpy as np
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=KERNEL
        + """\
def run(n, steps):
    x = np.arange(n, dtype=np.float64)
    y = np.zeros(n)
    for _ in range(steps):
        double[4, 32](x, y)
        cuda.synchronize()
        x, y = y, x
    return x
""",
        line=16,
        function="run",
        inputs="args = (100, 5)",
        after=KERNEL
        + """\
def run(n, steps):
    x = np.arange(n, dtype=np.float64)
    y = np.zeros(n)
    x_device = cuda.to_device(x)
    y_device = cuda.to_device(y)
    for _ in range(steps):
        double[4, 32](x_device, y_device)
        cuda.synchronize()
        x, y = y, x
        x_device, y_device = y_device, x_device
    x_device.copy_to_host(x)
    y_device.copy_to_host(y)
    return x
""",
    ),
    Spots(
        before=KERNEL
        + """\
def run(x, y, steps):
    for _ in range(steps):
        double[4, 32](x, y)
        double[4, 32](y, x)
""",
        line=14,
        function="run",
        inputs="args = (np.arange(100.0), np.zeros(100), 5)",
        after=KERNEL
        + """\
def run(x, y, steps):
    if (
        type(x) is np.ndarray
        and x.flags.carray
        and type(y) is np.ndarray
        and y.flags.carray
        and not np.may_share_memory(x, y)
    ):
        x_device = cuda.to_device(x)
        y_device = cuda.to_device(y)
        for _ in range(steps):
            double[4, 32](x_device, y_device)
            double[4, 32](y_device, x_device)
        x_device.copy_to_host(x)
        y_device.copy_to_host(y)
    else:
        for _ in range(steps):
            double[4, 32](x, y)
            double[4, 32](y, x)
""",
    ),
    Spots(
        before=KERNEL
        + """\
def run(x, y, steps):
    total = 0.0
    for _ in range(steps):
        double[4, 32](x, y)
        total += y.sum()
    return total
""",
        line=15,
        function="run",
        after=None,  # the host reads y in every step
    ),
    Spots(
        before=KERNEL
        + """\
def run(steps):
    x = np.zeros(100)
    view = x[50:]
    for _ in range(steps):
        double[4, 32](x, x)
        if view > 3:
            break
    return x
""",
        line=16,
        function="run",
        after=None,  # a second way to the array; and one array twice is copied twice
    ),
    Ignores(
        before=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    y = cuda.device_array_like(x)
    for _ in range(steps):
        double[4, 32](x, y)
    return y.copy_to_host()
""",
        because="the arrays are on the device already",
        function="run",
        static=True,
    ),
    Ignores(
        before=KERNEL
        + """\
def run(x, y, steps):
    double[4, 32](x, y)
    for _ in range(steps):
        y = y + 1
    return y
""",
        because="no kernel is launched in the loop",
        function="run",
        static=True,
    ),
)


@rule(needs=("numba",), cases=CASES)
def kernel_on_host_arrays(region: Region) -> tuple[Mistake, ...] | None:
    """The loop launches kernels on arrays that are on the host."""
    source = region.source
    in_loop = basics.launches(source, region.loop)
    launches = tuple(sorted(in_loop, key=lambda launch: launch.statement.lineno))
    found, complete = kernels.arrays_of(source, launches)
    arrays = {n: w for n, w in found.items() if not kernels.may_be_on_device(source, region, n)}
    if not arrays:
        return None
    seen = basics.evidence(region, [c.statement.lineno for c in launches], ["cop"])
    if seen.measured and not seen.cost:
        return None  # what looks like a host array is none
    plan = (
        resident.plan(region, launches, arrays) if complete and len(arrays) == len(found) else None
    )
    return (
        Mistake(
            line=launches[0].statement.lineno,
            what=f"a kernel is launched on host arrays ({', '.join(arrays)}) in a loop",
            remedy="copy them to the device before the loop and back after it",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=None if plan is None else _match(region, launches, plan),
        ),
    )


# ---------------------------------------------------------------- the new text
def _match(
    region: Region, launches: tuple[basics.Launch, ...], plan: resident.Plan
) -> Match | None:
    source, loop = region.source, region.loop
    up = [f"{plan.names[n]} = {plan.cuda}.to_device({n})" for n in plan.arrays]
    exchanged = bool(plan.moves)
    down = [
        f"{plan.names[name]}.copy_to_host({name})"
        for name, written in plan.arrays.items()
        if written or exchanged  # the names of exchanged arrays say not which one was written
    ]
    inner = list(_inner_edits(source, launches, plan))
    edits: tuple[Edit, ...]
    tests: list[str] = []
    if not plan.foreign:
        before, after = (
            tools.insert_before(source, loop, up),
            tools.insert_after(source, loop, down),
        )
        edits = (*inner, before, after)
    else:
        np, add = import_edit(source, "numpy", "np")
        tests = list(_tests(plan, np))
        original = tools.shifted(source, [loop], tools.indent_unit(source))
        text = _edited(source, loop, inner, tools.indent_unit(source))
        if original is None or text is None:
            return None
        unit = tools.indent_unit(source)
        guard = [f"{unit}{'and ' if n else ''}{test}" for n, test in enumerate(tests)]
        lines = ["if (", *guard, "):", *(unit + line for line in up), *text]
        lines += [*(unit + line for line in down), "else:", *original]
        edits = (tools.replace_lines(source, loop, lines), *((add,) if add else ()))
    return Match(
        edits=edits,
        why="",
        change="arrays go to the device once before the loop and come back once after it",
        needs=frozenset({"numba"}) | ({"numpy"} if plan.foreign else frozenset()),
        ledger=tuple(_ledger(region, plan, tests)),
        differences=(
            "a launch that fails leaves the host arrays as they were before the loop",
            "numba warns no more that the kernel is launched on host arrays",
        ),
        silenced=(HOST_ARRAY,),
    )


def _inner_edits(
    source: Source, launches: tuple[basics.Launch, ...], plan: resident.Plan
) -> Iterator[Edit]:
    for launch in launches:
        for argument in launch.arguments:
            if isinstance(argument, ast.Name) and argument.id in plan.arrays:
                yield Edit(*source.span(argument), plan.names[argument.id])
    for move in plan.moves:
        if not tools.stands_alone(source, move):
            continue
        names = {n for n in ast.walk(move) if isinstance(n, ast.Name)}
        text = source.text(move)
        start = source.span(move)[0]
        data = text.encode("utf-8")
        for name in sorted(names, key=lambda n: -source.span(n)[0]):
            low, high = (position - start for position in source.span(name))
            data = data[:low] + plan.names[name.id].encode("utf-8") + data[high:]
        yield tools.insert_after(source, move, [data.decode("utf-8")])


def _edited(source: Source, loop: kernels.Loop, edits: list[Edit], by: str) -> list[str] | None:
    """The loop's text with its edits, indented by one more step."""
    assert loop.end_lineno is not None
    if tools.shifted(source, [loop], by) is None:
        return None
    first = source.line_starts[loop.lineno - 1]
    last = min(source.line_starts[loop.end_lineno], len(source.data))
    data = source.data[first:last]
    for edit in sorted(edits, key=lambda e: -e.start):
        data = data[: edit.start - first] + edit.text.encode("utf-8") + data[edit.end - first :]
    indent = tools.indent_of(source, loop)
    lines = data.decode("utf-8").splitlines()
    return [by + line.removeprefix(indent) if line.strip() else "" for line in lines]


def _tests(plan: resident.Plan, np: str) -> Iterator[str]:
    for name in plan.foreign:
        yield f"type({name}) is {np}.ndarray"
        yield f"{name}.flags.carray"
    for one, two in combinations(plan.arrays, 2):
        if one in plan.foreign and two in plan.foreign:
            yield f"not {np}.may_share_memory({one}, {two})"


def _ledger(region: Region, plan: resident.Plan, tests: list[str]) -> Iterator[Condition]:
    loop = region.loop
    lines = f"lines {loop.lineno}-{loop.end_lineno}"
    names = ", ".join(plan.arrays)
    yield Condition(f"in the loop nothing but kernels looks at {names}", Basis.PROVED, lines)
    own = [name for name in plan.arrays if name not in plan.foreign]
    if own:
        text = f"{', '.join(own)}: made before the loop, and nothing else refers to it"
        yield Condition(text, Basis.PROVED, f"above line {loop.lineno}")
    for test in tests:
        yield Condition(test, Basis.OBSERVED, "tested before the loop", guarded=True)
