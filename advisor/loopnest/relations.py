"""When two subscripts name the same element: distances between iterations of one loop."""

from __future__ import annotations

from enum import Enum
from math import gcd

from .accesses import Access, scalar_writes
from .affine import Affine, Wrapped, affine, wrapped
from .facts import Facts, Unknown, facts_of
from .fold import loads, reads
from .ir import Expr, For, Nest, Stmt, While
from .ranges import Observed, ranges_of


class _Any(Enum):
    ANY = "any"


ANY = _Any.ANY
"""The accesses may meet at any distance."""
Relation = int | _Any | None
"""Index of the second access minus that of the first where they meet; None: they never do."""


class Subscripts:
    """Compares subscripts of one nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.facts: Facts = facts_of(nest)
        self._inside: dict[int, frozenset[str]] = {}
        self._plain: dict[tuple[Expr, int], bool] = {}

    def inside(self, loop: For | While) -> frozenset[str]:
        """Scalars that change within one iteration of the loop."""
        known = self._inside.get(id(loop))
        if known is None:
            known = frozenset(n for s in loop.body for n in scalar_writes(s))
            self._inside[id(loop)] = known
        return known

    def invariant(self, index: tuple[Expr, ...], loop: For | While) -> bool:
        """Whether the subscript is the same in all iterations of the loop."""
        own = {loop.index} if isinstance(loop, For) else set()
        changing = self.inside(loop) | own
        return all(reads(i).isdisjoint(changing) and not loads(i) for i in index)

    def relation(self, one: Access, two: Access, loop: For | While) -> Relation:
        """How iterations meet in an element of one array, outer loops held fixed."""
        if isinstance(loop, While) or len(one.index) != len(two.index):
            return ANY
        if loop.values is not None and len(set(loop.values)) < len(loop.values):
            return ANY  # for d in (1, 1): equal indices are not one iteration
        distance: int | None = None
        for left, right in zip(one.index, two.index, strict=True):
            found = self.dimension(left, right, loop, one.statement, two.statement)
            if found is None:
                return None
            if isinstance(found, int):
                if distance is not None and found != distance:
                    return None
                distance = found
        if distance is None:
            distance = self._pinned(one, two, loop)
        if distance is None:
            return ANY
        return distance if self._possible(distance, loop) else None

    def _pinned(self, one: Access, two: Access, loop: For) -> int | None:
        """The distance where one axis fixes the first iteration, and another the second.

        ``cov[j, i]`` and ``cov[i, j]``: the first meets the second only where both j are i.
        """
        values: list[list[Affine]] = [[], []]
        changing = self.inside(loop)
        for left, right in zip(one.index, two.index, strict=True):
            forms = affine(left, self.facts.definitions), affine(right, self.facts.definitions)
            if forms[0] is None or forms[1] is None:
                continue
            sides = (left, forms[0], one.statement), (right, forms[1], two.statement)
            if not all(self._not_negative(*side) for side in sides):
                continue
            for at, form, other in ((0, forms[0], forms[1]), (1, forms[1], forms[0])):
                symbols = (form.symbols | other.symbols) - {loop.index}
                if form.coefficient(loop.index) != 1 or other.coefficient(loop.index) != 0:
                    continue
                if symbols.isdisjoint(changing):
                    values[at].append(self.facts.canonical(other - form.without({loop.index})))
        for first in values[0]:
            for second in values[1]:
                if (second - first).is_const:
                    return (second - first).const
        return None

    def _possible(self, distance: int, loop: For) -> bool:
        """Whether two iterations can be that far apart."""
        if distance == 0:
            return True
        if loop.values is not None:
            return any(v + distance in loop.values for v in loop.values)
        if distance % loop.step:
            return False
        span = ranges_of(self.nest, Observed.NOTHING).table.get(loop.index)
        if span is None or span.low is None or span.high is None:
            return True
        return abs(distance) <= span.high - span.low

    def dimension(
        self, left: Expr, right: Expr, loop: For, at_left: Stmt, at_right: Stmt
    ) -> Relation:
        """One axis: None if the two are never equal, a distance, or ANY."""
        cyclic = wrapped(left, self.facts.definitions), wrapped(right, self.facts.definitions)
        match cyclic:
            case Wrapped() as one, Wrapped() as two:
                return self._cyclic(one, two, loop)
        first = affine(left, self.facts.definitions)
        second = affine(right, self.facts.definitions)
        if first is None or second is None:
            return ANY
        # a[i - 1] with i == 0 is the last element: no arithmetic on such an index
        if not (
            self._not_negative(left, first, at_left) and self._not_negative(right, second, at_right)
        ):
            return ANY
        first, second = self.facts.canonical(first), self.facts.canonical(second)
        return self._affine(first, second, loop, at_left, at_right)

    def _not_negative(self, expr: Expr, form: Affine, at: Stmt) -> bool:
        key = (expr, id(at))
        known = self._plain.get(key)
        if known is None:
            known = not isinstance(self.facts.at_least(form, 0, at), Unknown)
            if not known:
                low = ranges_of(self.nest, Observed.EVERYTHING).of(expr).low
                known = low is not None and low >= 0
            self._plain[key] = known
        return known

    def _cyclic(self, one: Wrapped, two: Wrapped, loop: For) -> Relation:
        """``a[(i + c) % n]`` in both: one element an iteration where the loop is no longer."""
        if one != two or abs(one.base.coefficient(loop.index)) != 1:
            return ANY
        if not (one.base.symbols - {loop.index}).isdisjoint(self.inside(loop)):
            return ANY
        low, high = self.facts.loop_bounds(loop)
        for start in low:
            for stop in high:
                if self.facts.canonical(stop - start + 1 - one.modulus) == Affine((), 0):
                    return 0
        return ANY

    def _affine(
        self, first: Affine, second: Affine, loop: For, at_first: Stmt, at_second: Stmt
    ) -> Relation:
        x = loop.index
        inside = self.inside(loop)
        free = [s for f in (first, second) for s in f.symbols if s in inside and s != x]
        a, b = first.coefficient(x), second.coefficient(x)
        gone = {x, *free}
        difference = first.without(gone) - second.without(gone)
        if not free and a == b and difference.is_const:
            if a == 0:
                return ANY if difference.const == 0 else None
            # a * x1 + c1 == a * x2 + c2
            return difference.const // a if difference.const % a == 0 else None
        if difference.is_const and self._no_divisor(first, second, gone, difference.const):
            return None
        return None if self._apart(first, second, loop, at_first, at_second) else ANY

    @staticmethod
    def _no_divisor(first: Affine, second: Affine, free: set[str], constant: int) -> bool:
        """The GCD test: no whole solution."""
        divisor = 0
        for form in (first, second):
            for symbol in free:
                divisor = gcd(divisor, form.coefficient(symbol))
        return divisor != 0 and constant % divisor != 0

    def _apart(
        self, first: Affine, second: Affine, loop: For, at_first: Stmt, at_second: Stmt
    ) -> bool:
        """Whether the bounds of the indices keep the two forms apart."""
        names = [n for n in self.facts.order if n == loop.index or n in self.inside(loop)]
        changing = {loop.index, *self.inside(loop)}
        prime = {n: _symbol(f"{n}'") for n in changing}
        bounds = dict(self.facts.bounds_at(at_first))
        theirs = self.facts.bounds_at(at_second)
        order = list(self.facts.order)
        for name in names:
            low, high = theirs[name]
            bounds[f"{name}'"] = (
                [f.substitute(prime) for f in low],
                [f.substitute(prime) for f in high],
            )
        order += [f"{n}'" for n in names]
        other = second.substitute(prime)
        for form in (first - other, other - first):
            for rest in self.facts.smallest(form - 1, bounds, order):
                if any(s.endswith("'") for s in rest.symbols):
                    continue
                if self.facts.never_negative(rest):
                    return True
        return False


def _symbol(name: str) -> Affine:
    return Affine(((name, 1),), 0)
