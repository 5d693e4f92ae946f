"""Which loops become array axes: every legal choice, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from ...loopnest.affine import affine
from ...loopnest.fold import reads
from ...loopnest.ir import (
    Assign,
    Const,
    Dim,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    Sum,
    Var,
    children,
    expressions,
    statements,
    walk,
)
from . import reduced
from .known import Facts
from .legality import Access, accesses, conflict, directions, pairs, shared_loops
from .normal import exposed
from .relaxation import relaxation
from .scan import only_axis, scan_stores, without_extremes
from .scatter import scatter_stores
from .sizes import Ends, rows_fit, size_of, trips, within
from .triangles import is_triangle

CALL = 1.0e-6
"""Seconds of one NumPy call on a short array."""
ELEMENT = 1.0e-9
"""Seconds for one element of an array operation."""
STRIDED = 4.0e-9
"""Seconds more for an element of a column: each lies in another cache line."""
SCALAR = 6.0e-8
"""Seconds of one interpreted operation on scalars."""
MASK = 4
"""Operations that it takes to write the triangle of an array only."""
TERM = 2.0e-10
"""Seconds for one term of a sum of products, a multiplication and an addition."""
PRODUCT_CALL = 3.0e-6
"""Seconds of one product of short arrays, its slices included."""
LARGE = 2**18
"""Elements beyond which temporaries leave the cache; an element then costs three times as much."""
MOST = 2**24
"""Elements of a temporary beyond which (and beyond four of the largest array) a plan is refused."""
MIN_GAIN = 1.5
MAX_LOOPS = 9


@dataclass(frozen=True)
class Plan:
    """A legal choice of axes."""

    axes: frozenset[int]
    seconds: float


@dataclass(frozen=True)
class Plans:
    """All legal choices, cheapest first, and why the wished-for one is not among them."""

    found: tuple[Plan, ...]
    obstacle: str | None
    line: int | None


def all_loops(root: For) -> tuple[For, ...]:
    """The loops in text order, without the one around several (`restructure.ONCE`)."""
    return tuple(s for s in statements((root,)) if isinstance(s, For) and s.index)


def plans(root: For, nest: Nest, facts: Facts, interpreted: float | None = None) -> Plans:
    """Search the subsets of loops.

    ``interpreted``: seconds of the loops as they are, of a nest that has sums in place of some of
    them; it may gain without any axis.
    """
    loops = all_loops(root)
    if len(loops) > MAX_LOOPS:
        return Plans((), "the nest has too many loops to be written as array statements", None)
    checker = _Checker(root, nest, facts, triangles=interpreted is not None)
    least = 1 if interpreted is None else 0
    if interpreted is None:
        interpreted = seconds_of_loops(root, nest)
    found: list[Plan] = []
    short = False
    obstacle: tuple[str, int | None] | None = None
    for size in range(len(loops), least - 1, -1):
        for chosen in combinations(loops, size):
            ids = frozenset(id(loop) for loop in chosen)
            problem = checker.problem(ids)
            if problem is None:
                seconds = _cost(root, nest, ids)
                if seconds * MIN_GAIN <= interpreted:
                    found.append(Plan(ids, seconds))
                else:
                    short = True
            elif obstacle is None or size == 1:
                obstacle = problem
    if short:
        obstacle = ("the arrays are too short for array statements to gain", None)
    found.sort(key=lambda plan: plan.seconds)
    reason, line = obstacle or (None, None)
    return Plans(tuple(found), reason, line)


def has_axis(root: For, nest: Nest, facts: Facts, loops: tuple[For, ...]) -> bool:
    """Whether one of the loops can become an axis by itself."""
    checker = _Checker(root, nest, facts, triangles=False, sums_only=True)
    return any(checker.problem(frozenset((id(loop),))) is None for loop in loops)


def beside(root: For, nest: Nest, facts: Facts, sweep: tuple[For, ...]) -> Plan:
    """The cheapest legal axes among the loops that are not around or inside the last of a chain."""
    taken = {id(loop) for loop in (*sweep, *all_loops(sweep[-1]))}
    loops = [loop for loop in all_loops(root) if id(loop) not in taken]
    best = Plan(frozenset(), _cost(root, nest, frozenset()))
    if len(loops) > MAX_LOOPS:
        return best
    checker = _Checker(root, nest, facts, triangles=False)
    for size in range(1, len(loops) + 1):
        for chosen in combinations(loops, size):
            ids = frozenset(id(loop) for loop in chosen)
            if checker.problem(ids) is None:
                best = min(best, Plan(ids, _cost(root, nest, ids)), key=lambda p: p.seconds)
    return best


def seconds_of_loops(root: For, nest: Nest) -> float:
    """Estimate of the nest as it is, interpreted."""
    return _cost(root, nest, frozenset())


class _Checker:
    """Legality of subsets, with the pairwise tests done once."""

    def __init__(
        self, root: For, nest: Nest, facts: Facts, *, triangles: bool, sums_only: bool = False
    ) -> None:
        self.root = root
        self.nest = nest
        self.facts = facts
        self.triangles = triangles
        """Rows of different lengths may become a whole array under a mask: products gain by it."""
        self.scatters = scatter_stores(root, nest)
        scans = scan_stores(root, nest)
        self.scans = without_extremes(scans) if sums_only else scans
        self.relaxed = relaxation(root, nest)
        self.found = accesses(root)
        self.pairs = [
            (a, b, tuple(directions(a, b, shared_loops(a, b), facts)))
            for a, b in pairs(self.found, nest)
            if not (a.origin == b.origin and (a.origin in self.scatters or a.origin in self.scans))
        ]
        self.futures = dict(scalars_read_after(root, nest.live_out))
        self._reduced: dict[tuple[int, frozenset[int]], frozenset[str]] = {}
        self._read_first: dict[int, frozenset[str]] = {}

    def problem(self, axes: frozenset[int]) -> tuple[str, int | None] | None:
        """Why these loops cannot all become axes."""
        for loop in all_loops(self.root):
            if id(loop) in axes:
                problem = self._shape(loop, axes) or self._scalars(loop, axes)
                if problem is not None:
                    return problem
        for access in self.found:
            if access.write and access.origin in self.scatters and self._reordered(access, axes):
                return "floats are added to computed elements in another order", access.line
            if access.origin in self.scans and not only_axis(access.loops, axes):
                return f"an element of {access.array} is made from the one before", access.line
        kept = self.relaxed is not None and self.relaxed.outer not in axes
        for a, b, signs in self.pairs:
            if kept and self.relaxed is not None and a.array == b.array == self.relaxed.array:
                continue
            found = conflict(a, b, axes, signs)
            if found is not None:
                return found.sentence(), found.second.line
        return None

    def _reordered(self, access: Access, axes: frozenset[int]) -> bool:
        """A loop that stays inside one that becomes an axis: floats would be added otherwise."""
        if self.nest.arrays[access.array].element.kind is Kind.INT:
            return False
        kinds = [id(loop) in axes for loop in access.loops]
        return any(first and not second for first, second in pairwise(kinds))

    def _shape(self, loop: For, axes: frozenset[int]) -> tuple[str, int | None] | None:
        if affine(loop.start) is None or affine(loop.stop) is None:
            return "the bounds of a loop are not simple expressions", loop.line
        if loop.step < -1:
            return "a loop counts down with a stride", loop.line
        changing = {loop.index} | {s.name for s in statements(loop.body) if isinstance(s, Assign)}
        for inner in statements(loop.body):
            if isinstance(inner, For) and self.triangles and is_triangle(inner, loop, axes):
                continue
            if isinstance(inner, For) and (
                (reads(inner.start) | reads(inner.stop)) & changing
                or _has_load(inner.start)
                or _has_load(inner.stop)
            ):
                return f"the inner loop's length changes with {loop.index}", inner.line
        if any(isinstance(s, Assign) and s.name == loop.index for s in statements(loop.body)):
            return f"the loop index {loop.index} is assigned", loop.line
        return None

    def _scalars(self, loop: For, axes: frozenset[int]) -> tuple[str, int | None] | None:
        assigned = {s.name: s.line for s in statements(loop.body) if isinstance(s, Assign)}
        if not assigned:
            return None
        accumulated = self._accumulated(self._block(loop, axes), axes)
        carried = (self._exposed(loop) & assigned.keys()) - accumulated
        # The index of ``for v in values`` is ours: the user has no name for it.
        named = "" if loop.index in self.nest.invented else f" of {loop.index}"
        for name in sorted(carried):
            return (
                f"each iteration{named} needs the {name} of the one before (line {assigned[name]})",
                assigned[name],
            )
        for name in sorted((self.futures[id(loop)] & assigned.keys()) - accumulated):
            return f"the last value of {name} is read after the loop", assigned[name]
        return None

    def _accumulated(self, block: For, axes: frozenset[int]) -> frozenset[str]:
        """Scalars that the block reduces; of its loops only those that are axes matter."""
        key = id(block), axes & {id(inner) for inner in all_loops(block)}
        if key not in self._reduced:
            self._reduced[key] = frozenset(reduced.find(block, axes, self.futures[id(block)]))
        return self._reduced[key]

    def _exposed(self, loop: For) -> frozenset[str]:
        if id(loop) not in self._read_first:
            self._read_first[id(loop)] = exposed(loop.body)
        return self._read_first[id(loop)]

    def _block(self, loop: For, axes: frozenset[int]) -> For:
        def find(body: tuple[Stmt, ...], outer: For | None) -> For | None:
            for statement in body:
                match statement:
                    case For():
                        top = outer or (statement if id(statement) in axes else None)
                        if statement is loop:
                            return top
                        found = find(statement.body, top)
                        if found is not None:
                            return found
                    case If(then=then, orelse=orelse):
                        found = find(then, outer) or find(orelse, outer)
                        if found is not None:
                            return found
            return None

        return find((self.root,), None) or loop


def _has_load(expr: Expr) -> bool:
    return any(isinstance(part, Load) for part in walk(expr))


def scalars_read_after(root: For, live_out: frozenset[str]) -> Iterator[tuple[int, frozenset[str]]]:
    """For every loop, by ``id``, the scalars that may be read once it has ended."""

    def visit(
        body: tuple[Stmt, ...], after: frozenset[str]
    ) -> Iterator[tuple[int, frozenset[str]]]:
        for position, statement in enumerate(body):
            rest = exposed(body[position + 1 :]) | after
            match statement:
                case For(body=inner):
                    yield id(statement), rest
                    yield from visit(inner, rest | exposed(inner))
                case If(then=then, orelse=orelse):
                    yield from visit(then, rest)
                    yield from visit(orelse, rest)

    yield from visit((root,), live_out)


# ---------------------------------------------------------------------- cost
def _cost(root: For, nest: Nest, axes: frozenset[int]) -> float:
    largest = max((size_of(nest, array) for array in nest.arrays), default=0.0)

    along = frozenset(loop.index for loop in all_loops(root) if id(loop) in axes)

    def visit(
        body: tuple[Stmt, ...],
        kept: float,
        total: float,
        inside: bool,
        around: Ends,
        innermost: bool = False,
        alone: For | None = None,
    ) -> float:
        seconds = 0.0
        if inside and total / kept > max(MOST, 4 * largest):
            return float("inf")
        for statement in body:
            match statement:
                case For(body=inner):
                    count = max(1.0, trips(statement, nest, around))
                    axis = id(statement) in axes
                    at_once = not axis and alone is not None and rows_fit(statement, alone, nest)
                    if axis and (reads(statement.start) | reads(statement.stop)) & along:
                        # rows of different lengths: a mask, and a store under it
                        seconds += MASK * (kept * CALL + total * count * ELEMENT)
                    seconds += visit(
                        inner,
                        kept * (1.0 if axis or at_once else count),
                        total * count,
                        inside or axis,
                        within(statement, nest, around),
                        axis,
                        statement if axis and not inside else None,
                    )
                case If(then=then, orelse=orelse):
                    seconds += _one(statement, kept, total, inside, along)
                    seconds += _sums(statement, nest, around, kept, total)
                    seconds += visit(then, kept, total, inside, around, innermost)
                    seconds += visit(orelse, kept, total, inside, around, innermost)
                case Assign() | Store():
                    seconds += _one(statement, kept, total, inside, along)
                    seconds += _sums(statement, nest, around, kept, total)
                    if innermost and _accumulates(statement):
                        # append, then accumulate, whose additions wait for each other
                        seconds += 2 * (kept * CALL + total * ELEMENT)
        return seconds

    return visit((root,), 1.0, 1.0, False, {})


def _accumulates(statement: Stmt) -> bool:
    """``s += e`` of floats, which becomes ``accumulate`` where its own loop is an axis."""
    match statement:
        case Assign(name=name, value=value) if value.type.kind is Kind.FLOAT:
            return reduced.term(value, name) is not None
    return False


def _sums(statement: Stmt, nest: Nest, around: Ends, kept: float, total: float) -> float:
    """Seconds of the sums in a statement: products of arrays, each a few calls."""
    seconds = 0.0
    for part in (part for expr in expressions(statement) for part in walk(expr)):
        if isinstance(part, Sum):
            terms = 1.0
            for loop in part.loops:
                terms *= max(1.0, trips(loop, nest, around))
            seconds += kept * PRODUCT_CALL + total * terms * TERM
    return seconds


def terms_added(root: For, nest: Nest) -> int:
    """Terms of all sums that end in one number, as observed: products of products add up."""
    longest = 1.0
    for statement in statements((root,)):
        for expr in expressions(statement):
            longest = max(longest, _terms(expr, nest))
    return int(longest)


def _terms(expr: Expr, nest: Nest) -> float:
    inner = max((_terms(child, nest) for child in children(expr)), default=1.0)
    if isinstance(expr, Sum):
        for loop in expr.loops:
            inner *= max(1.0, trips(loop, nest, {}))
    return inner


def _one(statement: Stmt, kept: float, total: float, inside: bool, along: frozenset[str]) -> float:
    """Seconds of one statement, by its operations and element accesses."""
    parts = [part for expr in expressions(statement) for part in _outside_sums(expr)]
    work = 1 + sum(not isinstance(part, Const | Var | Dim) for part in parts)
    if not inside:
        return work * total * SCALAR
    element = ELEMENT if total / kept <= LARGE else 3 * ELEMENT
    columns = sum(_is_column(index, along) for index in _subscripts(statement, parts))
    return work * (kept * CALL + total * element) + columns * total * STRIDED


def _outside_sums(expr: Expr) -> Iterator[Expr]:
    yield expr
    if not isinstance(expr, Sum):
        for child in children(expr):
            yield from _outside_sums(child)


def _subscripts(statement: Stmt, parts: list[Expr]) -> Iterator[tuple[Expr, ...]]:
    if isinstance(statement, Store):
        yield statement.index
    yield from (part.index for part in parts if isinstance(part, Load))


def _is_column(index: tuple[Expr, ...], along: frozenset[str]) -> bool:
    """Whether the array axes run across the rows: ``a[:, j]`` with a loop over ``j``."""
    return not reads(index[-1]) & along and any(reads(part) & along for part in index[:-1])
