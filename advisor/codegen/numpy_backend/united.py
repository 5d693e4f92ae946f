"""Nests that update the same elements one after the other, as one nest with one statement.

``C[i, j] = beta * C[i, j] + sum_{k<i} ..`` for all elements, then ``C[k, j] += sum_{i>k} ..`` for
all but the last row, whose sum would be empty: together they are one update of each element, whose
sums `symmetric` can look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...loopnest.affine import Affine, affine
from ...loopnest.fold import reads, substitute
from ...loopnest.ir import (
    PY_INT,
    Assign,
    Expr,
    For,
    Load,
    Nest,
    Stmt,
    Store,
    Sum,
    Var,
    walk,
)
from .known import Facts
from .merging import replaced
from .normal import exposed
from .products import factors_of, terms_of
from .restructure import ONCE, Variant
from .symmetric import with_whole_rows

MOST_NODES = 120
"""Size of a value beyond which nothing more is put into it."""


@dataclass(frozen=True)
class Update:
    """A nest that gives each element of a rectangle a new value, from the old one or without."""

    loops: tuple[For, ...]
    """In the order of the subscripts."""
    store: Store
    """With the value of all statements together."""

    @property
    def cell(self) -> Load:
        """The element, as it is read."""
        type_ = self.store.value.type
        return Load(type_, self.store.line, self.store.array, self.store.index)

    @property
    def reads_cell(self) -> int:
        """How often the value reads the element."""
        return sum(1 for part in walk(self.store.value) if part == self.cell)


def united(variant: Variant, nest: Nest, facts: Facts) -> Variant:
    """The nests as one where a symmetric matrix comes out of it; else the same object."""
    root = variant.root
    body = root.body if root.index == ONCE else (root,)
    updates = [_update(statement, nest, exposed(body)) for statement in body]
    found = [update for update in updates if update is not None]
    if len(found) < len(body) or len({update.store.array for update in found}) != 1:
        return variant
    joined = _joined(found, facts)
    if joined is None:
        return variant
    value = with_whole_rows(joined.store.value, joined.loops, facts)
    if value is None:
        return variant
    store = replace(joined.store, value=value)
    new: Stmt = store
    for loop in reversed(joined.loops):
        new = replace(loop, body=(new,))
    assert isinstance(new, For)
    return Variant(new, variant.moved | {id(store)})


def _update(statement: Stmt, nest: Nest, handed: frozenset[str]) -> Update | None:
    """The statement as one update of each element; None if it is anything else.

    ``handed``: scalars that one of the statements leaves to another.
    """
    loops: list[For] = []
    body: tuple[Stmt, ...] = (statement,)
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    by_name = {loop.index: loop for loop in loops}
    if len(by_name) < len(loops) or not all(_is_rectangular(loop, by_name) for loop in loops):
        return None
    store = _in_one(body, nest, handed)
    if store is None or not _only_itself(store, nest):
        return None
    names = [e.name for e in store.index if isinstance(e, Var)]
    if len(names) < len(store.index) or sorted(names) != sorted(by_name):
        return None
    return Update(tuple(by_name[name] for name in names), store)


def _is_rectangular(loop: For, by_name: dict[str, For]) -> bool:
    """The loop counts up by one between ends that no other loop moves."""
    ends = affine(loop.start), affine(loop.stop)
    if loop.values is not None or loop.step != 1 or None in ends:
        return False
    return not (reads(loop.start) | reads(loop.stop)) & by_name.keys()


def _in_one(body: Sequence[Stmt], nest: Nest, handed: frozenset[str]) -> Store | None:
    """Scalars put into the stores of one element, and these into each other."""
    values: dict[str, Expr] = {}
    result: Store | None = None
    for statement in body:
        match statement:
            case Assign(name=name, value=value) if result is None:
                if name in nest.live_out or name in handed:
                    return None
                values[name] = substitute(value, values)
            case Store(value=value):
                new = replace(statement, value=substitute(value, values))
                both = new if result is None else _after(result, new)
                if both is None:
                    return None
                result = both
            case _:
                return None
    small = result is not None and sum(1 for _ in walk(result.value)) <= MOST_NODES
    return result if small else None


def _after(first: Store, second: Store) -> Store | None:
    """Both stores of one element as one."""
    update = Update((), second)
    if (first.array, first.index) != (second.array, second.index) or update.reads_cell != 1:
        return None
    if first.value.type != second.value.type:
        return None
    return replace(second, value=replaced(second.value, update.cell, first.value))


def _only_itself(store: Store, nest: Nest) -> bool:
    """No element of the array is read but the one that is written, and that in no sum."""
    info = nest.arrays[store.array]
    cell = Load(info.element, store.line, store.array, store.index)
    if store.value.type != info.element:
        return False
    loads = [part for part in walk(store.value) if isinstance(part, Load)]
    sums = [part for part in walk(store.value) if isinstance(part, Sum)]
    if any(part.array in info.aliases for part in loads):
        return False
    if any(part.array == store.array and part != cell for part in loads):
        return False
    return not any(cell in walk(one) for one in sums)


# ------------------------------------------------------------------- joining
def _joined(updates: Sequence[Update], facts: Facts) -> Update | None:
    """All updates as one over the largest rectangle, in the order of the program."""
    base = next((u for u in updates if all(_fits(u, other, facts) for other in updates)), None)
    if base is None:
        return None
    names = tuple(loop.index for loop in base.loops)
    free = next((name for name in _indices(updates) if name not in names), None)
    if free is None:
        return None
    result: Store | None = None
    for update in updates:
        new = _renamed(update, names, free)
        both = new if result is None else _after(result, new)
        if both is None:
            return None
        result = both
    assert result is not None
    return replace(base, store=result)


def _indices(updates: Sequence[Update]) -> Iterator[str]:
    for update in updates:
        for part in walk(update.store.value):
            if isinstance(part, Sum):
                yield from (loop.index for loop in part.loops)
        yield from (loop.index for loop in update.loops)


def _fits(base: Update, other: Update, facts: Facts) -> bool:
    """Over the base's rectangle the update does the same: outside its own, its sums are empty."""
    for whole, part in zip(base.loops, other.loops, strict=True):
        (low, high), (start, stop) = _ends(whole), _ends(part)
        if not facts.equal(low, start) and not (
            facts.equal(low + 1, start) and _adds_nothing(other, part.index, low, facts)
        ):
            return False
        if not facts.equal(high, stop) and not (
            facts.equal(high - 1, stop) and _adds_nothing(other, part.index, high - 1, facts)
        ):
            return False
    return True


def _ends(loop: For) -> tuple[Affine, Affine]:
    start, stop = affine(loop.start), affine(loop.stop)
    assert start is not None and stop is not None
    return start, stop


def _adds_nothing(update: Update, name: str, row: Affine, facts: Facts) -> bool:
    """All that the update adds in one more row are sums without terms."""
    terms = [term for _, term in terms_of(update.store.value)]
    rest = [term for term in terms if term != update.cell]
    if len(rest) != len(terms) - 1:
        return False
    for term in rest:
        sums = [e for op, e in factors_of(term) if op == "*" and isinstance(e, Sum)]
        loops = [loop for one in sums for loop in one.loops if one.loops]
        if not any(_is_empty(loop, {name: row}, facts) for loop in loops):
            return False
    return True


def _is_empty(loop: For, at: dict[str, Affine], facts: Facts) -> bool:
    start, stop = affine(loop.start), affine(loop.stop)
    return (
        start is not None
        and stop is not None
        and facts.equal(start.substitute(at), stop.substitute(at))
    )


def _renamed(update: Update, names: tuple[str, ...], free: str) -> Store:
    """The update with other names for its element's subscripts, and one for all sums."""
    value = with_index(update.store.value, "\0")
    put: dict[str, Expr] = {
        loop.index: Var(PY_INT, update.store.line, name)
        for loop, name in zip(update.loops, names, strict=True)
    }
    index = tuple(substitute(e, put) for e in update.store.index)
    return replace(update.store, index=index, value=with_index(substitute(value, put), free))


def with_index(value: Expr, name: str) -> Expr:
    """The value with one name for the index of all sums over a single loop."""
    for part in tuple(walk(value)):
        if isinstance(part, Sum) and len(part.loops) == 1 and part.loops[0].index != name:
            (loop,) = part.loops
            body = substitute(part.body, {loop.index: Var(PY_INT, part.line, name)})
            new = replace(part, loops=(replace(loop, index=name),), body=body)
            value = replaced(value, part, new)
    return value
