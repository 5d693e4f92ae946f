"""Where a PyTorch file's model is complete, and which statements of a loop run it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..codegen import ast_tools as tools
from ..model import Source
from .basics import meaning
from .torch import kind
from .torch_loops import Loop, innermost
from .torch_text import Scope, results_of, scope_of, uses

_COMPILED = (
    *("compile", "jit", "script", "CUDAGraph", "make_graphed_callables", "DataParallel"),
    *("DistributedDataParallel", "fully_shard", "export"),
)
_TRAINING = frozenset({"backward", "step", "zero_grad", "scale", "unscale_", "update"})


def completed(source: Source) -> ast.Assign | None:
    """The statement that gives the file's one model its name for good, outside all loops.

    ``model = Net()`` and then ``model = model.to(device)``: the second one. None where there are
    several models, none, or one that is compiled or spread over devices already.
    """
    if any(uses(source, *_COMPILED)):
        return None
    made: dict[tuple[Scope, str], list[ast.Assign]] = {}
    for node in source.nodes:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                scope = scope_of(source, node)
                plain = isinstance(target, ast.Name) or _is_own(source, target)
                if scope is not None and plain and _is_model(source, value):
                    made.setdefault((scope, ast.unparse(target)), []).append(node)
    if len(made) > 1:  # net = Sequential(..); return net  and  model = network()
        made = {key: found for key, found in made.items() if not _returned(*key)}
    if len(made) != 1:
        return None
    (found,) = made.values()
    last = max(found, key=lambda node: node.lineno)
    block = tools.block_of(source, last)
    alone = all(tools.stands_alone(source, node) and node in block for node in found)
    return last if alone and innermost(source, last) is None else None


def name_of(model: ast.Assign) -> str:
    """What a statement of `completed` binds: ``model``, or ``self.model``."""
    return ast.unparse(model.targets[0])


def _is_own(source: Source, target: ast.Attribute) -> bool:
    """``self.model`` of a class that is no model itself."""
    holder = next((a for a in tools.ancestors(source, target) if isinstance(a, ast.ClassDef)), None)
    own = isinstance(target.value, ast.Name) and target.value.id == "self"
    return own and holder is not None and not any(map(_names_module, holder.bases))


def _names_module(base: ast.expr) -> bool:
    return "Module" in ast.unparse(base)


def _returned(scope: Scope, name: str) -> bool:
    if not isinstance(scope, ast.FunctionDef):
        return False
    return any(isinstance(n, ast.Name) and n.id == name for n in results_of(scope))


def _is_model(source: Source, value: ast.expr) -> bool:
    return kind(source, value).what == "module" and not _is_loss(source, value)


def _is_loss(source: Source, node: ast.expr) -> bool:
    """``nn.MSELoss().to(device)``, or a name for it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        called = meaning(source, node.func)
        if called is not None:
            return called.endswith("Loss")
        node = node.func.value
    if isinstance(node, ast.Name):
        scope = scope_of(source, node)
        stores = tools.stores(scope, node.id) if scope is not None else []
        holders = [tools.parents(source)[store] for store in stores]
        values = [holder.value for holder in holders if isinstance(holder, ast.Assign)]
        others = [value for value in values if not isinstance(value, ast.Name)]
        return bool(others) and all(_is_loss(source, value) for value in others)
    if isinstance(node, ast.Attribute) and _is_own(source, node):
        values = _bound_to(source, node)
        return bool(values) and all(_is_loss(source, value) for value in values)
    return False


def _bound_to(source: Source, own: ast.Attribute) -> list[ast.expr]:
    """What ``self.model`` is bound to, in any method of the file."""
    text = ast.unparse(own)
    return [
        node.value
        for node in source.nodes
        if isinstance(node, ast.Assign) and any(ast.unparse(t) == text for t in node.targets)
    ]


def forward_pass(source: Source, loop: Loop) -> Sequence[ast.stmt]:
    """The adjacent statements of a loop that run a model and its loss; empty if there are none.

    Up to the loss, as its sum belongs to the same arithmetic; nothing of the backward pass.
    """
    calls = [
        node
        for node in tools.own_nodes(loop)
        if isinstance(node, ast.Call) and _runs_model(source, node.func)
    ]
    models = {
        tools.enclosing_statement(source, call) for call in calls if not _is_loss(source, call.func)
    }
    statements = {tools.enclosing_statement(source, call) for call in calls}
    # loss_function(scores, y).backward(): the loss is left out, never the model
    found = sorted((s for s in statements if not _trains(s)), key=lambda s: s.lineno)
    if not models or not models <= set(found):
        return ()
    if not all(isinstance(s, ast.Assign | ast.AugAssign | ast.Expr) for s in found):
        return ()
    block = tools.block_of(source, found[0])
    if not all(statement in block for statement in found):
        return ()
    run = block[block.index(found[0]) : block.index(found[-1]) + 1]
    plain = all(tools.stands_alone(source, statement) for statement in run)
    return run if plain and not any(map(_trains, run)) else ()


def _runs_model(source: Source, called: ast.expr) -> bool:
    """Whether a called expression is a module: a name, or ``self.model`` of a trainer."""
    if not isinstance(called, ast.Attribute):
        return kind(source, called).what == "module"
    if not _is_own(source, called):
        return False
    values = _bound_to(source, called)
    return bool(values) and all(kind(source, value).what == "module" for value in values)


def _trains(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in _TRAINING for node in ast.walk(statement)
    )
