"""Conditions whose later parts need statements of their own: ``free and near(i, j) == 2``.

A helper of several statements, or a ``sum`` over a generator, is written out in front of the
statement that uses it. Behind ``and`` or ``or`` that happens under the parts before it, so that
what Python would not have evaluated is not evaluated.
"""

from __future__ import annotations

import ast

from .bindings import merge_envs
from .ir import PY_BOOL, Bool, Call, Const, Expr, If, Stmt, Unary, Var
from .lower_assignments import place
from .lower_loops import LoopLowering

_WRITTEN_OUT = frozenset(("sum", "any", "all"))


class ConditionLowering(LoopLowering):
    """``and`` and ``or`` around calls."""

    def test(self, node: ast.expr) -> Expr:
        """An expression of which only the truth value counts."""
        if not isinstance(node, ast.BoolOp) or self.hoist is None:
            return super().test(node)
        if not any(self.is_written_out(value) for value in node.values[1:]):
            return super().test(node)
        parts = [self.test(node.values[0])]
        for value in node.values[1:]:
            if self.is_written_out(value):
                parts = [self.late(node, parts, value)]
            else:
                parts.append(self.guarded(value, test=True))
        return parts[0] if len(parts) == 1 else _joined(node, parts)

    def is_written_out(self, node: ast.expr) -> bool:
        """Whether some call in the expression becomes statements in front of it."""
        for inner in ast.walk(node):
            if not isinstance(inner, ast.Call):
                continue
            path = self.path(inner.func)
            helper = self.helper(path) if path is not None else None
            if helper is not None and not _is_expression(helper):
                return True
            if helper is None and path in _WRITTEN_OUT and len(inner.args) == 1:
                return True
        return False

    def late(self, node: ast.BoolOp, before: list[Expr], value: ast.expr) -> Expr:
        """A flag that holds the truth of the whole so far; ``value`` is evaluated where needed."""
        assert self.hoist is not None
        where, line = place(value.lineno), value.lineno
        flag = self.invent("holds")
        is_and = isinstance(node.op, ast.And)
        front = before[0] if len(before) == 1 else _joined(node, before)
        self.hoist.append(self.put(flag, Const(PY_BOOL, line, not is_and), where))
        otherwise = None if self.env is None else dict(self.env)
        above: list[Stmt] = self.hoist
        self.hoist = []
        try:
            truth = self.test(value)
            self.wide(truth, "the tested value")
            if truth.type != PY_BOOL:
                truth = Call(PY_BOOL, line, "bool", (truth,))
            inner = (*self.hoist, self.put(flag, truth, where))
        finally:
            self.hoist = above
        self.env = merge_envs([self.env, otherwise])
        asked = front if is_and else Unary(PY_BOOL, line, "not", front)
        above.append(If(line, where, asked, inner, ()))
        return Var(PY_BOOL, line, flag)

    def helper(self, path: str) -> ast.FunctionDef | None:
        """The user's function under a name at the call site."""
        raise NotImplementedError


def _joined(node: ast.BoolOp, parts: list[Expr]) -> Expr:
    name = "and" if isinstance(node.op, ast.And) else "or"
    return Bool(PY_BOOL, node.lineno, name, tuple(parts))


def _is_expression(helper: ast.FunctionDef) -> bool:
    """The helper's body is one ``return``: it is put in the place of its call."""
    body = helper.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    body = body[1:] if documented and len(body) > 1 else body
    return len(body) == 1 and isinstance(body[0], ast.Return)
