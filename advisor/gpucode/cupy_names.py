"""How names of a scope are bound, and what the functions of a file are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..codegen import ast_tools as tools
from ..model import Source

Scope = ast.Module | ast.FunctionDef


def own_function(source: Source, name: str) -> ast.FunctionDef | None:
    """The function at the top of the file that a name certainly stands for."""
    if tools.bound_names(source).get(name, 0) != 1:
        return None
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name and not node.decorator_list:
            generator = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in tools.own_nodes(node))
            return None if generator else node
    return None


def arguments_of(call: ast.Call, function: ast.FunctionDef) -> dict[str, ast.expr] | None:
    """Which expression each parameter gets at a call; None where stars make that unknown.

    A parameter that is left out is left out here too: its default is not known.
    """
    spec = function.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    stars = any(isinstance(a, ast.Starred) for a in call.args)
    if spec.vararg or spec.kwarg or stars or len(call.args) > len(names):
        return None
    bound = dict(zip(names, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in bound:
            return None
        bound[keyword.arg] = keyword.value
    return bound


def every_argument(call: ast.Call) -> list[ast.expr]:
    """What a call hands over, by position and by keyword."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """The return statements of a function, not those of functions in it."""
    return (n for n in tools.own_nodes(function) if isinstance(n, ast.Return))


def parameters(scope: Scope) -> list[str]:
    """The names of all parameters; none for a module."""
    if isinstance(scope, ast.Module):
        return []
    spec = scope.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    every += [a for a in (spec.vararg, spec.kwarg) if a is not None]
    return [a.arg for a in every]


def replaced(scope: Scope, given: list[str]) -> dict[str, ast.expr]:
    """Parameters that a statement of the function's own block binds before they are read."""
    found: dict[str, ast.expr] = {}
    for statement in scope.body if isinstance(scope, ast.FunctionDef) else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                inside = set(ast.walk(statement))
                uses = [n for n in tools.names_in(scope) if n.id == name and n not in inside]
                early = any(n.lineno <= (statement.end_lineno or 0) for n in uses)
                if name in given and name not in found and not early:
                    found[name] = value
            case ast.Expr() | ast.Assign() | ast.AnnAssign():
                continue
            case _:
                break
    return found


def bindings(scope: Scope) -> Iterator[tuple[str, ast.expr | None]]:
    """Every binding of a name in a scope, with the expression it gets; None: not known."""
    for node in tools.own_nodes(scope):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _bound(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                both = ast.BinOp(ast.Name(target.id, ast.Load()), op, value)
                yield name, ast.copy_location(both, node)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                yield name, value
            case ast.For(target=ast.Name(id=name), iter=iterable) if _counts(iterable):
                yield name, ast.Constant(0)
            case ast.For(target=target) | ast.comprehension(target=target):
                yield from _bound(target, None)
            case ast.withitem(optional_vars=ast.expr() as target):
                yield from _bound(target, None)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from ((name, None) for name in names)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, None
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, None
            case ast.Name(id=name, ctx=ast.Del()):
                yield name, None


def _bound(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.elts if isinstance(value, ast.Tuple) else []
        same = len(parts) == len(target.elts)
        for number, element in enumerate(target.elts):
            yield from _bound(element, parts[number] if same else None)
    elif isinstance(target, ast.Starred):
        yield from _bound(target.value, None)


def _counts(iterable: ast.expr) -> bool:
    return (
        isinstance(iterable, ast.Call)
        and isinstance(iterable.func, ast.Name)
        and iterable.func.id == "range"
    )
