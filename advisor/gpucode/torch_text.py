"""Scopes, functions and classes of a file with PyTorch code, by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..codegen import ast_tools as tools
from ..model import Source

Scope = ast.Module | ast.FunctionDef


def scope_of(source: Source, node: ast.AST) -> Scope | None:
    """The function, or the module, whose frame runs a node; None inside lambdas and classes."""
    for above in tools.ancestors(source, node):
        if isinstance(above, ast.FunctionDef | ast.Module):
            return above
        if isinstance(above, tools.SCOPES):
            return None
    return None


def is_parameter(scope: ast.FunctionDef, name: str) -> bool:
    """Whether a function has a parameter of that name."""
    spec = scope.args
    return any(a.arg == name for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))


def call_sites(source: Source, function: ast.FunctionDef) -> list[ast.Call] | None:
    """All calls of a function at the top of the file; None where somebody else may call it."""
    if function not in source.tree.body or function.decorator_list:
        return None
    if tools.bound_names(source).get(function.name, 0) != 1:
        return None
    found: list[ast.Call] = []
    for use in tools.loads(source.tree, function.name):
        call = tools.parents(source)[use]
        if not isinstance(call, ast.Call) or call.func is not use:
            return None  # handed on
        if any(isinstance(a, ast.Starred) for a in call.args):
            return None
        if any(k.arg is None for k in call.keywords):
            return None
        found.append(call)
    return found


def own_class(source: Source, name: str) -> ast.ClassDef | None:
    """The class at the top of the file that a name certainly stands for."""
    if tools.bound_names(source).get(name, 0) != 1:
        return None
    return next(
        (n for n in source.tree.body if isinstance(n, ast.ClassDef) and n.name == name), None
    )


def own_function(source: Source, name: str) -> ast.FunctionDef | None:
    """The undecorated function at the top of the file that a name certainly stands for."""
    if tools.bound_names(source).get(name, 0) != 1:
        return None
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name and not node.decorator_list:
            return node
    return None


def results_of(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What the function returns; a generator's results are not known."""
    nodes = list(tools.own_nodes(function))
    if not any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes):
        for node in nodes:
            if isinstance(node, ast.Return):
                yield node.value or ast.Constant(None)


def layers_of(source: Source, node: ast.ClassDef) -> dict[str, ast.expr] | None:
    """Attribute -> expression of ``self.name = ..`` in ``__init__``, which alone binds them."""
    found: dict[str, ast.expr] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and not isinstance(inner.ctx, ast.Load):
            statement = tools.enclosing_statement(source, inner)
            scope = scope_of(source, inner)
            if not isinstance(statement, ast.Assign) or inner not in statement.targets:
                return None
            if not isinstance(scope, ast.FunctionDef) or scope.name != "__init__":
                return None  # forward that keeps a state
            if inner.attr in found or statement not in scope.body:
                return None
            found[inner.attr] = statement.value
    return found


def forward_of(node: ast.ClassDef) -> ast.FunctionDef | None:
    """The class's ``forward``, if it and ``__init__`` are all its methods."""
    methods = [n for n in node.body if not isinstance(n, ast.Expr)]
    if {getattr(n, "name", "") for n in methods} != {"__init__", "forward"} or len(methods) != 2:
        return None
    forward = next(n for n in methods if getattr(n, "name", "") == "forward")
    return forward if isinstance(forward, ast.FunctionDef) and not forward.decorator_list else None


def uses(source: Source, *attributes: str) -> Iterator[ast.AST]:
    """Nodes of the whole file that mention one of these attributes, names or keywords."""
    wanted = frozenset(attributes)
    for node in source.nodes:
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.keyword(arg=str(name)):
                if name in wanted:
                    yield node
            case ast.alias(name=name):
                if name in wanted or name.rpartition(".")[2] in wanted:
                    yield node
