"""Two arrays that change places: ``new = f(old)`` and ``old = new`` in each step of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..model import Region, Source
from .basics import meaning
from .cupy import Types
from .cupy_in_place import only_read
from .cupy_tables import CONSTRUCTORS, ELEMENTWISE
from .cupy_text import loops_above, types_of

_FUNCTIONS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "true_divide",
}
_FILLED = {"zeros_like": "0", "ones_like": "1"}


@dataclass(frozen=True)
class Exchange:
    """A step's new array, and the statement by which it takes the old one's place."""

    made: ast.Assign
    swap: ast.Assign
    new: str
    old: str
    line: str
    """What writes into memory that is there already; empty where nothing has to."""


def exchanges(region: Region) -> Iterator[Exchange]:
    """Such pairs of a loop, where nobody else holds either array."""
    types, source, body = types_of(region), region.source, region.loop.body
    if any(True for _ in loops_above(source, region)):
        return  # an outer loop may hold last step's array when this one begins again
    for swap in body:
        match swap:
            case ast.Assign(targets=[ast.Name(id=old)], value=ast.Name(id=new)) if old != new:
                pass
            case _:
                continue
        made = _made(body, new)
        if made is None or made.lineno > swap.lineno:
            continue
        line = _into(types, made.value, old, new)
        alone = tools.stands_alone(source, made) and tools.stands_alone(source, swap)
        if line is not None and alone and _are_own(region, types, made, swap, (old, new)):
            yield Exchange(made, swap, new, old, line)


def _made(body: list[ast.stmt], new: str) -> ast.Assign | None:
    given = (s for s in body if isinstance(s, ast.Assign))
    found = [s for s in given if any(tools.stores(target, new) for target in s.targets)]
    single = len(found) == 1 and len(found[0].targets) == 1
    return found[0] if single and isinstance(found[0].targets[0], ast.Name) else None


# --------------------------------------------------------------------- the value
def _into(types: Types, value: ast.expr, old: str, new: str) -> str | None:
    """The statement that computes a value of ``old``'s type and shape into ``new``'s memory."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[]):
            return f"{new}[...] = {old}" if name == old and not value.keywords else None
        case ast.Call(args=[ast.Name(id=name)], keywords=[]) if name == old:
            called = (meaning(types.source, value.func) or "").removeprefix("cupy.")
            if called in _FILLED:
                return f"{new}.fill({_FILLED[called]})"
            if called in ("copy", "empty_like"):
                return f"{new}[...] = {old}" if called == "copy" else ""
    return _computed(types, value, old, new)


def _computed(types: Types, value: ast.expr, old: str, new: str) -> str | None:
    cupy, source = tools.module_alias(types.source, "cupy"), types.source
    if cupy is None or types.of(ast.Name(old, ast.Load())).kind != "f":
        return None
    if not _like(types, value, old):
        return None
    match value:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FUNCTIONS:
            operands = f"{source.text(left)}, {source.text(right)}"
            return f"{cupy}.{_FUNCTIONS[type(op)]}({operands}, out={new})"
        case ast.Call(func=func, args=[argument]) if _is_elementwise(types, value):
            return f"{source.text(func)}({source.text(argument)}, out={new})"
    return None


def _like(types: Types, node: ast.expr, old: str) -> bool:
    """Whether an expression has the type and the shape of ``old``, whatever these are."""
    match node:
        case ast.Name(id=name):
            return name == old
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _like(types, operand, old)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _FUNCTIONS:
            one, two = _like(types, left, old), _like(types, right, old)
            return (
                (one and two)
                or (one and _is_number(types, right))
                or (two and _is_number(types, left))
            )
        case ast.Call(args=[argument, *more]):
            if _is_elementwise(types, node):
                return _like(types, argument, old)
            rolled = meaning(types.source, node.func) == "cupy.roll" and bool(more)
            return rolled and _like(types, argument, old)
    return False


def _is_number(types: Types, node: ast.expr) -> bool:
    known = types.of(node)
    return known.what == "number" and known.kind in ("i", "f")


def _is_elementwise(types: Types, node: ast.Call) -> bool:
    called = meaning(types.source, node.func) or ""
    name = called.removeprefix("cupy.")
    single = len(node.args) == 1 and not node.keywords
    return name != called and single and ELEMENTWISE.get(name, (0, "b")) in ((1, "f"), (1, ""))


# ------------------------------------------------------------------ who holds them
def _are_own(
    region: Region, types: Types, made: ast.Assign, swap: ast.Assign, names: tuple[str, str]
) -> bool:
    """Whether no other name or object holds either array, and the new one is read in between."""
    old, new = names
    scope, source, loop = types.scope, types.source, region.loop
    if any(tools.deferred_uses(source, scope, name) is not None for name in names):
        return False
    if len(tools.stores(scope, new)) != 1 or not _starts_plain(types, swap, old):
        return False
    assert made.end_lineno is not None and loop.end_lineno is not None
    for use in tools.loads(scope, new):
        if not made.end_lineno < use.lineno <= swap.lineno:
            return False
        if use is not swap.value and not (only_read(types, use) or _in_parts(source, use)):
            return False
    early = [use for use in tools.loads(scope, old) if use.lineno <= loop.end_lineno]
    inside = set(ast.walk(made.value))
    return all(use in inside or only_read(types, use) or _in_parts(source, use) for use in early)


def _in_parts(source: Source, use: ast.Name) -> bool:
    """``new[1:-1] = old[2:] + old[:-2]``: numbers are stored or read, and no view is kept."""
    above = tools.parents(source)
    part = above[use]
    if not isinstance(part, ast.Subscript) or part.value is not use:
        return False
    if not isinstance(part.ctx, ast.Load):
        return isinstance(part.ctx, ast.Store)
    match above[part]:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return True
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Subscript) for target in targets)
        case ast.Call(func=ast.Name(id="float" | "int" as name)):
            return tools.is_builtin(source, name)
    return False


def _starts_plain(types: Types, swap: ast.Assign, old: str) -> bool:
    """Whether ``old`` starts as a new array in C order, and only the swap binds it again."""
    first = []
    for store in tools.stores(types.scope, old):
        holder = tools.parents(types.source)[store]
        if holder is swap:
            continue
        if not isinstance(holder, ast.Assign) or len(holder.targets) != 1:
            return False
        first.append(holder.value)
    return len(first) == 1 and _in_c_order(types, first[0])


def _in_c_order(types: Types, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or any(k.arg in ("order", None) for k in value.keywords):
        return False
    called = meaning(types.source, value.func) or ""
    library, _, name = called.partition(".")
    if library in ("cupy", "numpy") and name in CONSTRUCTORS:
        return True
    if called.startswith(("cupy.random.", "numpy.random.")):
        return True
    if called in ("cupy.asarray", "cupy.array") and len(value.args) == 1:
        return _host_in_c_order(types, value.args[0])
    return False


def _host_in_c_order(types: Types, node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return _in_c_order(types, node)
    if not isinstance(node, ast.Name):
        return False
    stores = tools.stores(types.scope, node.id)
    if not stores and tools.bound_names(types.source).get(node.id) == 1:
        stores = tools.stores(types.source.tree, node.id)
    holders = [tools.parents(types.source)[store] for store in stores]
    return bool(holders) and all(
        isinstance(h, ast.Assign) and isinstance(h.value, ast.Call) and _in_c_order(types, h.value)
        for h in holders
    )
