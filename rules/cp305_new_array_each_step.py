"""Let a step's result take the memory of the array that it replaces.

Why it is slow: each result gets memory of its own: the pool has to look for it in every step, and
where arrays are large two of them must fit, and the driver is asked for more.
Why it may differ: it does not: arithmetic with numbers gives the same shape and type, and no other
name holds the array that is overwritten.
"""

from __future__ import annotations

from gpuadvise.api import (
    Basis,
    Condition,
    Ignores,
    Match,
    Mistake,
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy_in_place import Remade, remade
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
    found = []
    for one in remade(region):
        seen = seen_at(region, [one.statement], "kernel", "alloc")
        if seen is None:
            continue
        what = f"each step makes a new array for {one.name}, whose old one is dropped"
        remedy = "compute in place, or let two arrays change places"
        found.append(mistake(region, one.statement, what, remedy, seen, _in_place(region, one)))
    return tuple(found) or None


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
