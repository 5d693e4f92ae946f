"""Several iterations of a loop at once: which loops gain, and may.

Compiled sums keep their order, so each addition waits for the one before: a loop over rows that
each make a sum of their own runs four of them side by side. A loop that adds one term to a whole
row at a time loads and stores that row every time: four terms are added at once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ..loopnest.accesses import accesses_in, accumulation, scalar_writes
from ..loopnest.dependence import Parallel, Reduction
from ..loopnest.fold import loads, reads
from ..loopnest.ir import (
    Assign,
    Binary,
    Const,
    Expr,
    For,
    Kind,
    Nest,
    Scalar,
    Stmt,
    Store,
    Var,
)
from ..loopnest.ranges import ranges_of
from .nb_order import SHORT, Leaf, Loop, Order, Tree, ordered
from .nb_strides import Stride, stride

STEPS = 4
"""Iterations at once: enough to hide an addition, few enough to read."""
MOST = 6
"""Statements that are copied for each of them, at most."""
_DOUBLES = (Scalar(Kind.FLOAT), Scalar(Kind.FLOAT, "float64"))


def better_order(nest: Nest, *, threads: bool = False, steps: bool = False) -> Order | None:
    """The loops in another order, None where that is not better; see `ordered`.

    ``steps``: only with a loop that runs several iterations at once.
    """
    order = ordered(nest, threads=threads, steps=steps)
    if order is None:
        return None
    changed = _any(order, order.trees, _several)
    if not steps:
        changed = bool(order.moved) or _any(order, order.trees, counts_from_zero)
    return order if changed else None


def _any(order: Order, trees: Sequence[Tree], holds: Callable[[Order, Loop], bool]) -> bool:
    """Whether something holds of a loop, at any depth."""
    loops = [tree for tree in trees if isinstance(tree, Loop)]
    return any(holds(order, tree) or _any(order, tree.body, holds) for tree in loops)


def _several(order: Order, tree: Loop) -> bool:
    return steps_of(order, tree) is not None or copies_of(order, tree) is not None


def counts_from_zero(order: Order, tree: Loop) -> bool:
    """A loop over neighbours that starts at a number numba does not know: ``range(i + 1, n)``.

    Compiled code tests each index for being negative, and runs one element at a time therefore,
    where it cannot see that none is.
    """
    loop = tree.loop
    if loop.step != 1 or isinstance(loop.start, Const) or loop is order.fixed:
        return False
    leaves = [child for child in tree.body if isinstance(child, Leaf)]
    if len(leaves) < len(tree.body) or any(isinstance(leaf.node, ast.For) for leaf in leaves):
        return False
    if reads(loop.start) & (scalar_writes(loop) | {loop.index}) or loads(loop.start):
        return False
    parts = tuple(part for leaf in leaves for part in leaf.parts)
    along = {stride(order.nest, a, loop.index) for a in accesses_in(order.nest, parts)}
    independent = isinstance(order.verdict(loop), Parallel)
    return independent and Stride.ONE in along and Stride.FAR not in along


def steps_of(order: Order, tree: Loop) -> Loop | None:
    """The loop inside that adds a term to each element of a row, where four go at once.

    Both loops run over the same elements whichever is outside, and iterations of the inner one
    are independent even then: each element gets its terms in the order it had.
    """
    match tree.body:
        case (Loop(body=(Leaf(parts=(statement,), node=ast.AugAssign(op=op)),)) as inner,):
            pass
        case _:
            return None
    if not isinstance(op, ast.Add | ast.Sub) or not _may_step(order, tree.loop):
        return None
    target = _accumulated(order, inner.loop, statement)
    if target is None or any(tree.loop.index in reads(e) or loads(e) for e in target):
        return None
    varying = scalar_writes(tree.loop) | {tree.loop.index}
    if any(reads(bound) & varying for bound in (inner.loop.start, inner.loop.stop)):
        return None
    along = [stride(order.nest, a, inner.loop.index) for a in accesses_in(order.nest, (statement,))]
    if Stride.FAR in along or not (tree.free or order.may_swap(tree, inner)):
        return None
    return inner


def _accumulated(order: Order, inner: For, statement: Stmt) -> tuple[Expr, ...] | None:
    """The subscript of the double that the statement adds to or subtracts from, None if none."""
    match statement:
        case Store(array=array, index=index, value=Binary(op="+" | "-")):
            operator, old = accumulation(statement)
            if operator is None or old is None or order.nest.arrays[array].element not in _DOUBLES:
                return None
            return index
        case Assign(name=name, value=Binary(op="+" | "-", left=Var(name=old_name), right=rest)):
            kept = any(row.name == name for row in order.rows.get(id(inner), ()))
            return () if kept and old_name == name and name not in reads(rest) else None
    return None


def copies_of(order: Order, tree: Loop) -> frozenset[str] | None:
    """The scalars that each of four iterations at once needs for itself; None if it cannot be."""
    loop, nest = tree.loop, order.nest
    inner = [child for child in tree.body if isinstance(child, Loop)]
    if len(inner) != 1 or not _may_step(order, loop) or id(loop) in order.moved:
        return None
    leaves = [leaf for leaf, _ in order.leaves((tree,))]
    plain = all(isinstance(leaf.node, ast.Assign | ast.AugAssign) for leaf in leaves)
    if not plain or len(leaves) > MOST or any(isinstance(c, Loop) for c in inner[0].body):
        return None
    varying = scalar_writes(loop) | {loop.index}
    sums = inner[0].loop
    if any(reads(bound) & varying or loads(bound) for bound in (sums.start, sums.stop)):
        return None
    known = id(loop) in order.swapped or order.forgotten(loop)
    independent = known and isinstance(order.verdict(loop), Parallel)
    if not independent or not _waits(order, nest, sums, loop):
        return None
    return scalar_writes(loop) - {sums.index}


def _waits(order: Order, nest: Nest, sums: For, loop: For) -> bool:
    """Every statement of the inner loop adds doubles into something that it does not move along."""
    verdict = order.verdict(sums)
    if not isinstance(verdict, Reduction) or _few(order, sums):
        return False
    for total in verdict.variables:
        if total.operator not in ("+", "*") or total.scatter:
            return False
        kind = nest.arrays[total.name].element if total.index else nest.privates.get(total.name)
        if kind not in _DOUBLES:
            return False
    far = [a for a in accesses_in(nest, sums.body) if stride(nest, a, sums.index) is Stride.FAR]
    return not far


def _may_step(order: Order, loop: For) -> bool:
    return order.steps and loop.step == 1 and loop is not order.fixed and not _few(order, loop)


def _few(order: Order, loop: For) -> bool:
    trips = ranges_of(order.nest).trips.get(id(loop))
    return trips is not None and trips < SHORT
