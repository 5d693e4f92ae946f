"""Which expressions are single numbers on the device, new ones that nothing else holds."""

from __future__ import annotations

import ast

from ..codegen import ast_tools as tools
from .basics import meaning
from .cupy import Types
from .cupy_effects import device_use
from .cupy_tables import ELEMENTWISE, REDUCTIONS


def is_scalar(types: Types, node: ast.expr) -> bool:
    """Whether the expression is certainly a new CuPy array of no dimensions.

    ``cp.sum(x)``, ``x.max()``, sums and functions of those; a name only if all it is ever bound
    to is such, and nothing changes it in place.
    """
    match node:
        case ast.Call():
            return _call(types, node)
        case ast.BinOp(left=left, right=right):
            return _combined(types, [left, right])
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            return is_scalar(types, operand)
        case ast.Name(id=name):
            return _name(types, name)
    return False


def _combined(types: Types, parts: list[ast.expr]) -> bool:
    scalars = [is_scalar(types, part) for part in parts]
    numbers = [types.of(part).what == "number" for part in parts]
    return any(scalars) and all(a or b for a, b in zip(scalars, numbers, strict=True))


def _call(types: Types, node: ast.Call) -> bool:
    if node.keywords:
        return False  # axis, keepdims, out
    called = meaning(types.source, node.func) or ""
    if called.startswith("cupy."):
        name = called.removeprefix("cupy.")
        if name in REDUCTIONS or name == "linalg.norm":
            return len(node.args) == 1 and types.on_device(node.args[0])
        arity = ELEMENTWISE.get(name, (0, ""))[0]
        return arity == len(node.args) and _combined(types, node.args)
    if not isinstance(node.func, ast.Attribute) or node.args:
        return False
    reduces = node.func.attr in REDUCTIONS and node.func.attr not in ("amax", "amin")
    return reduces and types.on_device(node.func.value)


def _name(types: Types, name: str) -> bool:
    stores = tools.stores(types.scope, name)
    nodes = list(tools.own_nodes(types.scope))
    values = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    # s = cp.sum(x); s = s + y would ask for itself
    mentions = any(tools.loads(value, name) for value in values)
    if not values or len(values) != len(stores) or mentions:
        return False
    if not all(is_scalar(types, value) for value in values):
        return False
    return device_use(types, nodes, name) is None
