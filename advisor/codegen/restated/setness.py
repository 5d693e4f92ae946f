"""Where a variable that may be ``None`` surely is not: forward flow through a loop."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..nb_values import Unsupported

Names = frozenset[str]


def check_reads(loop: ast.For | ast.While, names: Names, entry: Names) -> None:
    """Raise Unsupported where one of the names is read and may be ``None`` there.

    ``entry``: those that are not when the loop is reached.
    """
    _Flow(names).statement(loop, entry)


def none_test(node: ast.expr) -> tuple[str, bool] | None:
    """The name in ``x is None`` (True) or ``x is not None`` (False)."""
    match node:
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Is() | ast.Eq()],
            comparators=[ast.Constant(value=None)],
        ):
            return name, True
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.IsNot() | ast.NotEq()],
            comparators=[ast.Constant(value=None)],
        ):
            return name, False
    return None


@dataclass
class _Exits:
    breaks: list[Names] = field(default_factory=list)
    continues: list[Names] = field(default_factory=list)


class _Flow:
    """Sets of names that surely hold a number; None stands for a place never reached."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.loops: list[_Exits] = []

    def block(self, body: list[ast.stmt], known: Names | None) -> Names | None:
        for statement in body:
            if known is None:
                return None
            known = self.statement(statement, known)
        return known

    def statement(self, node: ast.stmt, known: Names) -> Names | None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self.read(value, known)
                for target in targets:
                    known = self.stored(target, value, known)
                return known
            case ast.If(test=test, body=body, orelse=orelse):
                self.read(test, known)
                yes = self.block(body, self.given(test, True, known))
                no = self.block(orelse, self.given(test, False, known))
                return _met([yes, no])
            case ast.For(target=target, iter=iterable):
                self.read(iterable, known)
                return self.loop(node, known, None, target)
            case ast.While(test=test):
                return self.loop(node, known, test, None)
            case ast.Break():
                self.loops[-1].breaks.append(known)
                return None
            case ast.Continue():
                self.loops[-1].continues.append(known)
                return None
        for child in ast.walk(node):
            if isinstance(child, ast.stmt) and child is not node:
                raise Unsupported("a block of statements of an unknown kind", node.lineno)
        self.read(node, known)
        return known

    def loop(
        self,
        node: ast.For | ast.While,
        entry: Names,
        test: ast.expr | None,
        target: ast.expr | None,
    ) -> Names | None:
        head = entry
        while True:
            self.loops.append(_Exits())
            inside: Names | None = head
            if test is not None:
                self.read(test, head)
                inside = self.given(test, True, head)
            if target is not None:
                inside = self.stored(target, None, head)
            end = self.block(node.body, inside)
            exits = self.loops.pop()
            back = _met([head, end, *exits.continues])
            assert back is not None
            if back == head:
                break
            head = back
        left = head if test is None else self.given(test, False, head)
        endless = isinstance(test, ast.Constant) and bool(test.value)
        return _met([None if endless else left, *exits.breaks])

    def stored(self, target: ast.expr, value: ast.expr | None, known: Names) -> Names:
        match target, value:
            case (ast.Tuple(elts=left), ast.Tuple(elts=right)) if len(left) == len(right):
                for one, other in zip(left, right, strict=True):
                    known = self.stored(one, other, known)
                return known
            case ast.Name(id=name), _:
                none = isinstance(value, ast.Constant) and value.value is None
                return known - {name} if none else known | ({name} & self.names)
            case (ast.Tuple(elts=left), _):
                for one in left:
                    known = self.stored(one, None, known)
                return known
        self.read(target, known)
        return known

    def read(self, node: ast.AST, known: Names) -> None:
        """Every name read in an expression, with what its own conditions say."""
        if isinstance(node, ast.expr) and none_test(node) is not None:
            return
        match node:
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    self.read(value, known)
                    known = self.given(value, isinstance(op, ast.And), known)
                return
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.read(test, known)
                self.read(body, self.given(test, True, known))
                self.read(orelse, self.given(test, False, known))
                return
            case ast.Name(id=name) if name in self.names and name not in known:
                text = f"{name} may be None where it is read"
                raise Unsupported(text, node.lineno, f"ask `{name} is not None` before")
        for child in ast.iter_child_nodes(node):
            self.read(child, known)

    def given(self, test: ast.expr, truth: bool, known: Names) -> Names:
        """What is known where the test came out so."""
        found = none_test(test)
        if found is not None:
            name, is_none = found
            return known | ({name} & self.names) if is_none is not truth else known - {name}
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.given(operand, not truth, known)
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is truth:
                for value in values:
                    known = self.given(value, truth, known)
        return known


def _met(parts: list[Names | None]) -> Names | None:
    """What holds on all paths that are taken."""
    reached = [part for part in parts if part is not None]
    return frozenset.intersection(*reached) if reached else None
