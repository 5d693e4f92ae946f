"""What is known of sizes and bounds: proved by the code, or tested by a guard in front."""

from __future__ import annotations

from collections.abc import Mapping

from ...loopnest.affine import Affine, affine, constant, extent_of, extent_symbol, variable
from ...loopnest.ir import (
    Assign,
    Compare,
    Const,
    Dim,
    Nest,
    Var,
    expressions,
    statements,
    walk,
)
from .flat import Folded, RowAtWork, Turning, row_text
from .shifts import natural_distances, shifts


class Facts:
    """Equalities and inequalities that hold when the vectorised code runs.

    ``require`` records a run-time test for what cannot be proved; later proofs build on it.
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.ranges: dict[str, tuple[Affine, Affine]] = {}
        """Kept loops: index -> (lowest, highest) value inside the loop."""
        self.required: list[Affine] = []
        """Forms that a guard shows to be >= 0."""
        self.equal_required: list[tuple[str, Affine]] = []
        """Symbols that a guard shows to be equal to a form."""
        self.assigned = frozenset(s.name for s in statements((nest.root,)) if isinstance(s, Assign))
        """Scalars with an assignment in the nest."""
        self._value: dict[str, Affine] = {}
        self._constants = {
            part.value: part.name
            for statement in statements((nest.root,))
            for expr in expressions(statement)
            for part in walk(expr)
            if isinstance(part, Const) and part.name and isinstance(part.value, int)
        }
        self._spelled: dict[str, str] = {}
        for name, scalar in nest.scalars.items():
            if isinstance(scalar.literal, int):
                self._define(name, constant(int(scalar.literal)))
        for array, info in nest.arrays.items():
            for axis, expr in enumerate(info.extents):
                form = affine(expr) if expr is not None else None
                if form is not None and isinstance(info.allocation, Turning | RowAtWork):
                    self._value[extent_symbol(array, axis)] = form  # no test may ask for it
                elif form is not None:
                    self._define(extent_symbol(array, axis), form)
        for name, scalar in nest.scalars.items():
            for array, axis in scalar.equals:
                self._define(extent_symbol(array, axis), variable(name))
        for condition in nest.relies_on:
            match condition:
                case Compare(op="==", left=Dim(array=array, axis=axis), right=other) if (
                    form := affine(other)
                ) is not None:
                    self._define(extent_symbol(array, axis), form)  # zip(x, y): tested in front
                case Compare(op="==", left=Var(name=name), right=Const(value=int() as value)):
                    self._define(name, constant(value))
        for name, scalar in nest.scalars.items():
            if scalar.equals:
                self._spelled.setdefault(name, name)
        self.shifts = shifts(nest)
        """Variables whose least and greatest value are asked for in front."""
        each = self.shifts.values()
        self._ends = {s.most: s.interval.high for s in each}
        self._ends |= {s.least: s.interval.low for s in each}
        self._spans = {n: (variable(s.least), variable(s.most)) for n, s in self.shifts.items()}
        self.required += [variable(name) for name in natural_distances(nest)]

    def _define(self, symbol: str, form: Affine) -> None:
        """Learn ``symbol == form``; solved for an extent where possible."""
        difference = self.canonical(variable(symbol) - form)
        names = sorted(difference.symbols, key=lambda s: (extent_of(s) is None, s))
        for name in names:
            factor = difference.coefficient(name)
            if abs(factor) == 1:
                self._value[name] = (variable(name).scale(factor) - difference).scale(factor)
                return

    def canonical(self, form: Affine) -> Affine:
        """The form over symbols that are not defined by others."""
        for _ in range(len(self._value) + 1):
            if form.symbols.isdisjoint(self._value):
                break
            form = form.substitute(self._value)
        return form

    def equal(self, a: Affine, b: Affine) -> bool:
        """Proved (or guarded) equality."""
        return self.canonical(a - b) == constant(0)

    def require_equal(self, symbol: str, form: Affine) -> bool:
        """Test ``symbol == form`` at run time unless it is known; False if they always differ."""
        difference = self.canonical(variable(symbol) - form)
        if difference.is_const:
            return difference.const == 0
        if not difference.symbols.isdisjoint(self.nest.privates):
            return False
        self.equal_required.append((symbol, form))
        self._define(symbol, form)
        return True

    def suppose_whole(self, size: Affine, stop: Affine) -> None:
        """Where an axis ended at an array's end whenever the loop ran, test that it does.

        ``x`` reads better than ``x[:n]``, and one equality is tested sooner than several bounds.
        """
        behind = self.canonical(size - stop)
        extents = [name for name, factor in behind.pairs if extent_of(name) and factor == 1]
        if len(behind.pairs) != 2 or len(extents) != 1:
            return
        (other,) = behind.symbols - set(extents)
        if behind.coefficient(other) != -1 or other in self.ranges:
            return
        seen = self._seen(extents[0])
        if seen is not None and seen == self._seen(other):
            self.require_equal(extents[0], variable(other))

    def _seen(self, symbol: str) -> float | int | None:
        """The value at every observed entry; None if there were several."""
        pair = extent_of(symbol)
        if pair is not None:
            info = self.nest.arrays.get(pair[0])
            return None if info is None else info.shape[pair[1]]
        scalar = self.nest.scalars.get(symbol)
        if scalar is None or not scalar.constant:
            return None
        return scalar.interval.low

    def proved(self, form: Affine) -> bool:
        """Whether ``form >= 0`` is known."""
        lowest = self.outermost(form, lowest=True)
        if self._plain(lowest):
            return True
        known = [self.outermost(f, lowest=True) for f in self.required]
        return any(self._plain(lowest - one) for one in known) or any(
            self._plain(lowest - one - two) for one in known for two in known
        )

    def sign(self, form: Affine) -> int:
        """1 where ``form >= 0`` is known, -1 where ``form <= 0`` is; 0 for neither."""
        if self.proved(form):
            return 1
        return -1 if self.proved(-form) else 0

    def outermost(self, form: Affine, *, lowest: bool) -> Affine:
        """The least (or greatest) value of a form over the kept loops' ranges."""
        form = self.canonical(form)
        ranges = {**self._spans, **self.ranges}
        for _ in range(2 * len(ranges)):
            inner = sorted(name for name in form.symbols if name in ranges)
            if not inner:
                break
            low, high = ranges[inner[0]]
            positive = form.coefficient(inner[0]) > 0
            form = form.substitute({inner[0]: low if positive == lowest else high})
            form = self.canonical(form)
        return form

    def _plain(self, form: Affine) -> bool:
        """Extents are never negative."""
        return form.const >= 0 and all(
            factor > 0 and self.never_negative(name) for name, factor in form.pairs
        )

    def never_negative(self, name: str) -> bool:
        """Extents, and scalars that are one."""
        if extent_of(name) is not None or name in self._ends:
            return True
        if name not in self._spelled:
            return False
        return bool(self.nest.scalars[name].equals)

    def require(self, form: Affine) -> bool:
        """Make ``form >= 0`` known, by a run-time test if needed; False if no test can be written.

        A test runs before the loops: indices of kept loops are replaced by their worst value.
        """
        if self.proved(form):
            return True
        lowest = self.outermost(form, lowest=True)
        if not self.is_testable(lowest):
            return False
        self.required.append(lowest)
        return True

    def is_testable(self, form: Affine) -> bool:
        """Whether ``form >= 0`` can be tested at run time; the form holds no index of a loop.

        Behind a test that never held, the new code would not run.
        """
        if form.is_const or not form.symbols.isdisjoint(self.nest.privates):
            return False
        return not self._never_seen(form)

    def _never_seen(self, form: Affine) -> bool:
        """``form >= 0`` held at no observed entry."""
        most = float(form.const)
        for symbol, factor in form.pairs:
            pair = extent_of(symbol)
            end: float | int | None = None
            if symbol in self._ends:
                end = self._ends[symbol]
            elif pair is None:
                scalar = self.nest.scalars.get(symbol)
                if scalar is not None:
                    end = scalar.interval.high if factor > 0 else scalar.interval.low
            elif pair[0] in self.nest.arrays:
                end = self.nest.arrays[pair[0]].shape[pair[1]]
            if end is None:
                return False
            most += factor * end
        return most < 0

    def text(self, form: Affine) -> str:
        """Python source of a form: positive terms first."""
        if form.is_const and abs(form.const) > 9 and form.const in self._constants:
            return self._constants[form.const]  # N rather than 200
        return form_text(form, {name: self._symbol_text(name) for name in form.symbols})

    def constant_name(self, form: Affine) -> str | None:
        """The user's name for a constant."""
        return self._constants.get(form.const) if form.is_const else None

    def _symbol_text(self, symbol: str) -> str:
        pair = extent_of(symbol)
        if pair is None:
            return symbol
        form = self.canonical(variable(symbol))
        if form.is_const and form.const in self._constants:
            return self._constants[form.const]
        if not any(extent_of(s) for s in form.symbols) and len(form.pairs) <= 1:
            text = form_text(form, {s: s for s in form.symbols})
            return text if text.isidentifier() or text.isdigit() else f"({text})"
        for name, scalar in self.nest.scalars.items():
            if pair in scalar.equals:
                return name
        return extent_text(self.nest, *pair)


def extent_text(nest: Nest, array: str, axis: int) -> str:
    """``a.shape[1]``, ``len(a)``, ``len(a[0])``."""
    info = nest.arrays.get(array)
    if isinstance(info, Folded):
        return row_text(info) if axis else f"(len({array}) // {row_text(info)})"
    if info is not None and info.container != "ndarray":
        return f"len({array}{'[0]' * axis})"
    return f"{array}.shape[{axis}]"


def form_text(form: Affine, names: Mapping[str, str]) -> str:
    """Python source of an affine form: ``n - 2``, ``3 - n``, ``2 * i + 1``."""
    terms = [(factor, names[symbol]) for symbol, factor in form.pairs]
    terms.sort(key=lambda term: (term[0] < 0, term[1]))
    parts: list[tuple[bool, str]] = [
        (factor < 0, body if abs(factor) == 1 else f"{abs(factor)} * {body}")
        for factor, body in terms
    ]
    if form.const or not parts:
        number = (form.const < 0, str(abs(form.const)))
        first = form.const > 0 and bool(parts) and parts[0][0]
        parts.insert(0 if first else len(parts), number)
    text = ("-" if parts[0][0] else "") + parts[0][1]
    for negative, body in parts[1:]:
        text += f" {'-' if negative else '+'} {body}"
    return text
