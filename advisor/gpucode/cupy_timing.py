"""Where a loop takes times of work on the device, and whether it waits for that work."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..codegen import ast_tools as tools
from ..model import Region
from .basics import meaning
from .cupy import Types
from .cupy_names import own_function

_CLOCKS = ("time.perf_counter", "time.time", "time.monotonic", "time.perf_counter_ns")
_WAITS = frozenset({"get", "item", "synchronize", "tolist", "done", "set"})


Interval = tuple[ast.stmt, list[ast.stmt], ast.Call]
"""``start = clock()``, the statements up to ``clock() - start``, and that second call."""


def intervals(region: Region) -> Iterator[Interval]:
    """The intervals that each step of the loop times."""
    return _intervals(region, region.loop.body)


def around(region: Region) -> Iterator[Interval]:
    """The intervals in which the whole loop runs."""
    found = _intervals(region, tools.block_of(region.source, region.loop))
    return (interval for interval in found if region.loop in interval[1])


def _intervals(region: Region, body: list[ast.stmt]) -> Iterator[Interval]:
    source = region.source
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
                yield statement, body[first + 1 : last], read
                break


def _elapsed(region: Region, statement: ast.stmt, name: str) -> ast.Call | None:
    for node in tools.own_nodes(statement):
        match node:
            case ast.BinOp(left=ast.Call() as call, op=ast.Sub(), right=ast.Name(id=start)):
                if start == name and meaning(region.source, call.func) in _CLOCKS:
                    return call
    match statement:
        case ast.Assign(targets=[ast.Name(id=end)], value=ast.Call() as call):
            if meaning(region.source, call.func) in _CLOCKS and _subtracted(region, end, name):
                return call
    return None


def _subtracted(region: Region, end: str, start: str) -> bool:
    """Whether ``end - start`` is computed in the frame."""
    for node in tools.own_nodes(region.function or region.source.tree):
        match node:
            case ast.BinOp(left=ast.Name(id=one), op=ast.Sub(), right=ast.Name(id=other)):
                if (one, other) == (end, start):
                    return True
    return False


def never_waits(types: Types, statement: ast.stmt) -> bool:
    """Whether certainly nothing in a statement waits, loops looked into."""
    match statement:
        case ast.For(iter=head, body=body, orelse=[]) | ast.While(test=head, body=body, orelse=[]):
            return _asks_the_host(types, head) and all(never_waits(types, part) for part in body)
    return not may_wait(types, statement, set())


def _asks_the_host(types: Types, head: ast.expr) -> bool:
    """``range(steps)``, ``step < steps``: what says how often a loop runs is on the host."""
    for node in ast.walk(head):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name not in ("range", "len") or not tools.is_builtin(types.source, name):
                return False
        if isinstance(node, ast.expr) and types.on_device(node):
            return False
    return True


def launches(types: Types, statement: ast.stmt) -> list[ast.expr]:
    """What certainly starts work on the device."""
    return [
        node
        for node in tools.own_nodes(statement)
        if isinstance(node, ast.BinOp | ast.Call) and types.on_device(node)
    ]


def may_wait(types: Types, statement: ast.AST, done: set[str]) -> bool:
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
        if function.name not in done and may_wait(types, function, {*done, function.name}):
            return True
    return False
