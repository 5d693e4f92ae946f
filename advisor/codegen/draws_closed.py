"""Loops that nothing but their own draws can take numbers from a generator in."""

from __future__ import annotations

import ast

from ..model import Region
from . import ast_tools as tools
from .draws_array import Drawn
from .draws_find import Stop

_BUILTINS = frozenset((
    "abs", "bool", "divmod", "enumerate", "float", "int", "len", "list", "max", "min", "pow",
    "print", "range", "round", "sorted", "str", "sum", "tuple", "zip",
))  # fmt: skip
_METHODS = frozenset((
    "add", "append", "copy", "count", "extend", "get", "index", "insert", "items", "keys", "max",
    "mean", "min", "pop", "remove", "sum", "values",
))  # fmt: skip
_KINDS = frozenset((
    "ndarray", "list", "tuple", "bytearray", "bool", "int", "float", "complex", "str", "none",
    "numpy_scalar", "module",
))  # fmt: skip
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Yield, ast.Await)
_BLOCKS = (ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Global, ast.Nonlocal)


def check_closed(region: Region, drawn: Drawn) -> None:
    """The loop calls built-in functions and methods of built-in types only.

    A function of the user's may draw from the same generator, in between. Raises Stop.
    """
    draws = {draw.call for stream in drawn.streams for draw in stream.draws}
    owners = {draw.generator.partition(".")[0] for s in drawn.streams for draw in s.draws}
    values = region.observation.values if region.observation else {}
    for node in ast.walk(region.loop):
        if isinstance(node, (*_SCOPES, *_BLOCKS)):
            raise Stop("a statement may raise, and others see where", node.lineno)
        if isinstance(node, ast.Call) and node not in draws and not _is_builtin(region, node):
            raise Stop(f"{ast.unparse(node.func)}() may draw numbers as well", node.lineno)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            seen = values.get(node.id)
            known = seen is None or seen.kind in _KINDS or seen.type_name.startswith("builtins.")
            if not known and node.id not in owners:
                raise Stop(f"{node.id} may draw numbers as well", node.lineno)


def _is_builtin(region: Region, call: ast.Call) -> bool:
    values = region.observation.values if region.observation else {}
    match call.func:
        case ast.Name(id=name):
            return name in _BUILTINS and tools.is_builtin(region.source, name)
        case ast.Attribute(value=ast.Name(id=owner), attr=attr):
            seen = values.get(owner)
            if seen is not None and seen.kind == "module":
                return seen.target in ("math", "numpy")
            plain = seen is None or seen.kind in _KINDS or seen.type_name.startswith("builtins.")
            return plain and attr in _METHODS
    return False
