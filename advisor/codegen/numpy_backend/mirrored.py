"""Pairs of which each is looked at once, ``for j in range(i + 1, n)``, from both sides.

Forces by Newton's third law: ``acc[i] += f; acc[j] -= f``. Where ``f`` of the pair the other way
round is ``-f``, digit for digit, an element gets the same terms in the same order from a loop over
all ``j`` that adds to ``acc[i]`` alone; and of that the sums can be made row by row.

Differences and products keep all digits where their operands change places or signs. Only the zero
of ``x - x`` has the same sign both ways, which none but a sum that is -0.0 could show: sums that
begin at 0.0 never are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...loopnest.affine import affine, variable
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
    Kind,
    Load,
    Nest,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    expressions,
    statements,
    walk,
)
from .known import Facts
from .planning import scalars_read_after

_ODD = frozenset(("round", "int", "float", "numpy.rint", "numpy.float64", "math.trunc"))
"""``f(-x)`` is ``-f(x)``."""
_EVEN = frozenset(("abs", "math.fabs", "numpy.abs", "numpy.absolute", "numpy.fabs"))
Signed = tuple[int, int]
"""A sign, and the number of a value."""


def mirrored(root: For, nest: Nest) -> For | None:
    """The nest in which such pairs are looked at from both sides; None where there are none."""
    futures = dict(scalars_read_after(root, nest.live_out))
    new = _in_body((root,), root, nest, futures)
    return new[0] if new != (root,) and isinstance(new[0], For) else None


def _in_body(
    body: tuple[Stmt, ...], root: For, nest: Nest, futures: dict[int, frozenset[str]]
) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for statement in body:
        if isinstance(statement, For):
            found = _Pairs.of(statement, root, nest, futures)
            new = found.from_both_sides() if found is not None else None
            inner = _in_body(statement.body, root, nest, futures)
            statement = new or (
                replace(statement, body=inner) if inner != statement.body else statement
            )
        result.append(statement)
    return tuple(result)


@dataclass
class _Pairs:
    """``for i: for j in range(i + 1, n)`` with statements that only add to elements."""

    outer: For
    inner: For
    whole: Expr
    """Where both loops would end."""
    root: For
    nest: Nest
    numbers: dict[object, int] = field(default_factory=dict)
    """Values by what they are made of."""
    loose: set[int] = field(default_factory=set)
    """Those that may be zeros of another sign from the other side."""

    @classmethod
    def of(
        cls, outer: For, root: For, nest: Nest, futures: dict[int, frozenset[str]]
    ) -> _Pairs | None:
        """The loops, if their heads and the kinds of their statements are right."""
        before, inner = outer.body[:-1], outer.body[-1] if outer.body else None
        if not isinstance(inner, For) or not all(isinstance(s, Assign) for s in before):
            return None
        whole = _whole(outer, inner, Facts(nest))
        if whole is None:
            return None
        assigned = {s.name for s in statements((outer,)) if isinstance(s, Assign)}
        gone = assigned | {outer.index, inner.index}
        if gone & (futures[id(outer)] | nest.live_out | _names((whole,))):
            return None
        if outer.index == inner.index or assigned & {outer.index, inner.index}:
            return None
        return cls(outer, inner, whole, root, nest)

    def from_both_sides(self) -> For | None:
        """The loops over all pairs; None if the terms are no mirror images."""
        stores = [s for s in statements(self.inner.body) if isinstance(s, Store)]
        kept = [s for s in stores if _names(s.index) == {self.outer.index}]
        gone = [s for s in stores if not any(s is k for k in kept)]
        places = {(s.array, s.index) for s in kept}
        if not kept or not len(places) == len(kept) == len(gone) or not self._only_add(stores):
            return None
        here, there = self._terms(swapped=False), self._terms(swapped=True)
        if here is None or there is None:
            return None
        if {here[id(s)] for s in gone} != {there[id(s)] for s in kept}:
            return None
        line = self.inner.line
        places_of = (Var(PY_INT, line, loop.index) for loop in (self.outer, self.inner))
        body = tuple(_rest(self.inner.body, {id(s) for s in gone}))
        others = If(line, self.inner.node, Compare(PY_BOOL, line, "!=", *places_of), body, ())
        zero = Const(PY_INT, line, 0)
        every = replace(self.inner, start=zero, stop=self.whole, body=(others,))
        body = (*self.outer.body[:-1], every)
        return replace(self.outer, start=zero, stop=self.whole, body=body)

    def _only_add(self, stores: Sequence[Store]) -> bool:
        """Each adds a float to an element of an array that began with zeros and is not read."""
        arrays = {s.array for s in stores}
        for array in arrays:
            info = self.nest.arrays[array]
            fill = None if info.allocation is None else info.allocation.fill
            double = info.element.dtype in (None, "float64") and info.element.kind is Kind.FLOAT
            if info.aliases or not double or repr(fill) not in ("0", "0.0"):
                return False
        inside = {id(s) for s in stores}
        elsewhere = (s for s in statements((self.root,)) if isinstance(s, Store))
        if any(
            s.array in arrays and id(s) not in inside and not _is_zero(s.value) for s in elsewhere
        ):
            return False
        own = {id(_element(s)) for s in stores if _adds(s)}
        found = (e for s in statements((self.outer,)) for e in expressions(s))
        reads = [p for e in found for p in walk(e) if isinstance(p, Load) and p.array in arrays]
        return len(own) == len(stores) and all(id(p) in own for p in reads)

    # ---------------------------------------------------------------- mirror
    def _terms(self, *, swapped: bool) -> dict[int, tuple[object, ...]] | None:
        """What each store adds, and where; with the two loops in each other's place if asked."""
        i, j = self.outer.index, self.inner.index
        env: dict[str, Signed] = {i: (1, self._number("first")), j: (1, self._number("second"))}
        if swapped:
            env[i], env[j] = env[j], env[i]
        found: dict[int, tuple[object, ...]] = {}
        if self._walked((*self.outer.body[:-1], *self.inner.body), env, (), found):
            return found
        return None

    def _walked(
        self,
        body: Sequence[Stmt],
        env: dict[str, Signed],
        tests: tuple[Signed, ...],
        found: dict[int, tuple[object, ...]],
    ) -> bool:
        for statement in body:
            match statement:
                case Assign(name=name, value=value):
                    env[name] = self._signed(value, env)
                case Store(value=Binary(op=op, right=right)):
                    sign, number = self._signed(right, env)
                    sign = sign if op == "+" else -sign
                    place = tuple(self._signed(e, env) for e in statement.index)
                    found[id(statement)] = (statement.array, place, sign, number, tests)
                case If(test=test, then=then, orelse=()):
                    deeper = (*tests, self._signed(test, env))
                    if not self._walked(then, dict(env), deeper, found):
                        return False
                    for name in {s.name for s in statements(then) if isinstance(s, Assign)}:
                        env[name] = 1, self._number(object())  # as it was, or new
                case _:
                    return False
        return True

    def _number(self, key: object, parts: Sequence[int] = ()) -> int:
        """``parts``: numbers whose zeros may show their sign in it."""
        number = self.numbers.setdefault(key, len(self.numbers))
        if not self.loose.isdisjoint(parts):
            self.loose.add(number)
        return number

    def _signed(self, expr: Expr, env: dict[str, Signed]) -> Signed:
        """The value as a sign and a number: the same for values that are the same to the bit."""
        kind = str(expr.type)
        match expr:
            case Const(value=value) if not isinstance(value, complex) and value < 0:
                return -1, self._number(("const", kind, repr(-value)))
            case Const(value=value):
                return 1, self._number(("const", kind, repr(value)))
            case Var(name=name):
                return env.get(name) or (1, self._number(("var", name)))
            case Unary(op="-", operand=operand):
                sign, number = self._signed(operand, env)
                return -sign, number
            case Binary(op="*", left=left, right=right):
                (a, m), (b, n) = self._signed(left, env), self._signed(right, env)
                key = ("*", kind, min(m, n), max(m, n))
                return a * b, self._number(key, () if m == n else (m, n))
            case Binary(op="+" | "-" as op, left=left, right=right):
                one, two = self._signed(left, env), self._signed(right, env)
                return self._sum(kind, one, two if op == "+" else (-two[0], two[1]))
            case Binary(op="/", left=left, right=right):
                (a, m), below = self._signed(left, env), self._signed(right, env)
                if below[1] in self.loose:
                    return 1, self._number(object())  # infinity has the sign of the zero
                return a, self._number(("/", kind, m, below), (m,))
            case Binary(op="**", left=left, right=Const(value=int() as power)) if power > 0:
                sign, number = self._signed(left, env)
                key = ("**", kind, number, power)
                return (sign, self._number(key, (number,))) if power % 2 else (1, self._number(key))
            case Call(function=function, args=(one_,)) if function in _ODD:
                sign, number = self._signed(one_, env)
                return sign, self._number((function, kind, number), (number,))
            case Call(function=function, args=(one_,)) if function in _EVEN:
                return 1, self._number((function, kind, self._signed(one_, env)[1]))
        return 1, self._number(self._other(expr, env))

    def _sum(self, kind: str, a: Signed, b: Signed) -> Signed:
        """``a + b``; ``-a - b`` is ``-(a + b)``, and ``b - a`` is ``-(a - b)``."""
        if a[0] == b[0]:
            key = ("+", kind, min(a[1], b[1]), max(a[1], b[1]))
            return a[0], self._number(key, (a[1], b[1]))
        first, last = (a, b) if a[1] <= b[1] else (b, a)
        number = self._number(("-", kind, first[1], last[1]))
        self.loose.add(number)
        return first[0], number

    def _other(self, expr: Expr, env: dict[str, Signed]) -> object:
        """What is only the same where all of it is."""
        kind = str(expr.type)
        match expr:
            case Load(array=array, index=index):
                return ("load", array, *(self._signed(e, env) for e in index))
            case Compare(op=op, left=left, right=right):
                return (op, kind, self._signed(left, env), self._signed(right, env))
            case Bool(op=op, operands=operands):
                return (op, *(self._signed(e, env) for e in operands))
            case Binary(op=op, left=left, right=right):
                return self._firm((op, kind), (left, right), env)
            case Call(function=function, args=args):
                return self._firm((function, kind), args, env)
            case Select(test=test, then=then, orelse=orelse):
                return self._firm(("if", kind), (test, then, orelse), env)
            case Unary(op=op, operand=operand):
                return self._firm((op, kind), (operand,), env)
        return object()

    def _firm(self, what: object, parts: Sequence[Expr], env: dict[str, Signed]) -> object:
        """Of parts that are the same with the signs of their zeros; else of nothing else."""
        found = [self._signed(part, env) for part in parts]
        return object() if any(n in self.loose for _, n in found) else (what, *found)


def _whole(outer: For, inner: For, facts: Facts) -> Expr | None:
    """Where loops over all elements end: those of all pairs i < j or j < i; None of others."""
    ends = [affine(e) for e in (outer.start, outer.stop, inner.start, inner.stop)]
    if None in ends or (outer.step, inner.step) != (1, 1) or outer.values or inner.values:
        return None
    low, high, start, stop = (form for form in ends if form is not None)
    if not low.is_const or facts.equal(stop, variable(outer.index)):
        lower = low.is_const and low.const in (0, 1) and start.is_const and start.const == 0
        return outer.stop if lower else None
    follows = low.const == 0 and facts.equal(start, variable(outer.index) + 1)
    last = facts.equal(high, stop) or facts.equal(high + 1, stop)
    return inner.stop if follows and last else None


def _names(index: Sequence[Expr]) -> set[str]:
    return {p.name for e in index for p in walk(e) if isinstance(p, Var)}


def _element(store: Store) -> Expr | None:
    return store.value.left if isinstance(store.value, Binary) else None


def _adds(store: Store) -> bool:
    """``a[i] = a[i] + term``."""
    match store.value:
        case Binary(op="+" | "-", left=Load(array=array, index=index)):
            return (array, index) == (store.array, store.index)
    return False


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Const) and repr(value.value) in ("0", "0.0")


def _rest(body: Sequence[Stmt], gone: set[int]) -> Iterator[Stmt]:
    """The statements without some stores."""
    for statement in body:
        if isinstance(statement, If):
            yield replace(statement, then=tuple(_rest(statement.then, gone)))
        elif id(statement) not in gone:
            yield statement
