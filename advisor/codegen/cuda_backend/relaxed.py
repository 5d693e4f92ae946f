"""Relaxation over pairs as one kernel for each ``k``: shortest paths, transitive closures.

The threads of a step read row and column ``k`` while others may write there. As long as nothing is
negative, nothing there gets another value (see ``numpy_backend.relaxation``), so that it does not
matter who comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...loopnest.ir import (
    Assign,
    Call,
    Compare,
    Expr,
    For,
    Kind,
    Load,
    Nest,
    expressions,
    statements,
    walk,
)
from ..nb_guards import Guards
from ..nb_text import with_params
from ..numpy_backend.relaxation import Relaxation, relaxation


def relaxes(nest: Nest) -> Relaxation | None:
    """The relaxation that a nest is, if a step may run in any order; None for other nests.

    ``if way <= d[i, j]: d[i, j] = way`` would store 0.0 in the place of -0.0, while others read.
    """
    root = nest.root
    if not isinstance(root, For):
        return None
    found = relaxation(root, nest)
    if found is None or nest.arrays[found.array].container != "ndarray":
        return None
    if nest.arrays[found.array].element.kind is Kind.FLOAT and not _keeps_ties(nest):
        return None
    return found


def pair_of(root: For) -> tuple[For, For]:
    """The two loops over pairs."""
    (outer,) = root.body
    assert isinstance(outer, For)
    inner = outer.body[-1]
    assert isinstance(inner, For) and all(isinstance(s, Assign) for s in outer.body[:-1])
    return outer, inner


def ask_of_distances(nest: Nest, checks: Guards, params: Mapping[str, str]) -> bool:
    """Ask that nothing is negative, where a nest rests on it; whether it does."""
    found = relaxes(nest)
    if found is None:
        return False
    for test in (f"{found.array}.size > 0", *found.tests(nest)):  # nothing has no least element
        spelled = with_params(test, params)
        checks.ask(spelled, f"distances: {test}", "")
    return True


def _keeps_ties(nest: Nest) -> bool:
    """Whether what is as long as the old way is not stored."""
    for expr in _expressions(nest):
        match expr:
            case Compare(op="<=" | ">="):
                return False
            case Call(function="min", args=(old, _)) if not isinstance(old, Load):
                return False
    return True


def _expressions(nest: Nest) -> Iterator[Expr]:
    for statement in statements((nest.root,)):
        for top in expressions(statement):
            yield from walk(top)
