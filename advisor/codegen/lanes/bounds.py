"""How large the integers of the lanes can be: arrays have 64 bits, Python's integers have no end.

Inputs are tested to have at most as many bits as `GIVEN` says. What a loop carries is bounded by
what its body does to it, or else tested at its head against a bound from which one more iteration
cannot leave 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    If,
    Kind,
    Load,
    Select,
    Stmt,
    Unary,
    Var,
    While,
    children,
)
from ..numpy_backend.normal import NotVectorisable
from .flow import LaneLoop, Leave, assigned, flat

GIVEN = (31, 24, 15)
"""Bits that the input integers may have, as many as the products allow; else the loop runs as it
was."""
TRIPS = 2**40
"""No loop inside an iteration runs so often: that would take hours."""
EXACT = 2**53
"""Integers up to here are doubles, too."""
_MOST = 2**62
_TURNS = 3
"""Iterations looked at one by one before a variable is taken to grow for ever."""
_LARGEST = tuple(2**bits for bits in (61, 60, 59, 58, 56, 53, 50, 46, 40, 36, 31, 28, 24, 20, 16))

Range = tuple[int, int]
Known = dict[str, Range]


class Bounds:
    """The ranges of all integers of a program, and what must be tested at the heads of loops."""

    def __init__(self, lanes: Mapping[str, Range], bits: int) -> None:
        self.given: int = 2**bits
        self.tests: dict[int, dict[str, Range]] = {}
        """By ``id`` of a `LaneLoop`: the variables that must lie within a range at its head."""
        self._seen: Known = {}
        self.known: Known = dict(lanes)

    def run(self, body: Sequence[Stmt]) -> None:
        """Look at a program. Raises NotVectorisable."""
        self.known = self._body(body, self.known)

    # ------------------------------------------------------------- statements
    def _body(self, body: Sequence[Stmt], known: Known) -> Known:
        known = dict(known)
        for statement in body:
            match statement:
                case Assign(name=name, value=value):
                    found = self.of(value, known)
                    if found is not None:
                        known[name] = found
                        self._note(name, found)
                    else:
                        known.pop(name, None)
                case If(test=test, then=then, orelse=orelse):
                    self.of(test, known)
                    known = _either(self._body(then, known), self._body(orelse, known))
                case Leave(test=test, arm=arm):
                    self.of(test, known)
                    self._body(arm, known)
                case LaneLoop():
                    known = self._loop(statement, known)
        return known

    def _note(self, name: str, found: Range) -> None:
        old = self._seen.get(name, found)
        self._seen[name] = min(old[0], found[0]), max(old[1], found[1])

    def _loop(self, loop: LaneLoop, known: Known) -> Known:
        head = dict(known)
        if isinstance(loop.loop, For) and (index := self._index(loop.loop, known)):
            head[loop.loop.index] = index
        changing = assigned(loop.body) & head.keys()
        tested: Known = {}
        counters: Known = {}
        for turn in range(3 * _TURNS):
            behind = self._tried(loop, head)
            for name in sorted(changing - behind.keys() if behind is not None else ()):
                raise NotVectorisable(f"the type of {name} differs between paths")
            grown = {
                name
                for name in changing - tested.keys() - counters.keys()
                if behind is None or not _within(behind[name], head[name])
            }
            if not grown and behind is not None:
                break
            if behind is None and counters:  # d * d of a counter d
                tested |= {name: known[name] for name in counters}
                counters.clear()
                grown = set()
            for name in sorted(grown):
                steps = _steps(loop, name)
                if behind is not None and turn < _TURNS:
                    head[name] = _hull(head[name], behind[name])
                elif steps is not None and _size(known[name]) <= _MOST // 4:
                    low, high = known[name]
                    counters[name] = low - steps[0] * TRIPS, high + steps[1] * TRIPS
                else:
                    tested[name] = known[name]
            head |= counters
            head |= self._largest(loop, head, tested)
        else:
            raise NotVectorisable(TOO_LARGE, loop.line)
        if tested:
            self.tests[id(loop)] = {name: head[name] for name in tested}
        before, self._seen = self._seen, {}
        self._body(loop.body, head)
        self._body(loop.otherwise, head)
        inside, self._seen = self._seen, before
        for name, found in inside.items():
            self._note(name, found)
        result = dict(known)
        for name in assigned((loop,)):
            all_of = [r for r in (known.get(name), head.get(name), inside.get(name)) if r]
            if all_of:
                result[name] = min(r[0] for r in all_of), max(r[1] for r in all_of)
        return result

    def _tried(self, loop: LaneLoop, head: Known) -> Known | None:
        """What one iteration makes of these values; None if it may leave 64 bits."""
        try:
            if isinstance(loop.loop, While):
                self.of(loop.loop.test, head)
            return self._body(loop.body, head)
        except NotVectorisable as refusal:
            if refusal.reason != TOO_LARGE:
                raise
            return None

    def _largest(self, loop: LaneLoop, head: Known, tested: Known) -> Known:
        """The widest ranges of the tested variables from which an iteration stays in 64 bits."""
        if not tested:
            return {}
        for most in _LARGEST:
            for least in (0, -most):
                wide = {n: (min(least, r[0]), max(most, r[1])) for n, r in tested.items()}
                behind = self._tried(loop, {**head, **wide})
                if behind is None:
                    continue
                if least == 0 and any(behind[n][0] < wide[n][0] for n in tested):
                    continue
                return wide
        raise NotVectorisable(TOO_LARGE, loop.line)

    def _index(self, loop: For, known: Known) -> Range | None:
        if loop.values is not None:
            whole = [value for value in loop.values if isinstance(value, int)]
            return (min(whole), max(whole)) if len(whole) == len(loop.values) else None
        start, stop = self.of(loop.start, known), self.of(loop.stop, known)
        return None if start is None or stop is None else counted(start, stop, loop.step)

    # ------------------------------------------------------------ expressions
    def of(self, expr: Expr, known: Known | None = None) -> Range | None:
        """The range of an integer or truth value; None of a float. Raises NotVectorisable."""
        known = self.known if known is None else known
        found = self._of(expr, known)
        if found is not None and _size(found) > _MOST:
            raise NotVectorisable(TOO_LARGE, expr.line)
        return found

    def _of(self, expr: Expr, known: Known) -> Range | None:
        inner = [self.of(e, known) for e in children(expr)]
        match expr:
            case Compare() | Bool():
                self._check_exact(expr, inner)
                return 0, 1
            case Binary(op="/"):
                if None not in inner and any(_size(r) > EXACT for r in inner if r):
                    raise NotVectorisable(TOO_LARGE, expr.line)
        if expr.type.kind not in (Kind.INT, Kind.BOOL):
            return None
        match expr:
            case Const(value=int() as value):
                return int(value), int(value)
            case Var(name=name):
                return known.get(name, (-self.given, self.given))
            case Dim():
                return 0, self.given
            case Load():
                return (0, 1) if expr.type.kind is Kind.BOOL else (-self.given, self.given)
            case Unary(op="not"):
                return 0, 1
            case Unary(op="-") if inner[0]:
                return -inner[0][1], -inner[0][0]
            case Unary(op="~") if inner[0]:
                return -inner[0][1] - 1, -inner[0][0] - 1
            case Unary(op="+"):
                return inner[0]
            case Binary(op=op) if inner[0] and inner[1]:
                return _arithmetic(op, inner[0], inner[1], expr.line)
            case Select() if inner[1] and inner[2]:
                return _hull(inner[1], inner[2])
            case Call(function="min" | "max" as which) if None not in inner:
                pick = min if which == "min" else max
                return pick(r[0] for r in inner if r), pick(r[1] for r in inner if r)
            case Call(function="abs") if inner[0]:
                return 0, _size(inner[0])
            case Call(function="int" | "bool") if inner[0]:
                return inner[0]
            case Call():
                return -EXACT, EXACT
        raise NotVectorisable("an integer operation without an array form", expr.line)

    def _check_exact(self, expr: Expr, inner: Sequence[Range | None]) -> None:
        """Python compares an integer with a float exactly; arrays make it a double before."""
        large = any(_size(r) > EXACT for r in inner if r is not None)
        if large and isinstance(expr, Compare) and None in inner:
            raise NotVectorisable(TOO_LARGE, expr.line)


TOO_LARGE = "integers may grow beyond 64 bits"


def counted(start: Range, stop: Range, step: int) -> Range:
    """What a loop counts through, if it has any iteration."""
    if step > 0:
        return start[0], max(start[0], stop[1] - 1)
    return min(start[1], stop[0] + 1), start[1]


def _size(found: Range) -> int:
    return max(-found[0], found[1])


def _within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _hull(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _either(a: Known, b: Known) -> Known:
    both = {name: _hull(a[name], b[name]) for name in a.keys() & b.keys()}
    return {**a, **b, **both}


def _steps(loop: LaneLoop, name: str) -> Range | None:
    """How far one iteration moves a counter, down and up; None if the variable is none."""
    down = up = 0
    for statement in flat(loop.body):
        match statement:
            case Assign(name=one) if one != name:
                continue
            case Assign(value=Binary(op="+" | "-" as op, left=Var(name=one), right=right)):
                steps = _constants(right)
                if one != name or not steps or max(map(abs, steps)) > 2**16:
                    return None
                moved = steps if op == "+" else [-step for step in steps]
                down, up = down + max(0, -min(moved)), up + max(0, *moved)
            case LaneLoop(loop=For(index=index)) if index == name:
                return None
            case Assign():
                return None
            case LaneLoop() if name in assigned((statement,)):
                return None  # counted in a loop inside: more often than this one runs
    return down, up


def _constants(expr: Expr) -> list[int]:
    """The integers that an expression may be, ``1 if test else 2``; none if it computes."""
    match expr:
        case Const(value=int() as value):
            return [int(value)]
        case Select(then=then, orelse=orelse):
            both = _constants(then), _constants(orelse)
            return [*both[0], *both[1]] if all(both) else []
    return []


def _arithmetic(op: str, a: Range, b: Range, line: int) -> Range:
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            ends = [x * y for x in a for y in b]
            return min(ends), max(ends)
        case "//" if b[0] > 0:
            ends = [x // y for x in a for y in b]
            return min(ends), max(ends)
        case "//":
            return -_size(a) - 1, _size(a) + 1
        case "%" if b[0] > 0:
            return 0, min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1
        case "%":
            return -_size(b), _size(b)
        case "&" if a[0] >= 0 or b[0] >= 0:
            return 0, min(r[1] for r in (a, b) if r[0] >= 0)
        case "&" | "|" | "^":
            bits = max(_size(a), _size(b)).bit_length()
            return (0 if min(a[0], b[0]) >= 0 else -(2**bits)), 2**bits - 1
        case ">>" if b[0] == b[1] and 0 <= b[0] < 63:
            return a[0] >> b[0], a[1] >> b[0]
        case "<<" if b[0] == b[1] and 0 <= b[0] < 63:
            return a[0] << b[0], a[1] << b[0]
        case "**" if b[0] == b[1] and 0 <= b[0] <= 4:
            ends = [int(x ** b[0]) for x in a]
            return (0 if b[0] % 2 == 0 else min(ends)), max(ends)
    raise NotVectorisable(f"the operator {op} of these integers", line)
