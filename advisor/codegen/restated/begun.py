"""Where the passes begin: the user's loop, or the loop that a comprehension stands for.

``return [nearest(p, centres) for p in points]`` becomes ``items = []``, a loop that appends, and
``return items``; ``total = sum(x * y for x, y in pairs)`` a loop that adds up. Everything else
about them is as for any loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...loopnest.scope import declared, own_nodes
from ...model import Region, ValueInfo
from ...rowcalls import comprehension, statement_of
from ..nb_values import Unsupported
from .appends import EMPTY
from .draft import Draft, constant_info
from .generators import Fold, Writer, fold_of, unconditional

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def begun(region: Region) -> Draft:
    """The draft that the passes start from. Raises Unsupported."""
    draft = Draft.of(region)
    statement = statement_of(region.loop)
    if statement is None:
        return draft
    fold = next(_folds(draft, statement), None)
    if fold is None:
        raise Unsupported("the statement does something else before its comprehension")
    writer = Writer(draft, fold, own=_is_private(draft))
    first, edits = writer.changes()
    return writer.noted(draft.begun(edits, dict(map(_given, first))))


def _folds(draft: Draft, statement: ast.stmt) -> Iterator[Fold]:
    """What the statement evaluates before all else, and in which a comprehension goes on."""
    root = getattr(statement, "value", None)
    if not isinstance(root, ast.expr) or not _reads_nothing_first(draft, statement):
        return
    for node in unconditional(root):
        if comprehension(ast.Expr(node)) is not None and not _may_stop(node):
            found = fold_of(draft, statement, node)
            if found is not None and found.kind != "call":
                yield found


def _reads_nothing_first(draft: Draft, statement: ast.stmt) -> bool:
    """``total += sum(..)`` reads ``total`` first, which what is called may change elsewhere."""
    if not isinstance(statement, ast.AugAssign):
        return True
    return isinstance(statement.target, ast.Name) and _is_private(draft)


def _may_stop(node: ast.expr) -> bool:
    """``next(it)`` that finds nothing ends a loop in another way than a generator."""
    return any(isinstance(n, ast.Name) and n.id == "next" for n in ast.walk(node))


def _is_private(draft: Draft) -> bool:
    """Whether nobody sees the function's variables, also where it ends by an exception."""
    function = draft.function
    if function is None or declared(function):
        return False
    return not any(isinstance(n, (ast.Try, *_SCOPES)) for n in own_nodes(function))


def _given(line: str) -> tuple[str, ValueInfo]:
    """Name and value of a line above the loop, ``total = 0``."""
    match ast.parse(line).body[0]:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])):
            return name, EMPTY
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
            if isinstance(value, bool | int | float):
                return name, constant_info(value)
    raise Unsupported("a sum that begins with something else than a number")
