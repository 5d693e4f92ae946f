"""Symbolic comparison of integer bounds: ``i + 1 <= len(grid, 0) - 1`` inside a nest.

Three sources, in order of worth: the code (loop bounds, ``n, m = grid.shape``, how an array was
made), what was seen at entry (then the condition comes out as text, to be guarded), nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from .affine import Affine, affine, constant, extent_of, extent_symbol, variable, wrapped
from .fold import loads
from .ir import (
    Assign,
    Call,
    Dim,
    Expr,
    For,
    If,
    Kind,
    Nest,
    Stmt,
    Var,
    While,
    expressions,
    statements,
    walk,
)
from .ranges import Observed as Basis
from .ranges import ranges_of

Bounds = Mapping[str, tuple[list[Affine], list[Affine]]]
"""Affine lower and upper bounds of each loop index."""
_MOST = 64
"""Combinations of bounds that are tried for one comparison."""


@dataclass(frozen=True)
class Proved:
    """Follows from the code."""


@dataclass(frozen=True)
class Observed:
    """Held at every observed entry; to be guarded."""

    text: str
    """In words: ``"n <= len(grid, 0)"``."""
    python: str
    """A Python expression over the user's names that tests it at the nest's entry."""


@dataclass(frozen=True)
class Unknown:
    """Neither proved nor seen."""


Fact = Proved | Observed | Unknown


def prove(
    smaller: Expr | Affine, larger: Expr | Affine, nest: Nest, at: Stmt | None = None
) -> Fact:
    """Whether ``smaller <= larger`` whenever the nest evaluates both, inside their loops.

    ``at`` is the statement that does; without it, indices of several loops have weaker bounds.
    """
    facts = facts_of(nest)
    one = smaller if isinstance(smaller, Affine) else affine(smaller, facts.definitions)
    two = larger if isinstance(larger, Affine) else affine(larger, facts.definitions)
    if one is None or two is None:
        return Unknown()
    return facts.at_least(two - one, 0, at)


def index_in_bounds(index: Expr, array: str, axis: int, nest: Nest, at: Stmt | None = None) -> Fact:
    """Whether ``0 <= index < extent`` at a statement: no wrap to the end, no IndexError."""
    facts = facts_of(nest)
    extent = variable(extent_symbol(array, axis))
    cyclic = wrapped(index, facts.definitions)
    if cyclic is not None:
        # x % n is in [0, n) for n > 0, and raises for n == 0
        positive = facts.at_least(cyclic.modulus, 1, at)
        return both(positive, facts.at_least(extent - cyclic.modulus, 0, at))
    form = affine(index, facts.definitions)
    if form is None:
        return _by_interval(index, array, axis, nest)
    low, high = facts.at_least(form, 0, at), facts.at_least(extent - form, 1, at)
    found = both(low, high)
    return _by_interval(index, array, axis, nest) if isinstance(found, Unknown) else found


def _by_interval(index: Expr, array: str, axis: int, nest: Nest) -> Fact:
    extent = Dim(index.type, index.line, array, axis)
    for basis in (Basis.NOTHING, Basis.EVERYTHING):
        ranges = ranges_of(nest, basis)
        value, room = ranges.of(index), ranges.of(extent)
        fits = (
            value.low is not None
            and value.high is not None
            and room.low is not None
            and value.low >= 0
            and value.high < room.low
        )
        if fits and basis is Basis.NOTHING:
            return Proved()
        if fits and not any(isinstance(e, Var) for e in walk(index)) and len(loads(index)) == 1:
            return Unknown()  # an index array: the caller guards its minimum and maximum
    return Unknown()


def both(one: Fact, two: Fact) -> Fact:
    """The conjunction of two facts."""
    match one, two:
        case Proved(), other:
            return other
        case other, Proved():
            return other
        case Observed(), Observed():
            if one == two:
                return one
            return Observed(f"{one.text} and {two.text}", f"{one.python} and {two.python}")
    return Unknown()


_CACHE: list[tuple[Nest, Facts]] = []


def facts_of(nest: Nest) -> Facts:
    """The facts of a nest, kept for the nests asked about last."""
    for known, facts in _CACHE:
        if known is nest:
            return facts
    made = Facts(nest)
    _CACHE.append((nest, made))
    del _CACHE[:-8]
    return made


class Facts:
    """Bounds of symbols in one nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.definitions = definitions(nest)
        self.loops = [s for s in statements((nest.root,)) if isinstance(s, For)]
        self.order: list[str] = []
        for loop in self.loops:
            if loop.index not in self.order:
                self.order.append(loop.index)
        self.changing = frozenset(nest.privates)
        self.bounds = {name: self._bounds(name) for name in self.order}
        self.around: dict[int, tuple[For | While, ...]] = {}
        _note_loops((nest.root,), (), self.around)

    def bounds_at(self, at: Stmt | None) -> Bounds:
        """Bounds of the loop indices where a statement of the nest runs."""
        if at is None or id(at) not in self.around:
            return self.bounds
        found = dict(self.bounds)
        for loop in self.around[id(at)]:
            if isinstance(loop, For) and loop.index not in self.nest.scalars:
                found[loop.index] = self.loop_bounds(loop)
        return found

    def follows_from_trips(self, form: Affine, at: Stmt | None) -> bool:
        """``form >= 0`` because a loop around the statement makes a trip: start < stop."""
        for loop in self.around.get(id(at), ()):
            if not isinstance(loop, For) or loop.values is not None or loop.step < 0:
                continue
            low = affine(loop.start, self.definitions)
            for high in self.corners(loop.stop, "min"):
                if low is not None and self.never_negative(self.canonical(form - high + low + 1)):
                    return True
        return False

    # -------------------------------------------------------------- symbols
    def canonical(self, form: Affine) -> Affine:
        """Scalars replaced by the extents they equal, extents by how the array was made."""
        for _ in range(4):
            values = {s: v for s in form.symbols if (v := self._equal(s)) is not None}
            if not values:
                break
            form = form.substitute(values)
        return form

    def _equal(self, symbol: str) -> Affine | None:
        extent = extent_of(symbol)
        if extent is not None:
            array, axis = extent
            info = self.nest.arrays.get(array)
            if info is None or axis >= len(info.extents):
                return None
            proved = info.extents[axis]
            form = None if proved is None else affine(proved)
            return None if form is None or symbol in form.symbols else form
        if symbol in self.changing:
            return None
        scalar = self.nest.scalars.get(symbol)
        if scalar is None:
            return None
        if scalar.equals:
            return variable(extent_symbol(*scalar.equals[0]))
        if isinstance(scalar.literal, int):
            return constant(scalar.literal)
        return None

    def _bounds(self, name: str) -> tuple[list[Affine], list[Affine]]:
        """Affine lower and upper bounds of a loop index; any one of each list holds."""
        found: tuple[list[Affine], list[Affine]] | None = None
        for loop in self.loops:
            if loop.index != name:
                continue
            mine = self.loop_bounds(loop)
            if found is None:
                found = mine
            else:
                found = (
                    [f for f in found[0] if f in mine[0]],
                    [f for f in found[1] if f in mine[1]],
                )
        assert found is not None
        if name in self.nest.scalars:
            return [], []  # may still hold what it had before the nest
        return found

    def loop_bounds(self, loop: For) -> tuple[list[Affine], list[Affine]]:
        """Affine bounds of the index inside one loop."""
        if loop.values is not None:
            if not all(isinstance(v, int) for v in loop.values):
                return [], []
            return [constant(int(min(loop.values)))], [constant(int(max(loop.values)))]
        if loop.step > 0:
            low = self.corners(loop.start, "max")
            high = [f - 1 for f in self.corners(loop.stop, "min")]
        else:
            low = [f + 1 for f in self.corners(loop.stop, "max")]
            high = self.corners(loop.start, "min")
        return low, high

    def corners(self, expr: Expr, function: str) -> list[Affine]:
        """Affine forms each of which bounds the expression: arguments of ``max`` from below."""
        match expr:
            case Call(function=name, args=args) if name == function:
                return [f for a in args for f in self.corners(a, function)]
        form = affine(expr, self.definitions)
        return [] if form is None else [form]

    # ---------------------------------------------------------------- proofs
    def at_least(self, form: Affine, least: int, at: Stmt | None = None) -> Fact:
        """Whether ``form >= least`` wherever its indices are in their loops."""
        rests = list(islice(self.smallest(form - least, self.bounds_at(at)), _MOST))
        for rest in rests:
            if self.never_negative(rest):
                return Proved()
        if self.follows_from_trips(form - least, at):
            return Proved()
        for rest in rests:
            seen = self._seen(rest)
            if seen is not None:
                return seen
        return Unknown()

    def smallest(
        self,
        form: Affine,
        bounds: Bounds | None = None,
        order: list[str] | None = None,
    ) -> Iterator[Affine]:
        """Lower bounds of a form, free of loop indices: innermost indices go first."""
        known = self.bounds if bounds is None else bounds
        names = self.order if order is None else order
        form = self.canonical(form)
        name = next((n for n in reversed(names) if form.coefficient(n)), None)
        if name is None:
            if form.symbols.isdisjoint(self.changing):
                yield form
            return
        factor = form.coefficient(name)
        for bound in known[name][0 if factor > 0 else 1]:
            if name in bound.symbols:
                continue
            yield from self.smallest(form.substitute({name: bound}), known, names)

    def never_negative(self, form: Affine) -> bool:
        """Extents are at least 0, everything else may be anything."""
        return form.const >= 0 and all(
            factor > 0 and extent_of(symbol) is not None for symbol, factor in form.pairs
        )

    def _seen(self, form: Affine) -> Observed | None:
        """The condition ``form >= 0``, if it held at every observed entry."""
        if self._observed_low(self._alike(form)) < 0:
            return None
        positive = Affine(tuple(p for p in form.pairs if p[1] > 0), max(form.const, 0))
        negative = -Affine(tuple(p for p in form.pairs if p[1] < 0), min(form.const, 0))
        left, right = self.python(negative), self.python(positive)
        if left is None or right is None:
            return None
        return Observed(f"{negative} <= {positive}", f"{left} <= {right}")

    def _alike(self, form: Affine) -> Affine:
        """Scalars and extents that were equal at every entry under one symbol."""
        values: dict[str, Affine] = {}
        for symbol in form.symbols:
            scalar = self.nest.scalars.get(symbol)
            if scalar is not None and scalar.seen_equal and symbol not in self.changing:
                values[symbol] = variable(extent_symbol(*scalar.seen_equal[0]))
        return self.canonical(form.substitute(values))

    def _observed_low(self, form: Affine) -> float:
        total: float = form.const
        for symbol, factor in form.pairs:
            extent = extent_of(symbol)
            if extent is not None:
                info = self.nest.arrays.get(extent[0])
                size = info.shape[extent[1]] if info and extent[1] < len(info.shape) else None
                low: float | None = size if size is not None else 0
                high: float | None = size
            else:
                scalar = self.nest.scalars.get(symbol)
                if scalar is None:
                    return -1
                low, high = scalar.interval.low, scalar.interval.high
            end = low if factor > 0 else high
            if end is None:
                return -1
            total += factor * end
        return total

    def python(self, form: Affine) -> str | None:
        """Python text of a form over the user's names; None if it uses an invented one."""
        parts: list[str] = []
        for symbol, factor in form.pairs:
            text = self.symbol_text(symbol)
            if text is None:
                return None
            parts.append(text if factor == 1 else f"{factor} * {text}")
        if form.const or not parts:
            parts.append(str(form.const))
        return " + ".join(parts).replace("+ -", "- ")

    def symbol_text(self, symbol: str) -> str | None:
        """``len(xs)``, ``grid.shape[1]``, ``len(rows[0])``, or the scalar's own name."""
        extent = extent_of(symbol)
        if extent is None:
            return None if symbol in self.nest.invented else symbol
        array, axis = extent
        info = self.nest.arrays.get(array)
        if info is None:
            return None
        if info.container == "ndarray":
            return f"{array}.shape[{axis}]"
        return f"len({array}{'[0]' * axis})"


def _note_loops(
    body: tuple[Stmt, ...],
    loops: tuple[For | While, ...],
    around: dict[int, tuple[For | While, ...]],
) -> None:
    for statement in body:
        around[id(statement)] = loops
        match statement:
            case If(then=then, orelse=orelse):
                _note_loops(then, loops, around)
                _note_loops(orelse, loops, around)
            case For(body=inner) | While(body=inner):
                _note_loops(inner, (*loops, statement), around)
            case _:
                pass


def definitions(nest: Nest) -> dict[str, Affine]:
    """Affine forms of private scalars that have one definition: ``ni = i + di``.

    Only those whose every read comes after the assignment in the same trip, so that the name can
    be replaced by its form anywhere.
    """
    assigned: dict[str, list[Assign]] = {}
    for statement in statements((nest.root,)):
        if isinstance(statement, Assign):
            assigned.setdefault(statement.name, []).append(statement)
    indices = {s.index for s in statements((nest.root,)) if isinstance(s, For)}
    found: dict[str, Affine] = {}
    for name, places in assigned.items():
        if len(places) != 1 or name in nest.scalars or name in indices:
            continue
        if places[0].value.type.kind is not Kind.INT:
            continue
        form = affine(places[0].value, found)
        if form is None or name in form.symbols:
            continue
        unstable = {s for s in form.symbols if s in assigned and s not in found}
        if unstable or not _dominates(nest.root, places[0], name):
            continue
        found[name] = form
    return found


def _dominates(root: For | While, definition: Assign, name: str) -> bool:
    """Whether every read of the name follows the definition in the block that holds it."""
    total = _count_reads((root,), name)
    for block in blocks((root,)):
        for position, statement in enumerate(block):
            if statement is definition:
                return _count_reads(block[position + 1 :], name) == total
    return False


def _count_reads(body: tuple[Stmt, ...], name: str) -> int:
    total = 0
    for statement in statements(body):
        for expr in expressions(statement):
            total += sum(1 for e in walk(expr) if isinstance(e, Var) and e.name == name)
    return total


def blocks(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    """All statement lists, outermost first."""
    yield body
    for statement in body:
        match statement:
            case If(then=then, orelse=orelse):
                yield from blocks(then)
                yield from blocks(orelse)
            case For(body=inner) | While(body=inner):
                yield from blocks(inner)
            case _:
                pass


__all__ = [
    "Fact",
    "Facts",
    "Observed",
    "Proved",
    "Unknown",
    "blocks",
    "both",
    "definitions",
    "facts_of",
    "index_in_bounds",
    "prove",
]
