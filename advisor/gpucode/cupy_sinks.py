"""Device scalars that a loop turns into Python numbers, and what it does with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..model import Region
from .basics import meaning
from .cupy_after import own_binding
from .cupy_scalars import is_scalar
from .cupy_text import statement_of, types_of


@dataclass(frozen=True)
class Read:
    """A device scalar that becomes a Python number in the loop."""

    call: ast.Call
    """``float(cp.sum(x))`` or ``cp.sum(x).item()``."""
    scalar: ast.expr


def reads(region: Region) -> Iterator[Read]:
    """``float()``, ``int()``, ``bool()`` and ``.item()`` of device scalars, in the loop."""
    source, types = region.source, types_of(region)
    nodes = [n for n in tools.own_nodes(region.loop) if isinstance(n, ast.Call) and not n.keywords]
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        scalar: ast.expr | None = None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
            scalar = node.func.value
        elif isinstance(node.func, ast.Name) and len(node.args) == 1:
            number = node.func.id
            if number in ("float", "int", "bool") and tools.is_builtin(source, number):
                scalar = node.args[0]
        if scalar is not None and is_scalar(types, scalar):
            yield Read(node, scalar)


def sink(region: Region, read: Read) -> tuple[ast.stmt, str] | None:
    """The statement that appends or adds the number, and the name it gathers in.

    None where the number is used otherwise, or what it is gathered in is looked at in the loop.
    """
    source, types = region.source, types_of(region)
    statement = statement_of(source, read.call)
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                args=[value],
                keywords=[],
            )
        ):
            kind = "list"
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            kind = "number"
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if tools.loads(value, name):
            kind = "number"
        case _:
            return None
    assert statement is not None
    inside = {node for node in ast.walk(statement) if isinstance(node, ast.Name)}
    outside = [n for n in tools.names_in(region.loop) if n.id == name and n not in inside]
    if outside or types.of(ast.Name(name, ast.Load())).what != kind:
        return None
    if _others(region, read, value, name):
        return None
    if kind == "list":
        # not a list that something else holds too, and shows in the loop
        made = own_binding(region, name, statement)
        if not isinstance(made, ast.List | ast.ListComp):
            return None
    return statement, name


def _others(region: Region, read: Read, value: ast.expr, name: str) -> bool:
    """Whether the gathered value holds something that may be another after the loop."""
    source, types = region.source, types_of(region)
    inside = set(ast.walk(read.call))
    for node in ast.walk(value):
        if node in inside:
            continue
        if isinstance(node, ast.Call):
            known = meaning(source, node.func) or ""
            plain = isinstance(node.func, ast.Name) and node.func.id in ("max", "min", "abs")
            if not known.startswith("math.") and not plain:
                return True
        elif isinstance(node, ast.Name) and node.id != name:
            number = types.of(node).what == "number" and not tools.stores(region.loop, node.id)
            function = node.id in ("max", "min", "abs") and tools.is_builtin(source, node.id)
            module = meaning(source, node) == "math"
            if not (number or function or module):
                return True
    return False


def decides(region: Region, read: Read) -> bool:
    """Whether the loop's end depends on the number in each of its steps."""
    source, loop = region.source, region.loop
    for above in tools.ancestors(source, read.call):
        if isinstance(above, ast.BoolOp) and read.call not in set(ast.walk(above.values[0])):
            return False  # if step % 10 == 9 and float(moved) < limit
    if isinstance(loop, ast.While) and read.call in set(ast.walk(loop.test)):
        return True
    tests = [
        node
        for node in loop.body
        if isinstance(node, ast.If)
        and any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(node))
    ]
    statement = tools.enclosing_statement(source, read.call)
    if statement in tests:
        return True
    if statement not in loop.body or not isinstance(statement, ast.Assign):
        return False
    names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
    names |= {
        n.id
        for target in statement.targets
        for n in ast.walk(target)
        if isinstance(n, ast.Name) and isinstance(loop, ast.While) and tools.loads(loop.test, n.id)
    }
    looked = [node.test for node in tests]
    looked += [loop.test] if isinstance(loop, ast.While) else []
    return any(tools.loads(test, name) for test in looked for name in names)
