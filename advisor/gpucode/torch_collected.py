"""Tensors that a loop copies to the host in each step and only collects: copied in blocks."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..codegen import list_uses
from ..model import Basis, Condition, Match, Region, Source
from ..names import free_name
from . import torch as values
from . import torch_loops as loops
from .basics import meaning
from .torch_blocks import Block, edits
from .torch_kinds import FUNCTIONS
from .torch_text import own_function

BLOCK, BYTES = 100, 28
HELPER = f'''\
def {{name}}(steps, kept, fetch):
    """The steps of a loop; the tensors they keep are fetched {BLOCK} at a time, or 256 MB."""
    try:
        for step in steps:
            yield step
            if len(kept) >= {BLOCK} or (kept and kept[-1].nbytes * len(kept) >= 2**{BYTES}):
                fetch(kept)
    finally:
        fetch(kept)
'''
_PRODUCTS = frozenset({"matmul", "mm", "bmm", "stack", "cat", "where", "maximum", "minimum"})
_CHAIN = frozenset({"cpu", "numpy", "tolist", "detach"})


@dataclass(frozen=True)
class Collected:
    """``kept.append(x.detach().cpu().numpy())``: the list, the tensor, and what is made of it."""

    statement: ast.Expr
    into: str
    tensor: str
    methods: tuple[str, ...]


def collected(region: Region, statement: ast.stmt) -> Collected | None:
    """Such a statement of a loop, where nothing else looks at the list and nothing changes x."""
    source, loop = region.source, region.loop
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=into), attr="append"),
                args=[value],
                keywords=[],
            )
        ):
            base, methods = _chain(value)
        case _:
            return None
    plain = isinstance(loop, ast.For) and not loop.orelse and not isinstance(loop.iter, ast.Tuple)
    alone = tools.stands_alone(source, statement) and tools.stands_alone(source, loop)
    if not (plain and alone and statement in loop.body and {"cpu", "tolist"} & set(methods)):
        return None
    mentions = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == into]
    around = tools.handlers_around(source, region.function or source.tree, loop)
    places = [loop] if around is None else [loop, around]
    if len(mentions) != 1 or not any(_is_fresh(source, place, into) for place in places):
        return None
    if _is_watched(region, into) or loops.orders_by_hand(source) is not None:
        return None
    if not loops.only_known_imports(source) or changes_in_place(source):
        return None
    if not _is_made_here(source, loop, base):
        return None
    return Collected(statement, into, ast.unparse(base), methods)


def _is_fresh(source: Source, place: ast.stmt, name: str) -> bool:
    """Whether the list is made in front of a statement, and the loop has its first use."""
    made = list_uses.fresh_before(source, place, name)
    return made is not None and not list(list_uses.uses_between(source, made, place, name))[1:]


def _is_watched(region: Region, name: str) -> bool:
    """As `loops.watched`; but ``with torch.no_grad():`` catches nothing."""
    source, scope = region.source, region.function or region.source.tree
    around = tools.handlers_around(source, scope, region.loop)
    if around is not None:
        names = [
            meaning(source, item.context_expr.func) or ""
            for item in getattr(around, "items", [])
            if isinstance(item.context_expr, ast.Call)
        ]
        if not names or not all(name.startswith("torch.") for name in names):
            return True
        if tools.handlers_around(source, scope, around) is not None:
            return True
    nested = tools.deferred_uses(source, scope, name) is not None
    return nested or tools.reads_frames(scope) is not None


def _chain(value: ast.expr) -> tuple[ast.expr, tuple[str, ...]]:
    """``x.detach().cpu()`` -> ``x`` and the names of the methods, the first one first."""
    methods: list[str] = []
    while True:
        match value:
            case ast.Call(func=ast.Attribute(value=base, attr=attr), args=[], keywords=[]):
                if attr not in _CHAIN:
                    return value, tuple(methods)
                methods.insert(0, attr)
                value = base
            case _:
                return value, tuple(methods)


def changes_in_place(source: Source) -> bool:
    """Whether anything in the file may write into a tensor that has its value already."""
    for node in source.nodes:
        match node:
            case ast.Attribute(attr=attr) if attr.endswith("_") and not attr.endswith("__"):
                if attr != "requires_grad_":
                    return True
            case ast.keyword(arg="out" | "inplace"):
                return True
            case ast.AugAssign(target=target):
                if values.kind(source, target).what not in ("number", "list"):
                    return True
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value):
                if values.kind(source, value).what != "list":
                    return True
            case _:
                pass
    return False


def _is_made_here(source: Source, loop: ast.stmt, base: ast.expr) -> bool:
    """Whether each step has a tensor of its own there: ``x = x / 2``, a model's result."""
    if not isinstance(base, ast.Name):
        return _is_result(source, loop, base)
    stores = tools.stores(loop, base.id)
    made = [tools.parents(source)[store] for store in stores]
    return bool(made) and all(
        isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Name)
        and _is_result(source, loop, one.value)
        for one in made
    )


def _is_result(source: Source, loop: ast.AST, node: ast.expr) -> bool:
    known = values.kind(source, node)
    if known.what != "tensor" or known.place == "cpu":
        return False
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return True
    if not isinstance(node, ast.Call):
        return False
    called = meaning(source, node.func)
    if called is not None:
        function = called.removeprefix("torch.").removeprefix("nn.functional.")
        return function != called and function in FUNCTIONS.keys() | _PRODUCTS
    model = isinstance(node.func, ast.Name) and values.kind(source, node.func).what == "module"
    return model and not _trains(source, loop)


def _trains(source: Source, loop: ast.AST) -> bool:
    """Whether the loop may change weights, of which a model's result may be a view."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Attribute) and node.attr == "step":
            return True
        match node:
            case ast.Call(func=ast.Name(id=name)) if own_function(source, name) is not None:
                return True
            case _:
                pass
    return False


def rewrite(region: Region, one: Collected) -> Match | None:
    """The loop that keeps its tensors, and copies a hundred of them at a time."""
    source, loop = region.source, region.loop
    if not tools.is_builtin(source, "len"):
        return None
    made = "".join(f".{name}()" for name in one.methods if name != "detach")
    value, waiting = free_name(source, "value"), free_name(source, "waiting")
    detached = ".detach()" if {"detach", "tolist"} & set(one.methods) else ""
    block = Block(
        helper="fetched_in_blocks",
        text=HELPER,
        kept=waiting,
        handler="fetch",
        body=((0, f"{one.into}.extend({value}{made} for {value} in {waiting})"),),
        value=(f"({one.tensor})" if " " in one.tensor else one.tensor) + detached,
    )
    changes = edits(region, one.statement, block)
    if changes is None:
        return None
    place = f"lines {loop.lineno}-{loop.end_lineno}"
    return Match(
        edits=changes,
        why="",
        change=f"tensors for {one.into} are copied to the host {BLOCK} at a time",
        ledger=(
            Condition(
                f"in the loop nothing but this line looks at {one.into}", Basis.PROVED, place
            ),
            Condition(
                "each step makes a tensor of its own, and nothing writes into one later",
                Basis.PROVED,
                "the file has no operation in place",
            ),
        ),
        differences=("up to 256 MB of device memory more hold the tensors meanwhile",),
    )
