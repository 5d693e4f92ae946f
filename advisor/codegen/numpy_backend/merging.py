"""Updates of one array, one after the other, as one statement for each element.

``C[i, j] *= beta`` and ``C[i, j] += sum`` for all ``j <= i`` are two stores under a mask; together
they are one. An array of zeros is not read to be added to. And what fills both triangles with a
term that stays the same if ``i`` and ``j`` change places, ``c[i, j] = c[j, i] = sum``, is a loop
over the whole square.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...loopnest.affine import Affine, affine, to_expr, variable
from ...loopnest.fold import map_children, reads, substitute
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Binary,
    Compare,
    Const,
    Expr,
    For,
    If,
    Load,
    Nest,
    Stmt,
    Store,
    Sum,
    Unary,
    Var,
    statements,
    walk,
)
from .known import Facts
from .legality import Access, accesses, directions, shared_loops
from .normal import substituted
from .restructure import ONCE, Variant, wrapped_once


def merged(variant: Variant, nest: Nest, facts: Facts) -> Variant:
    """The nest with updates of one element joined, its sums already in expressions."""
    merging = _Merging(nest, facts, dict.fromkeys(variant.moved))
    root = variant.root
    single = root.index != ONCE
    if single:  # in a loop with one iteration, where loops can take each other's places
        root = wrapped_once(root, (root,))
    for step in (merging.joined, merging.started, merging.squared):
        root = step(root)
    if single:
        (only,) = root.body
        assert isinstance(only, For)
        root = only
    return Variant(root, frozenset(merging.moved))


@dataclass
class _Merging:
    nest: Nest
    facts: Facts
    moved: dict[int, Stmt | None]
    """The statements that run in another order than in the program, by ``id``."""

    # ------------------------------------------------------------ one triangle
    def joined(self, loop: For, outer: tuple[For, ...] = ()) -> For:
        """Triangular loops next to each other fused, and their updates of one element joined."""
        body: list[Stmt] = []
        for statement in loop.body:
            if isinstance(statement, For):
                statement = self.joined(statement, (*outer, loop))
                fused = self._fused(body[-1], statement) if body else None
                if fused is not None and _is_triangular(fused, (*outer, loop)):
                    body.pop()
                    statement = fused
                if _is_triangular(statement, (*outer, loop)):
                    statement = self._forwarded(statement)
            body.append(statement)
        return _with_body(loop, tuple(body))

    def _fused(self, first: Stmt, second: For) -> For | None:
        """Both loops as one where each iteration only updates an element of its own."""
        match first, second:
            case (
                For(body=(Store(array=array, index=index) as one,)),
                For(body=(Store() as two,)),
            ) if _header(first) == _header(second):
                pass
            case _:
                return None
        if second.index != first.index and first.index in reads(two.value):
            return None
        (renamed,) = substituted((two,), {second.index: Var(PY_INT, second.line, first.index)})
        assert isinstance(renamed, Store)
        own = any(affine(e) is not None and first.index in reads(e) for e in index)
        if not own or (renamed.array, renamed.index) != (array, index):
            return None
        if not (self._only_itself(one) and self._only_itself(renamed)):
            return None
        self.moved |= {id(one): one, id(renamed): renamed}
        return replace(first, body=(one, renamed))

    def _only_itself(self, store: Store) -> bool:
        """The value reads no element of the array but the one that is written."""
        aliases = self.nest.arrays[store.array].aliases
        return all(
            part.index == store.index if part.array == store.array else part.array not in aliases
            for part in walk(store.value)
            if isinstance(part, Load)
        )

    def _forwarded(self, loop: For) -> For:
        """``c = c * b``, then ``c = c + s``: ``c = c * b + s``."""
        body: list[Stmt] = []
        for statement in loop.body:
            new = self._both(body[-1], statement) if body else None
            if new is not None:
                body.pop()
                self.moved[id(new)] = new
                statement = new
            body.append(statement)
        return _with_body(loop, tuple(body))

    def _both(self, first: Stmt, second: Stmt) -> Store | None:
        match first, second:
            case Store(array=array, index=index), Store(array=again, index=at) if (
                array,
                index,
            ) == (again, at):
                pass
            case _:
                return None
        cell = self._cell(first)
        sums = [part for part in walk(second.value) if isinstance(part, Sum)]
        if first.value.type != cell.type or any(cell in walk(one) for one in sums):
            return None
        if sum(1 for part in walk(second.value) if part == cell) != 1:
            return None
        if not (self._only_itself(first) and self._only_itself(second)):
            return None
        return replace(second, value=replaced(second.value, cell, first.value))

    def _cell(self, store: Store) -> Load:
        """The element that is written, as it is read."""
        return Load(self.nest.arrays[store.array].element, store.line, store.array, store.index)

    # --------------------------------------------------------- fresh arrays
    def started(self, root: For) -> For:
        """``c = c + sum`` of an array of zeros that nothing has written yet: ``c = sum``."""
        found = accesses(root)
        for statement in statements((root,)):
            if not isinstance(statement, Store):
                continue
            made = self.nest.arrays[statement.array].allocation
            value = _without_zero(statement.value, self._cell(statement))
            if made is None or made.fill != 0 or value is None:
                continue
            writes = [a for a in found if a.write and a.array == statement.array]
            reading = [a for a in found if not a.write and a.array == statement.array]
            here = [a for a in reading if a.origin == id(statement)]
            if len(here) != 1 or any(self._before(write, here[0]) for write in writes):
                continue
            new = replace(statement, value=value)
            if id(statement) in self.moved:
                self.moved[id(new)] = new
            root = _exchanged(root, statement, new)
        return root

    def _before(self, write: Access, read: Access) -> bool:
        """The write may come first at some element that both touch."""
        common = shared_loops(write, read)
        for signs in directions(write, read, common, self.facts):
            pairs = zip(signs, common, strict=True)
            first = next((sign for sign, loop in pairs if sign and loop.index != ONCE), 0)
            if first > 0 or (first == 0 and write.position < read.position):
                return True
        return False

    # --------------------------------------------------------------- squares
    def squared(self, loop: For) -> For:
        """Both triangles at once where one is filled, and the other with the same."""
        body: list[Stmt] = []
        for statement in loop.body:
            if isinstance(statement, For):
                statement = self.squared(statement)
                both = _in_one(body[-1], statement) if body else None
                square = None if both is None else self._square(both)
                if square is not None:
                    body.pop()
                    statement = square
                else:
                    statement = self._square(statement) or statement
            body.append(statement)
        return _with_body(loop, tuple(body))

    def _square(self, loop: For) -> For | None:
        """The loop over the whole square; None if that is not what the nest fills."""
        match loop.body:
            case (For(body=(Store() as store, Store() as mirror)) as inner,):
                pass
            case _:
                return None
        square = self._ends(loop, inner)
        if square is None or not self._mirrored(store, mirror, {loop.index, inner.index}):
            return None
        low, high, diagonal = square
        new: Stmt = replace(store)
        self.moved[id(new)] = new
        if not diagonal:
            row, column = (Var(PY_INT, loop.line, one.index) for one in (loop, inner))
            test = Compare(PY_BOOL, loop.line, "!=", row, column)
            new = If(store.line, store.node, test, (new,), ())
        start, stop = to_expr(low, loop.line), to_expr(high, loop.line)
        whole = replace(inner, start=start, stop=stop, body=(new,))
        return replace(loop, start=start, stop=stop, body=(whole,))

    def _mirrored(self, store: Store, mirror: Store, names: set[str]) -> bool:
        """``c[i, j]`` and ``c[j, i]`` get a value that is the same for both."""
        match store.index:
            case (Var(name=row) as i, Var(name=column) as j) if {row, column} == names:
                pass
            case _:
                return False
        if mirror.array != store.array or mirror.index != (j, i):
            return False
        if mirror.value not in (self._cell(store), store.value):
            return False
        if any(isinstance(p, Load) and p.array == store.array for p in walk(store.value)):
            return False
        return is_symmetric(store.value, row, column)

    def _ends(self, loop: For, inner: For) -> tuple[Affine, Affine, bool] | None:
        """The square that a triangle and its mirror image fill, and whether its diagonal too."""
        forms = [affine(e) for e in (loop.start, loop.stop, inner.start, inner.stop)]
        if loop.step != 1 or inner.step != 1 or any(form is None for form in forms):
            return None
        first, last, start, stop = (form for form in forms if form is not None)
        equal = self.facts.equal
        if loop.index in start.symbols:  # j from i or i + 1 up to the end
            gap = start - variable(loop.index)
            if not gap.is_const or gap.const not in (0, 1) or loop.index in stop.symbols:
                return None
            whole = equal(last, stop) or equal(last, stop - gap.const)
            return (first, stop, gap.const == 0) if whole else None
        gap = stop - variable(loop.index)
        if not gap.is_const or gap.const not in (0, 1) or not equal(start, first):
            return None
        return first, last, gap.const == 1


def _with_body(loop: For, body: tuple[Stmt, ...]) -> For:
    """The loop with another body; the same object if it is the same."""
    same = len(body) == len(loop.body) and all(x is y for x, y in zip(body, loop.body, strict=True))
    return loop if same else replace(loop, body=body)


def _header(loop: For) -> tuple[object, ...]:
    return loop.start, loop.stop, loop.step, loop.values


def _in_one(first: Stmt, second: For) -> For | None:
    """Two nests of two loops over the same pairs as one; whether they may be is not looked at."""
    match first, second:
        case (
            For(body=(For(body=(Store() as one,)) as inner,)),
            For(body=(For(body=(Store() as two,)) as other,)),
        ):
            pass
        case _:
            return None
    names = {
        second.index: Var(PY_INT, second.line, first.index),
        other.index: Var(PY_INT, second.line, inner.index),
    }
    (renamed,) = substituted((replace(other, body=()),), names)
    assert isinstance(renamed, For)
    if _header(first) != _header(second) or _header(inner) != _header(renamed):
        return None
    return replace(first, body=(replace(inner, body=(one, *substituted((two,), names))),))


def _is_triangular(loop: For, outer: tuple[For, ...]) -> bool:
    """The bounds follow the index of a loop around; only stores inside."""
    moving = (reads(loop.start) | reads(loop.stop)) & {one.index for one in outer}
    return bool(moving) and all(isinstance(s, Store) for s in loop.body)


def replaced(expr: Expr, old: Expr, new: Expr) -> Expr:
    """The expression with another one in the place of each part that equals ``old``."""
    if expr == old:
        return new
    return map_children(expr, lambda child: replaced(child, old, new))


def _without_zero(value: Expr, cell: Load) -> Expr | None:
    """What is left of ``cell + sum`` where the cell is zero; None if there is no such part."""
    match value:
        case Binary(op="+", left=left, right=Sum() as total) if left == cell:
            return total
        case Binary(op="-", left=left, right=Sum() as total) if left == cell:
            return Unary(value.type, value.line, "-", total)
        case Binary(op="*" | "/", left=left) if not isinstance(left, Const):
            inner = _without_zero(left, cell)
            return None if inner is None else replace(value, left=inner)
    return None


def _exchanged(loop: For, old: Stmt, new: Stmt) -> For:
    body: list[Stmt] = []
    for statement in loop.body:
        if statement is old:
            statement = new
        elif isinstance(statement, For):
            statement = _exchanged(statement, old, new)
        body.append(statement)
    return _with_body(loop, tuple(body))


def is_symmetric(value: Expr, one: str, other: str) -> bool:
    """The value stays the same if two indices change places, but for the order of operands."""
    return _ordered(value) == _ordered(swapped(value, one, other))


def _ordered(expr: Expr) -> Expr:
    """The operands of each product and sum in one order, whatever it was."""
    expr = map_children(expr, _ordered)
    match expr:
        case Binary(op="+" | "*", left=left, right=right) if sort_key(left) > sort_key(right):
            return replace(expr, left=right, right=left)
    return expr


def swapped(value: Expr, one: str, other: str) -> Expr:
    """The value with two indices in each other's place."""
    put: dict[str, Expr] = {
        one: Var(PY_INT, value.line, other),
        other: Var(PY_INT, value.line, one),
    }
    return substitute(value, put)


def sort_key(expr: Expr) -> str:
    """Some order of expressions that does not look at their lines."""
    return repr(_without_lines(expr))


def _without_lines(expr: Expr) -> Expr:
    return map_children(replace(expr, line=0), _without_lines)
