"""Statements that go over the rows of a frame inside pandas: ``df.apply(f, axis=1)``.

To profile, observation and rules such a statement is a loop, ``for row in df: ..``, whose text is
the statement itself.
"""

from __future__ import annotations

import ast

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def is_row_call(statement: ast.AST) -> bool:
    """Whether a simple statement calls a function for every row of something."""
    return isinstance(statement, _SIMPLE) and row_call(statement) is not None


def row_call(statement: ast.AST) -> ast.Call | None:
    """The first call ``x.apply(f, axis=1)`` in a statement."""
    return next((n for n in ast.walk(statement) if isinstance(n, ast.Call) and _by_rows(n)), None)


def _by_rows(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "apply" or not call.args:
        return False
    axis = [keyword.value for keyword in call.keywords if keyword.arg == "axis"] + call.args[1:2]
    return any(isinstance(a, ast.Constant) and a.value in (1, "columns") for a in axis)


def as_loop(statement: ast.stmt) -> ast.For:
    """The statement as a loop over the rows, at the statement's own place."""
    call = row_call(statement)
    assert call is not None and isinstance(call.func, ast.Attribute)
    row = ast.copy_location(ast.Name("_", ast.Store()), call)
    loop = ast.For(target=row, iter=call.func.value, body=[statement], orelse=[])
    return ast.copy_location(loop, statement)


def statement_of(loop: ast.stmt) -> ast.stmt | None:
    """The statement behind a loop of `as_loop`; None for a loop of the program's own."""
    if not isinstance(loop, ast.For):
        return None
    first = loop.body[0]
    same = (first.lineno, first.col_offset) == (loop.lineno, loop.col_offset)
    return first if same else None
