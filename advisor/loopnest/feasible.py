"""Whether a system of linear inequalities over integers has a solution: Fourier-Motzkin.

For coupled and triangular subscripts, where no single one decides: ``a[i, j]`` and ``a[j, i]`` with
``j >= i`` meet in one iteration only. Elimination works over the rationals with constants rounded
towards the integers (Pugh 1991, "The Omega test", section 2.1), so that "no" is always right.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from .affine import Affine

MOST = 240
"""Inequalities beyond which the elimination is given up: then a solution is taken to exist."""

_Row = tuple[tuple[tuple[str, int], ...], int]


def feasible(at_least_zero: Iterable[Affine], zero: Iterable[Affine] = ()) -> bool:
    """Whether all forms of the first kind can be >= 0 and all of the second 0 at once.

    False is proved; True may be wrong (no integer point, or the search was given up).
    """
    rows: set[_Row] = set()
    forms = list(at_least_zero)
    try:
        for form in _without_equations(forms, list(zero)):
            _add(rows, form.terms, form.const)
        while rows:
            if len(rows) > MOST:
                return True
            rows = _eliminate(rows)
    except _NoSolution:
        return False
    return True


class _NoSolution(Exception):
    """A row without variables is negative."""


def _without_equations(forms: list[Affine], equations: list[Affine]) -> list[Affine]:
    """Equations with a unit coefficient are solved and put in; others become two rows."""
    pending = list(equations)
    while pending:
        equation = pending.pop()
        if equation.is_const:
            if equation.const:
                raise _NoSolution
            continue
        divisor = gcd(*(factor for _, factor in equation.pairs))
        if equation.const % divisor:
            raise _NoSolution  # 2 i == 2 j + 1
        unit = next((name for name, factor in equation.pairs if abs(factor) == divisor), None)
        if unit is None or divisor != 1:
            scaled = Affine(
                tuple((name, factor // divisor) for name, factor in equation.pairs),
                equation.const // divisor,
            )
            if unit is None:
                forms += [scaled, -scaled]
            else:
                pending.append(scaled)
            continue
        factor = equation.coefficient(unit)
        value = {unit: equation.without((unit,)).scale(-factor)}
        forms = [f.substitute(value) if f.coefficient(unit) else f for f in forms]
        pending = [form.substitute(value) for form in pending]
    return forms


def _add(rows: set[_Row], terms: dict[str, int], const: int) -> None:
    pairs = tuple(sorted((name, factor) for name, factor in terms.items() if factor))
    if not pairs:
        if const < 0:
            raise _NoSolution
        return
    divisor = gcd(*(factor for _, factor in pairs))
    rows.add((tuple((name, factor // divisor) for name, factor in pairs), const // divisor))


def _eliminate(rows: set[_Row]) -> set[_Row]:
    """The rows without the variable whose removal makes the fewest new ones."""
    count: dict[str, list[int]] = {}
    for pairs, _ in rows:
        for name, factor in pairs:
            count.setdefault(name, [0, 0])[factor > 0] += 1
    name = min(count, key=lambda v: (count[v][0] * count[v][1] - sum(count[v]), v))
    low: list[tuple[dict[str, int], int]] = []
    high: list[tuple[dict[str, int], int]] = []
    result: set[_Row] = set()
    for row in rows:
        terms = dict(row[0])
        if name not in terms:
            result.add(row)
        else:
            (low if terms[name] > 0 else high).append((terms, row[1]))
    for one, first in low:
        for two, second in high:
            a, b = one[name], -two[name]
            terms = {n: b * one.get(n, 0) + a * two.get(n, 0) for n in one.keys() | two.keys()}
            _add(result, terms, b * first + a * second)
    return result
