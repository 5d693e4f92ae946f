"""An element that an inner loop adds to, held in a scalar meanwhile.

``for j in range(i + 1, n): acc[i] += f; acc[j] -= f`` keeps the loop over ``j`` in order, as every
iteration needs the ``acc[i]`` of the one before. ``s = acc[i]``, then ``s += f`` in the loop, then
``acc[i] = s``: what is left is a sum, and elements that are all different. Nothing else in the
loop may touch the element, by the dependence test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.affine import affine, variable
from ...loopnest.fold import map_children
from ...loopnest.ir import (
    Assign,
    Binary,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Scalar,
    Stmt,
    Store,
    Var,
    statements,
    walk,
)
from ...model import Region
from ...names import free_name
from . import coupled
from .known import Facts
from .legality import Access, accesses


@dataclass(frozen=True)
class Held(Assign):
    """The scalar gets the element, although no iteration may follow."""


@dataclass(frozen=True)
class Released(Store):
    """The element gets the scalar's value."""


def held_elements(root: For, nest: Nest, region: Region) -> tuple[For, Nest] | None:
    """The nest with scalars for such elements; None if there are none."""
    work = _Holding(nest, region)
    new = work.body((root,), ())
    if not work.types or len(new) != 1 or not isinstance(new[0], For):
        return None
    return new[0], replace(nest, privates={**nest.privates, **work.types})


class _Holding:
    """Looks at every innermost loop."""

    def __init__(self, nest: Nest, region: Region) -> None:
        self.nest = nest
        self.region = region
        self.facts = Facts(nest)
        self.types: dict[str, Scalar] = {}
        """The new scalars."""

    def body(self, body: tuple[Stmt, ...], outer: tuple[For, ...]) -> tuple[Stmt, ...]:
        """The statements of one level."""
        result: list[Stmt] = []
        for statement in body:
            match statement:
                case For(body=inner) if not any(isinstance(s, For) for s in statements(inner)):
                    result += self._loop(statement, outer)
                case For(body=inner):
                    result.append(replace(statement, body=self.body(inner, (*outer, statement))))
                case If(then=then, orelse=orelse):
                    then, orelse = self.body(then, outer), self.body(orelse, outer)
                    result.append(replace(statement, then=then, orelse=orelse))
                case _:
                    result.append(statement)
        return tuple(result)

    def _loop(self, loop: For, outer: tuple[For, ...]) -> list[Stmt]:
        before: list[Stmt] = []
        behind: list[Stmt] = []
        while (store := self._next(loop, outer)) is not None:
            name = self._name(store)
            info = self.nest.arrays[store.array]
            self.types[name] = info.element
            held = Var(info.element, store.line, name)
            cell = Load(info.element, store.line, store.array, store.index)
            before.append(Held(store.line, store.node, name, cell))
            behind.append(Released(store.line, store.node, store.array, store.index, held))
            new = tuple(_with_scalar(s, cell, held) for s in loop.body)
            loop = replace(loop, body=new)
        return [*before, loop, *behind]

    def _next(self, loop: For, outer: tuple[For, ...]) -> Store | None:
        """A store into an element that can be held."""
        stores = _stores(loop.body)
        return next((s for s in stores if outer and self._can_be_held(s, loop, outer)), None)

    def _name(self, store: Store) -> str:
        hidden = "_" if self.region.function is None else ""  # a module's names outlive the loop
        wanted = f"{hidden}{store.array.replace('.', '_')}_here"
        return free_name(self.region.source, wanted, {*self.nest.privates, *self.types})

    def _can_be_held(self, store: Store, loop: For, outer: tuple[For, ...]) -> bool:
        """The loop adds to one element, which no other access of it is or all are."""
        info = self.nest.arrays[store.array]
        if info.aliases or info.element.kind is not Kind.FLOAT or info.container == "bytearray":
            return False
        if info.element.dtype not in (None, "float64") or not _adds(store):
            return False
        changing = {s.name for s in statements(loop.body) if isinstance(s, Assign)} | {loop.index}
        for one in store.index:
            form = affine(one)
            if form is None or form.symbols & changing:
                return False
        around = (*outer, loop)
        cell = Access(store.array, store.index, True, 0, around, store.line)
        others = (s for s in statements(loop.body) if isinstance(s, Store) and s is not store)
        if any((s.array, s.index) == (store.array, store.index) for s in others):
            return False
        found = (a for statement in loop.body for a in accesses(statement, around))
        return not any(self._may_be(cell, a) for a in found)

    def _may_be(self, cell: Access, other: Access) -> bool:
        """Another subscript may name the element in the same iteration of the loops around."""
        if other.array != cell.array or other.index == cell.index:
            return False
        zero = list(coupled.same_place(cell, other, self.facts))
        for loop in cell.loops[:-1]:
            zero.append(variable(loop.index + "'") - variable(loop.index + '"'))
        rows = [*coupled.iterations(cell, "'", self.facts)]
        rows += coupled.iterations(other, '"', self.facts)
        return coupled.solvable(rows, zero, self.facts)


def _stores(body: tuple[Stmt, ...]) -> Iterator[Store]:
    """Those of a loop's body, also under ``if i != j``."""
    for statement in body:
        match statement:
            case Store():
                yield statement
            case If(then=then, orelse=()):
                yield from _stores(then)


def _adds(store: Store) -> bool:
    """``a[i] += term``, of a term that does not read the element."""
    match store.value:
        case Binary(op="+" | "-", left=Load(array=array, index=index), right=right):
            same = (array, index) == (store.array, store.index)
            return same and store.value.type.kind is Kind.FLOAT and not _reads(right, store)
    return False


def _reads(expr: Expr, store: Store) -> bool:
    parts = (part for part in walk(expr) if isinstance(part, Load))
    return any((part.array, part.index) == (store.array, store.index) for part in parts)


def _with_scalar(place: Stmt, cell: Load, held: Var) -> Stmt:
    """The statement with the scalar in the element's place."""

    def change(expr: Expr) -> Expr:
        same = isinstance(expr, Load) and (expr.array, expr.index) == (cell.array, cell.index)
        return held if same else map_children(expr, change)

    def body(parts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_with_scalar(part, cell, held) for part in parts)

    match place:
        case Assign(value=value):
            return replace(place, value=change(value))
        case Store(array=array, index=index, value=value):
            if (array, index) == (cell.array, cell.index):
                return Assign(place.line, place.node, held.name, change(value))
            return replace(place, index=tuple(map(change, index)), value=change(value))
        case If(test=test, then=then, orelse=orelse):
            return replace(place, test=change(test), then=body(then), orelse=body(orelse))
    return place
