"""Sweeps whose elements need their neighbours, along lines where none needs another.

``t[i, j] = f(t[i - 1, j], t[i, j - 1], t[i - 1, j - 1])`` has no parallel loop, but all elements
with one ``i + j`` are independent of each other, and those they need lie on lines before (Lamport,
"The parallel execution of DO loops", 1974). So the outer loop counts ``wave = factor * i + j``, and
``i`` becomes an array axis. The order of any two accesses to one element is kept, which the
dependence test proves on whole iteration vectors, and no operation changes: bit for bit the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...loopnest.affine import affine, extent_symbol, variable
from ...loopnest.fold import reads
from ...loopnest.ir import Assign, For, Nest, Stmt, expressions, statements
from ...model import Region
from . import coupled
from .known import Facts
from .legality import Access, accesses, extremes, index_range, pairs
from .normal import exposed
from .planning import MIN_GAIN, has_axis
from .restructure import Variant
from .wave_loops import Builder
from .waves import Sweep, Waves, fold_of, is_fold

FACTORS = (1, 2, 3, -1)
"""How many columns a wave goes back a row down; -1: one on, as the diagonals of a triangle do."""
MOST_PAIRS = 40
"""Pairs of accesses beyond which the loops are left as they are: each is tested up to 16 times."""


def waves(variant: Variant, nest: Nest, region: Region) -> Waves | None:
    """The nest with one sweep by waves; None where there is none, or it would not gain.

    Not where one of the loops can be an axis as it is: whole rows take as few statements.
    """
    root = variant.root
    for sweep in _sweeps((root,), (), nest, root):
        facts = Facts(nest)
        if has_axis(root, nest, facts, (sweep.row, sweep.column)):
            continue
        legal = _legal(sweep, nest, facts)
        result = None if legal is None else Builder(legal, root, nest, facts, region).build()
        if result is not None and result.seconds * MIN_GAIN <= result.replaced_seconds:
            return result
    return None


def _legal(sweep: Sweep, nest: Nest, facts: Facts) -> Sweep | None:
    """With the least factor that keeps the order of all accesses; None if none does."""
    for loop in sweep.outer:
        bounds = index_range(loop)
        if bounds is None:
            return None
        facts.ranges[loop.index] = bounds
    if not _bounds_known(sweep, facts):
        return None
    found = [access for s in sweep.column.body for access in accesses(s, sweep.loops)]
    if len(pairs(tuple(found), nest)) > MOST_PAIRS:
        return None
    if any(affine(e) is None for access in found for e in access.index):
        return None
    sweeps = (replace(sweep, factor=factor) for factor in FACTORS)
    legal = next((s for s in sweeps if _in_order(found, s, nest, facts)), None)
    return legal if all(_exists(access, facts) for access in found) else None


# ------------------------------------------------------------------ which loops
def _sweeps(
    body: tuple[Stmt, ...], outer: tuple[For, ...], nest: Nest, root: For
) -> Iterator[Sweep]:
    """Pairs of loops, one right inside the other, with nothing but folds inside."""
    for row in body:
        if not isinstance(row, For):
            continue
        around = (*outer, row) if row.index else outer
        match row.body:
            case (For() as column,) if row.index and not is_fold(column):
                sweep = Sweep(outer, row, column)
                if _stands_alone(sweep, nest, root):
                    yield sweep
        yield from _sweeps(row.body, around, nest, root)


def _stands_alone(sweep: Sweep, nest: Nest, root: For) -> bool:
    """No scalar of the sweep is used elsewhere, or carried from one iteration to the next."""
    inside = tuple(statements((sweep.row,)))
    body = tuple(statements(sweep.column.body))
    if any(isinstance(s, For) and not is_fold(s) for s in body):
        return False
    names = [s.index for s in (*sweep.loops, *body) if isinstance(s, For)]
    assigned = {s.name for s in body if isinstance(s, Assign)}
    if len(set(names)) < len(names) or nest.live_out & {*names, *assigned}:
        return False
    if any(_read_behind(fold, body) for fold in body if isinstance(fold, For)):
        return False
    own = {id(s) for s in inside}
    others = [s for s in statements((root,)) if id(s) not in own]
    used = {s.name for s in others if isinstance(s, Assign)}
    used |= {name for s in others for e in expressions(s) for name in reads(e)}
    indices = {s.index for s in statements((root,)) if isinstance(s, For)}
    return not assigned & (exposed(sweep.column.body) | used | indices)


def _read_behind(fold: For, body: tuple[Stmt, ...]) -> bool:
    """``cost`` of the last ``k`` is read behind the loop, which will have no such scalar."""
    found = fold_of(fold)
    own = {s.name for s in fold.body if isinstance(s, Assign)} - {found[0] if found else ""}
    inside = {id(s) for s in statements((fold,))}
    return any(own & reads(e) for s in body if id(s) not in inside for e in expressions(s))


def _bounds_known(sweep: Sweep, facts: Facts) -> bool:
    """Affine bounds over inputs and the loops around, each value of both indices once."""
    for loop in (sweep.row, sweep.column):
        bounds = affine(loop.start), affine(loop.stop)
        if loop.values is not None or abs(loop.step) != 1:
            return False
        if any(form is None or form.symbols & facts.assigned for form in bounds):
            return False
    return sweep.column.step == 1


# -------------------------------------------------------------------- legality
def _in_order(found: list[Access], sweep: Sweep, nest: Nest, facts: Facts) -> bool:
    """Of any two iterations that touch one element, the later one lies on a later wave."""
    for a, b in pairs(tuple(found), nest):
        if a.array != b.array:
            return False
        both = [(a, b)] if a is b else [(a, b), (b, a)]
        if any(_may_pass(x, y, sweep, facts) for x, y in both):
            return False
    return True


def _may_pass(a: Access, b: Access, sweep: Sweep, facts: Facts) -> bool:
    """``b`` may touch the element of ``a`` in a later iteration on the same wave or before."""
    i, j = sweep.row, sweep.column
    same = [variable(loop.index + '"') - variable(loop.index + "'") for loop in sweep.outer]
    down = (variable(i.index + '"') - variable(i.index + "'")).scale(i.step)
    along = (variable(j.index + '"') - variable(j.index + "'")).scale(j.step)
    waves_on = (variable(i.index + '"') - variable(i.index + "'")).scale(sweep.factor)
    waves_on = waves_on + variable(j.index + '"') - variable(j.index + "'")
    zero = [*coupled.same_place(a, b, facts), *same]
    rows = [*coupled.iterations(a, "'", facts), *coupled.iterations(b, '"', facts), -waves_on]
    later = coupled.solvable([*rows, down - 1], zero, facts)
    return later or coupled.solvable([*rows, along - 1], [*zero, down], facts)


def _exists(access: Access, facts: Facts) -> bool:
    """Every element that is touched lies in its array, by the loops' bounds or a test in front."""
    rows = list(coupled.iterations(access, "'", facts))
    for dim, index in enumerate(access.index):
        form, size = affine(index), variable(extent_symbol(access.array, dim))
        assert form is not None
        low, high = extremes(form, access, frozenset())
        if high is not None:
            facts.suppose_whole(size, high + 1)
        own = coupled.own(form, access, "'", facts)
        if own is None:
            return False
        outside = (-own - 1, own - facts.canonical(size))
        if not any(coupled.solvable([*rows, one], [], facts) for one in outside):
            continue
        if low is None or high is None:
            return False
        if not (facts.require(low) and facts.require(size - high - 1)):
            return False
    return True
