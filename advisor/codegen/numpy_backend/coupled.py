"""Coupled and triangular subscripts: can two accesses meet at all, all loops considered at once?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...loopnest.affine import Affine, affine, variable
from ...loopnest.feasible import feasible
from ...loopnest.ir import For
from .known import Facts

if TYPE_CHECKING:
    from .legality import Access


def is_coupled(a: Access, b: Access) -> bool:
    """Some pair of subscripts involves two loops: ``a[i, j]`` and ``a[j, i]`` or ``a[i, k]``.

    Pairs that run with one and the same loop are decided by their distance alone.
    """
    for access in (a, b):
        if len({loop.index for loop in access.loops}) < len(access.loops):
            return False  # for i in ..: for i in ..: one name, two values
    own = {loop.index for loop in (*a.loops, *b.loops)}
    for f, g in zip(a.index, b.index, strict=True):
        fa, fb = affine(f), affine(g)
        if fa is None or fb is None:
            continue
        used = (fa.symbols | fb.symbols) & own
        if len(used) > 1 or any(fa.coefficient(n) != fb.coefficient(n) for n in used):
            return True
    return False


def can_meet(
    a: Access, b: Access, signs: tuple[int, ...], common: tuple[For, ...], facts: Facts
) -> bool:
    """Whether the two may touch one element in iterations that lie in this direction."""
    zero = list(same_place(a, b, facts))
    rows = [*iterations(a, "'", facts), *iterations(b, '"', facts)]
    for sign, loop in zip(signs, common, strict=True):
        ahead = variable(loop.index + '"') - variable(loop.index + "'")
        if sign == 0:
            zero.append(ahead)
        else:
            rows.append(ahead.scale(sign if loop.step > 0 else -sign) - 1)
    return solvable(rows, zero, facts)


def solvable(rows: list[Affine], zero: list[Affine], facts: Facts) -> bool:
    """`feasible`, with what is known of the symbols: extents are never negative."""
    symbols = {name for form in (*rows, *zero) for name in form.symbols}
    never_negative = [variable(s) for s in symbols if facts.never_negative(s)]
    return feasible([*rows, *never_negative], zero)


def same_place(a: Access, b: Access, facts: Facts) -> Iterator[Affine]:
    """Forms that are zero where the two touch the same element."""
    for f, g in zip(a.index, b.index, strict=True):
        fa, fb = own(affine(f), a, "'", facts), own(affine(g), b, '"', facts)
        if fa is not None and fb is not None:
            yield fa - fb


def iterations(access: Access, mark: str, facts: Facts) -> Iterator[Affine]:
    """Forms >= 0 for the indices of the loops around."""
    for loop in access.loops:
        here = variable(loop.index + mark)
        for bound, inside in ((loop.start, 0), (loop.stop, 1)):
            form = own(affine(bound), access, mark, facts)
            if form is not None:
                above = (inside == 0) == (loop.step > 0)
                distance = here - form if above else form - here
                yield distance - inside


def own(form: Affine | None, access: Access, mark: str, facts: Facts) -> Affine | None:
    """The form with names of its own for the indices; None if it holds other changing scalars.

    ``for k in range(top): top = ..; a[top]``: two values of ``top`` in one iteration, and ``k``
    is no longer what the loop gave it after ``k = ..``.
    """
    if form is None:
        return None
    form = facts.canonical(form)
    indices = {loop.index for loop in access.loops} - facts.assigned
    if form.symbols & facts.nest.privates.keys() - indices:
        return None
    return form.substitute({name: variable(name + mark) for name in form.symbols & indices})
