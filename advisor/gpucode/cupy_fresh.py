"""Which expressions make a new array on the device that nothing else holds."""

from __future__ import annotations

import ast

from ..codegen import ast_tools as tools
from .basics import meaning
from .cupy import Types
from .cupy_effects import FRESH_FUNCTIONS, device_use
from .cupy_names import own_function, returns
from .cupy_tables import CONSTRUCTORS, ELEMENTWISE, REDUCTIONS


def is_new(types: Types, node: ast.expr) -> bool:
    """Whether the expression makes a new CuPy array; views and names are none."""
    if isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp):
        return types.on_device(node)
    if not isinstance(node, ast.Call) or any(k.arg in ("out", None) for k in node.keywords):
        return False
    called = meaning(types.source, node.func) or ""
    name = called.removeprefix("cupy.")
    if name != called:
        return _made_by_cupy(types, node, name)
    if isinstance(node.func, ast.Attribute):
        # x.astype(t, copy=False) may be x itself
        one = len(node.args) <= 1 and not node.keywords
        method = node.func.attr in ("copy", "astype") or node.func.attr in REDUCTIONS
        return method and one and types.on_device(node.func.value)
    function = own_function(types.source, node.func.id) if isinstance(node.func, ast.Name) else None
    inside = types.inside(node, function) if function is not None else None
    if function is None or inside is None:
        return False
    values = [statement.value for statement in returns(function)]
    return bool(values) and all(value is not None and is_new(inside, value) for value in values)


def _made_by_cupy(types: Types, node: ast.Call, name: str) -> bool:
    if name in ELEMENTWISE:
        return len(node.args) == ELEMENTWISE[name][0]
    if name == "asarray":
        # of an array on the device it is that array
        return len(node.args) == 1 and types.of(node.args[0]).what == "host"
    if name in REDUCTIONS:
        return len(node.args) == 1
    if name == "where":
        return len(node.args) == 3
    return name in CONSTRUCTORS or (name in FRESH_FUNCTIONS and name != "asnumpy")


def only_new(types: Types, name: str) -> bool:
    """Whether a name only ever stands for new arrays, which nothing changes or keeps."""
    stores = tools.stores(types.scope, name)
    nodes = list(tools.own_nodes(types.scope))
    values = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    single = all(
        len(node.targets) == 1
        for node in nodes
        if isinstance(node, ast.Assign) and node.value in values
    )
    if not stores or len(values) != len(stores) or not single:
        return False
    return all(is_new(types, v) for v in values) and device_use(types, nodes, name) is None
