"""Statements that make a new array in each step which could take the old one's memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..model import Region
from .basics import meaning
from .cupy import Types
from .cupy_fresh import is_new
from .cupy_tables import ELEMENTWISE, REDUCTIONS
from .cupy_text import loops_above, types_of

_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+=",
    ast.Sub: "-=",
    ast.Mult: "*=",
    ast.Div: "/=",
}
_METADATA = frozenset({"shape", "size", "ndim", "dtype", "nbytes"})


@dataclass(frozen=True)
class Remade:
    """``x = x * 0.5 + 1.0`` and the statements that do the same in ``x``'s memory."""

    statement: ast.Assign
    name: str
    lines: tuple[str, ...]


def remade(region: Region) -> Iterator[Remade]:
    """Such statements of a loop, where nothing else holds the array whose memory they take.

    Only arithmetic with numbers and functions of one array: what has the same shape and type as
    before, whatever these are.
    """
    types, source = types_of(region), region.source
    if any(True for _ in loops_above(source, region)):
        return  # an outer loop may hold last step's array when this one begins again
    for node in tools.own_nodes(region.loop):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                lines = _steps(types, value, name)
                if lines and tools.stands_alone(source, node) and _is_own(region, types, name):
                    yield Remade(node, name, lines)


def _steps(types: Types, value: ast.expr, name: str) -> tuple[str, ...] | None:
    """``x *= 0.5`` and ``x += 1.0``, in the order of the expression; None for any other."""
    if types.of(ast.Name(name, ast.Load())).kind != "f":
        return None  # of integers the quotient has another type
    match value:
        case ast.BinOp(left=ast.Name(id=left), op=op, right=right) if left == name:
            return _step(types, name, op, right)
        case ast.BinOp(left=left, op=op, right=right):
            before, last = _steps(types, left, name), _step(types, name, op, right)
            return (*before, *last) if before and last else None
        case ast.Call(args=[ast.Name(id=only)], keywords=[]) if only == name:
            called = meaning(types.source, value.func) or ""
            function = called.removeprefix("cupy.")
            if function != called and ELEMENTWISE.get(function, (0, "b")) in ((1, "f"), (1, "")):
                return (f"{ast.unparse(value.func)}({name}, out={name})",)
    return None


def _step(types: Types, name: str, op: ast.operator, right: ast.expr) -> tuple[str, ...] | None:
    symbol, number = _SYMBOLS.get(type(op)), types.of(right)
    if symbol is None or number.what != "number" or number.kind not in ("i", "f"):
        return None
    return (f"{name} {symbol} {types.source.text(right)}",)


def _is_own(region: Region, types: Types, name: str) -> bool:
    """Whether every array of that name is new, and no other name or object ever holds it."""
    scope, loop = types.scope, region.loop
    nodes = list(tools.own_nodes(scope))
    made = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name
    ]
    stores = tools.stores(scope, name)
    if not made or len(made) != len(stores) or not all(is_new(types, value) for value in made):
        return False
    if tools.deferred_uses(types.source, scope, name) is not None:
        return False
    assert loop.end_lineno is not None
    early = [n for n in tools.loads(scope, name) if n.lineno <= loop.end_lineno]
    return all(only_read(types, use) for use in early)


def only_read(types: Types, use: ast.Name) -> bool:
    """Whether a use takes numbers out of the array and keeps nothing of it."""
    above = tools.parents(types.source)[use]
    match above:
        case ast.BinOp() | ast.Compare() | ast.UnaryOp():
            return True
        case ast.Attribute(attr=attr):
            call = tools.parents(types.source).get(above)
            called = isinstance(call, ast.Call) and call.func is above and not call.keywords
            return attr in _METADATA or (called and attr in ("get", "copy", *REDUCTIONS))
        case ast.Call(keywords=[]) if above.func is not use:
            called_name = meaning(types.source, above.func) or ""
            name = called_name.removeprefix("cupy.")
            if name == called_name:
                return called_name in ("cupy.asnumpy",)
            if name in ELEMENTWISE:
                return len(above.args) == ELEMENTWISE[name][0]
            return name in (*REDUCTIONS, "roll", "asnumpy", "where") and above.args[0] is use
    return False
