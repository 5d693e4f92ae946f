"""What a statement does to the names in it: which it binds, and how it uses arrays and lists."""

from __future__ import annotations

import ast

from .scope import dotted, own_nodes


def stored(node: ast.AST) -> frozenset[str]:
    """Names bound or deleted anywhere in a statement."""
    found: set[str] = set()
    for inner in (node, *own_nodes(node)):
        match inner:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update((a.asname or a.name).split(".")[0] for a in names)
            case _:
                pass
    return frozenset(found)


def stored_paths(node: ast.AST) -> frozenset[str]:
    """Attributes bound or deleted anywhere in a statement, by path."""
    return frozenset(
        path
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute) and not isinstance(inner.ctx, ast.Load)
        if (path := dotted(inner)) is not None
    )


def mentioned(node: ast.AST) -> frozenset[str]:
    """All names in a statement."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def reshaped(node: ast.AST, path: str) -> bool:
    """``a.shape = ...``, ``a.resize(...)``."""
    return any(
        isinstance(inner, ast.Attribute)
        and dotted(inner.value) == path
        and (
            inner.attr == "resize"
            or (inner.attr == "shape" and not isinstance(inner.ctx, ast.Load))
        )
        for inner in ast.walk(node)
    )


def only_indexed(node: ast.AST, path: str) -> bool:
    """Whether a list is only indexed, measured or looped over, so that its length stays."""
    allowed: set[int] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Subscript(value=value, ctx=ctx) if not isinstance(ctx, ast.Del):
                plain = not isinstance(inner.slice, ast.Slice) or isinstance(ctx, ast.Load)
                if plain:
                    allowed.add(id(value))
            case ast.Call(func=ast.Name(id="len" | "sum" | "min" | "max" | "enumerate" | "zip")):
                allowed.update(id(a) for a in inner.args)
            case ast.For(iter=value) | ast.comprehension(iter=value):
                allowed.add(id(value))
            case _:
                pass
    return all(
        id(inner) in allowed
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name | ast.Attribute) and dotted(inner) == path
    )
