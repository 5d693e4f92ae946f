"""What rules share that do after a CuPy loop what was done in each of its steps."""

from __future__ import annotations

import ast

from ..codegen import ast_tools as tools
from ..model import Refusal, Region
from .cupy_text import objection


def left_early(region: Region, name: str) -> Refusal | None:
    """Why what ``name`` gathers in the loop cannot be gathered after it."""
    source, loop = region.source, region.loop
    refusal = objection(region, name)
    if refusal is not None:
        return refusal
    handler = tools.handlers_around(source, region.function or source.tree, loop)
    if handler is not None:
        return Refusal("a handler could see what was gathered so far", handler.lineno)
    for node in tools.own_nodes(loop):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await):
            return Refusal("the loop can be left before its end", node.lineno)
        if isinstance(node, ast.With | ast.AsyncWith):
            return Refusal("the steps may belong to several streams or devices", node.lineno)
    if loop.orelse:
        return Refusal("code behind the loop's else could see what was gathered", loop.lineno)
    if not tools.is_builtin(source, "len"):
        return Refusal("len is not the built-in", loop.lineno)
    return None


def own_binding(region: Region, name: str, statement: ast.stmt) -> ast.expr | None:
    """What the name is bound to before the loop, once, if nobody else sees that.

    ``log = found`` before the loop, and ``print(log)`` in it, would show it half-way. Stores in
    ``statement``, in the loop, are known to the caller.
    """
    source, loop = region.source, region.loop
    scope = region.function or source.tree
    inside = {node for node in ast.walk(statement) if isinstance(node, ast.Name)}
    stores = [node for node in tools.stores(scope, name) if node not in inside]
    if len(stores) != 1 or stores[0].lineno >= loop.lineno:
        return None
    binding = tools.enclosing_statement(source, stores[0])
    match binding:
        # not log = found = []
        case ast.Assign(targets=[ast.Name()], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            pass
        case _:
            return None
    if tools.block_of(source, binding) is not tools.block_of(source, loop):
        return None  # made before an outer loop, whose last step may have kept it
    assert loop.end_lineno is not None
    outside = [n for n in tools.loads(scope, name) if n not in inside]
    return value if all(n.lineno > loop.end_lineno for n in outside) else None
