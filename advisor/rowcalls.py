"""Statements that go over elements without a loop of their own.

``df.apply(f, axis=1)`` calls a function for every row of a frame inside pandas, and
``labels = [nearest(p, centres) for p in points]`` is a loop in an expression. To profile,
observation and rules such a statement is a loop whose text is the statement itself.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_FOLDS = frozenset({"sum", "any", "all", "min", "max", "list", "tuple", "sorted"})
"""Functions that take one element of a generator after the other."""
_ODD = (ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


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


def is_comprehension(statement: ast.AST) -> bool:
    """Whether a simple statement goes over elements in a comprehension."""
    return isinstance(statement, _SIMPLE) and comprehension(statement) is not None


def comprehension(statement: ast.AST) -> ast.ListComp | ast.GeneratorExp | None:
    """The first list comprehension that computes something, or what ``sum`` and its like go over.

    None where the statement has functions of its own, or sets names in expressions.
    """
    nodes = list(ast.walk(statement))
    if any(isinstance(node, _ODD) for node in nodes):
        return None
    for node in nodes:
        if isinstance(node, ast.ListComp) and _computes(node):
            return node
        if isinstance(node, ast.Call) and _folds(node):
            argument = node.args[0]
            assert isinstance(argument, ast.GeneratorExp)
            return argument
    return None


def _folds(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp(), *_]):
            return name in _FOLDS
    return False


def _computes(node: ast.ListComp) -> bool:
    """Whether the elements hang on anything: ``[0.0 for _ in range(n)]`` are all the same."""
    own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    parts = list(ast.walk(node.elt))
    read = {n.id for n in parts if isinstance(n, ast.Name)}
    return bool(own & read) or any(isinstance(n, ast.Call | ast.ListComp) for n in parts)


def is_hidden_loop(statement: ast.AST) -> bool:
    """Whether a simple statement is looked at as a loop, see `as_loop`."""
    return is_row_call(statement) or is_comprehension(statement)


def hidden_loops(statements: Sequence[ast.AST]) -> list[ast.stmt]:
    """Those that are looked at as loops: a comprehension must have its line for itself."""
    begins = Counter(getattr(statement, "lineno", 0) for statement in statements)
    return [
        s
        for s in statements
        if isinstance(s, _SIMPLE)
        and (is_row_call(s) or (begins[s.lineno] == 1 and is_comprehension(s)))
    ]


def as_loop(statement: ast.stmt) -> ast.For:
    """The statement as a loop over its elements, at the statement's own place."""
    call = row_call(statement)
    if call is not None:
        assert isinstance(call.func, ast.Attribute)
        over: ast.expr = call.func.value
    else:
        found = comprehension(statement)
        assert found is not None
        over = found.generators[0].iter
    each = ast.copy_location(ast.Name("_", ast.Store()), over)
    loop = ast.For(target=each, iter=over, body=[statement], orelse=[])
    return ast.copy_location(loop, statement)


def statement_of(loop: ast.stmt) -> ast.stmt | None:
    """The statement behind a loop of `as_loop`; None for a loop of the program's own."""
    if not isinstance(loop, ast.For):
        return None
    first = loop.body[0]
    same = (first.lineno, first.col_offset) == (loop.lineno, loop.col_offset)
    return first if same else None
