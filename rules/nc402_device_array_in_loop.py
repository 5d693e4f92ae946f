"""Allocate a device array once, before the loop.

Why it is slow: ``cuda.device_array`` asks the driver for memory in every step, and giving the last
step's memory back makes the device wait.
Why it may differ: it does not: a new device array holds nothing in particular, and the first kernel
that gets it only writes to it.
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
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import numba as kernels

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
def run(host, steps):
    x = cuda.to_device(host)
    for _ in range(steps):
        y = cuda.device_array(x.shape, x.dtype)
        double[4, 32](x, y)
        double[4, 32](y, x)
    return x.copy_to_host()
""",
        line=15,
        function="run",
        inputs="args = (np.arange(100.0), 5)",
        after=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    y = cuda.device_array(x.shape, x.dtype)
    for _ in range(steps):
        double[4, 32](x, y)
        double[4, 32](y, x)
    return x.copy_to_host()
""",
    ),
    Spots(
        before=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    for _ in range(steps):
        y = cuda.device_array_like(x)
        double[4, 32](x, y)
        x = y
    return x.copy_to_host()
""",
        line=15,
        function="run",
        after=None,  # each step's result is the next one's input
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
        because="it is allocated once",
        function="run",
        static=True,
    ),
)


@rule(needs=("numba",), cases=CASES)
def device_array_in_loop(region: Region) -> tuple[Mistake, ...] | None:
    """The loop allocates a device array in every step."""
    source, loop = region.source, region.loop
    found: list[Mistake] = []
    for statement in loop.body:
        name = _allocates(source, loop, statement)
        if name is None or not isinstance(statement, ast.Assign):
            continue
        seen = basics.evidence(region, [statement.lineno], ["allocation"])
        if seen.measured and not seen.cost:
            continue
        found.append(
            Mistake(
                line=statement.lineno,
                what=f"device memory for {name} is allocated in every step of the loop",
                remedy="allocate it once before the loop and use it again",
                evidence=seen.text,
                measured=seen.measured,
                cost=seen.cost,
                match=_match(region, statement, name),
            )
        )
    return tuple(found) or None


def _allocates(source: Source, loop: ast.For | ast.While, statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
            # Another size in every step, or memory that belongs to a stream: that is as it must be.
            call = statement.value
            assert isinstance(call, ast.Call)
            if any(k.arg == "stream" for k in call.keywords) or _follows(loop, call):
                return None
            called = basics.meaning(source, func)
            if called in ("numba.cuda.device_array", "numba.cuda.device_array_like"):
                return name
    return None


def _follows(loop: ast.For | ast.While, call: ast.Call) -> bool:
    """Whether what is allocated follows the loop's own variable: ``for chunk in chunks``."""
    if isinstance(loop, ast.While):
        return False
    given = {n.id for n in tools.names_in(loop.target)}
    return any(n.id in given for n in tools.names_in(call))


def _match(region: Region, statement: ast.Assign, name: str) -> Match | None:
    source, loop = region.source, region.loop
    scope = region.function or source.tree
    call = statement.value
    assert isinstance(call, ast.Call)
    if not tools.stands_alone(source, statement) or not tools.stands_alone(source, loop):
        return None
    if len(loop.body) == 1 or not _invariant(source, loop, call):
        return None
    # y is used by launches of this loop alone: not kept, not exchanged, not read after it.
    if len(tools.stores(scope, name)) != 1 or tools.deferred_uses(source, scope, name) is not None:
        return None
    launches = sorted(basics.launches(source, loop), key=lambda c: c.statement.lineno)
    arguments = {a for launch in launches for a in launch.arguments}
    uses = tools.loads(scope, name)
    if not all(use in arguments or _copied_back(source, use, loop) for use in uses):
        return None
    if not _written_first(source, launches, name):
        return None
    assert statement.end_lineno is not None
    first = source.line_starts[statement.lineno - 1]
    last = min(source.line_starts[statement.end_lineno], len(source.data))
    return Match(
        edits=(
            tools.insert_before(source, loop, [source.text(statement)]),
            Edit(first, last, ""),
        ),
        why="",
        change=f"{name} is allocated once, before the loop",
        needs=frozenset({"numba"}),
        ledger=(
            Condition(
                f"nothing but this loop's kernels uses {name}, and the first only writes to it",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
        ),
    )


def _invariant(source: Source, loop: ast.For | ast.While, call: ast.Call) -> bool:
    """The shape and type are the same in every step: names that the loop does not bind."""
    for node in [*call.args, *(k.value for k in call.keywords)]:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and tools.stores(loop, inner.id):
                return False
            if isinstance(inner, ast.Call | ast.Subscript):
                return False  # shapes[k]: a list may change
    return True


def _copied_back(source: Source, use: ast.Name, loop: ast.AST) -> bool:
    """``y.copy_to_host()`` in the loop: a new array each time."""
    holder = tools.parents(source)[use]
    inside = any(node is use for node in ast.walk(loop))
    return inside and isinstance(holder, ast.Attribute) and holder.attr in ("copy_to_host", "shape")


def _written_first(source: Source, launches: list[basics.Launch], name: str) -> bool:
    """Whether the first kernel that gets the array writes to it and reads nothing of it.

    ``y[i] += x[i]`` reads what is there: the last step's values, where a new array has others.
    """
    for launch in launches:
        parameters = [a.arg for a in launch.kernel.args.args]
        given = [
            parameter
            for parameter, argument in zip(parameters, launch.arguments, strict=False)
            if isinstance(argument, ast.Name) and argument.id == name
        ]
        if not given:
            continue
        use = kernels.use_of(source, launch.kernel, given[0])
        reads = any(
            isinstance(n, ast.Subscript)
            and isinstance(n.value, ast.Name)
            and n.value.id == given[0]
            and (isinstance(n.ctx, ast.Load) or _is_augmented(source, n))
            for n in ast.walk(launch.kernel)
        )
        atomic = any(
            isinstance(tools.parents(source)[n], ast.Call)
            for n in tools.loads(launch.kernel, given[0])
        )
        return len(given) == 1 and use.written and use.known and not reads and not atomic
    return False


def _is_augmented(source: Source, node: ast.AST) -> bool:
    holder = tools.parents(source)[node]
    return isinstance(holder, ast.AugAssign) and holder.target is node
