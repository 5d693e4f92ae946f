"""Whether a kernel writes each element of an array, by the thread of that element."""

from __future__ import annotations

import ast

from ...loopnest.accesses import accesses_in
from ...loopnest.affine import Affine, affine, extent_symbol, variable
from ...loopnest.facts import Facts, facts_of
from ...loopnest.fold import loads
from ...loopnest.ir import Const, Expr, Nest, Store, Var, expressions, statements
from .plan import Launch, Step


def is_covered(array: str, step: Step, nest: Nest) -> bool:
    """Whether a plan writes every element of an array and reads none."""
    if not isinstance(step, Launch):
        return False  # a loop around the kernel may run no time
    for statement in statements(step.body):
        for top in expressions(statement):
            if any(load.array == array for load in loads(top)):
                return False
    for statement in step.body:
        if isinstance(statement, Store):
            if statement.array == array:
                return own_element(array, statement.index, step, nest)
        elif any(isinstance(node, ast.Continue) for node in ast.walk(statement.node)):
            return False
    return False


def own_place(array: str, step: Step, nest: Nest) -> tuple[str, ...] | None:
    """The subscript under which each thread uses one element of an array, and no thread another.

    None where that is not so, or where there are elements without a thread.
    """
    if not isinstance(step, Launch):
        return None
    places = {a.index for a in accesses_in(nest, step.body) if a.array == array}
    if len(places) != 1:
        return None
    (index,) = places
    if not own_element(array, index, step, nest):
        return None
    return tuple(i.name for i in index if isinstance(i, Var))


def own_element(array: str, index: tuple[Expr, ...], step: Launch, nest: Nest) -> bool:
    """Whether the subscript is the thread's place in the grid, and the grid the whole array."""
    loops = {axis.index: axis.loop for axis in step.axes}
    names = [i.name for i in index if isinstance(i, Var)]
    if len(set(names)) < len(index) or set(names) != set(loops):
        return False
    facts = facts_of(nest)
    return all(
        loops[name].step == 1
        and isinstance(loops[name].start, Const)
        and loops[name].start.value == 0  # type: ignore[attr-defined]
        and _is_extent(facts, array, axis, loops[name].stop)
        for axis, name in enumerate(names)
    )


def _is_extent(facts: Facts, array: str, axis: int, stop: Expr) -> bool:
    form = affine(stop, facts.definitions)
    if form is None:
        return False
    whole = facts.canonical(variable(extent_symbol(array, axis)))
    return facts.canonical(form) - whole == Affine((), 0)
