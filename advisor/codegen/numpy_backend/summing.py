"""Loops that only add up, as sums in expressions: what is left of the nest computes elements.

``for k in range(p): C[i, j] += A[i, k] * B[k, j]`` becomes ``C[i, j] += Sum_k A[i, k] * B[k, j]``,
which `products` writes as ``A @ B``. The terms are then added in another order, so results are
equal up to rounding only. A loop may stand around those that name the element
(``for k: for j: C[i, j] += ..``): since all it does is add, they change places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...loopnest.affine import affine, to_expr, variable
from ...loopnest.fold import fold, reads, substitute
from ...loopnest.ir import (
    Assign,
    Binary,
    Const,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    Sum,
    Unary,
    Var,
    expressions,
    statements,
    walk,
)
from . import coupled
from .known import Facts
from .legality import Access, accesses
from .merging import merged
from .normal import NotVectorisable, exposed, substituted
from .outer import with_outer_products
from .planning import scalars_read_after
from .restructure import ONCE, Variant, wrapped_once
from .session import Session
from .united import united
from .values import natural_dtype

MOST_NODES = 40
"""Size of a term beyond which scalars are not substituted into it any more."""
_SUMMED = ("float32", "float64")


def summed(variant: Variant, nest: Nest, facts: Facts) -> Variant | None:
    """The nest with sums in place of the loops that only add up; None where there is none."""
    maker = _Summing(variant, nest, facts)
    body = (variant.root,) if variant.root.index != ONCE else variant.root.body
    new = maker.body(body, ())
    if not maker.found:
        return with_outer_products(variant, nest)
    root = new[0] if len(new) == 1 and isinstance(new[0], For) else wrapped_once(variant.root, new)
    assert isinstance(root, For)
    return merged(united(Variant(root, frozenset(maker.moved)), nest, facts), nest, facts)


def sums_of(root: For) -> tuple[Sum, ...]:
    """All sums of a nest."""
    return tuple(
        part
        for statement in statements((root,))
        for expr in expressions(statement)
        for part in walk(expr)
        if isinstance(part, Sum)
    )


def check_start(session: Session, statement: Assign) -> None:
    """A sum with no terms is what it started with, Python's 0.0, where NumPy's is its own.

    The one raises ZeroDivisionError as a divisor, the other warns; and a caller may ask for the
    type. So there must be terms, unless nobody can tell. What is added to is seen as NumPy's number
    where a loop around this one entered it before, and is Python's in the first entry.
    Raises NotVectorisable.
    """
    joined = session.nest.joined.keys() | _entering(session)
    sums = [part for part in walk(statement.value) if isinstance(part, Sum)]
    if statement.name not in joined or not sums:
        return
    ends = [(affine(loop.start), affine(loop.stop), loop.step) for s in sums for loop in s.loops]
    for start, stop, step in ends:
        trips = None if start is None or stop is None else stop - start
        if trips is None or not session.facts.require((trips if step > 0 else -trips) - 1):
            break
    else:
        return
    divisors = [
        part.right
        for inner in statements((session.root,))
        for expr in expressions(inner)
        for part in walk(expr)
        if isinstance(part, Binary) and part.op in ("/", "//", "%", "**")
    ]
    if joined & session.nest.live_out or any(reads(e) & joined for e in divisors):
        raise NotVectorisable("a sum may have no terms", statement.line)


def _entering(session: Session) -> set[str]:
    """Scalars that have a value before the nest, and its last one after it."""
    nest = session.nest
    return nest.scalars.keys() & nest.privates.keys() & nest.live_out


@dataclass(frozen=True)
class _Step:
    """``target op= term`` of one iteration."""

    op: str
    term: Expr


class _Summing:
    def __init__(self, variant: Variant, nest: Nest, facts: Facts) -> None:
        self.nest, self.facts = nest, facts
        self.moved: dict[int, Stmt | None] = dict.fromkeys(variant.moved)
        """By ``id``; kept alive here, that no other statement gets it."""
        self.after = dict(scalars_read_after(variant.root, nest.live_out))
        self.stray = exposed((variant.root,)) | nest.live_out | facts.assigned
        """Names that a loop's index must not have: someone reads or sets them besides."""
        self.found = False

    def body(self, body: tuple[Stmt, ...], outer: tuple[For, ...]) -> tuple[Stmt, ...]:
        """The statements of one level, inner loops first."""
        result: list[Stmt] = []
        for statement in body:
            new = self._statement(statement, outer)
            if id(statement) in self.moved:
                self.moved |= {id(s): s for s in new}
            result += new
        return _started(tuple(result))

    def _statement(self, statement: Stmt, outer: tuple[For, ...]) -> tuple[Stmt, ...]:
        match statement:
            case For():
                inner = self.body(statement.body, (*outer, statement))
                loop = replace(statement, body=inner)
                new = self._without(loop, outer, self.after[id(statement)])
                self.found |= new is not None
                return (loop,) if new is None else new
            case If(then=then, orelse=orelse):
                branches = self.body(then, outer), self.body(orelse, outer)
                return (replace(statement, then=branches[0], orelse=branches[1]),)
        return (statement,)

    # ------------------------------------------------------------------ one loop
    def _without(
        self, loop: For, outer: tuple[For, ...], after: frozenset[str]
    ) -> tuple[Stmt, ...] | None:
        """The loop's statements with sums in its place; None if it does more than add up."""
        if loop.values is not None or (loop.step < 0 and loop.step != -1):
            return None
        if affine(loop.start) is None or affine(loop.stop) is None or loop.index in self.stray:
            return None
        if loop.index in {o.index for o in outer}:
            return None
        body = self._inlined(loop, after)
        if body is None or not body:
            return None
        changing = {s.name for s in statements(body) if isinstance(s, Assign)}
        new = [self._pulled(s, loop, (), outer, changing) for s in body]
        if any(s is None for s in new):
            return None
        done = tuple(s for s in new if s is not None)
        self.moved |= {id(s): s for s in statements(done) if not isinstance(s, For)}
        return done

    def _inlined(self, loop: For, after: frozenset[str]) -> tuple[Stmt, ...] | None:
        """The body without scalars of one iteration: ``d = x[k] - y[k]; s += d * d``."""
        values: dict[str, Expr] = {}
        kept: list[Stmt] = []
        carried = exposed(loop.body)
        for statement in loop.body:
            match statement:
                case Assign(name=name, value=value) if name not in carried:
                    values[name] = fold(substitute(value, values))
                    if name in after or sum(1 for _ in walk(values[name])) > MOST_NODES:
                        return None
                case If():
                    return None
                case _:
                    kept += substituted((statement,), values)
        return tuple(kept)

    def _pulled(
        self,
        statement: Stmt,
        loop: For,
        inside: tuple[For, ...],
        outer: tuple[For, ...],
        changing: set[str],
    ) -> Stmt | None:
        """One statement with the loop around it pulled into its sum."""
        match statement:
            case Assign(name=name, value=Binary() as value):
                step = _step(value, Var(value.type, 0, name))
                if step is None or inside or not self._adds(value, step, changing):
                    return None
                return replace(statement, value=_with_sum(value, step, loop))
            case Store(array=array, index=index, value=Binary() as value):
                element = self.nest.arrays[array].element
                step = _step(value, Load(element, 0, array, index))
                if step is None or loop.index in frozenset().union(*map(reads, index)):
                    return None
                if natural_dtype(element) != natural_dtype(value.type):
                    return None  # float32 elements are rounded after each step
                if not self._adds(value, step, changing):
                    return None
                if not self._apart(statement, step.term, (loop, *inside), outer):
                    return None
                return replace(statement, value=_with_sum(value, step, loop))
            case For(start=start, stop=stop):
                if statement.index == loop.index:
                    return None
                if (reads(start) | reads(stop)) & changing or statement.index in self.stray:
                    return None
                if loop.index in reads(start) | reads(stop):
                    turned = self._turned(statement, loop)
                    if turned is None:
                        return None
                    statement, loop = turned
                around = (*inside, statement)
                body = [self._pulled(s, loop, around, outer, changing) for s in statement.body]
                if any(s is None for s in body):
                    return None
                return replace(statement, body=tuple(s for s in body if s is not None))
        return None

    def _turned(self, inner: For, loop: For) -> tuple[For, For] | None:
        """``for i in range(n): for k in range(i)`` with k outside: ``for i in range(k + 1, n)``.

        The outer loop and the inner one as they are then; None if their ends are not known.
        """
        ends = [affine(e) for e in (loop.start, loop.stop, inner.start, inner.stop)]
        if loop.step != 1 or inner.step != 1 or any(end is None for end in ends):
            return None
        low, high, start, stop = (end for end in ends if end is not None)
        i, k = variable(loop.index), variable(inner.index)
        line, proved = inner.line, self.facts.proved
        shift = stop - i
        if loop.index not in shift.symbols and loop.index not in start.symbols:
            if not proved(start - shift + 1 - low):
                return None
            outer = replace(inner, stop=to_expr(high - 1 + shift, line))
            return outer, replace(loop, start=to_expr(k - shift + 1, line))
        shift = start - i
        if loop.index not in shift.symbols and loop.index not in stop.symbols:
            if not proved(high - stop + shift):
                return None
            outer = replace(inner, start=to_expr(low + shift, line))
            return outer, replace(loop, stop=to_expr(k - shift + 1, line))
        return None

    def _adds(self, value: Binary, step: _Step, changing: set[str]) -> bool:
        """The step adds a float of the target's own precision that no other step changes."""
        kinds = (value.type, step.term.type)
        if any(t.kind is not Kind.FLOAT or natural_dtype(t) not in _SUMMED for t in kinds):
            return False
        if natural_dtype(kinds[0]) != natural_dtype(kinds[1]):
            return False
        return not reads(step.term) & changing

    def _apart(
        self, target: Store, term: Expr, loops: tuple[For, ...], outer: tuple[For, ...]
    ) -> bool:
        """No term reads an element that the loops write: all terms may be read before."""
        around = (*outer, *loops)
        cell = Access(target.array, target.index, True, 0, around, target.line)
        aliases = self.nest.arrays[target.array].aliases
        for read in accesses(replace(target, index=(), value=term), around):
            if read.write:
                continue
            if read.array in aliases:
                return False
            if read.array == target.array and self._may_meet(cell, read, outer):
                return False
        return True

    def _may_meet(self, cell: Access, read: Access, outer: tuple[For, ...]) -> bool:
        zero = list(coupled.same_place(cell, read, self.facts))
        zero += [variable(one.index + "'") - variable(one.index + '"') for one in outer]
        rows = [*coupled.iterations(cell, "'", self.facts)]
        rows += coupled.iterations(read, '"', self.facts)
        return coupled.solvable(rows, zero, self.facts)


def _step(value: Binary, target: Expr) -> _Step | None:
    """``target + e``, ``e + target`` or ``target - e``."""
    if value.op in ("+", "-") and _same(value.left, target):
        return _Step(value.op, value.right)
    if value.op == "+" and _same(value.right, target):
        return _Step("+", value.left)
    return None


def _same(expr: Expr, target: Expr) -> bool:
    match expr, target:
        case Var(name=one), Var(name=other):
            return one == other
        case Load(array=one, index=at), Load(array=other, index=place):
            return one == other and at == place
    return False


def _with_sum(value: Binary, step: _Step, loop: For) -> Binary:
    around = replace(loop, body=())
    term = step.term
    loops: tuple[For, ...] = (around,)
    if isinstance(term, Sum) and not any(
        loop.index in reads(end) for inner in term.loops for end in (inner.start, inner.stop)
    ):
        loops, term = (around, *term.loops), term.body
    left = value.left if step.term is value.right else value.right
    return replace(value, left=left, right=Sum(term.type, term.line, loops, term))


def _started(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """``t = 0.0``, then ``t = t + Sum``: one statement, ``t = Sum``."""
    result: list[Stmt] = []
    for statement in body:
        for place in reversed(range(len(result))):
            joined = _joined(result[place], statement)
            if joined is not None:
                del result[place]
                statement = joined
                break
            if _touches(result[place], statement):
                break
        result.append(statement)
    return tuple(result)


def _touches(between: Stmt, statement: Stmt) -> bool:
    """The statement's target is read or set there: what it starts with must stay where it is."""
    if not isinstance(statement, Assign):
        return True
    name = statement.name
    return name in exposed((between,)) or any(
        isinstance(s, Assign | For) and name in (s.index if isinstance(s, For) else s.name,)
        for s in statements((between,))
    )


def _joined(first: Stmt, second: Stmt) -> Stmt | None:
    match first, second:
        case (
            Assign(name=name, value=Const(value=0)),
            Assign(name=again, value=Binary(left=Var(name=left), right=Sum()) as value),
        ) if name == again == left:
            pass
        case (
            Store(array=name, index=index, value=Const(value=0)),
            Store(
                array=again,
                index=at,
                value=Binary(left=Load(array=left, index=place), right=Sum()) as value,
            ),
        ) if name == again == left and index == at == place:
            pass
        case _:
            return None
    assert isinstance(second, Assign | Store)
    total = value.right
    if value.op == "-":
        total = Unary(value.type, total.line, "-", total)
    return replace(second, value=total)
