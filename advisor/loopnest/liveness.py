"""Which names may be read after a loop: backward liveness over the syntax tree.

Conservative: a name that is reported may in truth be dead, never the other way round.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..model import Source
from .scope import declared, own_nodes

Names = frozenset[str]
_NOTHING: Names = frozenset()
_INTROSPECTION = frozenset({"locals", "vars", "eval", "exec", "dir"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def live_after(
    source: Source, function: ast.FunctionDef | None, loop: ast.For | ast.While
) -> Names | None:
    """Names that may be read after the loop; None if any name may (``locals()``, ``exec``).

    At module level every name that a function or class of the module reads counts, since it may
    be called at any time.
    """
    scope: ast.FunctionDef | ast.Module = source.tree if function is None else function
    if _introspects(source.tree if function is None else function):
        return None
    always = _captured(scope) | declared(scope)
    if function is not None:
        always |= declared(function)
    flow = _Flow(loop)
    flow.block(scope.body, _NOTHING)
    if flow.found is None:
        return None  # the loop is not where we were told: assume nothing
    return flow.found | always


def read_before_assigned(loop: ast.For | ast.While) -> Names:
    """Names whose value at the loop's entry it may read, those of nested functions included."""
    return _Flow(loop).transfer(loop, _NOTHING) | _captured(loop)


def _introspects(scope: ast.AST) -> bool:
    names = _INTROSPECTION | ({"globals"} if isinstance(scope, ast.Module) else set())
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names
        for n in ast.walk(scope)
    )


def _captured(scope: ast.AST) -> Names:
    """Names of the scope that functions, lambdas and classes inside it may read."""
    nested = [node for node in own_nodes(scope) if isinstance(node, _NESTED)]
    if nested:
        passing = {id(key) for node in own_nodes(scope) for key in _keys(node)}
        nested = [node for node in nested if id(node) not in passing]
    return frozenset(name for node in nested for name in _taken_from_outside(node))


def _keys(call: ast.AST) -> Iterator[ast.Lambda]:
    """``key=lambda r: abs(A[r][i])`` of a choice: nobody calls it when that is made."""
    match call:
        case ast.Call(func=ast.Name(id="min" | "max" | "sorted"), keywords=keywords):
            yield from (k.value for k in keywords if isinstance(k.value, ast.Lambda))


def _taken_from_outside(node: ast.AST) -> Iterator[str]:
    """Names that a nested function or class does not bind itself: its parameters are its own."""
    try:
        table = symtable.symtable(ast.unparse(node), "nested", "exec")
    except SyntaxError:  # nonlocal: what it means is not in this text
        yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        for inner in ast.walk(node):
            if isinstance(inner, ast.Global | ast.Nonlocal):
                yield from inner.names
        return
    todo = [table]
    while todo:
        table = todo.pop()
        todo += table.get_children()
        # Decorators and defaults are read at once; a class body looks outside for what it lacks.
        kind = str(table.get_type())
        for symbol in table.get_symbols():
            reads = kind in ("module", "class") and symbol.is_referenced()
            if reads or (kind != "module" and symbol.is_global()):
                yield symbol.get_name()


def _reads(*nodes: ast.AST | None) -> Names:
    return frozenset(name for node in nodes if node is not None for name in _free(node))


def _free(node: ast.AST) -> Iterator[str]:
    """Names that are read; the variables of a comprehension and of a lambda are their own."""
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Store):
            yield node.id
        return
    if isinstance(node, ast.Lambda):
        yield from _free(node.args)  # defaults: evaluated outside
        own = {n.arg for n in ast.iter_child_nodes(node.args) if isinstance(n, ast.arg)}
        yield from set(_free(node.body)) - own
        return
    if isinstance(node, _COMPREHENSIONS):
        own = {
            n.id
            for generator in node.generators
            for n in ast.walk(generator.target)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        yield from _free(node.generators[0].iter)  # evaluated outside
        inside = {name for child in ast.iter_child_nodes(node) for name in _free(child)}
        yield from inside - own
        return
    for child in ast.iter_child_nodes(node):
        yield from _free(child)


def _stores(target: ast.expr) -> Iterator[str]:
    """Names that assigning the target is sure to bind."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for element in elts:
                yield from _stores(element)
        case ast.Starred(value=value):
            yield from _stores(value)
        case _:
            return


@dataclass
class _Flow:
    """Walks a scope backwards; remembers what is live where the loop ends."""

    loop: ast.stmt
    found: Names | None = None
    breaks: list[Names] = field(default_factory=list)
    continues: list[Names] = field(default_factory=list)
    handlers: list[Names] = field(default_factory=list)
    """What exception handlers and finally blocks around here read."""

    def block(self, body: list[ast.stmt], after: Names) -> Names:
        for statement in reversed(body):
            after = self.statement(statement, after)
        return after

    def statement(self, node: ast.stmt, after: Names) -> Names:
        if node is self.loop:
            raised = frozenset().union(*self.handlers) if self.handlers else _NOTHING
            self.found = (self.found or _NOTHING) | after | raised
        return self.transfer(node, after)

    def transfer(self, node: ast.stmt, after: Names) -> Names:
        """Live before the statement, given what is live after it."""
        match node:
            case ast.Assign(targets=targets, value=value):
                killed = {n for t in targets for n in _stores(t)}
                return (after - killed) | _reads(value, *targets)
            case ast.AnnAssign(target=target, value=value):
                killed = set(_stores(target)) if value is not None else set()
                return (after - killed) | _reads(value, target)
            case ast.AugAssign(target=target, value=value):
                return after | _reads(value, target) | frozenset(_stores(target))
            case ast.If(test=test, body=body, orelse=orelse):
                return self.block(body, after) | self.block(orelse, after) | _reads(test)
            case ast.For() | ast.AsyncFor():
                return self.for_loop(node, after)
            case ast.While():
                return self.while_loop(node, after)
            case ast.Break():
                return self.breaks[-1] if self.breaks else after
            case ast.Continue():
                return self.continues[-1] if self.continues else after
            case ast.Return(value=value):
                return _reads(value).union(*self.handlers)
            case ast.Raise(exc=exc, cause=cause):
                return _reads(exc, cause).union(*self.handlers)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                # __exit__ may swallow an exception: what follows then reads what was there
                inner = self.protected(body, after, after)
                return inner | _reads(*(i.context_expr for i in items)) | after
            case ast.Try() | ast.TryStar():
                return self.try_block(node, after)
            case ast.Match(subject=subject, cases=cases):
                arms = [self.block(c.body, after) | _reads(c.pattern, c.guard) for c in cases]
                return after.union(*arms) | _reads(subject)
        return after | _reads(node)

    def protected(self, body: list[ast.stmt], after: Names, handled: Names) -> Names:
        self.handlers.append(handled)
        result = self.block(body, after)
        self.handlers.pop()
        return result

    def try_block(self, node: ast.Try | ast.TryStar, after: Names) -> Names:
        final = self.block(node.finalbody, after)
        handled = final
        for handler in node.handlers:
            handled |= self.protected(handler.body, final, final) | _reads(handler.type)
        inner = self.protected(node.orelse, final, final)
        # An exception may come before any assignment in the body: nothing is killed.
        return self.protected(node.body, inner, handled) | handled | inner

    def for_loop(self, node: ast.For | ast.AsyncFor, after: Names) -> Names:
        leaving = self.block(node.orelse, after)
        targets = frozenset(_stores(node.target))
        head = leaving
        while True:
            self.breaks.append(after)
            self.continues.append(head)
            body = self.block(node.body, head)
            self.breaks.pop()
            self.continues.pop()
            grown = head | (body - targets) | _reads(node.target)
            if grown == head:
                return head | _reads(node.iter)
            head = grown

    def while_loop(self, node: ast.While, after: Names) -> Names:
        leaving = self.block(node.orelse, after)
        head = leaving | _reads(node.test)
        while True:
            self.breaks.append(after)
            self.continues.append(head)
            body = self.block(node.body, head)
            self.breaks.pop()
            self.continues.pop()
            grown = head | body
            if grown == head:
                return head
            head = grown
