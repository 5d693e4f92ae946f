"""Values that a condition on the index chooses, as branches: ``a[i + 1] if i < n - 1 else 0.0``.

Whole arrays would compute both sides, and ``a[i + 1]`` leaves the array at the last index. As two
branches each side is a slice of its own: ``east[:-1] = a[1:]``, ``east[-1:] = 0.0``. So is what
``if i < n - 1 and a[i + 1] > t`` asks of an element, once the place is asked on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from ...loopnest.affine import affine
from ...loopnest.fold import map_children
from ...loopnest.ir import (
    PY_BOOL,
    Assign,
    Bool,
    Compare,
    Const,
    Expr,
    For,
    If,
    Load,
    Nest,
    Scalar,
    Select,
    Stmt,
    Store,
    Var,
    expressions,
    statements,
    walk,
)
from ...model import Region
from ...names import free_name
from .lifted import lifted, mentions
from .normal import exposed

TWICE = 3
"""Statements that may stand in both branches of a condition that is taken apart."""
NAMES = 12
"""More choices than this in one nest are left as they are."""


def bordered(root: For, nest: Nest, region: Region) -> tuple[For, Nest]:
    """The nest with such choices as branches; the same where there are none.

    A choice inside a longer expression gets a name of its own.
    """
    assigned = {s.name for s in statements((root,)) if isinstance(s, Assign)}
    indices = {s.index for s in statements((root,)) if isinstance(s, For)} - assigned
    writer = _Writer(root, frozenset(indices), frozenset(assigned), nest, region)
    (new,) = writer.statement(root)
    assert isinstance(new, For)
    if len(writer.named) > NAMES or new == root:
        return root, nest
    return new, replace(nest, privates={**nest.privates, **writer.named})


class _Writer:
    """Writes the statements anew, from the inside out."""

    def __init__(
        self,
        root: For,
        indices: frozenset[str],
        assigned: frozenset[str],
        nest: Nest,
        region: Region,
    ) -> None:
        self.indices = indices
        self.assigned = assigned
        self.nest = nest
        self.region = region
        self.mentions = mentions((root,))
        self.named: dict[str, Scalar] = {}

    def statement(self, statement: Stmt) -> tuple[Stmt, ...]:
        """What stands in its place."""
        match statement:
            case For(body=inner):
                return (replace(statement, body=self._body(inner)),)
            case If(then=then, orelse=orelse):
                new = replace(statement, then=self._body(then), orelse=self._body(orelse))
                first: list[Stmt] = []
                new = replace(new, test=self._with_answers(new.test, new, first))
                return (*first, *self._lifted(self._nested(new), statement))
            case Assign() | Store():
                return self._chosen(statement)
        return (statement,)

    def _body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(new for statement in body for new in self.statement(statement))

    def _lifted(self, statement: If, before: If) -> tuple[Stmt, ...]:
        """A branch on data that asks for places, see `lifted`. ``before``: as it was."""
        if self._is_of_indices(statement.test):
            return (statement,)
        sides = mentions(before.then), mentions(before.orelse)
        first = exposed(before.then) | exposed(before.orelse)

        def is_own(name: str) -> bool:
            if name in self.named:
                return True
            outside = name in self.nest.live_out or name in self.nest.scalars
            whole = any(self.mentions[name] == side[name] for side in sides)
            return whole and name not in first and not outside

        def is_place(part: If) -> bool:
            elements = any(map(_reads_elements, _expressions_in(part)))
            return elements and self._is_of_indices(part.test)

        return lifted(statement, is_own, is_place)

    def _with_answers(self, test: Expr, place: Stmt, first: list[Stmt]) -> Expr:
        """``a > t and (i == 0 or b[i - 1] < a)`` with a name for what stands in parentheses."""
        if not isinstance(test, Bool):
            return test
        new = []
        for part in test.operands:
            inner = self._with_answers(part, place, first)
            known = takewhile(self._is_of_indices, part.operands) if isinstance(part, Bool) else ()
            if isinstance(part, Bool) and _reads_elements(part) and any(known):
                name = self._name("fits")
                self.named[name] = part.type
                yes, no = (Const(PY_BOOL, part.line, value) for value in (True, False))
                sides = (
                    Assign(part.line, place.node, name, yes),
                    Assign(part.line, place.node, name, no),
                )
                ask = If(part.line, place.node, inner, sides[:1], sides[1:])
                first.append(self._nested(ask))
                inner = Var(part.type, part.line, name)
            new.append(inner)
        return replace(test, operands=tuple(new))

    def _nested(self, statement: If) -> If:
        """``if i > 0 and a[i - 1] > t`` with the place asked first, on its own."""
        match statement.test:
            case Bool(op=op, operands=operands) if any(map(_reads_elements, operands)):
                pass
            case _:
                return statement
        first = tuple(takewhile(self._is_of_indices, operands))
        twice = statement.orelse if op == "and" else statement.then
        if not first or sum(1 for _ in statements(twice)) > TWICE:
            return statement
        inner = replace(statement, test=_joined(statement.test, operands[len(first) :]))
        outer = replace(statement, test=_joined(statement.test, first))
        if op == "and":
            return replace(outer, then=(self._nested(inner),))
        return replace(outer, orelse=(self._nested(inner),))

    def _chosen(self, statement: Assign | Store) -> tuple[Stmt, ...]:
        value = statement.value
        if isinstance(value, Select) and self._is_border(value):
            then, orelse = (
                self._chosen(replace(statement, value=side)) for side in (value.then, value.orelse)
            )
            return (If(statement.line, statement.node, value.test, then, orelse),)
        before: list[Stmt] = []
        new = self._with_names(value, statement, before)
        return (*before, replace(statement, value=new)) if before else (statement,)

    def _with_names(self, expr: Expr, place: Stmt, before: list[Stmt]) -> Expr:
        """The expression with names for the choices that it evaluates whatever the data are."""
        match expr:
            case Select() if self._is_border(expr):
                name = self._name("neighbour")
                self.named[name] = expr.type
                before += self._chosen(Assign(expr.line, place.node, name, expr))
                return Var(expr.type, expr.line, name)
            case Select() | Bool():
                return expr  # what stands inside may not be evaluated at all
        return map_children(expr, lambda child: self._with_names(child, place, before))

    def _name(self, wanted: str) -> str:
        return free_name(self.region.source, wanted, (*self.named, *self.nest.privates))

    def _is_border(self, value: Select) -> bool:
        """An element on one side, and a condition of nothing but the places in the loops."""
        elements = any(map(_reads_elements, (value.then, value.orelse)))
        return elements and self._is_of_indices(value.test)

    def _is_of_indices(self, test: Expr) -> bool:
        match test:
            case Compare(left=left, right=right):
                a, b = affine(left), affine(right)
                if a is None or b is None:
                    return False
                symbols = (a - b).symbols
                return bool(symbols & self.indices) and not symbols & self.assigned
            case Bool(operands=operands):
                return all(map(self._is_of_indices, operands))
        return False


def _reads_elements(expr: Expr) -> bool:
    return any(isinstance(part, Load) for part in walk(expr))


def _expressions_in(statement: Stmt) -> Iterator[Expr]:
    return (expr for inner in statements((statement,)) for expr in expressions(inner))


def _joined(test: Bool, operands: tuple[Expr, ...]) -> Expr:
    return operands[0] if len(operands) == 1 else replace(test, operands=operands)
