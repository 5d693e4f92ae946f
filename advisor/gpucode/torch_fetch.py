"""Numbers that a loop fetches from tensors, and the loop that fetches them all at its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..codegen import list_uses
from ..model import Basis, Condition, Edit, Match, Region, Source
from . import torch as values
from . import torch_loops as loops
from .torch_kinds import Kind
from .torch_text import scope_of


@dataclass(frozen=True)
class Fetch:
    """``loss.item()`` or ``float(loss)``, of a tensor of one real number."""

    call: ast.Call
    tensor: ast.expr
    elements: str
    """f, i or b."""


def fetches(source: Source, loop: ast.For | ast.While) -> Iterator[Fetch]:
    """The places in a loop where a number is fetched from a tensor."""
    for node in tools.own_nodes(loop):
        if not isinstance(node, ast.Call) or node.keywords:
            continue
        tensor: ast.expr | None = None
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="item"), args=[]):
                tensor = value
            case ast.Call(func=ast.Name(id="float"), args=[value]):
                tensor = value if tools.is_builtin(source, "float") else None
        if tensor is None:
            continue
        known = values.kind(source, tensor)
        learns = isinstance(tensor, ast.Name) and goes_backward(loop, tensor.id)
        if known.what == "tensor" or learns:
            yield Fetch(node, tensor, "f" if learns else known.elements)


def goes_backward(loop: ast.AST, name: str) -> bool:
    """Whether the loop calls ``name.backward()``: what accepts that is one real number."""
    return any(
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "backward"
        and not n.args
        and isinstance(n.func.value, ast.Name)
        and n.func.value.id == name
        for n in ast.walk(loop)
    )


# ------------------------------------------------------------------- rewriting
def rewrite(region: Region, fetch: Fetch) -> Match | None:
    """The loop that keeps the number on the device; None where that could be seen."""
    source, loop = region.source, region.loop
    statement = tools.enclosing_statement(source, fetch.call)
    if not fetch.elements or loop.orelse or not tools.stands_alone(source, statement):
        return None
    if not tools.stands_alone(source, loop):
        return None
    # Two streams that add to one number race; item() kept them in order.
    if loops.orders_by_hand(source) is not None or not loops.only_known_imports(source):
        return None
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            return _summed(region, statement, name, value)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                args=[value],
                keywords=[],
            )
        ) if value is fetch.call:
            return _collected(region, statement, name, fetch)
    return None


def _summed(region: Region, statement: ast.stmt, name: str, value: ast.expr) -> Match | None:
    source, loop = region.source, region.loop
    start = _start(source, loop, name)
    added = [s for s in ast.walk(loop) if isinstance(s, ast.AugAssign) and _adds_to(s, name)]
    # print(total) in the loop, total = min(total, 9), a second use of any kind
    mentions = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    if start is None or added != [statement] or len(mentions) != 1:
        return None
    if loops.watched(region, (name,)):
        return None
    exact = start.elements == "i"
    change = _on_device(source, value, whole=exact)
    final = "int" if exact else "float"
    if change is None or not tools.is_builtin(source, final):
        return None
    assert isinstance(statement, ast.AugAssign)
    sign = (
        source.span(statement.target)[1],
        source.span(statement)[0] + _sum_at(source, statement),
    )
    return Match(
        edits=(
            Edit(*sign, f" = {name} +"),
            *change,
            tools.insert_after(source, loop, [f"{name} = {final}({name})"]),
        ),
        why="",
        change=f"{name} is added up on the device and fetched once after the loop",
        ledger=(
            Condition(
                f"in the loop nothing but this sum looks at {name}",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
            Condition(
                "the same additions in the same order, in 64 bits"
                if exact
                else "the same additions in the same order, in double precision like Python's",
                Basis.PROVED,
                f"line {statement.lineno}",
                given="a sum below 2**63" if exact else "",
            ),
        ),
    )


def _start(source: Source, loop: ast.stmt, name: str) -> Kind | None:
    """The number that the sum starts with: ``total = 0.0`` in the loop's own block, unread."""
    block = tools.block_of(source, loop)
    for statement in reversed(block[: block.index(loop)]):
        if tools.loads(statement, name):
            return None
        stores = tools.stores(statement, name)
        if not stores:
            continue
        if not isinstance(statement, ast.Assign) or len(stores) != 1:
            return None
        return _constant(source, statement, stores[0])
    return None


def _constant(source: Source, statement: ast.Assign, store: ast.Name) -> Kind | None:
    value: ast.expr | None = statement.value
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and store in target.elts:
        same = len(target.elts) == len(value.elts)
        value = value.elts[target.elts.index(store)] if same else None
    elif store not in statement.targets:
        return None
    match value:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=float() | int()):
            return values.kind(source, value)
    return None


def _adds_to(node: ast.AugAssign, name: str) -> bool:
    return isinstance(node.target, ast.Name) and node.target.id == name


def _sum_at(source: Source, statement: ast.AugAssign) -> int:
    """Bytes from the statement's start to behind its ``+=``: nothing but a name is before it."""
    start, end = source.span(statement)
    return source.data[start:end].index(b"+=") + 2


def _on_device(source: Source, value: ast.expr, *, whole: bool) -> tuple[Edit, ...] | None:
    """The summand as a tensor: ``loss.item() * len(x)`` -> ``loss.detach().double() * len(x)``."""
    match value:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            # Python multiplies in double precision too; the factor has to be a whole number.
            small = values.kind(source, right)
            if small.what != "number" or small.elements != "i":
                return None
            if not whole and not _is_item_of_floats(source, left):
                return None  # Python multiplies whole numbers without rounding
            return _on_device(source, left, whole=whole)
        case ast.Call(func=ast.Attribute(value=tensor, attr="item") as func, args=[], keywords=[]):
            new = _promotion(source, tensor, whole=whole)
            start = source.span(func)[1] - len("item")
            return None if new is None else (Edit(start, source.span(value)[1], new),)
        case ast.Call(func=ast.Name(id="float") as name, args=[tensor], keywords=[]):
            new = None if whole else _promotion(source, tensor, whole=False)
            end = source.span(value)[1]
            return (
                None if new is None else (Edit(*source.span(name), ""), Edit(end, end, f".{new}"))
            )
    return None


def _promotion(source: Source, tensor: ast.expr, *, whole: bool) -> str | None:
    elements = _elements(source, tensor)
    if elements not in ("f", "i", "b") or (whole and elements == "f"):
        return None
    return "long()" if whole else "detach().double()"


def _is_item_of_floats(source: Source, value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(value=tensor, attr="item")):
            return _elements(source, tensor) == "f"
    return False


def _elements(source: Source, tensor: ast.expr) -> str:
    scope = scope_of(source, tensor)
    if isinstance(tensor, ast.Name) and scope is not None and goes_backward(scope, tensor.id):
        return "f"
    return values.kind(source, tensor).elements


def _collected(region: Region, statement: ast.stmt, name: str, fetch: Fetch) -> Match | None:
    source, loop = region.source, region.loop
    torch = loops.torch_name(source)
    fresh = list_uses.fresh_before(source, loop, name)
    mentions = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    if fresh is None or torch is None or len(mentions) != 1 or loops.watched(region, (name,)):
        return None
    if not isinstance(fresh, ast.Assign) or not isinstance(fresh.value, ast.List):
        return None
    if fresh.value.elts or list(list_uses.uses_between(source, fresh, loop, name))[1:]:
        return None  # what was in the list before, or a second name for it
    whole = fetch.elements == "i" and isinstance(fetch.call.func, ast.Attribute)
    if fetch.elements != "f" and not whole:
        return None  # float() of whole numbers: tolist() would give whole ones
    new = _kept(source, fetch)
    after = f"{name} = {torch}.stack({name}).tolist() if {name} else {name}"
    return Match(
        edits=(
            *new,
            tools.insert_after(source, loop, [after]),
        ),
        why="",
        change=f"{name} is collected on the device and fetched once after the loop",
        ledger=(
            Condition(
                f"in the loop nothing but this line looks at {name}",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
        ),
        differences=("each collected number takes 512 bytes of device memory until the end",),
    )


def _kept(source: Source, fetch: Fetch) -> tuple[Edit, ...]:
    """A tensor of its own that nothing changes later: ``loss /= 2`` may follow."""
    end = source.span(fetch.call)[1]
    func = fetch.call.func
    new = "detach().clone().reshape(())"
    if isinstance(func, ast.Name):  # float(loss)
        return Edit(*source.span(func), ""), Edit(end, end, f".{new}")
    start = source.span(func)[1] - len("item")
    match fetch.tensor:
        # a new tensor without axes and without gradient
        case ast.Call(func=ast.Attribute(attr="argmax" | "argmin"), args=[], keywords=[]):
            if source.data[start - 1 : start] == b".":
                return (Edit(start - 1, end, ""),)
    return (Edit(start, end, new),)
