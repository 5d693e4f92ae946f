"""Sweeps whose elements need their neighbours, along lines where none needs another.

``t[i, j] = f(t[i - 1, j], t[i, j - 1], t[i - 1, j - 1])`` has no parallel loop, but all elements
with one ``i + j`` are independent of each other, and those they need lie on lines before (Lamport,
"The parallel execution of DO loops", 1974). So the outer loop counts ``wave = factor * i + j``, and
``i`` becomes an array axis. The order of any two accesses to one element is kept, which the
dependence test proves on whole iteration vectors, and no operation changes: bit for bit the same.
"""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.affine import affine, extent_symbol, variable
from ...loopnest.ir import Assign, For, Nest, statements
from ...model import Region
from . import coupled
from .known import Facts
from .legality import Access, accesses, extremes, pairs
from .normal import exposed
from .planning import MIN_GAIN, seconds_of_loops, trips
from .wave_loops import Builder
from .waves import Sweep, Waves, is_fold

FACTORS = (1, 2, 3, -1)
"""How many columns a wave goes back a row down; -1: one on, as the diagonals of a triangle do."""
ACCESS = 1.0e-7
"""Seconds that it takes to make an object of an array's element, or to put one there."""
MOST_ACCESSES = 24
"""Accesses beyond which the loops are left as they are: the test takes pairs of them."""


def waves(root: For, nest: Nest, region: Region) -> Waves | None:
    """The nest by waves; None where there is no such sweep, or it would not gain."""
    facts = Facts(nest)
    sweep = _sweep(root, nest)
    if sweep is None or not _bounds_known(sweep, facts):
        return None
    found = [access for s in sweep.column.body for access in accesses(s, sweep.loops)]
    if len(found) > MOST_ACCESSES or any(affine(e) is None for a in found for e in a.index):
        return None
    sweeps = (replace(sweep, factor=factor) for factor in FACTORS)
    legal = next((s for s in sweeps if _in_order(found, s, nest, facts)), None)
    if legal is None or not all(_exists(access, facts) for access in found):
        return None
    result = Builder(legal, root, nest, facts, region).build()
    if result is None or result.seconds * MIN_GAIN > _as_they_are(legal, found, root, nest):
        return None
    return result


def _as_they_are(sweep: Sweep, found: list[Access], root: For, nest: Nest) -> float:
    """Estimate of the loops, interpreted; every element of an array becomes an object."""
    seconds = ACCESS * sum(nest.arrays[access.array].container == "ndarray" for access in found)
    for loop in sweep.loops:
        seconds *= max(1.0, trips(loop, nest, {}))
    return seconds_of_loops(root, nest) + seconds


# ------------------------------------------------------------------ which loops
def _sweep(root: For, nest: Nest) -> Sweep | None:
    """The only two loops of the nest, but for those around them and folds inside."""
    chain = [root]
    while len(inner := [s for s in chain[-1].body if isinstance(s, For)]) == 1:
        if len(chain[-1].body) > 1:
            break
        chain.append(inner[0])
    chain = [loop for loop in chain if not is_fold(loop)]
    if len(chain) < 2 or len({loop.index for loop in chain}) < len(chain):
        return None
    *outer, row, column = chain
    if any(isinstance(s, For) and not is_fold(s) for s in statements(column.body)):
        return None
    assigned = {s.name for s in statements((root,)) if isinstance(s, Assign)}
    own = {loop.index for loop in statements((root,)) if isinstance(loop, For)}
    if assigned & (exposed(column.body) | nest.live_out | own) or own & nest.live_out:
        return None
    return Sweep(tuple(outer), row, column)


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
