"""Interval arithmetic on expressions, with a record of the observations it rests on."""

from __future__ import annotations

from ...loopnest.affine import Affine, affine, extent_of, extent_symbol, variable
from ...loopnest.ir import (
    Assign,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    For,
    Interval,
    Kind,
    Load,
    Nest,
    Select,
    Store,
    Sum,
    Unary,
    Var,
    statements,
)
from ...loopnest.text import STRINGS
from .intervals import (
    ANY,
    Bound,
    add,
    binary_interval,
    called,
    product,
    scaled,
    square,
    unary,
    union,
)
from .session import BufferRef, Context, Session
from .values import natural_dtype

LARGEST = 2**40
"""Extents and trip counts that no run passes: a terabyte of bytes, twelve days of array steps."""
GIVEN = "fewer than 2**40 elements an array and steps a loop: a terabyte, days of array steps"
SIZES = (LARGEST, 2**30, 2**20)
"""Bounds of extents tried in turn; those below `LARGEST` are tested at run time."""
MOST_INT = 2**62 - 1
"""Integers of the array code stay below: one sum of two still fits into 64 bits."""
ROOM = 2**31
"""Up to it a scalar may grow, where the text allows: the next run's number of bins is another."""
EXACT = 2**53
"""Up to it every integer is a double."""
_Test = tuple[Expr, str, float | int]
"""``(value, "<", bound)``."""


class Ranges:
    """Intervals of closed expressions; ``commit`` turns what was used into guards."""

    def __init__(self, session: Session, context: Context, size: int = LARGEST) -> None:
        self.session = session
        self.context = context
        self.size = size
        self.sizes: set[str] = set()
        self.sized = False
        """Rests on `LARGEST`."""
        self.used: dict[str, tuple[Bound, Bound]] = {}
        self.positive: set[str] = set()
        self.assumed: list[_Test] = []
        """Tests that hold where the value is asked for."""
        self.supposed = ""
        """The array under `_never_negative`."""
        self.supposed_sums: set[str] = set()
        """Variables under `_summed`."""
        self.supposed_choices: set[str] = set()
        """Variables under `_chosen`."""
        self.forms: list[Affine] = []
        """What is relied on to be at least zero."""

    def commit(self) -> None:
        """The caller relies on an interval: its observations become run-time tests."""
        self.session.ranges_used.update(self.used)
        self.session.positive |= self.positive
        self.session.sized |= self.sized
        for form in self.forms:
            self.session.facts.require(form)
        for symbol in self.sizes:
            known = self.session.sizes_used.get(symbol, self.size)
            self.session.sizes_used[symbol] = min(known, self.size)

    def excludes_zero(self, expr: Expr) -> bool:
        """Never zero (NaN is not zero either)."""
        found = self.interval(expr)
        return (found.low is not None and found.low > 0) or (
            found.high is not None and found.high < 0
        )

    def interval(self, expr: Expr) -> Interval:
        """Range of a value; NaN is outside every interval."""
        found = self._interval(expr)
        for left, op, bound in self.assumed:
            if expr == left:
                found = _bounded(found, op, bound, whole=left.type.kind is Kind.INT)
        return found

    def _interval(self, expr: Expr) -> Interval:
        match expr:
            case Const(value=value) if not isinstance(value, complex):
                return Interval(value, value) if value == value else ANY
            case BufferRef(buffer=buffer):
                known = self.session.buffer_ranges.get(buffer.version, ANY)
                if known != ANY:
                    return known
                whole = expr.type.kind is Kind.INT
                return self._chosen(buffer.private) if whole else self._summed(buffer.private)
            case Var(name=name):
                return self._variable(name, expr)
            case Dim(array=array, axis=axis):
                return self._symbol(extent_symbol(array, axis))
            case Load(array=array):
                return self._array(array, expr)
            case Unary(op=op, operand=operand):
                return unary(op, self.interval(operand))
            case Binary():
                return self._binary(expr)
            case Compare() | Bool():
                return Interval(0, 1)
            case Select():
                return self._select(expr)
            case Call(function=name, args=args):
                return called(name, [self.interval(a) for a in args])
            case Sum(body=body):
                low = self.interval(body).low
                return Interval(0, None) if low is not None and low >= 0 else ANY
        return ANY

    def _select(self, expr: Select) -> Interval:
        """Both arms, each with what the test says: ``0 if b < 0 else 9 if b > 9 else b``."""
        match expr.test:
            case Compare(op="<" | "<=" | ">" | ">=" as op, left=left, right=Const(value=bound)) if (
                not isinstance(bound, complex)
            ):
                then = self._under((left, op, bound), expr.then)
                orelse = self._under((left, _OTHERWISE[op], bound), expr.orelse)
                return union(then, orelse)
        return union(self.interval(expr.then), self.interval(expr.orelse))

    def _under(self, test: _Test, expr: Expr) -> Interval:
        self.assumed.append(test)
        found = self.interval(expr)
        self.assumed.pop()
        return found

    def _variable(self, name: str, expr: Expr) -> Interval:
        if name in self.context.axes:
            span = self.context.span(name)
            return self._run(span.low, span.high - 1)
        if name in self.session.facts.ranges:
            return self._run(*self.session.facts.ranges[name])
        if name in self.supposed_sums:
            return Interval(0, None)
        scalar = self.session.nest.scalars.get(name)
        if scalar is None or name in self.session.nest.privates:
            return self._chosen(name) if expr.type.kind is Kind.INT else ANY
        if scalar.literal is not None and not isinstance(scalar.literal, complex):
            return Interval(scalar.literal, scalar.literal)
        if name in self.session.nest.text:
            return scalar.interval
        if scalar.equals:
            return self._symbol(name)
        low, high = scalar.interval.low, scalar.interval.high
        if low is None or high is None:
            return ANY
        if expr.type.kind is Kind.FLOAT:
            # Only the sign of a factor matters: alpha > 0 today may be another positive number.
            low = 0.0 if low >= 0 else None
            return (
                Interval(low, None)
                if low is None or scalar.interval.low == 0
                else self._positive(name)
            )
        ends = _down(int(low)), _up(int(high))
        if self.session.roomy:
            ends = min(ends[0], -ROOM if ends[0] < 0 else 0), max(ends[1], ROOM)
        self.used[name] = ends
        return Interval(*ends)

    def _run(self, low: Affine, high: Affine) -> Interval:
        """Values of a loop index. With one end known the trips bound the other.

        The trips alone say nothing: ``for i in range(start, start + n)`` may start at 2**60.
        """
        a, b = self._form(low), self._form(high)
        self.sized |= a.low is None or b.high is None
        lows = [x for x in (a.low, add(b.low, -LARGEST)) if x is not None]
        highs = [x for x in (b.high, add(a.high, LARGEST)) if x is not None]
        return Interval(max(lows, default=None), min(highs, default=None))

    def trips(self, low: Affine, high: Affine) -> Interval:
        """Range of the number of iterations from ``low`` up to ``high``."""
        return self._form(high - low)

    def _form(self, form: Affine) -> Interval:
        form = self.session.facts.canonical(form)
        found = Interval(form.const, form.const)
        for symbol, factor in form.pairs:
            found = binary_interval("+", found, scaled(self._symbol(symbol), factor))
        return found

    def _symbol(self, symbol: str) -> Interval:
        """Range of an extent or of a scalar that bounds a loop."""
        form = self.session.facts.canonical(variable(symbol))
        if form.is_const:
            return Interval(form.const, form.const)
        if symbol in self.context.axes:
            span = self.context.span(symbol)
            return self._run(span.low, span.high - 1)
        if symbol in self.session.facts.ranges:
            return self._run(*self.session.facts.ranges[symbol])
        scalar = self.session.nest.scalars.get(symbol)
        extent = extent_of(symbol) is not None or (scalar is not None and bool(scalar.equals))
        if symbol in self.session.nest.privates or not (extent or scalar):
            return ANY
        if self.size == LARGEST:
            self.sized |= extent
            return Interval(0, LARGEST) if extent else ANY
        self.sizes.add(symbol)
        return Interval(0 if extent else -self.size, self.size)

    def _positive(self, name: str) -> Interval:
        self.positive.add(name)
        return Interval(5e-324, None)

    def _array(self, array: str, expr: Expr) -> Interval:
        info = self.session.nest.arrays[array]
        if info.container == "bytearray":
            return Interval(0, 255)  # looked at before they are written back
        limits = _type_limits(info.element.dtype or natural_dtype(info.element))
        if info.written and not _keeps(self.session, array):
            bound = self._bound(array)
            if bound is not None:
                return Interval(-bound, bound)
            return Interval(0, None) if self._never_negative(array) else limits
        if info.allocation is not None and info.allocation.function == "drawn":
            return info.interval
        if info.container in STRINGS:
            return info.interval
        if info.element.kind not in (Kind.INT, Kind.BOOL):
            return ANY
        narrow = limits.high is not None and limits.high <= 255
        if narrow and (info.interval.low != 0 or info.interval.high != 1):
            return limits
        low, high = info.interval.low, info.interval.high
        if low is None or high is None:
            return limits
        self.used[array] = (_down(int(low)), _up(int(high)))
        return Interval(*self.used[array])

    def _bound(self, array: str) -> int | None:
        """Of a table of Python's integers that grow step by step, one array statement a step."""
        from .tables import table_bound

        session = self.session
        info = session.nest.arrays[array]
        whole = info.element.kind is Kind.INT and info.element.is_python
        scans = session.scans.values()
        in_steps = session.waves or session.facts.shifts or any(s.step is not None for s in scans)
        return table_bound(session, array) if whole and in_steps else None

    def _never_negative(self, array: str) -> bool:
        """An array of floats that starts at zero or above, and gets nothing below (or NaN).

        By induction: as long as no element is negative, every value that is stored is not.
        """
        info = self.session.nest.arrays[array]
        fill = None if info.allocation is None else info.allocation.fill
        if info.element.kind is not Kind.FLOAT or fill is None or fill < 0:
            return False
        if self.supposed:
            return array == self.supposed
        self.supposed = array
        stores = [s for s in statements((self.session.root,)) if isinstance(s, Store)]
        lows = [self.interval(s.value).low for s in stores if s.array == array]
        self.supposed = ""
        return all(low is not None and low >= 0 for low in lows)

    def _summed(self, name: str) -> Interval:
        """A float that starts at zero or above, and to which nothing below is added.

        By induction, as `_never_negative`.
        """
        if name in self.supposed_sums:
            return Interval(0, None)
        sets = [s for s in statements((self.session.root,)) if isinstance(s, Assign)]
        values = [s.value for s in sets if s.name == name]
        kept = len(self.forms)
        self.supposed_sums.add(name)
        lows = [self.interval(value).low for value in values]
        self.supposed_sums.remove(name)
        sure = values and name not in self.session.nest.scalars
        if sure and all(low is not None and low >= 0 for low in lows):
            return Interval(0, None)
        del self.forms[kept:]
        return ANY

    def _chosen(self, name: str) -> Interval:
        """A whole number that is only ever set to others: the largest element so far."""
        inside = list(statements((self.session.root,)))
        values = [s.value for s in inside if isinstance(s, Assign) and s.name == name]
        if any(isinstance(s, For) and s.index == name for s in inside):
            return ANY
        if name in self.supposed_choices or name in self.session.nest.scalars or not values:
            return ANY
        self.supposed_choices.add(name)
        found = self.interval(values[0])
        for value in values[1:]:
            found = union(found, self.interval(value))
        self.supposed_choices.remove(name)
        return ANY if found.low is None or found.high is None else found

    def _is_positive(self, divisor: Expr) -> bool:
        """Whether a whole number is tested to be above zero, where it was seen to be."""
        form = affine(divisor)
        if form is None or not form.symbols.isdisjoint(self.session.facts.ranges):
            return False
        least = self.session.facts.canonical(form - 1)
        if not self.session.facts.is_testable(least):
            return False
        self.forms.append(least)
        return True

    def _binary(self, expr: Binary) -> Interval:
        form = affine(expr)
        if expr.op == "-" and expr.left == expr.right and form is None:
            return self.interval(expr.left) if expr.type.kind is Kind.FLOAT else Interval(0, 0)
        match expr:
            # -0.5 * z * z is (-0.5 * z) * z: a square all the same (rounding keeps signs)
            case Binary(op="*", left=Binary(op="*", left=factor, right=first), right=second) if (
                first == second
            ):
                return product(self.interval(factor), square(self.interval(second)))
        a, b = self.interval(expr.left), self.interval(expr.right)
        if expr.op == "*" and expr.left == expr.right:
            return square(a)
        if expr.op == "**" and isinstance(expr.right, Const) and expr.right.value == 2:
            return square(a)
        whole = expr.right.type.kind is Kind.INT
        if expr.op == "/" and whole and b.low == 0 and a.low is not None and a.low >= 0:
            return Interval(0, None)  # x / 0 is infinity or NaN: there is no integer -0
        open_ = expr.op in ("%", "//") and whole and (b.low is None or b.low <= 0)
        if open_ and self._is_positive(expr.right):  # i % period
            b = Interval(1, b.high)
        natural = expr.op == "/" and whole and a.low is not None and a.low >= 0
        if natural and (b.low is None or b.low <= 0) and self._is_positive(expr.right):
            return Interval(0, None)
        return binary_interval(expr.op, a, b)


_OTHERWISE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _bounded(found: Interval, op: str, bound: float | int, *, whole: bool) -> Interval:
    """The part of a range where ``value op bound``; NaN is in no range.

    ``whole``: the value is an integer, below 5 means up to 4.
    """
    if op in ("<", "<="):
        high = bound if found.high is None else min(found.high, bound)
        if whole and op == "<" and isinstance(high, int) and high == bound:
            high -= 1
        return Interval(found.low, high)
    low = bound if found.low is None else max(found.low, bound)
    if whole and op == ">" and isinstance(low, int) and low == bound:
        low += 1
    return Interval(low, found.high)


def best(session: Session, context: Context, expr: Expr) -> Interval:
    """The range of an integer, with the least that must be tested for it; tests are recorded."""
    for size in SIZES:
        ranges = Ranges(session, context, size)
        found = ranges.interval(expr)
        if within(found, -MOST_INT, MOST_INT):
            ranges.commit()
            return found
    return ANY


def has_room(nest: Nest) -> bool:
    """Whether some scalar is taken to be larger than those seen where the text allows it."""
    return any(
        scalar.type.kind is Kind.INT
        and scalar.literal is None
        and not scalar.equals
        and scalar.interval.high is not None
        and _up(int(scalar.interval.high)) < ROOM
        for scalar in nest.scalars.values()
    )


def fits(
    session: Session, context: Context, expr: Expr, low: int = -MOST_INT, high: int = MOST_INT
) -> bool:
    """Every value lies in ``[low, high]``; what that rests on is recorded for the guards."""
    for size in SIZES:
        ranges = Ranges(session, context, size)
        if within(ranges.interval(expr), low, high):
            ranges.commit()
            return True
    return False


def within(found: Interval, low: int, high: int) -> bool:
    """The interval lies in ``[low, high]``."""
    if found.low is None or found.high is None:
        return False
    return low <= found.low and found.high <= high


def type_range(dtype: str) -> tuple[int, int]:
    """Least and greatest value of an integer dtype (``bool`` counts as one)."""
    found = _type_limits(dtype)
    return int(found.low or 0), int(found.high or 0)


def _keeps(session: Session, array: str) -> bool:
    """A written array whose new values stay in the observed range: stencils on 0 and 1."""
    return array in session.closed_ranges


def _down(low: int) -> int:
    """Observed bounds are rounded outwards, so that the next input need not fall back."""
    if low >= 0:
        return 0
    bound = 1
    while bound < -low:
        bound = bound * 2
    return -bound


def _up(high: int) -> int:
    if high <= 0:
        return 0
    bound = 1
    while bound < high:
        bound = bound * 2 + 1
    return bound


def _type_limits(dtype: str | None) -> Interval:
    limits = {
        "bool": (0, 1),
        "uint8": (0, 255),
        "int8": (-128, 127),
        "uint16": (0, 65535),
        "int16": (-32768, 32767),
        "uint32": (0, 2**32 - 1),
        "int32": (-(2**31), 2**31 - 1),
        "int64": (-(2**63), 2**63 - 1),
        "uint64": (0, 2**64 - 1),
    }
    return Interval(*limits[dtype]) if dtype in limits else ANY
