"""How large the integers of a table become: ``t[i][j] = min(t[i - 1][j], t[i][j - 1]) + 1``.

Each element is another one and a little more, or something small. So none is further from the
elements at the start than the number of steps times the largest of these additions.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...loopnest.fold import reads
from ...loopnest.ir import (
    PY_INT,
    Assign,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Expr,
    For,
    Load,
    Select,
    Store,
    Unary,
    Var,
    statements,
)
from .ranges import LARGEST, MOST_INT, Ranges
from .session import Context, Session

AT_START = 2**60
"""The largest element at the start: what is looked at before lists become arrays."""
STORES = 2**50
"""Elements that no run stores, one after the other within rows: weeks of array steps."""
_ROUNDS = 6


@dataclass(frozen=True)
class _Growth:
    """What a value is at most, as an absolute value."""

    more: int | None = None
    """More than some element of the table; None if it is made of no element."""
    fresh: int | None = None
    """What it is where it is made of no element; None if it always is."""


class _Unbounded(Exception):
    """A product of elements, a sum of two of them, or something unknown."""


def table_bound(session: Session, array: str) -> int | None:
    """No element of a written table of integers is larger; None where that is not certain."""
    if array not in session.table_bounds:
        session.table_bounds[array] = None
        session.table_bounds[array] = _bound(session, array)
    return session.table_bounds[array]


def _bound(session: Session, array: str) -> int | None:
    table = _Table(session, array)
    try:
        stored = table.stored()
    except _Unbounded:
        return None
    session.sized = True
    steps = STORES if table.along_rows else LARGEST
    bound = AT_START + (stored.fresh or 0) + (stored.more or 0) * steps
    return bound if bound <= MOST_INT // 2 else None


class _Table:
    """What is stored in the table, in whatever order the statements run."""

    def __init__(self, session: Session, array: str) -> None:
        self.session = session
        self.along_rows = any(scan.step is not None for scan in session.scans.values())
        """Elements grow from one to the next in a row, not only from one statement to the next."""
        self.arrays = self._exchanged(array) if self.along_rows else frozenset((array,))
        """Tables whose elements are made of each other's."""
        self.scalars: dict[str, _Growth] = {}
        self.unknown: set[str] = set()
        self.body = tuple(statements((session.root,)))
        loops = [s for s in self.body if isinstance(s, For)]
        indices = [loop.index for loop in loops]
        self.loops = {loop.index: loop for loop in loops if indices.count(loop.index) == 1}
        self.needed = self._needed()

    def _exchanged(self, array: str) -> frozenset[str]:
        """The table, and the others of Python's integers that the nest writes."""
        stored = {s.array for s in statements((self.session.root,)) if isinstance(s, Store)}
        known = self.session.nest.arrays
        lists = (n for n in stored if known[n].container == "list" and known[n].element == PY_INT)
        return frozenset((array, *lists))

    def _needed(self) -> frozenset[str]:
        """The scalars that what is stored is made of."""
        values = [s.value for s in self.body if isinstance(s, Store) and s.array in self.arrays]
        names: frozenset[str] = frozenset()
        while True:
            found = names.union(*map(reads, values))
            if found == names:
                return names
            names = found
            values += [s.value for s in self.body if isinstance(s, Assign) and s.name in names]

    def stored(self) -> _Growth:
        """Raises _Unbounded."""
        stored = _Growth()
        for _ in range(_ROUNDS):
            before = dict(self.scalars), set(self.unknown), stored
            for statement in self.body:
                match statement:
                    case Assign(name=name, value=value) if name in self.needed:
                        self._assign(name, value)
                    case Store(array=array, value=value) if array in self.arrays:
                        stored = _either(stored, self.growth(value))
            if before == (self.scalars, self.unknown, stored):
                return stored
        raise _Unbounded

    def _assign(self, name: str, value: Expr) -> None:
        try:
            found = self.growth(value)
        except _Unbounded:
            self.unknown.add(name)
            return
        if found is not None:
            self.scalars[name] = _either(self.scalars.get(name), found)

    def growth(self, expr: Expr) -> _Growth | None:
        """None while a scalar is not known yet. Raises _Unbounded."""
        match expr:
            case Load(array=array) if array in self.arrays:
                return _Growth(more=0)
            case Var(name=name) if name in self.loops and name not in self.session.facts.assigned:
                ends = self.loops[name].start, self.loops[name].stop
                return _Growth(fresh=max(_size(self.session, end) for end in ends))
            case Var(name=name) if name in self.session.nest.privates:
                if name in self.unknown or name not in self.session.facts.assigned:
                    raise _Unbounded
                return self.scalars.get(name)
            case Compare() | Bool():
                return _Growth(fresh=1)
            case Unary(op="-" | "+", operand=operand):
                return self.growth(operand)
            case Binary(op="+" | "-", left=left, right=right):
                return _added(self.growth(left), self.growth(right))
            case Select(then=then, orelse=orelse):
                return _either(self.growth(then), self.growth(orelse))
            case Call(function="min" | "max", args=args):
                found: _Growth | None = None
                for argument in args:
                    found = _either(found, self.growth(argument))
                return found
        return _Growth(fresh=_size(self.session, expr))


def _either(one: _Growth | None, two: _Growth | None) -> _Growth:
    found = [growth for growth in (one, two) if growth is not None]
    return _Growth(
        max((g.more for g in found if g.more is not None), default=None),
        max((g.fresh for g in found if g.fresh is not None), default=None),
    )


def _added(one: _Growth | None, two: _Growth | None) -> _Growth | None:
    if one is None or two is None:
        return None
    if one.more is not None and two.more is not None:
        raise _Unbounded
    sums = [
        a + b
        for a, b in ((one.more, two.fresh), (one.fresh, two.more))
        if a is not None and b is not None
    ]
    both = None if one.fresh is None or two.fresh is None else one.fresh + two.fresh
    return _Growth(max(sums, default=None), both)


def _size(session: Session, expr: Expr) -> int:
    """Of a value that no element of the table takes part in. Raises _Unbounded."""
    if isinstance(expr, Const):
        return abs(int(expr.value.real))
    ranges = Ranges(session, Context((), ()))
    found = ranges.interval(expr)
    if found.low is None or found.high is None or max(-found.low, found.high) > MOST_INT:
        raise _Unbounded
    ranges.commit()
    return int(max(-found.low, found.high))
