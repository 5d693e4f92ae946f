"""Value ranges over a nest: what every expression can be, given what was seen at entry.

Used to show that int64 does not overflow, that an index stays in bounds, that uint8 suffices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from . import intervals as arithmetic
from .evaluate import Evaluator
from .fold import loads, reads
from .intervals import add, hull, meet, multiply, negate, of_type, wrapped_to
from .ir import (
    UNBOUNDED,
    Append,
    Assign,
    Binary,
    Const,
    Expr,
    For,
    If,
    Interval,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    statements,
)

_ROUNDS = 4
"""Plain rounds before an end that still grows is given up (widened)."""
_GIVE_UP = 12


class Observed(StrEnum):
    """What may be used beside the code itself."""

    NOTHING = "nothing"
    """The code alone: a proof."""
    EVERYTHING = "everything"
    """Also the extents and value ranges seen at entry: holds under a guard on them."""


def interval(
    expr: Expr,
    nest: Nest,
    env: Mapping[str, Interval] | None = None,
    *,
    observed: Observed = Observed.EVERYTHING,
) -> Interval:
    """The range of an expression anywhere in the nest.

    ``env`` overrides ranges by name: scalars, and array elements as ``"grid[]"``. NaN is outside
    every interval: a bounded range of a float does not say that it is a number.
    """
    ranges = ranges_of(nest, observed)
    return ranges.of(expr, env or {})


_CACHE: list[tuple[Nest, Observed, Ranges]] = []


def ranges_of(nest: Nest, observed: Observed = Observed.EVERYTHING) -> Ranges:
    """The ranges of a nest, kept for the nests asked about last."""
    for known, how, ranges in _CACHE:
        if known is nest and how is observed:
            return ranges
    made = Ranges(nest, observed)
    _CACHE.append((nest, observed, made))
    del _CACHE[:-8]
    return made


@dataclass
class _Place:
    """An assignment or store, with the loops around it, outermost first."""

    statement: Assign | Store | Append
    loops: tuple[For | While, ...]
    conditional: bool


@dataclass
class Ranges(Evaluator):
    """Ranges of all scalars and arrays of one nest, found once."""

    nest: Nest
    observed: Observed
    table: dict[str, Interval] = field(default_factory=dict)
    trips: dict[int, int | None] = field(default_factory=dict)
    """Largest number of trips of each loop per entry, by identity; None if unknown."""

    def __post_init__(self) -> None:
        self.loops = [s for s in statements((self.nest.root,)) if isinstance(s, For)]
        self.places = _places((self.nest.root,))
        self._solve()

    # --------------------------------------------------------------- fix point
    def _solve(self) -> None:
        targets = self._targets()
        bottom: dict[str, Interval | None] = dict.fromkeys(targets)
        self.table = {}
        self._pending = set(targets)
        for round_ in range(_GIVE_UP + 1):
            changed = False
            self._index_ranges()
            for name, places in targets.items():
                new = self._joined(name, places)
                if new is None:
                    continue
                old = bottom[name]
                if old is not None:
                    new = hull((old, new))
                if new == old:
                    continue
                changed = True
                if old is not None and round_ >= _ROUNDS:
                    new = Interval(
                        new.low if new.low == old.low else self._floor(name).low,
                        new.high if new.high == old.high else self._floor(name).high,
                    )
                bottom[name] = new
                self.table[name] = new
                self._pending.discard(name)
            if not changed:
                break
        else:
            for name in targets:
                self.table[name] = self._floor(name)
        for name in self._pending & set(targets):  # never given a value that can be reached
            self.table[name] = self._floor(name)
        self._pending = set()
        self._index_ranges()

    def _targets(self) -> dict[str, list[_Place]]:
        found: dict[str, list[_Place]] = {}
        for place in self.places:
            match place.statement:
                case Assign(name=name):
                    found.setdefault(name, []).append(place)
                case Store(array=array) | Append(array=array):
                    found.setdefault(f"{array}[]", []).append(place)
        for name, info in self.nest.arrays.items():
            # stores through another name of the same memory
            for other in info.aliases:
                for place in list(found.get(f"{other}[]", [])):
                    mine = found.setdefault(f"{name}[]", [])
                    if place not in mine:
                        mine.append(place)
        return found

    def _floor(self, name: str) -> Interval:
        if name.endswith("[]"):
            return of_type(self.nest.arrays[name[:-2]].element)
        return of_type(self.nest.privates[name])

    def _entry(self, name: str) -> Interval | None:
        """Range before the nest; None if it does not matter."""
        if name.endswith("[]"):
            return self._array_input(name[:-2])
        if name in self.nest.scalars:
            return self._scalar_input(name)
        return None

    def _array_input(self, name: str) -> Interval:
        info = self.nest.arrays[name]
        room = of_type(info.element)
        if info.container in ("str", "bytes") or info.letters:
            return info.interval  # every back end asks for it, or code above sees to it
        if self.observed is Observed.NOTHING:
            fill = info.allocation.fill if info.allocation is not None else None
            return room if fill is None else Interval(fill, fill)
        return meet(info.interval, room)

    def _scalar_input(self, name: str) -> Interval:
        info = self.nest.scalars[name]
        if isinstance(info.literal, int | float):
            return Interval(info.literal, info.literal)
        if name in self.nest.text:
            return info.interval
        if self.observed is Observed.NOTHING:
            room = of_type(info.type)
            return meet(room, Interval(0, None)) if info.equals else room
        return meet(info.interval, of_type(info.type))

    def _joined(self, name: str, places: list[_Place]) -> Interval | None:
        """Hull of all values the name is given; increments counted by trips."""
        parts: list[Interval] = []
        entry = self._entry(name)
        if entry is not None:
            parts.append(entry)
        growing: list[tuple[_Place, Expr]] = []
        for place in places:
            increment = self._increment(name, place.statement)
            if increment is not None:
                growing.append((place, increment))
                continue
            value = self._value(place.statement)
            if value is not None:
                parts.append(value)
        if not parts:
            return None
        base = hull(parts)
        if not growing:
            return base
        resets = [p for p in places if self._increment(name, p.statement) is None]
        return self._grown(name, base, growing, resets if entry is None else [])

    def _value(self, statement: Assign | Store | Append) -> Interval | None:
        if self._waits(statement.value):
            return None
        value = self.of(statement.value)
        if isinstance(statement, Store):
            element = self.nest.arrays[statement.array].element
            if element.kind is Kind.INT and statement.value.type.kind is Kind.FLOAT:
                value = arithmetic.monotone(value, math.trunc)
            return wrapped_to(value, element)
        return value

    def _waits(self, expr: Expr) -> bool:
        """Whether the expression reads something that has no value yet in this round."""
        names = set(reads(expr)) | {f"{load.array}[]" for load in loads(expr)}
        return not names.isdisjoint(self._pending)

    def _increment(self, name: str, statement: Assign | Store | Append) -> Expr | None:
        """``e`` of ``x = x + e`` or ``x - e`` where ``e`` does not read ``x``."""
        old: Expr
        match statement:
            case Assign(value=Binary(op="+" | "-", left=Var() as old)) if old.name == name:
                pass
            case Assign(value=Binary(op="+", right=Var() as old)) if old.name == name:
                pass
            case Store(
                array=array, index=index, value=Binary(op="+" | "-", left=Load() as old)
            ) if old.array == array and old.index == index and name == f"{array}[]":
                pass
            case _:
                return None
        value = statement.value
        assert isinstance(value, Binary)
        if value.op == "+":
            rest = value.right if value.left is old else value.left
        else:
            rest = Unary(value.type, value.line, "-", value.right)
        reads_itself = name in reads(rest) or name in {f"{x.array}[]" for x in loads(rest)}
        return None if reads_itself else rest

    def _grown(
        self,
        name: str,
        base: Interval,
        growing: list[tuple[_Place, Expr]],
        resets: list[_Place],
    ) -> Interval | None:
        low, high = base.low, base.high
        for place, increment in growing:
            if self._waits(increment):
                continue
            step = self.of(increment)
            times = self._times(place, resets)
            below = Interval(0 if step.low is None else min(0, step.low), 0)
            above = Interval(0, 0 if step.high is None else max(0, step.high))
            if step.low is None:
                below = Interval(None, 0)
            if step.high is None:
                above = Interval(0, None)
            repeat = Interval(0, times)
            low = None if low is None else add(Interval(low, low), multiply(below, repeat)).low
            high = None if high is None else add(Interval(high, high), multiply(above, repeat)).high
        kind = growing[0][0].statement.value.type
        if name.endswith("[]"):
            kind = self.nest.arrays[name[:-2]].element
        if kind.kind is Kind.FLOAT:  # rounding adds up: leave some air
            low = None if low is None else low - abs(low) * 1e-6
            high = None if high is None else high + abs(high) * 1e-6
        return wrapped_to(Interval(low, high), kind)

    def _times(self, place: _Place, resets: list[_Place]) -> int | None:
        """How often the increment can run between two resets; None if unknown."""
        loops = place.loops
        for reset in resets:
            depth = len(reset.loops)
            if reset.conditional or reset.loops != place.loops[:depth] or not depth:
                break
        else:
            if resets:
                # every trip of the loop that holds the reset starts anew
                loops = place.loops[min(len(r.loops) for r in resets) :]
        total = 1
        for loop in loops:
            trips = self.trips.get(id(loop))
            if trips is None:
                return None
            total *= trips
        return total

    # ----------------------------------------------------------------- indices
    def _index_ranges(self) -> None:
        for name in {loop.index for loop in self.loops}:
            mine = [loop for loop in self.loops if loop.index == name]
            if any(self._waits(b) for loop in mine for b in (loop.start, loop.stop)):
                self._pending.add(name)
                continue
            self._pending.discard(name)
            ranges = [self._index_range(loop) for loop in mine]
            entry = self._entry(name)
            self.table[name] = hull(ranges if entry is None else [*ranges, entry])

    def _index_range(self, loop: For) -> Interval:
        if loop.values is not None:
            self.trips[id(loop)] = len(loop.values)
            return Interval(min(loop.values), max(loop.values))
        start, stop = self.of(loop.start), self.of(loop.stop)
        if loop.step > 0:
            result = Interval(start.low, None if stop.high is None else stop.high - 1)
            span = add(stop, negate(start)).high
        else:
            result = Interval(None if stop.low is None else stop.low + 1, start.high)
            span = add(start, negate(stop)).high
        trips = None if span is None else max(0, -(-int(span) // abs(loop.step)))
        self.trips[id(loop)] = trips
        if result.low is not None and result.high is not None and result.low > result.high:
            return Interval(result.low, result.low)  # never entered
        return result

    # ------------------------------------------------------------------ leaves
    def _scalar(self, name: str) -> Interval:
        if name in self.table:
            return self.table[name]
        if name in self.nest.scalars:
            return self._scalar_input(name)
        kind = self.nest.privates.get(name)
        return UNBOUNDED if kind is None else of_type(kind)

    def _element(self, array: str) -> Interval:
        if f"{array}[]" in self.table:
            return self.table[f"{array}[]"]
        return self._array_input(array) if array in self.nest.arrays else UNBOUNDED

    def _extent(self, array: str, axis: int) -> Interval:
        info = self.nest.arrays.get(array)
        if info is None or self.observed is Observed.NOTHING:
            if info is not None and axis < len(info.extents):
                proved = info.extents[axis]
                if isinstance(proved, Const) and isinstance(proved.value, int):
                    return Interval(proved.value, proved.value)
            return Interval(0, None)
        seen = info.shape[axis] if axis < len(info.shape) else None
        return Interval(0, None) if seen is None else Interval(seen, seen)


def _places(
    body: tuple[Stmt, ...], loops: tuple[For | While, ...] = (), conditional: bool = False
) -> list[_Place]:
    """All assignments and stores with the loops around them.

    What follows a ``continue`` or ``break`` under a condition counts as conditional too.
    """
    found: list[_Place] = []
    for statement in body:
        match statement:
            case Assign() | Store() | Append():
                found.append(_Place(statement, loops, conditional))
            case If(then=then, orelse=orelse):
                found += _places(then, loops, True)
                found += _places(orelse, loops, True)
                conditional = conditional or _jumps(statement)
            case For(body=inner) | While(body=inner):
                found += _places(inner, (*loops, statement), False)
            case _:
                pass
    return found


def _jumps(statement: Stmt) -> bool:
    from .ir import Break, Continue

    return any(isinstance(s, Break | Continue) for s in statements((statement,)))
