"""Which names are bound whenever control reaches a loop: forward flow over the syntax tree.

A rewrite that reads a name in front of the loop, where the loop itself may never have read it,
needs this: ``for i in range(n): for j in range(m): k = j`` has no ``k`` when the inner loop is
reached for the first time, and reading it would raise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..model import Source
from .scope import parameters

Names = frozenset[str]


def bound_before(
    source: Source, function: ast.FunctionDef | None, loop: ast.For | ast.While
) -> Names | None:
    """Names bound on every path from the start of the scope to the loop.

    Parameters count, names of enclosing scopes do not: what the scope never binds is not asked
    for here. None if the loop is not in the scope.
    """
    scope: ast.FunctionDef | ast.Module = source.tree if function is None else function
    start = frozenset(parameters(function)) if function is not None else frozenset()
    flow = _Flow(loop)
    flow.block(scope.body, start)
    return flow.found


def bound_by_one_trip(loop: ast.For | ast.While) -> Names:
    """Names that have a value behind the loop if its body was entered once."""
    flow = _Trip(loop)
    start = frozenset(_names(loop.target)) if isinstance(loop, ast.For) else frozenset[str]()
    end = flow.block(loop.body, start)
    result = _both(end, flow.exits)
    removed = _removed(loop)
    return frozenset() if result is None else result - removed


class _Flow:
    """Walks a scope forwards; None stands for a place that control does not reach."""

    def __init__(self, loop: ast.stmt) -> None:
        self.loop = loop
        self.found: Names | None = None

    def block(self, body: list[ast.stmt], before: Names | None) -> Names | None:
        for statement in body:
            before = self.statement(statement, before)
        return before

    def statement(self, node: ast.stmt, before: Names | None) -> Names | None:
        if before is None:
            return None
        if node is self.loop:
            self.found = before
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                inside = before | _walrus(test)
                return _both(self.block(body, inside), self.block(orelse, inside))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self.repeated(node, before)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    if item.optional_vars is not None:
                        before |= frozenset(_names(item.optional_vars))
                return self.block(body, before)
            case ast.Try() | ast.TryStar():
                return self.tried(node, before)
            case ast.Match(cases=cases):
                ends = [self.block(c.body, before | _captures(c.pattern)) for c in cases]
                result: Names | None = before
                if any(_irrefutable(c) for c in cases):
                    result = None
                for end in ends:
                    result = _both(result, end)
                return result
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return None
        return (before | _bound_by(node)) - _deleted(node)

    def repeated(self, node: ast.For | ast.AsyncFor | ast.While, before: Names) -> Names | None:
        """A loop may run no time at all; ``break`` leaves with what was bound in front of it."""
        # what an iteration deletes the next one may miss
        before -= _removed(node)
        if isinstance(node, ast.While):
            before |= _walrus(node.test)
            inside = before
        else:
            inside = before | frozenset(_names(node.target))
        end = self.block(node.body, inside)
        if isinstance(node, ast.For) and _surely_runs(node) and not _leaves_early(node):
            before |= inside if end is None else end
        before -= _removed(node)
        if isinstance(node, ast.While) and _endless(node):
            return before if _leaves_early(node) else None
        after = self.block(node.orelse, before)
        return before if _leaves_early(node) and after is not None else after

    def tried(self, node: ast.Try | ast.TryStar, before: Names) -> Names | None:
        removed = _removed(node)
        body = self.block(node.body, before)
        result = self.block(node.orelse, body)
        for handler in node.handlers:
            # An exception may come before the first assignment; the handler's own name is unbound
            # again at its end.
            caught = before - removed
            name = frozenset() if handler.name is None else frozenset({handler.name})
            end = self.block(handler.body, caught | name)
            result = _both(result, None if end is None else end - name)
        final = self.block(node.finalbody, before - removed)
        if not node.finalbody:
            return result
        if final is None or result is None:
            return None
        return result | final


class _Trip(_Flow):
    """Walks a loop's body, and notes what is bound at each jump out of it or to its head."""

    exits: Names | None = None

    def statement(self, node: ast.stmt, before: Names | None) -> Names | None:
        if isinstance(node, ast.Break | ast.Continue):
            # of a loop further inside, too: then it only loses names
            self.exits = _both(self.exits, before)
        return super().statement(node, before)


def _both(left: Names | None, right: Names | None) -> Names | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _walrus(node: ast.expr) -> Names:
    """``(n := len(x))`` at the place that is evaluated first."""
    match node:
        case ast.NamedExpr(target=ast.Name(id=name)):
            return frozenset({name})
        case ast.Compare(left=left):
            return _walrus(left)
        case ast.UnaryOp(operand=operand):
            return _walrus(operand)
    return frozenset()


def _bound_by(node: ast.stmt) -> Names:
    match node:
        case ast.Assign(targets=targets):
            return frozenset(n for t in targets for n in _names(t))
        case ast.AugAssign(target=target):
            return frozenset(_names(target))
        case ast.AnnAssign(target=target, value=value):
            return frozenset() if value is None else frozenset(_names(target))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return frozenset({name})
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return frozenset((a.asname or a.name).split(".")[0] for a in names)
        case ast.Expr(value=value):
            return _walrus(value)
    return frozenset()


def _deleted(node: ast.AST) -> Names:
    if not isinstance(node, ast.Delete):
        return frozenset()
    return frozenset(t.id for t in node.targets if isinstance(t, ast.Name))


def _removed(root: ast.AST) -> Names:
    """Names that some statement below deletes."""
    return frozenset[str]().union(*map(_deleted, ast.walk(root)))


def _captures(pattern: ast.pattern) -> Names:
    names = (getattr(n, "name", None) or getattr(n, "rest", None) for n in ast.walk(pattern))
    return frozenset(name for name in names if name is not None)


def _irrefutable(case: ast.match_case) -> bool:
    return (
        case.guard is None
        and isinstance(case.pattern, ast.MatchAs)
        and case.pattern.pattern is None
    )


def _surely_runs(node: ast.For) -> bool:
    """``for step in range(10)``, ``for name in ("a", "b")``."""
    match node.iter:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            try:
                return len(range(*(ast.literal_eval(a) for a in args))) > 0
            except (ValueError, TypeError, OverflowError):
                return False
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return bool(elts)
    return False


def _endless(node: ast.While) -> bool:
    return isinstance(node.test, ast.Constant) and bool(node.test.value)


def _leaves_early(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """A ``break`` of this loop (or of one inside, which does no harm), or a ``continue``."""
    return any(isinstance(n, ast.Break | ast.Continue) for s in node.body for n in ast.walk(s))
