"""Another order of the loops, where the caches and the vector units want it: every bit stays.

A loop whose iterations are independent may be moved inside any loop that it contains: each element
still gets its terms in the order that it had. So the innermost loop comes to walk along rows, and a
sum that had to wait for each addition becomes one that runs over a whole row. Scalars of an
iteration become rows; the statements around the inner loop get loops of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..loopnest.accesses import accesses_in, exposed_scalars, scalar_writes
from ..loopnest.dependence import Analysis, LoopVerdict, Parallel, analyse
from ..loopnest.fold import loads, reads
from ..loopnest.ir import (
    Assign,
    For,
    If,
    Kind,
    Nest,
    Scalar,
    Stmt,
    Store,
    UserCall,
    expressions,
    statements,
    walk,
)
from ..loopnest.ranges import Observed, interval, ranges_of
from .nb_strides import Stride, stride

SHORT = 8
"""Trips below which a row is not worth a loop of its own."""


@dataclass(frozen=True)
class Leaf:
    """A statement that stays as it is, whatever it contains."""

    node: ast.stmt
    parts: tuple[Stmt, ...]
    """What it was lowered to."""


@dataclass(frozen=True)
class Row:
    """A scalar of each iteration, kept for all iterations of a loop."""

    name: str
    type: Scalar


@dataclass(frozen=True)
class Rows:
    """Where those of one loop are made."""

    loop: For
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Loop:
    """A loop over what may be in another order by now."""

    loop: For
    body: tuple[Tree, ...]
    free: bool = False
    """The loop directly inside was moved there from outside: its iterations are independent."""

    @property
    def header(self) -> ast.For:
        """The statement that it came from."""
        assert isinstance(self.loop.node, ast.For)
        return self.loop.node


Tree = Leaf | Rows | Loop


@dataclass
class Order:
    """A region's loops in the new order."""

    nest: Nest
    analysis: Analysis
    trees: tuple[Tree, ...]
    rows: dict[int, tuple[Row, ...]] = field(default_factory=dict)
    """By the identity of the loop whose iterations they are for."""
    moved: set[int] = field(default_factory=set)
    """Identities of the loops that were moved inside others."""
    swapped: dict[int, LoopVerdict] = field(default_factory=dict)
    """Loops that changed places with the one around them, and what they are there."""
    steps: bool = False
    """Also several iterations at once, which takes a compiler twice as long."""
    fixed: For | None = None
    """The loop that runs in threads, and stays as it is."""

    def leaves(self, trees: Sequence[Tree] | None = None) -> Iterator[tuple[Leaf, tuple[For, ...]]]:
        """Every statement with the loops around it, outermost first."""
        for tree in self.trees if trees is None else trees:
            match tree:
                case Leaf():
                    yield tree, ()
                case Loop(loop=loop, body=body):
                    for leaf, loops in self.leaves(body):
                        yield leaf, (loop, *loops)
                case _:
                    pass

    def never_negative(self, loop: For) -> bool:
        """Whether the code proves the end of the loop's range to be 0 or more."""
        low = interval(loop.stop, self.nest, observed=Observed.NOTHING).low
        return low is not None and low >= 0

    def forgotten(self, loop: For) -> bool:
        """No one reads, after the loop, a scalar that it assigns, its own index included."""
        written = scalar_writes(loop)
        if written & self.nest.live_out:
            return False
        return not any(written & read for read in _read_around(self.nest.root, loop))

    def verdict(self, loop: For) -> LoopVerdict:
        """Whether iterations of a loop depend on each other where it is now."""
        known = self.swapped.get(id(loop))
        return self.analysis.verdict(loop) if known is None else known

    def may_swap(self, outer: Loop, inner: Loop) -> bool:
        """Whether the inner loop's iterations were independent if it were the outer one."""
        return self.swap(outer, inner) is not None

    def swap(self, outer: Loop, inner: Loop) -> tuple[For, LoopVerdict, For, LoopVerdict] | None:
        """The inner loop, independent, around the outer one; None if that is not proved."""
        if outer.loop.body != (inner.loop,) or not self.forgotten(outer.loop):
            return None
        within = replace(outer.loop, body=inner.loop.body)
        around = replace(inner.loop, body=(within,))
        root = _with(self.nest.root, outer.loop, around)
        assert isinstance(root, For)
        found = analyse(replace(self.nest, root=root))
        verdict = found.verdict(around)
        if not isinstance(verdict, Parallel):
            return None
        return around, verdict, within, found.verdict(within)


def ordered(nest: Nest, *, threads: bool = False, steps: bool = False) -> Order | None:
    """The loops, each where it is best; None where they must stay as they are.

    ``threads``: the outermost loop has to stay where it is. ``steps``: as in `Order`.
    """
    if nest.made or nest.grown or not isinstance(nest.root, For) or _opaque(nest):
        return None
    root = tree_of(nest.root)
    if root is None:
        return None
    order = Order(nest, analyse(nest), (root,), steps=steps, fixed=nest.root if threads else None)
    order.trees = tuple(_Interchange(nest, order.analysis, order).trees((root,)))
    return order


def tree_of(loop: For) -> Loop | None:
    """The loop as a tree; None where its text does not show what it was lowered to."""
    node = loop.node
    match node:
        case ast.For(
            target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range")), orelse=[]
        ) if index == loop.index and loop.values is None:
            pass
        case _:
            return None
    parts: dict[int, list[Stmt]] = {}
    for statement in loop.body:
        parts.setdefault(id(statement.node), []).append(statement)
    if list(parts) != [id(n) for n in node.body if not isinstance(n, ast.Pass)]:
        return None
    body: list[Tree] = []
    for statements_ in parts.values():
        first = statements_[0]
        inner = tree_of(first) if isinstance(first, For) and len(statements_) == 1 else None
        body.append(inner or Leaf(first.node, tuple(statements_)))
    return Loop(loop, tuple(body))


def _opaque(nest: Nest) -> bool:
    """Statements and calls that may touch more than their text shows."""
    for statement in statements((nest.root,)):
        if not isinstance(statement, Assign | Store | If | For):
            return True
        for top in expressions(statement):
            if any(isinstance(e, UserCall) for e in walk(top)):
                return True
    return False


@dataclass
class _Interchange:
    """Moves independent loops inside where that helps."""

    nest: Nest
    analysis: Analysis
    order: Order

    def trees(self, trees: Sequence[Tree]) -> list[Tree]:
        """The same statements, each loop where it is best."""
        found: list[Tree] = []
        for tree in trees:
            if not isinstance(tree, Loop):
                found.append(tree)
            elif tree.loop is not self.order.fixed and self._may_move(tree) and self._helps(tree):
                found += self._sunk(tree)
            elif (swapped := self._swapped(tree)) is not None:
                found.append(swapped)
            else:
                found.append(replace(tree, body=tuple(self.trees(tree.body))))
        return found

    # ------------------------------------------------------------ legality
    def _may_move(self, tree: Loop) -> bool:
        """Independent iterations, and nothing of the last one is read afterwards."""
        loop = tree.loop
        if loop.step != 1 or not isinstance(self.analysis.verdict(loop), Parallel):
            return False
        inner = [t for t in tree.body if isinstance(t, Loop) and self._may_contain(t, loop)]
        return bool(inner) and self.order.forgotten(loop) and self._rows(tree) is not None

    def _may_contain(self, inner: Loop, outer: For) -> bool:
        """The inner loop runs over the same range in every iteration of the outer one."""
        loop = inner.loop
        varying = scalar_writes(outer) | {outer.index}
        bounds = (loop.start, loop.stop)
        return not any(reads(b) & varying or loads(b) for b in bounds)

    def _rows(self, tree: Loop) -> tuple[Row, ...] | None:
        """The scalars that one part of the body hands to another; None if one cannot be kept."""
        named = self._handed(tree.body, tree.loop)
        if not all(map(self._can_be_kept, named)):
            return None
        # rows are indexed like the loop, from 0
        low = interval(tree.loop.start, self.nest, observed=Observed.NOTHING).low
        if named and (low is None or low < 0):
            return None
        return tuple(Row(name, self.nest.privates[name]) for name in sorted(named))

    def _handed(self, body: Sequence[Tree], loop: For) -> frozenset[str]:
        """Scalars that parts of a body, or iterations of a loop in it, hand to others."""
        parts = self._parts(body, loop)
        named: set[str] = set()
        for mine in parts:
            written = frozenset().union(*map(scalar_writes, mine))
            for rest in parts:
                named |= set() if rest is mine else written & exposed_scalars(rest)
        for child in body:
            if isinstance(child, Loop) and self._may_contain(child, loop):
                inner = child.loop
                written = frozenset().union(*map(scalar_writes, inner.body))
                # for k in ..: t += ..: the next iteration of k needs what this one left
                named |= written & exposed_scalars(inner.body)
                named |= self._handed(child.body, loop)
        return frozenset(named)

    def _can_be_kept(self, name: str) -> bool:
        kind = self.nest.privates.get(name)
        if kind is None or name in self.nest.scalars or "." in name:
            return False
        return kind in (Scalar(Kind.FLOAT), Scalar(Kind.FLOAT, "float64"))

    def _parts(self, body: Sequence[Tree], loop: For) -> list[tuple[Stmt, ...]]:
        """The body in pieces that get loops of their own."""
        parts: list[tuple[Stmt, ...]] = []
        joined = False
        for child in body:
            own = isinstance(child, Loop) and self._may_contain(child, loop)
            mine = (child.loop,) if isinstance(child, Loop) else _lowered(child)
            if joined and not own:
                parts[-1] += mine
            else:
                parts.append(mine)
            joined = not own
        return parts

    # -------------------------------------------------------------- profit
    def _helps(self, tree: Loop) -> bool:
        """Every innermost loop would walk along rows, and does not now or waits for its sum."""
        loop = tree.loop
        trips = ranges_of(self.nest).trips.get(id(loop))
        if trips is not None and trips < SHORT:
            return False
        inner = [t.loop for t in tree.body if isinstance(t, Loop) and self._may_contain(t, loop)]
        innermost = [s for one in inner for s in statements((one,)) if _is_innermost(s)]
        return all(self._better(one, loop) for one in innermost if isinstance(one, For))

    def _better(self, inner: For, outer: For) -> bool:
        accesses = accesses_in(self.nest, inner.body)
        along = [stride(self.nest, a, outer.index) for a in accesses]
        if Stride.FAR in along or Stride.ONE not in along:
            return False
        if any(stride(self.nest, a, inner.index) is Stride.FAR for a in accesses):
            return True
        return not isinstance(self.analysis.verdict(inner), Parallel)

    # ---------------------------------------------------------------- move
    def _swapped(self, tree: Loop) -> Loop | None:
        """Two loops in the other order where the inner one jumps from row to row."""
        match tree.body:
            case (Loop() as inner,) if not any(isinstance(t, Loop) for t in inner.body):
                pass
            case _:
                return None
        if tree.loop is self.order.fixed or not self._may_contain(inner, tree.loop):
            return None
        if not self.order.steps:
            return None  # a single sum along rows would wait for each of its additions
        accesses = accesses_in(self.nest, inner.loop.body)
        if all(stride(self.nest, a, inner.loop.index) is not Stride.FAR for a in accesses):
            return None
        if any(stride(self.nest, a, tree.loop.index) is Stride.FAR for a in accesses):
            return None
        found = self.order.swap(tree, inner)
        if found is None:
            return None
        around, first, within, second = found
        self.order.swapped |= {id(around): first, id(within): second}
        return Loop(around, (Loop(within, inner.body),))

    def _sunk(self, tree: Loop) -> list[Tree]:
        """Loops over the parts of the body, each with ``tree``'s loop inside."""
        rows = self._rows(tree) or ()
        self.order.moved.add(id(tree.loop))
        self.order.rows[id(tree.loop)] = rows
        found: list[Tree] = [Rows(tree.loop, rows)] if rows else []
        return found + self._inside(tree.loop, tree.body)

    def _inside(self, loop: For, body: Sequence[Tree]) -> list[Tree]:
        found: list[Tree] = []
        pending: list[Tree] = []
        for child in body:
            if isinstance(child, Loop) and self._may_contain(child, loop):
                found += [Loop(loop, tuple(pending))] if pending else []
                pending = []
                inner = tuple(self._inside(loop, child.body))
                free = len(inner) == 1 and isinstance(inner[0], Loop) and inner[0].loop is loop
                found.append(replace(child, body=inner, free=free))
            else:
                pending.append(child)
        return found + ([Loop(loop, tuple(pending))] if pending else [])


def _read_around(place: Stmt, loop: For) -> Iterator[frozenset[str]]:
    """What statements of the loops around ``loop`` read before they assign it."""
    body: tuple[Stmt, ...] = ()
    match place:
        case For(body=body):
            pass
        case If(then=then, orelse=orelse):
            body = (*then, *orelse)
    if place is loop:
        return
    for statement in body:
        if any(s is loop for s in statements((statement,))):
            yield frozenset().union(*map(reads, expressions(statement)))
            yield from _read_around(statement, loop)
        else:
            yield exposed_scalars((statement,))


def _with(place: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """The statement with one inside replaced."""
    if place is old:
        return new
    match place:
        case For(body=body):
            return replace(place, body=tuple(_with(s, old, new) for s in body))
        case If(then=then, orelse=orelse):
            return replace(
                place,
                then=tuple(_with(s, old, new) for s in then),
                orelse=tuple(_with(s, old, new) for s in orelse),
            )
    return place


def _lowered(tree: Tree) -> tuple[Stmt, ...]:
    return tree.parts if isinstance(tree, Leaf) else ()


def _is_innermost(statement: Stmt) -> bool:
    return isinstance(statement, For) and not any(
        isinstance(s, For) for s in statements(statement.body)
    )
