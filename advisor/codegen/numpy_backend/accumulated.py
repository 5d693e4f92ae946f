"""How large the sums of a loop can become: they hang on its inputs and on how often it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...loopnest.ir import Assign, Binary, Expr, Var, statements
from .session import Session

STEPS = 2.0**60
"""Additions that no run makes, in loops inside each other."""
Magnitude = tuple[float, list[Expr]]
"""Bound of an expression of inputs below some size, and those inputs."""
Measure = Callable[[Expr], Magnitude | None]


def of_sum(session: Session, name: str, measure: Measure) -> Magnitude | None:
    """Bound of a variable that the loop only sets and adds to; None for any other one.

    ``measure``: of the other parts of what it is set to; None for those that are not bounded.
    """
    if name in session.nest.scalars:
        return None  # it has a value before the loop
    parts = list(_parts(session, name))
    if not parts:
        return None
    found: Magnitude = (0.0, [])
    for value, times in parts:
        one = measure(value)
        if one is None:
            return None
        found = (found[0] + times * one[0], found[1] + one[1])
    return found


def _parts(session: Session, name: str) -> Iterator[tuple[Expr, float]]:
    """What the variable is set to, and what is added to it."""
    for statement in statements((session.root,)):
        if not isinstance(statement, Assign) or statement.name != name:
            continue
        match statement.value:
            case Binary(op="+" | "-", left=Var(name=own), right=value) if own == name:
                yield value, STEPS
            case Binary(op="+", left=value, right=Var(name=own)) if own == name:
                yield value, STEPS
            case value:
                yield value, 1.0
