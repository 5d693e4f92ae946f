"""Other orders of the same iterations, for nests that no choice of axes makes parallel as they are.

Two transformations, each proved by the dependence test on whole iteration vectors (no operation
changes, and every two accesses to one element keep their order, so results are equal bit for bit):

- distribution: ``s[j] += ..`` and ``q[i] += ..`` of one loop get loops of their own, in another
  order than in the text where the dependences want it;
- column sweep: a triangular recurrence ``for j: for k < j: x[j] -= L[j, k] * x[k]``, then
  ``x[j] /= L[j, j]``, visits ``k`` outside: ``x[k] /= L[k, k]``, then all ``x[j]`` with ``j > k``
  (Golub and Van Loan, "Matrix Computations", section 3.1.3: column-oriented substitution).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from ...loopnest.affine import Affine, affine, constant, to_expr, variable
from ...loopnest.ir import (
    PY_INT,
    Assign,
    Const,
    For,
    If,
    Nest,
    Stmt,
    Store,
    Var,
    statements,
)
from . import coupled
from .contraction import contracted
from .known import Facts
from .legality import Access, accesses
from .normal import exposed, substituted

if TYPE_CHECKING:
    from .waves import Waves

ONCE = ""
"""Index of the loop with one iteration that holds several loops in place of one."""
MAX_ACCESSES = 24
"""Accesses of a loop beyond which it is left as it is: the test takes pairs of them."""


@dataclass(frozen=True)
class Variant:
    """One order of the nest's iterations."""

    root: For
    moved: frozenset[int] = frozenset()
    """``id`` of the statements whose order changed: none of them may raise."""
    waves: Waves | None = None
    """The loops over waves, where the root has such."""
    turned: Mapping[str, str] = field(default_factory=dict)
    """Copies that have columns as rows, and the arrays that they are copies of."""
    turned_back: frozenset[str] = frozenset()
    """Those whose elements are put back."""

    def __post_init__(self) -> None:
        # One that is gone by now may have left its number to another.
        alive = {id(statement) for statement in statements((self.root,))}
        object.__setattr__(self, "moved", self.moved & alive)


Transform = Callable[[For, tuple[For, ...]], tuple[Stmt, ...]]


def variants(root: For, nest: Nest, facts: Facts) -> tuple[Variant, ...]:
    """The nest as it is, with column sweeps, and with these and all loops distributed."""
    indices = {s.index for s in statements((root,)) if isinstance(s, For)}
    if indices & (nest.live_out | facts.assigned):
        return (Variant(root),)

    def sweeping(loop: For, outer: tuple[For, ...]) -> tuple[Stmt, ...]:
        return sweep(loop, outer, root, nest, facts)

    def splitting(loop: For, outer: tuple[For, ...]) -> tuple[Stmt, ...]:
        return distribute(loop, outer, nest, facts)

    found = [Variant(root)]
    for transform in (sweeping, splitting):
        new = _Rebuilt(transform, found[-1].moved).variant(found[-1].root)
        if new.root is not found[-1].root:
            found.append(new)
    return tuple(found)


class _Rebuilt:
    """A tree with every loop, innermost first, replaced by what a transformation gives."""

    def __init__(self, transform: Transform, moved: frozenset[int]) -> None:
        self.transform = transform
        self.moved: dict[int, Stmt | None] = dict.fromkeys(moved)
        """By ``id``; kept alive here, that no other statement gets it."""

    def variant(self, root: For) -> Variant:
        """The new nest; the same object if nothing changed."""
        if root.index == ONCE:
            body = self.body(root.body, ())
            new = root if _same(body, root.body) else replace(root, body=body)
            return Variant(new, frozenset(self.moved))
        body = self.body((root,), ())
        if len(body) == 1 and isinstance(body[0], For):
            return Variant(body[0], frozenset(self.moved))
        return Variant(wrapped_once(root, body), frozenset(self.moved))

    def body(self, body: tuple[Stmt, ...], outer: tuple[For, ...]) -> tuple[Stmt, ...]:
        """The statements of one level."""
        result: list[Stmt] = []
        for statement in body:
            match statement:
                case For():
                    result += self._loop(statement, outer)
                case If(then=then, orelse=orelse):
                    a, b = self.body(then, outer), self.body(orelse, outer)
                    if not (_same(a, then) and _same(b, orelse)):
                        new = replace(statement, then=a, orelse=b)
                        if id(statement) in self.moved:
                            self.moved[id(new)] = new
                        statement = new
                    result.append(statement)
                case _:
                    result.append(statement)
        return tuple(result)

    def _loop(self, loop: For, outer: tuple[For, ...]) -> tuple[Stmt, ...]:
        inner = self.body(loop.body, (*outer, loop))
        if not _same(inner, loop.body):
            loop = replace(loop, body=inner)
        new = self.transform(loop, outer)
        if not _same(new, (loop,)):
            self.moved |= {id(s): s for s in statements(new) if not isinstance(s, For)}
        return new


def wrapped_once(root: For, body: tuple[Stmt, ...]) -> For:
    """What took the place of a root loop, in a loop that has one iteration."""
    zero, one = Const(PY_INT, root.line, 0), Const(PY_INT, root.line, 1)
    return For(root.line, root.node, ONCE, zero, one, 1, body)


def _same(a: tuple[Stmt, ...], b: tuple[Stmt, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


# -------------------------------------------------------------- distribution
def distribute(loop: For, outer: tuple[For, ...], nest: Nest, facts: Facts) -> tuple[Stmt, ...]:
    """The loop once for each group of statements that must stay together."""
    if len(loop.body) < 2 or not _fixed_bounds(loop, facts):
        return (loop,)
    if sum(len(list(accesses(s, ()))) for s in loop.body) > MAX_ACCESSES:
        return (loop,)
    groups = _groups(loop.body, (*outer, loop), nest, facts)
    if len(groups) == 1:
        return (loop,)
    return tuple(replace(loop, body=group) for group in groups)


def _groups(
    body: tuple[Stmt, ...], loops: tuple[For, ...], nest: Nest, facts: Facts
) -> list[tuple[Stmt, ...]]:
    """The cycles of the dependence graph, in an order that keeps all other dependences.

    Each statement that is on no cycle is a group of its own (Allen and Kennedy, "Optimizing
    Compilers for Modern Architectures", section 2.4).
    """
    count = len(body)
    before = [[False] * count for _ in body]
    pairs = [(p, q) for q in range(count) for p in range(q)]
    for p, q in pairs:
        before[q][p] = _depends(body[q], body[p], (1,), loops, nest, facts)
    if not any(before[q][p] for p, q in pairs):
        return [(statement,) for statement in body]
    for p, q in pairs:
        before[p][q] = _depends(body[p], body[q], (0, 1), loops, nest, facts)
    reach = [row[:] for row in before]
    for middle, p, q in product(range(count), repeat=3):
        reach[p][q] |= reach[p][middle] and reach[middle][q]
    groups: list[tuple[Stmt, ...]] = []
    left = set(range(count))
    while left:
        # the first statement in the text that no other group has to precede
        ready = (p for p in sorted(left) if all(reach[p][q] for q in left if reach[q][p]))
        first = next(ready)
        group = [q for q in sorted(left) if q == first or (reach[first][q] and reach[q][first])]
        groups.append(tuple(body[q] for q in group))
        left -= set(group)
    return groups


def _depends(
    first: Stmt,
    second: Stmt,
    steps: tuple[int, ...],
    loops: tuple[For, ...],
    nest: Nest,
    facts: Facts,
) -> bool:
    """Some element that the first touches is touched so many iterations later by the second.

    ``steps``: 0 for the same iteration, 1 for any later one; one of the two writes.
    """
    if _linked((first,), (second,)) or _linked((second,), (first,)):
        return True
    for a in _accesses((first,), loops):
        for b in _accesses((second,), loops):
            if not _may_share(a, b, nest):
                continue
            for step in steps:
                signs = (*(0 for _ in loops[:-1]), step)
                if a.array != b.array or coupled.can_meet(a, b, signs, loops, facts):
                    return True
    return False


def _linked(first: tuple[Stmt, ...], second: tuple[Stmt, ...]) -> bool:
    """A scalar of the one is used by the other: ``t = a[i]; b[i] = t``."""
    assigned = {s.name for s in statements(first) if isinstance(s, Assign)}
    assigned |= {s.index for s in statements(first) if isinstance(s, For)}
    other = {s.name for s in statements(second) if isinstance(s, Assign)}
    return bool(assigned & (exposed(second) | other))


def _accesses(body: tuple[Stmt, ...], loops: tuple[For, ...]) -> list[Access]:
    return [access for statement in body for access in accesses(statement, loops)]


def _may_share(a: Access, b: Access, nest: Nest) -> bool:
    """Same array or memory seen shared, and one of the two a write."""
    if not (a.write or b.write):
        return False
    return a.array == b.array or b.array in nest.arrays[a.array].aliases


def _fixed_bounds(loop: For, facts: Facts) -> bool:
    """The bounds have an affine form over what nothing in the nest assigns."""
    forms = affine(loop.start), affine(loop.stop)
    return loop.values is None and all(
        form is not None and not form.symbols & facts.assigned for form in forms
    )


# -------------------------------------------------------------- column sweep
@dataclass(frozen=True)
class _Timed:
    """An access and when it happens, before and after, by lexicographic order."""

    access: Access
    old: tuple[Affine, ...]
    new: tuple[Affine, ...]


def sweep(
    loop: For, outer: tuple[For, ...], root: For, nest: Nest, facts: Facts
) -> tuple[Stmt, ...]:
    """The triangular recurrence with its reduction loop outside, or the loop as it is."""
    plain = contracted(loop, outer, root, nest, facts) or loop
    inner = next((s for s in plain.body if isinstance(s, For)), None)
    if inner is None or not _is_triangle(plain, inner, facts):
        return (loop,)
    place = next(n for n, s in enumerate(plain.body) if s is inner)
    before, after = plain.body[:place], plain.body[place + 1 :]
    if not all(isinstance(s, Store) for s in (*before, *inner.body, *after)):
        return (loop,)
    timed = _timed(before, inner, after, (*outer, plain))
    if len(timed) > MAX_ACCESSES or not _kept(timed, outer, nest, facts):
        return (loop,)
    line = inner.line
    row = Var(PY_INT, line, inner.index)
    rest = replace(
        plain,
        line=line,
        start=to_expr(variable(inner.index) + 1, line),
        body=inner.body,
    )
    body = (*substituted(after, {plain.index: row}), rest)
    swept = replace(inner, start=plain.start, stop=plain.stop, body=body)
    return (replace(plain, body=before), swept) if before else (swept,)


def _is_triangle(loop: For, inner: For, facts: Facts) -> bool:
    """``for j in range(a, b): for k in range(a, j)``."""
    if loop.step != 1 or inner.step != 1 or loop.index == inner.index:
        return False
    if not (_fixed_bounds(loop, facts) and _fixed_bounds(inner, facts)):
        return False
    start, low = affine(loop.start), affine(inner.start)
    assert start is not None and low is not None
    return affine(inner.stop) == variable(loop.index) and facts.equal(start, low)


def _timed(
    before: tuple[Stmt, ...], inner: For, after: tuple[Stmt, ...], loops: tuple[For, ...]
) -> list[_Timed]:
    j, k = variable(loops[-1].index), variable(inner.index)
    zero, one, two = constant(0), constant(1), constant(2)
    found = []
    for n, statement in enumerate(before):
        p = constant(n)
        for access in accesses(statement, loops):
            found.append(_Timed(access, (j, zero, p, zero), (zero, j, p, zero, zero)))
    for n, statement in enumerate(inner.body):
        p = constant(n)
        for access in accesses(statement, (*loops, inner)):
            found.append(_Timed(access, (j, one, k, p), (one, k, one, j, p)))
    for n, statement in enumerate(after):
        p = constant(n)
        for access in accesses(statement, loops):
            found.append(_Timed(access, (j, two, p, zero), (one, j, zero, p, zero)))
    return found


def _kept(timed: list[_Timed], outer: tuple[For, ...], nest: Nest, facts: Facts) -> bool:
    """No two accesses to one element change their order."""
    for x in timed:
        for y in timed:
            if not _may_share(x.access, y.access, nest):
                continue
            if x.access.array != y.access.array or _swapped(x, y, outer, facts):
                return False
    return True


def _swapped(x: _Timed, y: _Timed, outer: tuple[For, ...], facts: Facts) -> bool:
    """``x`` may come before ``y`` in the old order and after it in the new one, at one element."""
    a, b = x.access, y.access
    zero = list(coupled.same_place(a, b, facts))
    zero += [variable(loop.index + "'") - variable(loop.index + '"') for loop in outer]
    rows = [*coupled.iterations(a, "'", facts), *coupled.iterations(b, '"', facts)]
    names = {loop.index for loop in (*a.loops, *b.loops)}

    def earlier(
        first: tuple[Affine, ...], second: tuple[Affine, ...], marks: str
    ) -> Iterator[tuple[list[Affine], Affine]]:
        """(equal so far, this one ahead) for every place where the orders can part."""
        equal: list[Affine] = []
        for one, two in zip(first, second, strict=True):
            ahead = two.substitute({n: variable(n + marks[1]) for n in names}) - one.substitute(
                {n: variable(n + marks[0]) for n in names}
            )
            if not ahead.is_const or ahead.const > 0:
                yield list(equal), ahead - 1
            if ahead.is_const and ahead.const:
                return
            equal.append(ahead)

    return any(
        coupled.solvable([*rows, old, new], [*zero, *old_equal, *new_equal], facts)
        for old_equal, old in earlier(x.old, y.old, "'\"")
        for new_equal, new in earlier(y.new, x.new, "\"'")
    )
