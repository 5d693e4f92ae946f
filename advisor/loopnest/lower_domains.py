"""What a ``for`` loop runs over: ranges, arrays, enumerate, zip, tuples of constants."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from . import typing_rules as typing
from .affine import affine
from .bindings import Stop, Table, View
from .fold import fold_one
from .ir import (
    PY_BOOL,
    PY_INT,
    Binary,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    Kind,
    Scalar,
    Select,
    Var,
)
from .lower_assignments import Item
from .lower_names import CONTAINERS, described
from .lower_products import ProductLowering
from .scope import Literal
from .text import STRINGS, TextPart, part_of_text


@dataclass(frozen=True)
class Domain:
    """What a loop runs over: ``range(start, stop, step)``, and the item at each index."""

    start: Expr
    stop: Expr
    step: int
    item: Callable[[Expr], Item]
    values: tuple[int | float, ...] | None = None
    kind: Scalar = PY_INT

    @property
    def counts_from_zero(self) -> bool:
        """Start 0, step 1: positions and indices agree."""
        return self.step == 1 and isinstance(self.start, Const) and self.start.value == 0

    @property
    def runs(self) -> bool:
        """At least one trip, for certain."""
        if self.values:
            return True
        match self.start, self.stop:
            case Const(value=int() as low), Const(value=int() as high):
                return len(range(low, high, self.step)) > 0
        return False


class DomainLowering(ProductLowering):
    """Iterables of loops."""

    positive_steps: list[tuple[Expr, int]]
    """Steps that must be proved positive, with a line."""
    trust_trips: bool
    """Rely on loops running at least once, where they were seen to."""
    whole: ast.For | ast.While
    """The statement that is lowered."""

    def relied_to_run(self, domain: Domain, line: int) -> bool:
        """Whether the loop ran at every entry, which becomes a condition; second attempt only."""
        if not self.trust_trips or domain.step < 0 or domain.values is not None:
            return False
        start, stop = self.seen_bounds(domain.start), self.seen_bounds(domain.stop)
        if start is None or stop is None or start[1] >= stop[0]:
            return False
        self.rely(Compare(PY_BOOL, line, "<", domain.start, domain.stop))
        return True

    def seen_bounds(self, bound: Expr) -> tuple[int, int] | None:
        """Smallest and largest value over all entries of what does not change in the nest."""
        match bound:
            case Const(value=int() as value):
                return value, value
            case Dim(array=array, axis=axis):
                info = self.used_arrays[array]
                if info.min_shape is not None and info.max_shape is not None:
                    return info.min_shape[axis], info.max_shape[axis]
                size = info.shape[axis] if info.shape is not None else None
                return None if size is None else (size, size)
            case Var(name=name) if name not in self.assigned and name in self.used_scalars:
                low, high = (
                    self.observation.values[name].minimum,
                    self.observation.values[name].maximum,
                )
                return (low, high) if isinstance(low, int) and isinstance(high, int) else None
            case Binary(op="+" | "-" as op, left=left, right=right):
                first, second = self.seen_bounds(left), self.seen_bounds(right)
                if first is None or second is None:
                    return None
                if op == "+":
                    return first[0] + second[0], first[1] + second[1]
                return first[0] - second[1], first[1] - second[0]
        return None

    # ----------------------------------------------------------- domains
    def domain(self, node: ast.expr) -> Domain:
        """What the iterable of a loop stands for. Raises Stop."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                if self.is_builtin(name):
                    if name == "range" and not keywords and 1 <= len(args) <= 3:
                        return self.range_domain(args, node.lineno)
                    if name == "enumerate" and args:
                        return self.enumerate_domain(node)
                    if name == "zip" and args:
                        return self.zip_domain(node)
                    if name == "reversed" and len(args) == 1:
                        return self.reversed_domain(args[0], node.lineno)
        part = part_of_text(node)
        whole = None if part is None else self.view(part.text)
        if part is not None and whole and self.used_arrays[whole.array].kind in STRINGS:
            return self.part_domain(whole, part, node)
        rows = self.table(node)
        if rows is not None:
            return self.table_domain(rows, node.lineno)
        view = self.view(node)
        if view is None:
            raise Stop(
                f"a loop over {self.what(node)}",
                node.lineno,
                "loop over a range, an array or a list of numbers",
            )
        return self.element_domain(View(view.array, self.frozen_prefix(view, node.lineno)), node)

    def what(self, node: ast.expr) -> str:
        """The iterable, with its type where that says why it is no array."""
        text = ast.unparse(node)
        owner = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value  # d.items()
        path = self.path(owner)
        info = self.observation.values.get(path) if path is not None else None
        if info is None or info.kind in CONTAINERS:
            return text
        return (
            f"{text}, which is a {described(info)}"
            if owner is node
            else (f"{text} of a {described(info)}")
        )

    def is_builtin(self, name: str) -> bool:
        """Whether the name means Python's built-in here."""
        return (
            name not in self.local
            and name not in self.frame.names
            and not self.module.bound(name)
            and (name not in self.observation.values or self._seen_builtin(name))
        )

    def _seen_builtin(self, name: str) -> bool:
        info = self.observation.values[name]
        return info.target in (f"builtins.{name}", name)

    def range_domain(self, args: list[ast.expr], line: int) -> Domain:
        """``range`` with one to three integer arguments."""
        bounds = [self.settled(self.expr(a)) for a in args]
        for bound in bounds:
            if bound.type.kind is not Kind.INT:
                raise Stop(f"range over {bound.type}", line)
        zero = Const(PY_INT, line, 0)
        start, stop = (zero, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        if len(bounds) < 3:
            return Domain(start, stop, 1, lambda index: index)
        match bounds[2]:
            case Const(value=int() as step) if step:
                return Domain(start, stop, step, lambda index: index)
            case Const():
                raise Stop("range with step 0", line)
        return self.varying_step(start, stop, bounds[2], line)

    def varying_step(self, start: Expr, stop: Expr, step: Expr, line: int) -> Domain:
        """``range(i * i, n, i)``: counted trips of a step that is proved positive."""
        self.positive_steps.append((step, line))
        span = self.arithmetic("-", stop, start, line)
        rounded = self.arithmetic("-", self.arithmetic("+", span, step, line), _one(line), line)
        count = self.arithmetic("//", rounded, step, line)

        def item(index: Expr) -> Item:
            return self.arithmetic("+", start, self.arithmetic("*", index, step, line), line)

        return Domain(Const(PY_INT, line, 0), count, 1, item)

    @staticmethod
    def arithmetic(op: str, left: Expr, right: Expr, line: int) -> Expr:
        """Python integer arithmetic, folded."""
        return fold_one(Binary(PY_INT, line, op, left, right))

    def element_domain(self, view: View, node: ast.expr) -> Domain:
        """The elements or rows of an array or list."""
        line = node.lineno
        stop = self.length_of(view, len(view.prefix), line)
        if not self.rank(view):
            raise Stop(f"a loop over {ast.unparse(node)}, which is a number", line)
        return Domain(Const(PY_INT, line, 0), stop, 1, lambda index: self.down(view, index, line))

    def part_domain(self, view: View, part: TextPart, node: ast.expr) -> Domain:
        """``text[1:]``, ``text[:-1]``: texts do not change, so that a part of one is no copy."""
        line = node.lineno
        stop = self.length_of(view, 0, line)
        if part.behind:
            stop = self.arithmetic("-", stop, Const(PY_INT, line, part.behind), line)
        start = Const(PY_INT, line, part.before)
        return Domain(start, stop, 1, lambda index: self.down(view, index, line))

    def table_domain(self, rows: Table, line: int) -> Domain:
        """A constant tuple of numbers, or of tuples of numbers."""
        count = Const(PY_INT, line, len(rows.rows))
        zero = Const(PY_INT, line, 0)
        if isinstance(rows.rows[0], tuple):
            columns = tuple(zip(*rows.rows, strict=True))
            return Domain(
                zero, count, 1, lambda index: tuple(self.chosen(c, index, line) for c in columns)
            )
        flat = tuple(v for v in rows.rows if not isinstance(v, tuple))
        kinds = {typing.type_of_value(v) for v in flat}
        if len(kinds) == 1 and isinstance(flat[0], int | float) and not isinstance(flat[0], bool):
            kind = typing.type_of_value(flat[0])
            assert kind is not None
            values = tuple(v for v in flat if isinstance(v, int | float))
            return Domain(zero, count, 1, lambda index: index, values, kind)
        return Domain(zero, count, 1, lambda index: self.chosen(flat, index, line))

    def chosen(self, column: tuple[Literal, ...], index: Expr, line: int) -> Expr:
        """The entry of a column of constants at a position: affine where it is, else a choice."""
        kinds = {typing.type_of_value(v) for v in column}
        if len(kinds) != 1:
            raise Stop("a tuple of constants of different types", line, "write 0.0 instead of 0")
        kind = typing.type_of_value(column[0])
        assert kind is not None
        if len(set(column)) == 1 and len({str(v) for v in column}) == 1:
            return Const(kind, line, column[0])
        if kind == PY_INT:
            steps = {int(b) - int(a) for a, b in pairwise(column)}  # type: ignore[arg-type]
            if len(steps) == 1:
                scaled = self.arithmetic("*", Const(PY_INT, line, steps.pop()), index, line)
                return self.arithmetic("+", Const(PY_INT, line, column[0]), scaled, line)
        result: Expr = Const(kind, line, column[-1])
        for position in range(len(column) - 2, -1, -1):
            here = Compare(PY_BOOL, line, "==", index, Const(PY_INT, line, position))
            result = Select(kind, line, here, Const(kind, line, column[position]), result)
        return result

    def positions(self, node: ast.expr) -> Domain:
        """The iterable as a domain that counts from zero."""
        domain = self.domain(node)
        line = node.lineno
        if domain.values is not None:
            return Domain(
                domain.start,
                domain.stop,
                1,
                lambda index: self.chosen(domain.values or (), index, line),
            )
        if domain.counts_from_zero:
            return domain
        if domain.step != 1:
            raise Stop("enumerate or zip over a range with a step", line, "use the index itself")
        count = self.arithmetic("-", domain.stop, domain.start, line)
        return Domain(
            Const(PY_INT, line, 0),
            count,
            1,
            lambda index: domain.item(self.arithmetic("+", domain.start, index, line)),
        )

    def enumerate_domain(self, node: ast.Call) -> Domain:
        """``enumerate(xs, start)``."""
        line = node.lineno
        extra = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "start")]
        inner = self.positions(node.args[0])
        first = self.settled(self.expr(extra[0])) if extra else Const(PY_INT, line, 0)
        if first.type != PY_INT:
            raise Stop(f"enumerate from {first.type}", line)
        zero = isinstance(first, Const) and first.value == 0

        def item(index: Expr) -> Item:
            number = index if zero else self.arithmetic("+", index, first, line)
            return (number, inner.item(index))

        return Domain(inner.start, inner.stop, 1, item)

    def zip_domain(self, node: ast.Call) -> Domain:
        """``zip(a, b)``: as long as the shortest."""
        line = node.lineno
        if node.keywords:
            raise Stop("zip(strict=...)", line)
        inner = [self.positions(a) for a in node.args]
        stops: list[Expr] = []
        for domain in inner:
            if domain.stop not in stops:
                stops.append(domain.stop)
        stop = self.shortest(stops, line)
        return Domain(inner[0].start, stop, 1, lambda index: tuple(d.item(index) for d in inner))

    def shortest(self, stops: list[Expr], line: int) -> Expr:
        """The first extent where all were seen equal (relied on), else their minimum."""
        if len(stops) == 1:
            return stops[0]
        forms = [affine(stop) for stop in stops]
        steps = [f - forms[0] for f in forms if f is not None and forms[0] is not None]
        if len(steps) == len(stops) and all(step.is_const for step in steps):
            return stops[min(range(len(stops)), key=lambda k: steps[k].const)]
        seen = {self.seen_extent(stop) for stop in stops}
        if len(seen) == 1 and None not in seen:
            for other in stops[1:]:
                self.rely(Compare(PY_BOOL, line, "==", stops[0], other))
            return stops[0]
        return Call(PY_INT, line, "min", tuple(stops))

    def seen_extent(self, stop: Expr) -> int | None:
        """The value of an extent where it was the same at every entry."""
        match stop:
            case Const(value=int() as value):
                return value
            case Dim(array=array, axis=axis):
                shape = self.used_arrays[array].shape
                return None if shape is None else shape[axis]
        return None

    def reversed_domain(self, node: ast.expr, line: int) -> Domain:
        """``reversed(range(a, b))`` and ``reversed(xs)``."""
        domain = self.domain(node)
        if domain.values is not None:
            values = domain.values[::-1]
            return Domain(domain.start, domain.stop, 1, domain.item, values, domain.kind)
        if domain.step != 1:
            raise Stop("reversed range with a step", line, "write the range backwards")
        last = self.arithmetic("-", domain.stop, _one(line), line)
        first = self.arithmetic("-", domain.start, _one(line), line)
        return Domain(last, first, -1, domain.item)


def _one(line: int) -> Const:
    return Const(PY_INT, line, 1)
