"""What a ``for`` loop runs over: the values of its target, and whether it runs at all."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

from ..loopnest.affine import Affine, constant
from ..loopnest.ir import PY_INT, Kind
from ..loopnest.scope import dotted
from ..loopnest.text import part_of_text
from .nb_chars import is_string
from .nb_eval import Evaluator
from .nb_loops import Loops
from .nb_paths import assigned_paths
from .nb_state import fail
from .nb_values import STEPS, Items, Num, Target, Unsupported, Value, View, add, number

_ZERO = Num(PY_INT, 0, 0, form=constant(0))


class Iterables(Loops):
    """``range``, arrays, ``enumerate``, ``zip`` and tuples of constants."""

    def iteration(self, node: ast.For) -> tuple[Callable[[], None], bool]:
        """How the loop's target gets its value; whether the body surely runs."""
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=args) if args and not node.iter.keywords:
                return self._over_range(node, args)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
                return self._over_enumerate(node, inner)
            case ast.Call(
                func=ast.Name(id="enumerate"),
                args=[inner],
                keywords=[ast.keyword(arg="start", value=ast.Constant(value=int() as first)) as k],
            ):
                self.state.replace(k, str(first))  # compiled code has no keyword there
                return self._over_enumerate(node, inner, first)
            case ast.Call(
                func=ast.Name(id="enumerate"),
                args=[inner, ast.Constant(value=int() as first)],
                keywords=[],
            ):
                return self._over_enumerate(node, inner, first)
            case ast.Call(func=ast.Name(id="zip"), args=several) if several:
                any_of, _ = self._walked(node, node.iter)
                return lambda: self.bind(node.target, any_of(), node), False
            case ast.Call(func=function) if self._is_product(function):
                return self._over_product(node, node.iter)
            case _:
                view = self._iterable(node.iter)
                item = self._items(view, node.iter)
                sure = isinstance(view, Items) and bool(view.items)
                return lambda: self.bind(node.target, item, node), sure

    def _is_product(self, function: ast.expr) -> bool:
        if dotted(function) is None:
            return False
        target = self.ev.value(function)
        return isinstance(target, Target) and target.name == "itertools.product"

    def _over_product(self, node: ast.For, call: ast.Call) -> tuple[Callable[[], None], bool]:
        """Constant factors become a tuple of tuples, ``range(n)`` an axis of ``np.ndindex``."""
        factors = call.args
        for keyword in call.keywords:  # the lowering has seen that it is a constant repeat
            factors = factors * int(ast.literal_eval(keyword.value))
        constant_factors = [_constant_factor(f) for f in factors]
        known = [f for f in constant_factors if f]
        if len(known) == len(factors) and math.prod(map(len, known)) <= 128:
            self.state.replace(call, repr(tuple(product(*known))))
            columns = [Items(tuple(number(v) for v in column)) for column in known]
            items = [any_item(self.ev, list(c.items), node.iter) for c in columns]
            return lambda: self.bind(node.target, Items(tuple(items)), node), True
        stops = [_counted(f) for f in factors]
        names = [s for s in stops if s is not None]
        if len(names) != len(factors):
            text = "product() of other than constants, or of range(n) in every place"
            raise Unsupported(text, node.lineno, "write the loops out")
        indices = [self._index(node, _ZERO, self.ev.number(s), 1) for s in names]
        stop_texts = ", ".join(f"max(0, {self.state.source.text(s)})" for s in names)
        self.state.replace(call, f"\0np.ndindex({stop_texts})")
        self.state.casts = True
        return lambda: self.bind(node.target, Items(tuple(i() for i in indices)), node), False

    def _iterable(self, node: ast.expr) -> View | Items:
        part = part_of_text(node)
        value = self.ev.value(node if part is None else part.text)
        if part is not None and not (isinstance(value, View) and is_string(self.state, value)):
            value = self.ev.value(node)
        if isinstance(value, View | Items):
            return value
        raise Unsupported(f"a loop over `{ast.unparse(node)}`", node.lineno)

    def _items(self, value: View | Items, node: ast.expr) -> Value:
        """Any item of what is looped over."""
        if isinstance(value, View):
            self.scope.need(value.array)
            rest = replace(value, ndim=value.ndim - 1, axis=value.axis + 1)
            return rest if rest.ndim else self.scope.element(rest)
        return any_item(self.ev, list(value.items), node)

    def _over_enumerate(
        self, node: ast.For, inner: ast.expr, first: int = 0
    ) -> tuple[Callable[[], None], bool]:
        item, stop = self._walked(node, inner)
        start = _ZERO
        if first:
            start = Num(PY_INT, first, first, form=constant(first))
            form = None if stop.form is None else stop.form + first
            stop = replace(add(stop, start, PY_INT), form=form)
        index = self._index(node, start, stop, 1)
        return lambda: self.bind(node.target, Items((index(), item())), node), False

    def _walked(self, node: ast.For, iterable: ast.expr) -> tuple[Callable[[], Value], Num]:
        """What gives any item of an iterable inside ``enumerate`` or ``zip``; most items of it."""
        match iterable:
            case ast.Call(func=ast.Name(id="zip"), args=several) if several:
                parts = [self._walked(node, part) for part in several]
                return lambda: Items(tuple(item() for item, _ in parts)), parts[0][1]
            case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _] as args):
                bounds = [self.ev.number(a) for a in args]
                start = bounds[0] if len(bounds) > 1 else _ZERO
                most = bounds[-1] if start is _ZERO else Num(PY_INT, 0, STEPS)
                return self._index(node, start, bounds[-1], 1), most
        view = self._iterable(iterable)
        one = self._items(view, iterable)
        if isinstance(view, View):
            return lambda: one, self.ev.extent(view, 0)
        return lambda: one, Num(PY_INT, 0, len(view.items), form=constant(len(view.items)))

    def _over_range(self, node: ast.For, args: list[ast.expr]) -> tuple[Callable[[], None], bool]:
        values = [self.ev.number(a) for a in args]
        if any(v.type.kind is not Kind.INT for v in values):
            raise Unsupported("range() of something else than integers", node.lineno)
        start = values[0] if len(values) > 1 else _ZERO
        stop = values[1] if len(values) > 1 else values[0]
        step = 1
        if len(values) == 3:
            if values[2].low is None or values[2].low != values[2].high or values[2].low == 0:
                return self._over_steps(node, start, stop, values[2])
            step = int(values[2].low)
        index = self._index(node, start, stop, step)
        sure = surely_runs(start, stop, step)
        return lambda: self.bind(node.target, index(), node), sure

    def _over_steps(
        self, node: ast.For, start: Num, stop: Num, step: Num
    ) -> tuple[Callable[[], None], bool]:
        """range(i * i, n, i): a positive step known only at run time."""
        if step.low is None or step.low <= 0:
            fail(self.state, "the step of range() may be zero or negative", node.iter)
        top = None if stop.high is None else stop.high - 1
        lows = () if start.form is None else (start.form,)
        highs = () if stop.form is None else (stop.form - 1,)

        def bind() -> None:
            form = self.state.bounded_symbol("i", lows, highs)
            value = Num(PY_INT, start.low, top, form=form)
            self.bind(node.target, value, node)

        return bind, False

    def trip_guard(self, node: ast.For) -> None:
        """The condition under which a loop runs in every iteration of those around it.

        Once is not enough: ``for i in range(n): s = 0; for j in range(i, m): s += a[j]`` leaves
        an int where the inner loop does not run for the last i.
        """
        if not self.state.recording:
            return
        test = trip_test(node, self.ends)
        names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)} if test else set()
        unknown = test is None or never_holds(test)
        if unknown or names & assigned_paths(self.state.region.loop) or self.scope.helper:
            raise Unsupported("a loop that may not run decides a variable's type", node.lineno)
        assert test is not None
        self.state.trip_guards.setdefault(ast.unparse(test))

    def _index(self, node: ast.For, start: Num, stop: Num, step: int) -> Callable[[], Num]:
        """The index of a counting loop, with its symbolic bounds."""
        lows: tuple[Affine, ...] = () if start.form is None else (start.form,)
        highs: tuple[Affine, ...] = () if stop.form is None else (stop.form - 1,)
        low, high = start.low, None if stop.high is None else stop.high - 1
        if step < 0:
            lows = () if stop.form is None else (stop.form + 1,)
            highs = () if start.form is None else (start.form,)
            low, high = None if stop.low is None else stop.low + 1, start.high
        elif start.low is not None and stop.form is None and stop.high is None:
            high = start.low + STEPS

        if low is not None and high is not None:
            self.state.trips[id(node)] = max(0, int(high) - int(low) + 1)

        def index() -> Num:
            form = self.state.bounded_symbol("i", lows, highs)
            if lows and highs:
                fact = highs[0] - lows[0]
                if fact not in self.state.facts:
                    self.state.facts.append(fact)
            low_, high_ = low, high
            if low_ is not None and high_ is not None and high_ < low_:
                high_ = low_
            return Num(PY_INT, low_, high_, form=form)

        return index


def _constant_factor(node: ast.expr) -> tuple[int, ...] | None:
    """``(-1, 0, 1)`` or ``range(-1, 2)``, as numbers."""
    try:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
                return tuple(range(*(ast.literal_eval(a) for a in args))[:129])
            case ast.Tuple() | ast.List():
                found = ast.literal_eval(node)
                return tuple(found) if {*map(type, found)} == {int} else None
    except (ValueError, TypeError):
        return None
    return None


def _counted(node: ast.expr) -> ast.expr | None:
    """``n`` of ``range(n)``."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            return stop
    return None


def any_item(ev: Evaluator, items: list[Value], node: ast.expr) -> Value:
    """A value that stands for each item of a tuple of constants."""
    if not items:
        raise Unsupported("a loop over an empty tuple", node.lineno)
    first = items[0]
    if isinstance(first, Items):
        rows = [i for i in items if isinstance(i, Items)]
        if len(rows) != len(items) or len({len(r.items) for r in rows}) != 1:
            raise Unsupported("a loop over unlike tuples", node.lineno)
        columns = zip(*(r.items for r in rows), strict=True)
        return Items(tuple(any_item(ev, list(c), node) for c in columns))
    result = first
    for item in items[1:]:
        if not isinstance(result, Num) or not isinstance(item, Num) or item.type != result.type:
            raise Unsupported("a loop over items of unlike types", node.lineno)
        result = replace(ev.join(result, item, node, "the item"), form=None)
    return result


def surely_runs(start: Num, stop: Num, step: int) -> bool:
    """Whether ``range(start, stop, step)`` has an element, by the numbers."""
    if step > 0:
        return start.high is not None and stop.low is not None and start.high < stop.low
    return start.low is not None and stop.high is not None and start.low > stop.high


def first_and_last(node: ast.For) -> dict[str, tuple[ast.expr, ast.expr]]:
    """The first and the last value of a loop's index that counts up, where the text shows them."""
    match node:
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Call(func=ast.Name(id="range"), args=[stop] | [_, stop] as args),
        ):
            first = args[0] if len(args) > 1 else ast.Constant(0)
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), _]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[over], keywords=[]),
        ):
            first, stop = ast.Constant(0), ast.Call(ast.Name("len", ast.Load()), [over], [])
        case _:
            return {}
    return {name: (first, ast.BinOp(stop, ast.Sub(), ast.Constant(1)))}


def trip_test(node: ast.For, ends: Mapping[str, tuple[ast.expr, ast.expr]]) -> ast.expr | None:
    """``0 < n``, ``0 + 1 < n``, ``len(a) > 0``; None where it cannot be asked at entry.

    An index of a loop around is replaced by the value for which the loop runs least often.
    """
    tested = node.iter
    match tested:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
            tested = inner
    low: ast.expr = ast.Constant(0)
    match tested:
        case ast.Call(func=ast.Name(id="range"), args=[stop]):
            high, swapped = stop, True
        case ast.Call(func=ast.Name(id="range"), args=[start, stop]):
            low, high, swapped = start, stop, False
        case ast.Name() | ast.Attribute():
            high, swapped = ast.Call(ast.Name("len", ast.Load()), [tested], []), True
        case _:
            return None
    values: dict[str, ast.expr] = {}
    for name, (first, last) in ends.items():
        directions = (_direction(high, name), _direction(low, name))
        if directions == (0, 0):
            continue
        if directions in ((1, 0), (0, -1), (1, -1)):
            values[name] = first
        elif directions in ((-1, 0), (0, 1), (-1, 1)):
            values[name] = last
        else:
            return None

    class _Substitute(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return values.get(name.id, name)

    left, op, right = (high, ast.Gt(), low) if swapped else (low, ast.Lt(), high)
    test = ast.Compare(left, [op], [right])
    # through text, or two places would share a node
    return _Substitute().visit(ast.parse(ast.unparse(test), mode="eval").body)  # type: ignore[no-any-return]


def _direction(node: ast.expr, name: str) -> int | None:
    """1 if the expression grows with the name, -1 if it falls, 0 without it, else None."""
    if not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node)):
        return 0
    match node:
        case ast.Name():
            return 1
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, two = _direction(left, name), _direction(right, name)
            if one is None or two is None:
                return None
            two = -two if isinstance(op, ast.Sub) else two
            return one + two if 0 in (one, two) else one if one == two else None
    return None


def never_holds(test: ast.expr) -> bool:
    """``n - 1 + 1 < n``: ``for j in range(i + 1, n)`` does not run for the last i."""
    match test:
        case ast.Compare(left=left, ops=[ast.Lt()], comparators=[right]):
            terms = _linear(left, -1, _linear(right, 1, {}))
        case ast.Compare(left=left, ops=[ast.Gt()], comparators=[right]):
            terms = _linear(right, -1, _linear(left, 1, {}))
        case _:
            return False
    return terms.pop("", 0) <= 0 and not any(terms.values())


def _linear(node: ast.expr, factor: int, terms: dict[str, int]) -> dict[str, int]:
    """Sums and differences as text of the term -> how often; constants under ``""``."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = -1 if isinstance(op, ast.Sub) else 1
            return _linear(right, sign * factor, _linear(left, factor, terms))
        case ast.Constant(value=int() as value):
            name, count = "", value
        case _:
            name, count = ast.unparse(node), 1
    return {**terms, name: terms.get(name, 0) + factor * count}
