"""Whether a loop can write, read the terminal, or be seen from outside, besides what it prints."""

from __future__ import annotations

import ast
import builtins

from ..codegen import ast_tools as tools
from ..model import Source
from . import torch as values
from .basics import meaning
from .torch_text import own_class, own_function, scope_of

_LOUD = frozenset(
    {
        *("print", "input", "open", "exec", "eval", "breakpoint", "__import__", "compile"),
        *("stdout", "stderr", "stdin", "write", "writelines", "flush", "system", "popen"),
        *("logging", "warn", "fork", "set_printoptions", "redirect_stdout", "pprint"),
    }
)
_BUILTINS = frozenset(
    {
        *("range", "len", "enumerate", "zip", "int", "float", "bool", "str", "max", "min", "sum"),
        *("round", "abs", "sorted", "reversed", "list", "tuple", "dict", "set", "isinstance"),
        *("format", "repr", "iter", "next", "divmod", "pow", "any", "all"),
    }
)
_LIBRARIES = ("torch.", "numpy.", "math.", "time.", "random.", "itertools.", "collections.")
_KINDS = frozenset(
    {"tensor", "module", "optimizer", "dataset", "loader", "device", "number", "list"}
)


def loud(source: Source, part: ast.AST, but: ast.AST | None = None) -> ast.AST | None:
    """The first thing in a part of a program, ``but`` left out, that may write or ask; else None.

    Functions and classes of the file are looked into; what else is called has to be known.
    """
    for node in source.nodes:
        if isinstance(node, ast.ClassDef) and _mentions_writing(node):
            return node
    return _loud(source, part, but, set())


def _loud(source: Source, part: ast.AST, but: ast.AST | None, done: set[ast.AST]) -> ast.AST | None:
    todo = list(ast.iter_child_nodes(part))
    while todo:
        node = todo.pop()
        if node is but:
            continue
        todo.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.Lambda):
            return node
        if not isinstance(node, ast.Call):
            continue
        found = _loud_call(source, node, done)
        if found is not None:
            return found
    return None


def _loud_call(source: Source, call: ast.Call, done: set[ast.AST]) -> ast.AST | None:
    name = meaning(source, call.func)
    if name is not None:
        last = name.rpartition(".")[2]
        return None if name.startswith(_LIBRARIES) and last not in _LOUD else call
    if isinstance(call.func, ast.Name):
        return _loud_name(source, call, call.func.id, done)
    if not isinstance(call.func, ast.Attribute) or call.func.attr in _LOUD:
        return call
    base = call.func.value
    if isinstance(base, ast.Constant | ast.JoinedStr) or values.kind(source, base).what in _KINDS:
        return None
    return None if _of_torch(source, base) else call


def _loud_name(source: Source, call: ast.Call, name: str, done: set[ast.AST]) -> ast.AST | None:
    if (name in _BUILTINS or _is_exception(name)) and tools.is_builtin(source, name):
        return None
    function = own_function(source, name)
    if function is not None:
        if function in done:
            return None
        done.add(function)
        return call if _loud(source, function, None, done) is not None else None
    if own_class(source, name) is not None:
        return None  # no class of the file writes anything
    return None if values.kind(source, call.func).what == "module" else call


def _is_exception(name: str) -> bool:
    known = getattr(builtins, name, None)
    return isinstance(known, type) and issubclass(known, BaseException)


def _of_torch(source: Source, node: ast.expr) -> bool:
    """Whether a name only stands for what PyTorch's own functions return: a scheduler, say."""
    scope = scope_of(source, node)
    if not isinstance(node, ast.Name) or scope is None:
        return False
    holders = [tools.parents(source)[store] for store in tools.stores(scope, node.id)]
    made = [
        isinstance(holder, ast.Assign)
        and isinstance(holder.value, ast.Call)
        and (meaning(source, holder.value.func) or "").startswith("torch.")
        for holder in holders
    ]
    return bool(made) and all(made)


def _mentions_writing(node: ast.AST) -> bool:
    return any(
        (isinstance(n, ast.Name) and n.id in _LOUD)
        or (isinstance(n, ast.Attribute) and n.attr in _LOUD)
        for n in ast.walk(node)
    )
