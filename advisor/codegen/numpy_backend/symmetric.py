"""One product with a symmetric matrix of which only a triangle is stored.

::

    for k in range(i):
        t += A[i, k] * x[k]       # the row as far as the diagonal
        y[k] += A[i, k] * x[i]    # and the same elements once more, as a column

As sums these are ``sum_{k<i} A[i, k] x[k]`` and ``sum_{k>i} A[k, i] x[k]``. With the diagonal's
term they are one sum over all ``k``, of a matrix that is ``A`` below the diagonal and its mirror
image above: one product of whole matrices instead of two of triangles, and no zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from ...loopnest.affine import affine, variable
from ...loopnest.fold import substitute
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Binary,
    Compare,
    Expr,
    For,
    Load,
    Select,
    Sum,
    Unary,
    Var,
)
from .known import Facts
from .merging import sort_key, swapped
from .products import factors_of, multiplied, terms_of

Factor = tuple[str, Expr]
"""``*`` or ``/``, and what is multiplied or divides."""


@dataclass(frozen=True)
class _Part:
    """A sum over one loop that a value adds or subtracts."""

    sign: str
    total: Sum
    factors: tuple[Factor, ...]
    """Of each term, those in front of the sum included."""

    @property
    def loop(self) -> For:
        """The loop that it adds up over."""
        return self.total.loops[0]


def with_whole_rows(value: Expr, loops: Sequence[For], facts: Facts) -> Expr | None:
    """The value with one sum in place of two that are mirror images; None if it has none.

    ``loops``: those around, which name the element.
    """
    found = _in_sum(value, loops, facts)
    if found is not None or not isinstance(value, Binary):
        return found
    left = with_whole_rows(value.left, loops, facts)  # alpha * (sum + sum)
    if left is not None:
        return replace(value, left=left)
    right = with_whole_rows(value.right, loops, facts)
    return None if right is None else replace(value, right=right)


def _in_sum(value: Expr, loops: Sequence[For], facts: Facts) -> Expr | None:
    """The same, of the terms that the value itself adds up."""
    terms = terms_of(value)
    parts = {n: part for n, (sign, term) in enumerate(terms) if (part := _part(sign, term))}
    for one, two in permutations(parts, 2):
        for row in loops:
            found = _whole(parts[one], parts[two], row, facts)
            if found is None:
                continue
            whole, diagonal = found
            gone = {one, two}
            if diagonal is not None:
                place = _place(diagonal, parts[one].sign, terms, gone)
                if place is None:
                    continue
                gone.add(place)
            rest = [term for n, term in enumerate(terms) if n not in gone]
            return _added([*rest, (parts[one].sign, whole)])
    return None


def _part(sign: str, term: Expr) -> _Part | None:
    """``alpha * Sum_k a * b``; None if the term is no such sum."""
    factors = factors_of(term)
    sums = [e for op, e in factors if op == "*" and isinstance(e, Sum)]
    if len(sums) != 1 or len(sums[0].loops) != 1 or sums[0].loops[0].step != 1:
        return None
    (inside,) = sums
    if len(terms_of(inside.body)) != 1:
        return None
    outside = [factor for factor in factors if factor[1] is not inside]
    return _Part(sign, inside, (*outside, *factors_of(inside.body)))


def _whole(
    one: _Part, two: _Part, row: For, facts: Facts
) -> tuple[Sum, list[Factor] | None] | None:
    """The sum over the whole row, and the factors of the diagonal's term if no sum has it."""
    if one.sign != two.sign or one.loop.index != two.loop.index:
        return None
    ends = [affine(e) for part in (one, two, row) for e in _ends(part)]
    if any(form is None for form in ends):
        return None
    start, middle, again, stop, low, high = (form for form in ends if form is not None)
    if not (facts.equal(start, low) and facts.equal(stop, high)):
        return None  # for k in range(1, i): the first row would gain a term
    before, behind = (form - variable(row.index) for form in (middle, again))
    if not (before.is_const and behind.is_const) or before.const not in (0, 1):
        return None
    if behind.const - before.const not in (0, 1) or behind.const > 1:
        return None  # the diagonal's term twice, or more than one between the sums
    loads = _mirrored(one, two, row.index)
    if loads is None:
        return None
    below, above, rest = loads
    put: dict[str, Expr] = {one.loop.index: Var(PY_INT, one.total.line, row.index)}
    between = [(op, substitute(factor, put)) for op, factor in (("*", below), *rest)]
    missing = behind.const > before.const
    return _one_sum(one, two, row, below, above, rest), between if missing else None


def _ends(part: _Part | For) -> tuple[Expr, Expr]:
    loop = part.loop if isinstance(part, _Part) else part
    return loop.start, loop.stop


def _one_sum(
    one: _Part, two: _Part, row: For, below: Load, above: Load, rest: Sequence[Factor]
) -> Sum:
    line, index = one.total.line, one.loop.index
    test = Compare(PY_BOOL, line, "<=", Var(PY_INT, line, index), Var(PY_INT, line, row.index))
    body: Expr = Select(below.type, line, test, below, above)
    for op, factor in rest:
        body = multiplied(op, body, factor)
    return replace(one.total, loops=(replace(one.loop, stop=two.loop.stop),), body=body)


def _mirrored(one: _Part, two: _Part, row: str) -> tuple[Load, Load, list[Factor]] | None:
    """``A[i, k]`` of the one and ``A[k, i]`` of the other, and the factors that both have."""
    index = one.loop.index
    for number, (op, factor) in enumerate(one.factors):
        match factor:
            case Load(index=(Var(name=first), Var(name=second))) if op == "*" and {
                first,
                second,
            } == {row, index}:
                rest = [*one.factors[:number], *one.factors[number + 1 :]]
                mirror = swapped(factor, row, index)
                assert isinstance(mirror, Load)
                if _keys([("*", mirror), *rest]) == _keys(two.factors):
                    return factor, mirror, rest
    return None


def _keys(factors: Sequence[Factor]) -> list[tuple[str, str]]:
    return sorted((op, sort_key(factor)) for op, factor in factors)


def _place(
    factors: Sequence[Factor], sign: str, terms: Sequence[tuple[str, Expr]], gone: set[int]
) -> int | None:
    """Which of the terms is the product of these factors."""
    wanted = _keys(factors)
    for n, (own, term) in enumerate(terms):
        if n not in gone and own == sign and _keys(factors_of(term)) == wanted:
            return n
    return None


def _added(terms: Sequence[tuple[str, Expr]]) -> Expr:
    """The terms added up from the left."""
    (sign, result), *rest = terms
    if sign == "-":
        result = Unary(result.type, result.line, "-", result)
    for sign, term in rest:
        result = Binary(result.type, term.line, sign, result, term)
    return result
