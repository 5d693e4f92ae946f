"""How a PyTorch model is put together, as far as the text of one file tells."""

from __future__ import annotations

import ast

from ..codegen import ast_tools as tools
from ..model import Source
from .basics import meaning
from .torch import kind
from .torch_kinds import DEPTH, LAYERS, MODULE_METHODS
from .torch_text import (
    call_sites,
    forward_of,
    is_parameter,
    layers_of,
    own_class,
    own_function,
    results_of,
    scope_of,
    uses,
)


def every_parameter_used(source: Source, model: ast.expr) -> bool:
    """Whether the model's one way from input to output passes through all its parameters.

    True of ``Sequential`` of known layers, and of a class of the file whose ``forward`` calls each
    of its layers once, each on what the one before gave.
    """
    made = _made_by(source, model)
    if made is None or not kind(source, model).plain:
        return False
    called = meaning(source, made.func) or ""
    if called == "torch.nn.Sequential" or called.removeprefix("torch.nn.") in LAYERS:
        return True
    own = own_class(source, made.func.id) if isinstance(made.func, ast.Name) else None
    forward, layers = (forward_of(own), layers_of(source, own)) if own else (None, None)
    if forward is None or layers is None or len(forward.args.args) != 2:
        return False
    return _is_chain(forward, set(layers), forward.args.args[1].arg)


def _made_by(source: Source, model: ast.expr) -> ast.Call | None:
    """The call that constructs the model, behind ``.to(device)``, names and functions."""
    for _ in range(DEPTH):
        match model:
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if (
                attr in MODULE_METHODS and kind(source, value).what == "module"
            ):
                model = value
            case ast.Call(func=ast.Name(id=name)) if own := own_function(source, name):
                results = list(results_of(own))
                if len(results) != 1 or isinstance(results[0], ast.Tuple):
                    return None
                model = results[0]
            case ast.Call():
                return model
            case ast.Name():
                found = _sole_value(source, model)
                if found is None:
                    return None
                model = found
            case _:
                return None
    return None


def _sole_value(source: Source, name: ast.Name) -> ast.expr | None:
    """The one expression that a name gets, through a parameter or the parts of a result too."""
    scope = scope_of(source, name)
    if scope is None:
        return None
    stores = [s for s in tools.stores(scope, name.id) if scope_of(source, s) is scope]
    if isinstance(scope, ast.FunctionDef) and is_parameter(scope, name.id):
        sites = call_sites(source, scope)
        names = [a.arg for a in (*scope.args.posonlyargs, *scope.args.args)]
        if stores or not sites or len(sites) != 1 or name.id not in names[: len(sites[0].args)]:
            return None
        return sites[0].args[names.index(name.id)]
    if not stores and scope is not source.tree:
        stores = tools.stores(source.tree, name.id)
    if len(stores) != 1:
        return None
    holder = tools.parents(source)[stores[0]]
    if isinstance(holder, ast.Assign):
        return holder.value
    above = tools.parents(source).get(holder)
    if not isinstance(holder, ast.Tuple) or not isinstance(above, ast.Assign):
        return None
    value: ast.expr = above.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        own = own_function(source, value.func.id)
        results = [] if own is None else list(results_of(own))
        value = results[0] if len(results) == 1 else value
    if isinstance(value, ast.Tuple) and len(value.elts) == len(holder.elts):
        return value.elts[holder.elts.index(stores[0])]
    return None


def _is_chain(forward: ast.FunctionDef, layers: set[str], name: str) -> bool:
    """``x = self.a(x); x = relu(x); return self.b(x)``: one value, through every layer."""
    used: list[str] = []
    for statement in forward.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if not isinstance(target, ast.Name) or len(statement.targets) != 1:
                return False
            if len(tools.loads(statement.value, name)) != 1:
                return False
            follows = target.id
        elif isinstance(statement, ast.Return) and statement.value is not None:
            if len(tools.loads(statement.value, name)) != 1:
                return False
            follows = name
        else:
            return False
        assert statement.value is not None
        for node in ast.walk(statement.value):
            if isinstance(node, ast.Attribute) and node.attr in layers:
                used.append(node.attr)
        name = follows
    return sorted(used) == sorted(layers)


_TAMPERING = (
    *("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"),
    *("register_module_forward_hook", "add_module", "register_module", "setattr", "__dict__"),
    *("weight_norm", "spectral_norm", "parametrize", "parametrizations", "prune", "quantization"),
    *("__class__", "load_state_dict_post_hooks", "compile"),
)


def models_changed(source: Source) -> ast.AST | None:
    """Code that may put something else into a model than its definition says; None if none does.

    ``model.head = Odd()`` or ``model[0] = Odd()`` after the model was made; a hook that keeps what
    comes by.
    """
    found = next(uses(source, *_TAMPERING), None)
    if found is not None:
        return found
    for node in source.nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            setting = isinstance(node, ast.Attribute) and meaning(source, node) is not None
            module = kind(source, node.value).what not in ("tensor", "list", "number")
            if not own and not setting and module:
                return node
    return None
