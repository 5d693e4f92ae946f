"""Fetch the scalars of all steps together, after the loop.

Why it is slow: ``float()``, ``int()`` and ``.item()`` of a device scalar wait until the device has
done all work so far, and meanwhile no new work is sent to it.
Why it may differ: the numbers are added or appended after the loop, in the same order; each step
keeps one scalar on the device until then, and what raises for a value raises after the loop. Where
the loop's end depends on the number, it is tested in every tenth step, under ``--unsafe`` only: up
to nine more steps are taken.
"""

from __future__ import annotations

import ast

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Mistake,
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy_after import left_early
from gpuadvise.gpucode.cupy_cadence import asked_now_and_then
from gpuadvise.gpucode.cupy_effects import clocks
from gpuadvise.gpucode.cupy_sinks import Read, decides, reads, sink
from gpuadvise.gpucode.cupy_text import mistake, seen_at, types_of
from gpuadvise.names import free_name, import_edit

HEAD = """\
import cupy as cp


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def energies(traces):
    found = []
    for trace in traces:
        x = cp.asarray(trace)
        found.append(float(cp.sum(x * x)))
    return found
""",
        line=8,
        function="energies",
        inputs="args = ([np.arange(100, dtype=t) for t in (np.float32, np.float64, np.int64)],)",
        after=HEAD
        + """\
def energies(traces):
    found = []
    found_device = []
    for trace in traces:
        x = cp.asarray(trace)
        found_device.append(cp.sum(x * x))
    same = len({part.dtype for part in found_device}) == 1
    for value in cp.stack(found_device).tolist() if same else [v.item() for v in found_device]:
        found.append(float(value))
    return found
""",
    ),
    Spots(
        before=HEAD
        + """\
def work(steps, size):
    field = cp.linspace(0.0, 1.0, size)
    total = 0.0
    for step in range(steps):
        field = field * 0.99
        if step % 2:
            total += float(field.max()) * 0.5
    return total
""",
        line=10,
        function="work",
        inputs="args = (9, 1000)",
        after=HEAD
        + """\
def work(steps, size):
    field = cp.linspace(0.0, 1.0, size)
    total = 0.0
    total_device = []
    for step in range(steps):
        field = field * 0.99
        if step % 2:
            total_device.append(field.max())
    same = len({part.dtype for part in total_device}) == 1
    for value in cp.stack(total_device).tolist() if same else [v.item() for v in total_device]:
        total += float(value) * 0.5
    return total
""",
    ),
    Spots(
        before=HEAD
        + """\
def relax(field, limit):
    while True:
        new = 0.5 * (field + cp.roll(field, 1))
        error = float(cp.abs(new - field).max())
        field = new
        if error < limit:
            return field
""",
        line=7,
        function="relax",
        after=HEAD  # other results, as far as the limit allows them: under --unsafe only
        + """\
def relax(field, limit):
    step = 0
    while True:
        step += 1
        new = 0.5 * (field + cp.roll(field, 1))
        if step % 10 == 1:
            error = float(cp.abs(new - field).max())
        field = new
        if error < limit:
            return field
""",
    ),
    Spots(
        before=HEAD
        + """\
def settle(field, limit, most):
    for _ in range(most):
        old = field.copy()
        field = 0.5 * (field + cp.roll(field, 1))
        if float(cp.abs(field - old).max()) < limit:
            break
    return field
""",
        line=8,
        function="settle",
        after=HEAD
        + """\
def settle(field, limit, most):
    for step in range(most):
        old = field.copy()
        field = 0.5 * (field + cp.roll(field, 1))
        if step % 10 == 0 and float(cp.abs(field - old).max()) < limit:
            break
    return field
""",
    ),
    Spots(
        before=HEAD
        + """\
def shrink(r, limit):
    r = cp.asarray(r)
    while float(cp.abs(r).max()) > limit:
        r = r * 0.5
    return r
""",
        line=6,
        function="shrink",
        after=HEAD
        + """\
def shrink(r, limit):
    r = cp.asarray(r)
    step = 0
    while step % 10 or float(cp.abs(r).max()) > limit:
        step += 1
        r = r * 0.5
    return r
""",
    ),
    Ignores(
        before=HEAD
        + """\
def shrink(r, limit):
    step = 0
    while step % 20 or float(cp.abs(r).max()) > limit:
        step += 1
        r = cp.sin(r)
    return r
""",
        because="it is looked at every twentieth step only",
        function="shrink",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def watch(field, steps):
    total = 0.0
    for step in range(steps):
        field = cp.sin(field)
        total += float(cp.sum(field))
        print(step, total)
""",
        because="the total is shown in every step",
        function="watch",
        static=True,
    ),
    Ignores(
        before="import time\n"
        + HEAD
        + """\
def measure(field, steps):
    times, sums = [], []
    for _ in range(steps):
        start = time.perf_counter()
        field = cp.sin(field)
        sums.append(float(cp.sum(field)))
        times.append(time.perf_counter() - start)
    return times, sums
""",
        because="the wait makes the measured time that of the work",
        function="measure",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def settle(field, limit):
    for step in range(1000):
        new = cp.sin(field)
        if step % 10 == 9 and float(cp.abs(new - field).max()) < limit:
            break
        field = new
    return field
""",
        because="it is looked at every tenth step only",
        function="settle",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def sums(field, steps):
    found = []
    for _ in range(steps):
        s = cp.sum(field)
        found.append(float(s))
        s += 1.0
        field = field * s
    return found
""",
        because="the scalar is changed in place after it was read",
        function="sums",
        static=True,
    ),
)


@rule(cases=CASES)
def scalars_each_step(region: Region) -> tuple[Mistake, ...] | None:
    """The loop reads a scalar from the device in every step."""
    found = []
    if next(clocks(types_of(region), region.loop), None) is not None:
        return None  # the wait serves the measurement
    for read in reads(region):
        gathered = sink(region, read)
        if gathered is None and not decides(region, read):
            continue
        seen = seen_at(region, [read.call], "cop", "synchronisation")
        if seen is None:
            continue
        what = f"the CPU waits for {ast.unparse(read.scalar)} in every step"
        remedy = "keep the scalars on the device and fetch them together after the loop"
        if gathered is None:
            remedy = "test every few steps, or keep the test on the device"
            answer = asked_now_and_then(region, read)
        else:
            answer = _rewrite(region, read, *gathered)
        found.append(mistake(region, read.call, what, remedy, seen, answer))
    return tuple(found) or None


# -------------------------------------------------------------------- the rewrite
def _rewrite(region: Region, read: Read, statement: ast.stmt, name: str) -> Match | Refusal:
    refusal = left_early(region, name)
    if refusal is not None:
        return refusal
    return _match(region, read, statement, name)


def _match(region: Region, read: Read, statement: ast.stmt, name: str) -> Match:
    source, loop = region.source, region.loop
    cupy, edit = import_edit(source, "cupy", "cp")
    kept = free_name(source, f"{name}_device")
    value, part = free_name(source, "value"), free_name(source, "part")
    same, one = free_name(source, "same"), free_name(source, "v")
    start, end = source.span(read.call)
    first, last = source.span(statement)
    number = read.call.func.id if isinstance(read.call.func, ast.Name) else ""
    new = f"{number}({value})" if number else value
    text = source.data[first:start].decode() + new + source.data[end:last].decode()
    step = tools.indent_unit(source)
    after = [
        f"{same} = len({{{part}.dtype for {part} in {kept}}}) == 1",
        f"for {value} in {cupy}.stack({kept}).tolist() if {same} "
        f"else [{one}.item() for {one} in {kept}]:",
        f"{step}{text}",
    ]
    edits = [
        Edit(first, last, f"{kept}.append({source.text(read.scalar)})"),
        tools.insert_before(source, loop, [f"{kept} = []"]),
        tools.insert_after(source, loop, after),
    ]
    return Match(
        edits=(*edits, *([edit] if edit else [])),
        why="",
        change=f"the scalars that go into {name} are fetched together after the loop",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                f"nothing in the loop looks at {name}, and nothing changes the scalars",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
        ),
        differences=(
            f"each step keeps a scalar for {name}, 512 bytes of device memory, until the loop ends",
            "an error that one of the numbers causes is raised after the loop",
        ),
    )
