"""Writes the loops over waves that take the place of two loops, see `wavefront`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...loopnest.affine import Affine, affine, extent_symbol, to_expr, variable
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Assign,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Expr,
    For,
    If,
    Load,
    Nest,
    Stmt,
    Store,
    Var,
    expressions,
    statements,
    walk,
)
from ...model import Region
from ...names import free_name
from .known import Facts
from .legality import accesses
from .normal import shifted, substituted
from .planning import CALL, ELEMENT, STRIDED, seconds_of_loops
from .restructure import wrapped_once
from .sizes import trips
from .waves import Place, Sweep, Wave, Waves, is_fold

ACCESS = 1.0e-7
"""Seconds that it takes to make an object of an array's element, or to put one there."""
MOST_PEELED = 2
"""First waves that get statements of their own, where a test on the indices holds on the rest."""


class _Undecided(Exception):
    """A test on the wave's number holds on some of the waves only."""


@dataclass(frozen=True)
class _Bound:
    """``form // divisor``."""

    form: Affine
    divisor: int = 1

    def expr(self, line: int) -> Expr:
        """As an expression."""
        form = to_expr(self.form, line)
        if self.divisor == 1:
            return form
        return Binary(PY_INT, line, "//", form, Const(PY_INT, line, self.divisor))


class Builder:
    """Writes the loops over waves."""

    def __init__(self, sweep: Sweep, root: For, nest: Nest, facts: Facts, region: Region) -> None:
        self.sweep, self.root, self.nest, self.facts = sweep, root, nest, facts
        self.region, self.line = region, sweep.row.line
        self.names: dict[tuple[str, int], str] = {}
        """The scalars of a wave by what they are, and the how manieth of these they are."""
        self.used: list[str] = []
        self.along: dict[int, Wave] = {}
        self.kept: list[Stmt] = []
        """Keeps the loops whose ``id`` is noted."""
        row, column = sweep.row, sweep.column
        start, stop = affine(row.start), affine(row.stop)
        low, high = affine(column.start), affine(column.stop)
        assert start is not None and stop is not None and low is not None and high is not None
        self.first, self.stop = (start, stop) if row.step > 0 else (stop + 1, start + 1)
        self.low, self.high = low, high
        self.wave = self._name("diagonal" if abs(sweep.factor) == 1 else "wave")

    def _name(self, wanted: str) -> str:
        """A name that nothing in the file has; the same one on every wave."""
        key = wanted, self.used.count(wanted)
        self.used.append(wanted)
        if key not in self.names:
            taken = {*self.nest.privates, *self.nest.scalars, *self.names.values()}
            self.names[key] = free_name(self.region.source, wanted, taken)
        return self.names[key]

    def build(self) -> Waves | None:
        """The new nest; None where some test on the indices would have to be a mask."""
        facts, i = self.facts, self.sweep.row.index
        least, most = self._ends()
        rectangle = not (self.low.coefficient(i) or self.high.coefficient(i))
        wanted = [self.stop - self.first - 1]
        wanted.append(self.high - self.low - 1 if rectangle else most - least - 1)
        if not all(facts.require(form) for form in wanted):
            return None
        for peeled in range(MOST_PEELED + 1):
            facts.ranges[self.wave] = (least + peeled, most - 1)
            try:
                rest = self._wave(variable(self.wave))
                single = [self._wave(least + n) for n in range(peeled)]
            except _Undecided:
                continue
            finally:
                del facts.ranges[self.wave]
            if peeled > 1 and not facts.require(most - least - peeled):
                return None
            start, stop = to_expr(least + peeled, self.line), to_expr(most, self.line)
            loop = For(self.line, self.sweep.row.node, self.wave, start, stop, 1, rest)
            return self._waves((*(s for body in single for s in body), loop))
        return None

    def _ends(self) -> tuple[Affine, Affine]:
        """The first wave, and one past the last."""
        i, factor = self.sweep.row.index, self.sweep.factor
        ends = []
        for bound, outermost in ((self.low, self.first), (self.high, self.stop - 1)):
            slope = bound.coefficient(i) + factor
            other = self.stop - 1 if outermost is self.first else self.first
            at = outermost if slope >= 0 else other
            ends.append(bound.without((i,)) + at.scale(slope))
        return ends[0], ends[1]

    # ---------------------------------------------------------------- one wave
    def _wave(self, number: Affine) -> tuple[Stmt, ...]:
        """All elements with ``factor * i + j == number``. Raises _Undecided."""
        row, column, line = self.sweep.row, self.sweep.column, self.line
        self.used = []
        index = variable(row.index)
        to_column = {column.index: to_expr(number - index.scale(self.sweep.factor), line)}
        moving = frozenset((row.index,))
        body = tuple(
            shifted(s, frozenset(), moving) if isinstance(s, For) else s
            for s in substituted(column.body, to_column)
        )
        body = self._decided(body)
        before: list[Stmt] = []
        lows, highs = self._bounds(number)
        first = self._bound("first", lows, "max", before)
        stop = self._bound("stop", highs, "min", before)
        places = tuple(self._place(number, first, stop, r, before) for r in self._rows(body))
        start, end = to_expr(first, line), to_expr(stop, line)
        loop = For(line, row.node, row.index, start, end, 1, body)
        self.kept.append(loop)
        self.along[id(loop)] = Wave(number, self.sweep.factor, row.index, places)
        inner = (*before, loop)
        if self._some(lows, highs):
            return inner
        return self._where_some(first, stop, before, loop)

    def _where_some(
        self, first: Affine, stop: Affine, before: list[Stmt], loop: For
    ) -> tuple[Stmt, ...]:
        ends = [s for s in before if isinstance(s, Assign) and variable(s.name) in (first, stop)]
        others = tuple(s for s in before if s not in ends)
        line = self.line
        test = Compare(PY_BOOL, line, "<", to_expr(first, line), to_expr(stop, line))
        return (*ends, If(line, self.sweep.row.node, test, (*others, loop), ()))

    def _bounds(self, number: Affine) -> tuple[list[_Bound], list[_Bound]]:
        """What ``i`` must be at least, and what it must be below."""
        i, factor = self.sweep.row.index, self.sweep.factor
        lows, highs = [_Bound(self.first)], [_Bound(self.stop)]
        for bound, above in ((self.low, True), (self.high, False)):
            slope = bound.coefficient(i) + factor
            apart = number - bound.without((i,))  # at least, or below, slope * i
            size = abs(slope)
            if slope and above == (slope > 0):  # slope * i <= apart, or -size * i > apart
                top = apart + size if above else -apart + (size - 1)
                highs.append(_Bound(top, size))
            elif slope:
                lows.append(_Bound(apart + size if not above else -apart + (size - 1), size))
        return self._needed(lows, 1), self._needed(highs, -1)

    def _needed(self, bounds: list[_Bound], sign: int) -> list[_Bound]:
        """Without those that another one implies on all waves."""
        kept = bounds
        for one in bounds:
            others = [bound for bound in kept if bound is not one]
            if any(self._implies(other, one, sign) for other in others):
                kept = others
        return kept

    def _implies(self, one: _Bound, other: _Bound, sign: int) -> bool:
        plain = one.divisor == other.divisor == 1
        return plain and self.facts.proved((one.form - other.form).scale(sign))

    def _bound(
        self, wanted: str, bounds: list[_Bound], function: str, before: list[Stmt]
    ) -> Affine:
        """The one bound, or the scalar that holds the strictest of several."""
        if len(bounds) == 1 and bounds[0].divisor == 1:
            return bounds[0].form
        parts = tuple(bound.expr(self.line) for bound in bounds)
        value = parts[0] if len(parts) == 1 else Call(PY_INT, self.line, function, parts)
        return self._scalar(wanted, value, before)

    def _scalar(self, wanted: str, value: Expr, before: list[Stmt]) -> Affine:
        name = self._name(wanted)
        before.append(Assign(self.line, self.sweep.row.node, name, value))
        return variable(name)

    def _some(self, lows: list[_Bound], highs: list[_Bound]) -> bool:
        """No wave is empty."""
        if any(bound.divisor != 1 for bound in (*lows, *highs)):
            return False
        return all(self.facts.proved(high.form - low.form - 1) for low in lows for high in highs)

    # ------------------------------------------------------------------ places
    def _rows(self, body: tuple[Stmt, ...]) -> list[Affine]:
        """The row lengths of the arrays with elements at ``(i + a, j + b)``."""
        found: dict[Affine, None] = {}
        i, factor = self.sweep.row.index, self.sweep.factor
        for statement in statements(body):
            parts = [p for e in expressions(statement) for p in walk(e) if isinstance(p, Load)]
            places = [(p.array, p.index) for p in parts]
            if isinstance(statement, Store):
                places.append((statement.array, statement.index))
            for array, index in places:
                forms = [affine(e) for e in index]
                factors = [None if f is None else f.coefficient(i) for f in forms]
                if factors == [1, -factor]:
                    row = self.facts.canonical(variable(extent_symbol(array, 1)))
                    found[row] = None
        return list(found)

    def _place(
        self, number: Affine, first: Affine, stop: Affine, row: Affine, before: list[Stmt]
    ) -> Place:
        line, step = self.line, row - self.sweep.factor
        ends = []
        for name, at in (("at", first), ("end", stop - 1)):
            behind = 0 if name == "at" else 1
            if at.is_const or step.is_const:
                times = step.scale(at.const) if at.is_const else at.scale(step.const)
                ends.append(number + times + behind)
                continue
            product = Binary(PY_INT, line, "*", to_expr(at, line), to_expr(step, line))
            value = Binary(PY_INT, line, "+", to_expr(number + behind, line), product)
            ends.append(self._scalar(name, value, before))
        return Place(row, ends[0], ends[1], step)

    # ------------------------------------------------------------------- tests
    def _decided(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Without tests on the wave's number, which hold on all of these waves or on none."""
        result: list[Stmt] = []
        for statement in body:
            match statement:
                case For(start=start, stop=stop):
                    if self._holds(Compare(PY_BOOL, statement.line, "<", start, stop)):
                        result.append(statement)
                        self.kept.append(statement)
                case If() if not self._is_scalar(statement.test):
                    then, orelse = self._decided(statement.then), self._decided(statement.orelse)
                    result.append(replace(statement, then=then, orelse=orelse))
                case If(test=test, then=then, orelse=orelse):
                    result += self._decided(then if self._holds(test) else orelse)
                case _:
                    result.append(statement)
        return tuple(result)

    def _is_scalar(self, test: Expr) -> bool:
        """The same for all elements of a wave."""
        match test:
            case Const():
                return True
            case Bool(operands=operands):
                return all(map(self._is_scalar, operands))
            case Compare(left=left, right=right):
                a, b = affine(left), affine(right)
                changing = self.facts.assigned | {self.sweep.row.index}
                return a is not None and b is not None and not (a - b).symbols & changing
        return False

    def _holds(self, test: Expr) -> bool:
        """Raises _Undecided."""
        match test:
            case Const(value=value):
                return bool(value)
            case Bool(op=op, operands=operands):
                values = [self._holds(operand) for operand in operands]
                return all(values) if op == "and" else any(values)
            case Compare(op="<" | "<=" | ">" | ">=" as op, left=left, right=right):
                a, b = affine(left), affine(right)
                if a is None or b is None:
                    raise _Undecided
                less = (b - a if op[0] == "<" else a - b) + (0 if op.endswith("=") else -1)
                if self.facts.proved(less):
                    return True
                if self.facts.proved(-less - 1):
                    return False
        raise _Undecided

    # ------------------------------------------------------------------ result
    def _waves(self, body: tuple[Stmt, ...]) -> Waves:
        whole = _put((self.root,), self.sweep.row, body)
        first = whole[0]
        root = first if isinstance(first, For) and len(whole) == 1 else None
        root = root or wrapped_once(self.root, whole)
        names = frozenset(self.names.values())
        privates = {**self.nest.privates, **dict.fromkeys(names, PY_INT)}
        nest = replace(self.nest, root=root, privates=privates)
        folds = frozenset(id(s) for s in statements((root,)) if is_fold(s))
        needed = tuple(self.facts.required), tuple(self.facts.equal_required)
        seconds = self._seconds(), self._replaced()
        return Waves(root, nest, self.along, folds, self.sweep, *seconds, *needed, names)

    def _seconds(self) -> float:
        """Estimate: calls for each wave, and elements that lie far apart."""
        sweep, nest = self.sweep, self.nest
        least, most = self._ends()
        start, stop = to_expr(least, self.line), to_expr(most, self.line)
        count = max(1.0, trips(replace(sweep.row, start=start, stop=stop, step=1), nest, {}))
        rows = trips(sweep.row, nest, {})
        elements = min(count * rows, rows * trips(sweep.column, nest, {}))
        seconds = 0.0
        for statement in statements(sweep.column.body):
            work = 1 + sum(1 for e in expressions(statement) for p in walk(e) if _is_work(p))
            seconds += work * (count * CALL + elements * (ELEMENT + STRIDED / 2))
            if is_fold(statement):
                seconds += work * elements * count * ELEMENT
        return seconds * self._times(sweep.outer)

    def _replaced(self) -> float:
        """Estimate of the two loops, interpreted; each element of an array becomes an object."""
        sweep, nest = self.sweep, self.nest
        read = [a.array for s in sweep.column.body for a in accesses(s, sweep.loops)]
        objects = sum(nest.arrays[array].container == "ndarray" for array in read)
        seconds = seconds_of_loops(sweep.row, nest) * self._times(sweep.outer)
        return seconds + ACCESS * objects * self._times(sweep.loops)

    def _times(self, loops: tuple[For, ...]) -> float:
        times = 1.0
        for loop in loops:
            times *= max(1.0, trips(loop, self.nest, {}))
        return times


def _is_work(part: Expr) -> bool:
    return not isinstance(part, Const | Var)


def _put(body: tuple[Stmt, ...], old: Stmt, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements with others in the place of one; the rest are the same objects."""
    result: list[Stmt] = []
    for statement in body:
        if statement is old:
            result += new
        elif isinstance(statement, For) and any(s is old for s in statements(statement.body)):
            result.append(replace(statement, body=_put(statement.body, old, new)))
        else:
            result.append(statement)
    return tuple(result)
