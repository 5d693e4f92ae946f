"""Keep the arrays of several steps on the device, and copy them to the host together.

Why it is slow: ``cp.asnumpy`` and ``.get()`` wait until the device has done all work so far; while
the array is copied and stored, no new work is sent to it.
Why it may differ: the arrays are the same; up to 256 MB of them are kept on the device before they
are copied.
"""

from __future__ import annotations

import ast
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
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import meaning
from gpuadvise.gpucode.cupy_after import left_early, own_binding
from gpuadvise.gpucode.cupy_effects import clocks
from gpuadvise.gpucode.cupy_fresh import is_new, only_new
from gpuadvise.gpucode.cupy_text import mistake, seen_at, statement_of, types_of
from gpuadvise.names import free_name

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp


def frames(size, steps):
    x = cp.linspace(0.0, 1.0, size)
    kept = []
    for _ in range(steps):
        x = 3.7 * x * (1.0 - x)
        kept.append(cp.asnumpy(x))
    return kept
""",
        line=9,
        function="frames",
        inputs="args = (1000, 50)",
        after="""\
import cupy as cp


def frames(size, steps):
    x = cp.linspace(0.0, 1.0, size)
    kept = []
    kept_device = []
    for _ in range(steps):
        x = 3.7 * x * (1.0 - x)
        kept_device.append(x)
        if len(kept_device) * kept_device[-1].nbytes > 256_000_000:
            kept.extend([cp.asnumpy(part) for part in kept_device])
            kept_device.clear()
    kept.extend([cp.asnumpy(part) for part in kept_device])
    return kept
""",
    ),
    Ignores(
        before="""\
import cupy as cp


def frames(size, steps):
    x = cp.linspace(0.0, 1.0, size)
    kept = []
    for _ in range(steps):
        x *= 0.5
        kept.append(x.get())
    return kept
""",
        because="the array changes in place: only its copy holds this step's values",
        function="frames",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def frames(fields, steps):
    kept = []
    for field in fields:
        kept.append(cp.asnumpy(field[0]))
    return kept
""",
        because="a view: somebody else may change what it shows",
        function="frames",
        static=True,
    ),
)
LIMIT = "256_000_000"
"""Bytes of arrays that are kept on the device: hundreds of steps, and little of a GPU's memory."""


@rule(cases=CASES)
def frames_each_step(region: Region) -> tuple[Mistake, ...] | None:
    """The loop copies an array to the host in every step, for later."""
    found = []
    if next(clocks(types_of(region), region.loop), None) is not None:
        return None  # the wait serves the measurement
    for statement, call, array, name in _sinks(region):
        seen = seen_at(region, [call], "cop")
        if seen is None:
            continue
        answer = _rewrite(region, statement, call, array, name)
        what = f"the CPU waits in every step to copy an array that goes into {name}"
        remedy = "keep the arrays of several steps on the device and copy them together"
        found.append(mistake(region, call, what, remedy, seen, answer))
    return tuple(found) or None


def _sinks(region: Region) -> Iterator[tuple[ast.stmt, ast.Call, ast.expr, str]]:
    """``kept.append(cp.asnumpy(x))`` of new arrays, where nothing else looks at the list."""
    source, types = region.source, types_of(region)
    for node in tools.own_nodes(region.loop):
        match node:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                    args=[ast.Call() as call],
                    keywords=[],
                )
            ):
                pass
            case _:
                continue
        array = _fetched(region, call)
        if array is None or statement_of(source, call) is not node:
            continue
        new = only_new(types, array.id) if isinstance(array, ast.Name) else is_new(types, array)
        inside = {n for n in ast.walk(node) if isinstance(n, ast.Name)}
        others = [n for n in tools.names_in(region.loop) if n.id == name and n not in inside]
        made = own_binding(region, name, node)
        if new and types.on_device(array) and not others and isinstance(made, ast.List):
            yield node, call, array, name


def _fetched(region: Region, call: ast.Call) -> ast.expr | None:
    if call.keywords:
        return None
    if meaning(region.source, call.func) == "cupy.asnumpy" and len(call.args) == 1:
        return call.args[0]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "get" and not call.args:
        return call.func.value
    return None


def _rewrite(
    region: Region, statement: ast.stmt, call: ast.Call, array: ast.expr, name: str
) -> Match | Refusal:
    source, loop = region.source, region.loop
    refusal = left_early(region, name)
    if refusal is not None:
        return refusal
    kept, part = free_name(source, f"{name}_device"), free_name(source, "part")
    start, end = source.span(array)
    first, last = source.span(call)
    fetch = source.data[first:start].decode() + part + source.data[end:last].decode()
    step = tools.indent_unit(source)
    move = f"{name}.extend([{fetch} for {part} in {kept}])"
    flush = [
        f"if len({kept}) * {kept}[-1].nbytes > {LIMIT}:",
        f"{step}{move}",
        f"{step}{kept}.clear()",
    ]
    return Match(
        edits=(
            tools.insert_before(source, loop, [f"{kept} = []"]),
            Edit(*source.span(statement), f"{kept}.append({source.text(array)})"),
            tools.insert_after(source, statement, flush),
            tools.insert_after(source, loop, [move]),
        ),
        why="",
        change=f"the arrays that go into {name} are copied to the host together",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                f"each array is a new one that nothing changes, and nothing looks at {name}",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
        ),
        differences=("up to 256 MB of device memory more hold the arrays meanwhile",),
    )
