"""What the program's text proves of its data, and the numbers that stand in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MAX_CONSTANTS = 24
"""Numbers looked at."""
_FILLS = frozenset((
    "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like",
    "array", "list",
))  # fmt: skip


def constants(text: bytes) -> frozenset[str]:
    """Globals that the text proves to have one value always, as rewrites may take for granted."""
    # Not imported above: it is only needed in a copy that perturbs.
    from pathlib import Path

    from ..loopnest.scope import module_of
    from ..model import Source

    source = Source(Path("perturbed.py"), text)
    module = module_of(source)
    names = {n.id for n in source.nodes if isinstance(n, ast.Name)}
    return frozenset(
        name
        for name in names
        if module.constant(name) is not None or module.constant_table(name) is not None
    )


def proved_at_top(tree: ast.Module, line: int) -> frozenset[str]:
    """Names whose content the module's own statements may prove where the one at ``line`` begins.

    ``out = np.zeros(n)`` is all zeros: an arbitrary content there is a state the program cannot be
    in. With ``out[0] = x[0]`` after it, what it holds is data. ``b = a.copy()`` has the values of
    ``a``, and keeps them: equal contents change equally.
    """
    filled: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name, value in _bound(target, node.value):
                    if _is_fill(value):
                        before = node.lineno if node.lineno < line else 0
                        filled[name] = max(filled.get(name, 0), before)
    changed = {name for name, at in _stores(tree) if filled.get(name, line) < at < line}
    return frozenset(filled.keys() - changed)


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Each name that an assignment binds, with its own value: ``a, b = np.zeros(n), x / 2``."""
    match target, value:
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=each):
            if len(targets) == len(each):
                for one, its in zip(targets, each, strict=True):
                    yield from _bound(one, its)
                return
    yield from ((n.id, value) for n in ast.walk(target) if isinstance(n, ast.Name))


def _stores(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(name, line) of every store into elements of a name in the module's own statements."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                yield name, node.lineno
        pending.extend(ast.iter_child_nodes(node))


def _is_fill(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in _FILLS
        case ast.ListComp(elt=element):
            return isinstance(element, ast.Constant) or _is_fill(element)
        case ast.BinOp(left=left, op=ast.Mult()):
            return isinstance(left, ast.List)
        case ast.List() | ast.Tuple():
            return True
    return False


def whole_numbers(tree: ast.AST) -> frozenset[int]:
    """Every int literal, but for defaults such as ``int(argv[1]) if argv else 200``."""
    defaults = {
        id(part) for n in ast.walk(tree) if isinstance(n, ast.IfExp) for part in (n.body, n.orelse)
    }
    return frozenset(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and type(node.value) is int and id(node) not in defaults
    )


def texts(tree: ast.AST) -> frozenset[str]:
    """Every text literal: labels of columns are among them."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return frozenset(node.value for node in nodes if isinstance(node.value, str))


def numbers_in(tree: ast.Module, read: set[str]) -> tuple[float, ...]:
    """Numbers in the text of the functions that are read, or at top level."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    scopes: list[ast.AST] = [n for n in functions if n.name in read]
    found: set[float] = set()
    for scope in scopes or [tree]:
        for node in ast.walk(scope):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, int | float) and abs(value) < 1e6:
                found.add(float(value))
    return tuple(sorted(found)[:MAX_CONSTANTS])
