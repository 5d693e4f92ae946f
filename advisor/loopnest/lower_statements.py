"""Python statements, except loops and assignments, to IR statements."""

from __future__ import annotations

import ast

from .bindings import Env, Private, Stop, merge_envs
from .ir import (
    PY_BOOL,
    Break,
    Continue,
    Expr,
    If,
    Stmt,
    Unary,
    Var,
)
from .lower_assignments import AssignmentLowering

_REFUSED: dict[type[ast.stmt], str] = {
    ast.Try: "try/except",
    ast.With: "a with block",
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.FunctionDef: "a function defined",
    ast.AsyncFunctionDef: "a function defined",
    ast.ClassDef: "a class defined",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Match: "match",
    ast.AsyncFor: "async",
    ast.AsyncWith: "async",
    ast.TryStar: "try/except",
}


class StatementLowering(AssignmentLowering):
    """Blocks, branches, appends, calls for effect."""

    def block(self, body: list[ast.stmt]) -> list[Stmt]:
        """Statements in order; what follows a jump is dead and dropped."""
        result: list[Stmt] = []
        for position, node in enumerate(body):
            if self.env is None:
                break
            result += self.statement(node)
            if self.frame.done and self.env is not None and contains_return(node, loops_only=True):
                return result + self.after_return(node, body[position + 1 :])
        return result

    def after_return(self, node: ast.stmt, rest: list[ast.stmt]) -> list[Stmt]:
        """What follows a loop with a ``return`` in it runs only if that return was not reached."""
        assert self.frame.done is not None
        done = Var(PY_BOOL, node.lineno, self.frame.done)
        if self.frame.loops:
            saved = self.copy_env()
            self.frame.loops[-1].breaks.append(saved)
            jump = If(node.lineno, node, done, (Break(node.lineno, node),), ())
            return [jump, *self.block(rest)]
        returned = self.copy_env()
        assert returned is not None
        for name, bound in returned.items():
            # this path is taken only after a return, which did give the result a value
            if name.startswith(self.frame.result or "?") and isinstance(bound, Private):
                returned[name] = Private(bound.types)
        tail = self.returning(rest)
        self.env = merge_envs([returned, self.env])
        if not tail:
            return []
        test = Unary(PY_BOOL, node.lineno, "not", done)
        return [If(node.lineno, node, test, tuple(tail), ())]

    def statement(self, node: ast.stmt) -> list[Stmt]:
        """One statement, with what had to be hoisted before it."""
        saved, self.hoist = self.hoist, []
        outer, self.running = self.running, node
        try:
            produced = self.dispatch(node)
            return [*self.hoist, *produced]
        finally:
            self.hoist, self.running = saved, outer

    def dispatch(self, node: ast.stmt) -> list[Stmt]:
        """The statement by its kind. Raises Stop."""
        line = node.lineno
        match node:
            case ast.Assign(targets=targets, value=value):
                return self.assignment(targets, value, node)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.assignment([target], value, node)
            case ast.AnnAssign() | ast.Pass() | ast.Expr(value=ast.Constant()):
                return []
            case ast.AugAssign():
                return self.augmented(node)
            case ast.If():
                return self.branch(node)
            case ast.For() | ast.While():
                return self.loop(node)
            case ast.Break():
                self.frame.loops[-1].breaks.append(self.env)
                self.env = None
                return [Break(line, node)]
            case ast.Continue():
                self.frame.loops[-1].continues.append(self.env)
                self.env = None
                return [Continue(line, node)]
            case ast.Expr(value=ast.Call() as call):
                return self.call_statement(call, node)
            case ast.Return():
                return self.leave(node)
            case ast.Expr(value=ast.Yield() | ast.YieldFrom() | ast.Await()):
                raise Stop("yield or await inside the loop", line)
            case ast.Expr(value=value):
                self.expr(value)
                return []
        raise Stop(f"{_REFUSED.get(type(node), type(node).__name__)} inside the loop", line)

    def copy_env(self) -> Env | None:
        """The environment as it is now."""
        return None if self.env is None else dict(self.env)

    def call_statement(self, call: ast.Call, node: ast.stmt) -> list[Stmt]:
        """``out.append(x)``, or a helper called for its effect."""
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[arg], keywords=[]):
                path = self.path(owner)
                if path is not None:
                    return self.append(path, arg, node)
        self.inline_statement(call, node)
        return []

    def append(self, path: str, arg: ast.expr, node: ast.stmt) -> list[Stmt]:
        """Growth of a list."""
        raise NotImplementedError

    def branch(self, node: ast.If) -> list[Stmt]:
        """``if``/``elif``/``else``."""
        test = self.truth(self.test(node.test))
        before = self.copy_env()
        then = self.block(node.body)
        after_then, self.env = self.env, before
        orelse = self.block(node.orelse)
        self.env = merge_envs([after_then, self.env])
        if not then and not orelse:
            return []
        return [If(node.lineno, node, test, tuple(then), tuple(orelse))]

    def truth(self, expr: Expr) -> Expr:
        """A tested value; complex and every other number may be tested as it is."""
        self.wide(expr, "the tested value")
        return expr

    def loop(self, node: ast.For | ast.While) -> list[Stmt]:
        """A loop statement."""
        raise NotImplementedError

    def returning(self, body: list[ast.stmt]) -> list[Stmt]:
        """A helper's statements, returns made into structure."""
        raise NotImplementedError

    def leave(self, node: ast.Return) -> list[Stmt]:
        """A return."""
        raise NotImplementedError

    def inline_statement(self, call: ast.Call, node: ast.stmt) -> None:
        """A call for its effect."""
        raise NotImplementedError


def contains_return(node: ast.stmt, *, loops_only: bool = False) -> bool:
    """Whether a return sits below; with ``loops_only`` one inside a loop of the statement."""
    if isinstance(node, ast.Return):
        return not loops_only
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            inside = isinstance(node, ast.For | ast.While)
            if contains_return(child, loops_only=loops_only and not inside):
                return True
    return False
