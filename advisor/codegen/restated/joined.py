"""Rows that begin with some elements, ``row = [i] + [0] * n``: filled first, then stored to."""

from __future__ import annotations

import ast

from ...loopnest.scope import own_nodes
from ...model import Basis, Condition
from .. import ast_tools as tools
from .draft import Draft


def with_filled_rows(draft: Draft) -> Draft:
    """The draft in which such rows are made in one piece; unchanged where there are none."""
    edits = []
    tests: list[str] = []
    for node in own_nodes(draft.loop):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BinOp(
                    left=ast.List(elts=[_, *_] as first),
                    op=ast.Add(),
                    right=ast.BinOp(left=ast.List(elts=[fill]), op=ast.Mult(), right=count),
                ),
            ) if _is_simple(draft, name, first, fill):
                asked = _asked(draft, count)
                if asked is None:
                    continue
                tests += asked
                size = f"({ast.unparse(count)} + {len(first)})"
                lines = [f"{name} = [{ast.unparse(fill)}] * {size}"]
                lines += [f"{name}[{k}] = {ast.unparse(value)}" for k, value in enumerate(first)]
                edits += draft.instead(node, lines)
    for test in dict.fromkeys(tests):
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return draft.advanced(edits)


def _is_simple(draft: Draft, name: str, first: list[ast.expr], fill: ast.expr) -> bool:
    """Numbers, and elements of other lists: ``row`` in them would be the new row by then."""
    parts = [node for value in first for node in ast.walk(value)]
    number = fill.operand if isinstance(fill, ast.UnaryOp) else fill
    plain = isinstance(number, ast.Constant) and type(number.value) in (int, float, bool)
    return plain and not any(
        isinstance(node, ast.Call | ast.Starred | ast.NamedExpr | ast.Await)
        or (isinstance(node, ast.Name) and node.id == name)
        for node in parts
    )


def _asked(draft: Draft, count: ast.expr) -> list[str] | None:
    """What shows that the number of elements is one; None where nothing in front can."""
    match count:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=measured)], keywords=[]):
            fixed = draft.is_builtin("len") and not tools.stores(draft.loop, measured)
            return [] if fixed else None
        case ast.Name(id=name) if not tools.stores(draft.loop, name):
            return [f"type({name}) is int", f"{name} >= 0"]
    return None
