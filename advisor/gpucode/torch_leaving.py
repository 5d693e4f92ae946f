"""Whether a part of a program can hand out tensors that carry a graph, or tell that they do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..codegen import ast_tools as tools
from ..codegen import list_uses
from ..model import Source
from . import basics
from . import torch as values
from .torch_text import scope_of

_BUILTINS = frozenset(
    {
        *("range", "len", "print", "enumerate", "zip", "int", "float", "max", "min", "round"),
        *("abs", "str", "bool"),
    }
)


def tensors_leaving(source: Source, scope: tools.Scope, part: ast.AST) -> Iterator[ast.AST]:
    """What could carry a recorded tensor out of a loop, or of a whole function."""
    inside = set(ast.walk(part))
    for node in tools.own_nodes(part):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                later = [n for n in tools.names_in(scope) if n.id == name and n not in inside]
                read = any(isinstance(n.ctx, ast.Load) for n in later)
                if (read or isinstance(scope, ast.Module)) and not _is_number(source, node):
                    yield node
            case ast.Assign(targets=targets, value=value):
                kept = any(isinstance(t, ast.Subscript | ast.Attribute) for t in targets)
                if kept and not _is_number(source, value):
                    yield node
            case ast.AugAssign(target=target, value=value):
                if not isinstance(target, ast.Name) and not _is_number(source, value):
                    yield node
            case ast.Call(func=ast.Attribute(attr="append"), args=[value]):
                if not _is_number(source, value):
                    yield node
            case ast.Return(value=ast.expr() as value) if not _is_plain_result(source, value):
                yield node
            case ast.Yield() | ast.YieldFrom() | ast.Global() | ast.Nonlocal() | ast.Await():
                yield node


def _is_number(source: Source, node: ast.expr) -> bool:
    known = values.kind(source, node)
    if known.what == "number" or isinstance(node, ast.Constant):
        return True
    match node:
        case ast.Call(func=ast.Name(id="max" | "min" | "round" | "abs" as name), args=arguments):
            return tools.is_builtin(source, name) and all(_is_number(source, a) for a in arguments)
        case ast.Call(func=ast.Attribute(value=value, attr="tolist"), args=[]):
            return values.is_tensor(source, value)
        case ast.Name(id=name):
            scope = scope_of(source, node)
            given = [] if scope is None else _bindings(source, scope, name)
            return bool(given) and all(
                (v is not None and not _mentions(v, name) and _is_number(source, v))
                or (v is not None and _grows(source, v, name))
                for v in given
            )
    return False


def _bindings(source: Source, scope: tools.Scope, name: str) -> list[ast.expr | None]:
    return list_uses.values_bound(source, scope, name)


def _mentions(node: ast.expr, name: str) -> bool:
    return any(n.id == name for n in tools.names_in(node))


def _grows(source: Source, node: ast.expr, name: str) -> bool:
    """``worst = max(worst, score)``: a number if all else in it is one."""
    match node:
        case ast.Call(func=ast.Name(id="max" | "min" as called), args=arguments):
            others = [a for a in arguments if not (isinstance(a, ast.Name) and a.id == name)]
            return tools.is_builtin(source, called) and all(_is_number(source, a) for a in others)
    return False


def _is_plain_result(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_is_plain_result(source, part) for part in node.elts)
    if isinstance(node, ast.Dict):
        return all(_is_plain_result(source, part) for part in node.values)
    # A list that the function fills itself: what it appends has been looked at.
    if values.kind(source, node).what == "list" and isinstance(node, ast.Name):
        scope = scope_of(source, node)
        given = [] if scope is None else _bindings(source, scope, node.id)
        return all(isinstance(v, ast.List) and not v.elts for v in given)
    return _is_number(source, node)


def only_known_calls(source: Source, part: ast.AST) -> bool:
    """Nothing in it can tell whether gradients are recorded, or keep a tensor."""
    for node in ast.walk(part):
        if isinstance(node, tools.SCOPES) and node is not part:
            return False
        if isinstance(node, ast.Call) and not _is_known(source, node):
            return False
    return True


def _is_known(source: Source, call: ast.Call) -> bool:
    name = basics.meaning(source, call.func)
    if name is not None:
        if name.startswith(("torch.cuda.", "time.", "math.")):
            return True
        return values.kind(source, call).what in ("tensor", "number", "device")
    if isinstance(call.func, ast.Name):
        if call.func.id in _BUILTINS:
            return tools.is_builtin(source, call.func.id)
        known = values.kind(source, call.func)
        return known.what == "module" and known.plain
    if not isinstance(call.func, ast.Attribute):
        return False
    base = values.kind(source, call.func.value)
    if base.what == "tensor":
        return not call.func.attr.endswith("_")  # buffer.add_(model(x)) would keep the graph
    if base.what == "module":
        return call.func.attr in ("eval", "train")
    return base.what == "list" and call.func.attr == "append"
