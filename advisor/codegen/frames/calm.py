"""Whether a loop's body leaves the frame alone that it walks along, as the text proves it.

A frame may be reached by other names: ``prices = orders["price"]``, a function that keeps it, an
object whose method writes to it. So what the body may do is listed here, and all else objects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...model import Region
from ...observe.lookup import dotted
from .. import ast_tools as tools
from .. import list_uses
from .stop import Stop

_BUILTINS = frozenset(
    {
        *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int"),
        *("isinstance", "len", "list", "max", "min", "ord", "pow", "print", "range", "repr"),
        *("reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
    }
)
"""Built-ins that change nothing that they are given."""
_METHODS = frozenset(
    {
        *("add", "append", "capitalize", "count", "discard", "endswith", "extend", "find"),
        *("format", "get", "index", "isdigit", "items", "join", "keys", "lower", "lstrip"),
        *("replace", "rstrip", "setdefault", "split", "startswith", "strip", "title"),
        *("update", "upper", "values", "zfill"),
    }
)
"""Methods of Python's own containers and of text; what they are called on is looked at, too."""
_LIBRARIES = ("math", "numpy")
_DEFERRED = (
    *(ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.With, ast.AsyncWith, ast.Delete, ast.Global),
)
_NUMBERS = frozenset({"int", "float", "bool", "numpy_scalar", "str"})


def check_calm(region: Region, frame: str, block: list[ast.stmt], own: Iterable[ast.AST]) -> None:
    """Raise Stop at the first thing in the block that might read or change the frame.

    ``own``: expressions that are accounted for, such as the stores that are collected.
    """
    mine = {id(node) for node in own}
    for statement in block:
        for node in _below(statement, mine):
            why = _objection(region, frame, node)
            if why is not None:
                line = getattr(node, "lineno", statement.lineno)
                raise Stop(f"{why}, so {frame} may change while the loop walks along it", line)


def _below(node: ast.AST, leave_out: set[int]) -> Iterator[ast.AST]:
    if id(node) in leave_out:
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _below(child, leave_out)


def _objection(region: Region, frame: str, node: ast.AST) -> str | None:
    match node:
        case ast.Call(func=function, keywords=keywords):
            if any(keyword.arg == "inplace" for keyword in keywords):
                return f"{ast.unparse(function)} works in place"
            return _call(region, frame, function)
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return _stored_in(region, value)
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return _attribute_set(region, node)
        case ast.Name() | ast.Attribute() if dotted(node) == frame:
            return f"{frame} itself is used in the loop"
        case ast.Name(id=name) if "." in frame and name == frame.partition(".")[0]:
            above = tools.parents(region.source)[node]
            return None if isinstance(above, ast.Attribute) else f"{name} is handed on"
    return "code that runs later is made" if isinstance(node, _DEFERRED) else None


def _call(region: Region, frame: str, function: ast.expr) -> str | None:
    source = region.source
    match function:
        case ast.Name(id=name) if name in _BUILTINS and tools.is_builtin(source, name):
            return None
        case ast.Name(id=name) if (helper := region.functions.get(name)) is not None:
            return _helper(region, frame, name, helper)
        case ast.Name(id=name) if _from_library(source.tree, name):
            return None
        case ast.Attribute(value=value, attr=method):
            root = (dotted(value) or "").partition(".")[0]
            if root and any(root == tools.module_alias(source, library) for library in _LIBRARIES):
                return None
            if method in _METHODS and not _is_users_object(region, value):
                return None
    return f"{ast.unparse(function)} is called"


def _from_library(tree: ast.Module, name: str) -> bool:
    """``from math import sqrt``"""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module in _LIBRARIES
        and any((item.asname or item.name) == name for item in node.names)
        for node in tree.body
    )


def _is_users_object(region: Region, value: ast.expr) -> bool:
    """Whether it may be something other than a container of Python's or text.

    ``prices.update(other)`` writes to a series; a class may call its method ``append``, too.
    """
    chain = dotted(value)
    values = region.observation.values if region.observation is not None else {}
    info = values.get(chain) if chain is not None else None
    return info is not None and not info.type_name.startswith("builtins.")


def _helper(region: Region, frame: str, name: str, helper: ast.FunctionDef) -> str | None:
    """A user's function that stores nothing but variables of its own, and calls nothing unknown."""
    root = frame.partition(".")[0]
    for part in helper.body:
        for node in ast.walk(part):
            stores = isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(
                node.ctx, ast.Load
            )
            known = isinstance(node, ast.Name) and node.id == root
            recursive = isinstance(node, ast.Call) and ast.unparse(node.func) == name
            if stores or known or recursive or isinstance(node, (*_DEFERRED, ast.Nonlocal)):
                return f"{name} may reach it"
            if isinstance(node, ast.Call) and _call(region, frame, node.func) is not None:
                return f"{name} calls {ast.unparse(node.func)}"
    return None


# ------------------------------------------------------------------- stores
def _stored_in(region: Region, container: ast.expr) -> str | None:
    """A store into a container that was made in this function has nothing to do with the frame."""
    if isinstance(container, ast.Name) and _is_fresh(region, container.id):
        return None
    return f"{ast.unparse(container)} is written to"


def _is_fresh(region: Region, name: str) -> bool:
    scope: tools.Scope = region.function or region.source.tree
    bound = list_uses.values_bound(region.source, scope, name)
    return bool(bound) and all(_makes_container(region, value) for value in bound)


def _makes_container(region: Region, value: ast.expr | None) -> bool:
    match value:
        case ast.Dict() | ast.DictComp() | ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="dict" | "set" | "defaultdict" | "Counter")):
            return True
        case ast.Call(func=ast.Attribute(attr="zeros" | "empty" | "ones" | "full")):
            return tools.numpy_function(region.source, value) is not None
    return list_uses.makes_list(region.source, value)


def _attribute_set(region: Region, node: ast.Attribute) -> str | None:
    """``self.total += price`` sets a number; a property might do anything."""
    chain = dotted(node)
    values = region.observation.values if region.observation is not None else {}
    info = values.get(chain) if chain is not None else None
    if info is not None and info.kind in _NUMBERS:
        return None
    return f"{ast.unparse(node)} is set"
