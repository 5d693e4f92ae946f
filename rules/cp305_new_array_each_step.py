"""Let a step's result take the memory of the array that it replaces.

Why it is slow: each result gets memory of its own: the pool has to look for it in every step, and
where arrays are large two of them must fit, and the driver is asked for more.
Why it may differ: it does not: arithmetic with numbers gives the same shape and type, and no other
name holds the array that is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Mistake,
    Refusal,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy_in_place import Remade, remade
from gpuadvise.gpucode.cupy_pingpong import Exchange, exchanges
from gpuadvise.gpucode.cupy_text import mistake, objection, seen_at, types_of

HEAD = """\
import cupy as cp


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def decay(size, steps, rate):
    x = cp.ones(size)
    total = 0.0
    for step in range(steps):
        x = x * 0.99
        total += float(x.sum())
    return x.get(), total
""",
        line=8,
        function="decay",
        inputs="args = (1000, 20, 0.5)",
        after=HEAD
        + """\
def decay(size, steps, rate):
    x = cp.ones(size)
    total = 0.0
    for step in range(steps):
        x *= 0.99
        total += float(x.sum())
    return x.get(), total
""",
    ),
    Spots(
        before=HEAD
        + """\
def settle(size, steps):
    signal = cp.zeros(size) + 0.5
    for _ in range(steps):
        signal = cp.sin(signal)
        signal = signal * 1.5 - 0.25  # towards a fixed point
    return signal.get()
""",
        line=7,
        function="settle",
        inputs="args = (4096, 40)",
        after=HEAD
        + """\
def settle(size, steps):
    signal = cp.zeros(size) + 0.5
    for _ in range(steps):
        cp.sin(signal, out=signal)
        signal = signal * 1.5 - 0.25  # towards a fixed point
    return signal.get()
""",
    ),
    Spots(
        before=HEAD
        + """\
def diffuse(size, steps):
    u = cp.zeros(size)
    u[0] = 1.0
    for _ in range(steps):
        new = 0.5 * u + 0.25 * (cp.roll(u, 1) + cp.roll(u, -1))
        if float(cp.abs(new - u).max()) < 1e-9:
            break
        u = new
    return u.get()
""",
        line=8,
        function="diffuse",
        inputs="args = (1000, 20)",
        after=HEAD
        + """\
def diffuse(size, steps):
    u = cp.zeros(size)
    u[0] = 1.0
    new = cp.empty_like(u)
    for _ in range(steps):
        cp.add(0.5 * u, 0.25 * (cp.roll(u, 1) + cp.roll(u, -1)), out=new)
        if float(cp.abs(new - u).max()) < 1e-9:
            break
        u, new = new, u
    return u.get()
""",
    ),
    Spots(
        before=HEAD
        + """\
def heat(rows, columns, steps):
    plate = cp.zeros((rows, columns))
    plate[0] = 100.0
    for _ in range(steps):
        after = plate.copy()
        after[1:-1, 1:-1] = 0.25 * (
            plate[2:, 1:-1] + plate[:-2, 1:-1] + plate[1:-1, 2:] + plate[1:-1, :-2]
        )
        plate = after
    return plate.get()
""",
        line=8,
        function="heat",
        inputs="args = (40, 30, 25)",
        after=HEAD
        + """\
def heat(rows, columns, steps):
    plate = cp.zeros((rows, columns))
    plate[0] = 100.0
    after = cp.empty_like(plate)
    for _ in range(steps):
        after[...] = plate
        after[1:-1, 1:-1] = 0.25 * (
            plate[2:, 1:-1] + plate[:-2, 1:-1] + plate[1:-1, 2:] + plate[1:-1, :-2]
        )
        plate, after = after, plate
    return plate.get()
""",
    ),
    Ignores(
        before=HEAD
        + """\
def decay(x, steps):
    for step in range(steps):
        x = x * 0.99
    return x
""",
        because="the caller's array must stay as it is",
        function="decay",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def frames(size, steps):
    x = cp.ones(size)
    kept = []
    for step in range(steps):
        x = x * 0.99
        kept.append(x)
    return kept
""",
        because="every step's array is kept",
        function="frames",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def frames(size, steps):
    u = cp.ones(size)
    kept = []
    for _ in range(steps):
        new = 0.5 * u + 0.25 * (cp.roll(u, 1) + cp.roll(u, -1))
        kept.append(new)
        u = new
    return kept
""",
        because="the array that would be written again is kept",
        function="frames",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def change(size, steps):
    x = cp.ones(size)
    for step in range(steps):
        old = x
        x = x * 0.99
        moved = x - old
    return moved
""",
        because="the array before is looked at once more",
        function="change",
        static=True,
    ),
)


@rule(cases=CASES)
def new_array_each_step(region: Region) -> tuple[Mistake, ...] | None:
    """The loop makes a new array in each step where the old one is used no more."""
    found = [*_exchanged(region)]
    for one in remade(region):
        seen = seen_at(region, [one.statement], "kernel", "alloc")
        if seen is None:
            continue
        what = f"each step makes a new array for {one.name}, whose old one is dropped"
        remedy = "compute in place, or let two arrays change places"
        found.append(mistake(region, one.statement, what, remedy, seen, _in_place(region, one)))
    return tuple(found) or None


def _exchanged(region: Region) -> Iterator[Mistake]:
    for one in exchanges(region):
        seen = seen_at(region, [one.made], "kernel", "alloc")
        if seen is None:
            continue
        what = f"each step makes a new array {one.new}, which then takes the place of {one.old}"
        remedy = "let two arrays change places"
        yield mistake(region, one.made, what, remedy, seen, _in_turn(region, one))


def _in_turn(region: Region, one: Exchange) -> Match | Refusal:
    refusal = objection(region, one.old, one.new)
    if refusal is not None:
        return refusal
    source = region.source
    cupy = tools.module_alias(source, "cupy")
    if cupy is None:
        return Refusal("the file has no import cupy at its top", 1)
    before = tools.insert_before(source, region.loop, [f"{one.new} = {cupy}.empty_like({one.old})"])
    swap = tools.replace_lines(source, one.swap, [f"{one.old}, {one.new} = {one.new}, {one.old}"])
    return Match(
        edits=(before, _written(source, one), swap),
        why="",
        change=f"{one.old} and {one.new} are two arrays that change places in each step",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                f"no other name holds {one.old} or {one.new}, and both have one type and shape",
                Basis.PROVED,
                f"lines {one.made.lineno}-{one.swap.lineno}",
            ),
        ),
    )


def _written(source: Source, one: Exchange) -> Edit:
    """The statement over memory that is there; its line goes where nothing has to be written."""
    if one.line:
        return tools.replace_lines(source, one.made, [one.line])
    assert one.made.end_lineno is not None
    start = source.line_starts[one.made.lineno - 1]
    return Edit(start, source.line_starts[one.made.end_lineno], "")


def _in_place(region: Region, one: Remade) -> Match | Refusal:
    refusal = objection(region, one.name)
    if refusal is not None:
        return refusal
    cupy = tools.module_alias(types_of(region).source, "cupy")
    if cupy is None:
        return Refusal("the file has no import cupy at its top", 1)
    line = one.statement.lineno
    return Match(
        edits=(tools.replace_lines(region.source, one.statement, one.lines),),
        why="",
        change=f"{one.name} is computed in its own memory",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                f"no other name holds the array behind {one.name}, and its type and shape stay",
                Basis.PROVED,
                f"line {line}",
            ),
        ),
    )
