"""Which loops may become array axes: array-level dependences under the order of array statements.

Array code runs the statements of a block one after the other, each for all iterations of the axes;
within one statement everything is read before anything is written. Loops that stay loops keep
their order. That is legal exactly if every two accesses to one location, one of them a write,
happen in the same order as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from ...loopnest.affine import Affine, affine, wrapped
from ...loopnest.ir import (
    Expr,
    For,
    If,
    Load,
    Nest,
    Stmt,
    Store,
    Sum,
    children,
    expressions,
)
from . import coupled
from .known import Facts


@dataclass(frozen=True)
class Access:
    """One textual read or write of an array element."""

    array: str
    index: tuple[Expr, ...]
    write: bool
    position: int
    """Text order of its statement."""
    loops: tuple[For, ...]
    """The loops around it, outermost first."""
    line: int
    origin: int = 0
    """``id`` of its statement."""


@dataclass(frozen=True)
class Conflict:
    """Two accesses whose order would change, and the loop that must stay a loop."""

    first: Access
    second: Access
    loop: For

    def sentence(self) -> str:
        """For the report, with lines."""
        reader, writer = self.first, self.second
        if reader.write:
            reader, writer = writer, reader
        index = self.loop.index
        if reader.write:
            return (
                f"iterations of {index} write the same element of {writer.array} "
                f"(lines {reader.line} and {writer.line})"
                if reader.line != writer.line
                else f"iterations of {index} write the same element of {writer.array}"
            )
        return (
            f"an iteration of {index} reads an element of {reader.array} that another iteration "
            f"writes (line {writer.line})"
        )


def accesses(root: Stmt, around: tuple[For, ...] = ()) -> tuple[Access, ...]:
    """All accesses of a statement inside the loops ``around``, in text order."""
    found: list[Access] = []
    counter = iter(range(1_000_000))

    def visit(body: tuple[Stmt, ...], loops: tuple[For, ...]) -> None:
        for statement in body:
            position, origin = next(counter), id(statement)
            for expr in expressions(statement):
                for part, around in _loads(expr, loops):
                    place = part.array, part.index
                    found.append(Access(*place, False, position, around, part.line, origin))
            match statement:
                case Store(array=array, index=index):
                    line = statement.line
                    found.append(Access(array, index, True, position, loops, line, origin))
                case If(then=then, orelse=orelse):
                    visit(then, loops)
                    visit(orelse, loops)
                case For(body=inner):
                    visit(inner, (*loops, statement))

    visit((root,), around)
    return tuple(found)


def _loads(expr: Expr, loops: tuple[For, ...]) -> Iterator[tuple[Load, tuple[For, ...]]]:
    """The elements an expression reads, each with the loops around it, those of sums included."""
    if isinstance(expr, Load):
        yield expr, loops
    inner = (*loops, *expr.loops) if isinstance(expr, Sum) else loops
    for child in children(expr):
        yield from _loads(child, inner)


def pairs(found: tuple[Access, ...], nest: Nest) -> tuple[tuple[Access, Access], ...]:
    """Pairs that may touch one location, at least one writing; the earlier in the text first."""
    result = []
    for i, a in enumerate(found):
        for b in found[i:]:
            if not (a.write or b.write) or (a is b and not a.write):
                continue
            if a.array == b.array or b.array in nest.arrays[a.array].aliases:
                result.append((a, b))
    return tuple(result)


def shared_loops(a: Access, b: Access) -> tuple[For, ...]:
    """The loops around both, outermost first."""
    return tuple(x for x, y in zip(a.loops, b.loops, strict=False) if x is y)


def conflict(
    a: Access, b: Access, axes: frozenset[int], found: Iterable[tuple[int, ...]]
) -> Conflict | None:
    """The violation of one pair if the loops with these ids become axes.

    ``found``: the `directions` of the pair.
    """
    common = shared_loops(a, b)
    for signs in found:
        before = next((s for s in signs if s), 0)  # 1: a's iteration comes first
        kept = next(
            (s for s, loop in zip(signs, common, strict=True) if s and id(loop) not in axes), 0
        )
        moved = [loop for s, loop in zip(signs, common, strict=True) if s and id(loop) in axes]
        if not moved:
            continue  # the order among kept loops and texts is untouched
        old = before
        new = kept or _text_order(a, b)
        if old != new:
            return Conflict(a, b, moved[0])
    return None


def _text_order(a: Access, b: Access) -> int:
    """1 if all of ``a`` runs before all of ``b``, 2 if neither order holds (one statement)."""
    if a.position != b.position:
        return 1 if a.position < b.position else -1
    if a.write == b.write:
        return 2
    return -1 if a.write else 1


def directions(
    a: Access, b: Access, common: tuple[For, ...], facts: Facts
) -> Iterator[tuple[int, ...]]:
    """Sign of (b's iteration - a's iteration), in execution order, for each common loop."""
    together = a.array == b.array and coupled.is_coupled(a, b)
    allowed: dict[str, set[int]] = {loop.index: {-1, 0, 1} for loop in common}
    if a.array == b.array:
        for f, g in zip(a.index, b.index, strict=True):
            if not _restrict(allowed, f, g, a, b, common, facts):
                return
    for signs in product(*(sorted(allowed[loop.index]) for loop in common)):
        # a[i, q] and a[i, j] with j > q never meet in one iteration of q
        same = frozenset(loop.index for sign, loop in zip(signs, common, strict=True) if sign == 0)
        if a.array == b.array and same and _never_meet(a, b, same, facts):
            continue
        # a[i, j] and a[j, i] with j >= i meet in one iteration only
        if together and not coupled.can_meet(a, b, signs, common, facts):
            continue
        yield signs


def _never_meet(a: Access, b: Access, same: frozenset[str], facts: Facts) -> bool:
    """Some subscript differs for all iterations that agree on the loops in ``same``."""
    for f, g in zip(a.index, b.index, strict=True):
        fa, fb = affine(f), affine(g)
        if fa is not None and fb is not None and _apart(fa, fb, a, b, facts, same):
            return True
    return False


def _restrict(
    allowed: dict[str, set[int]],
    f: Expr,
    g: Expr,
    a: Access,
    b: Access,
    common: tuple[For, ...],
    facts: Facts,
) -> bool:
    """Narrow the signs by one subscript pair; False if the two can never be equal."""
    forms = _forms(f, g)
    if forms is None:
        return True
    fa, fb = forms
    names = {loop.index for loop in common}
    own = {loop.index for loop in (*a.loops, *b.loops)}
    used = (fa.symbols | fb.symbols) & own
    if used <= names and all(fa.coefficient(n) == fb.coefficient(n) for n in used):
        rest = facts.canonical(fa.without(used) - fb.without(used))
        if fa.symbols & fb.symbols & facts.shifts.keys():
            return True  # of two iterations, with a value each
        return _distance(allowed, {n: fa.coefficient(n) for n in used}, rest, common, facts)
    return not _apart(fa, fb, a, b, facts, frozenset())


def _forms(f: Expr, g: Expr) -> tuple[Affine, Affine] | None:
    fa, fb = affine(f), affine(g)
    if fa is not None and fb is not None:
        return fa, fb
    wa, wb = wrapped(f), wrapped(g)
    # (i + 1) % n against (j + 1) % n; another offset may meet it anywhere.
    if wa is not None and wb is not None and wa == wb:
        return wa.base, wb.base
    return None


def _distance(
    allowed: dict[str, set[int]],
    factors: dict[str, int],
    rest: Affine,
    common: tuple[For, ...],
    facts: Facts,
) -> bool:
    """Solve ``sum(factor * (b - a)) == rest``."""
    if not factors:
        if rest.is_const:
            return rest.const == 0
        return not (facts.proved(rest - 1) or facts.proved(-rest - 1))
    if len(factors) > 1:
        return True
    ((name, factor),) = factors.items()
    loop = next(loop for loop in common if loop.index == name)
    if not rest.is_const:
        sign = facts.sign(rest)
        if sign:
            allowed[name] &= {0, sign if factor * loop.step > 0 else -sign}
        return bool(allowed[name])
    distance, remainder = divmod(rest.const, factor)
    if remainder or distance % loop.step:
        return False
    trips = distance // loop.step
    allowed[name] &= {(trips > 0) - (trips < 0)}
    return bool(allowed[name])


def _apart(
    fa: Affine, fb: Affine, a: Access, b: Access, facts: Facts, same: frozenset[str]
) -> bool:
    """Whether the ranges of two subscripts never meet: ``u[0, j]`` against ``u[i, j]``, i >= 1.

    The loops in ``same`` are at one iteration for both.
    """
    lows_a, highs_a = extremes(fa, a, same)
    lows_b, highs_b = extremes(fb, b, same)
    if lows_a is None or highs_a is None or lows_b is None or highs_b is None:
        return False
    return facts.proved(lows_b - highs_a - 1) or facts.proved(lows_a - highs_b - 1)


def extremes(
    form: Affine, access: Access, same: frozenset[str]
) -> tuple[Affine | None, Affine | None]:
    """Least and greatest value over the loops around, those in ``same`` left as they are."""
    low: Affine | None = form
    high: Affine | None = form
    for loop in reversed(access.loops):
        if loop.index in same:
            continue
        bounds = index_range(loop)
        if low is None or high is None or bounds is None:
            return None, None
        low = _replace(low, loop.index, bounds, lowest=True)
        high = _replace(high, loop.index, bounds, lowest=False)
    return low, high


def _replace(form: Affine, name: str, bounds: tuple[Affine, Affine], *, lowest: bool) -> Affine:
    factor = form.coefficient(name)
    if factor == 0:
        return form
    return form.substitute({name: bounds[0] if (factor > 0) == lowest else bounds[1]})


def index_range(loop: For) -> tuple[Affine, Affine] | None:
    """(lowest, highest) value of a loop's index, whatever the direction."""
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None:
        return None
    if loop.step > 0:
        return start, stop - 1
    return stop + 1, start
