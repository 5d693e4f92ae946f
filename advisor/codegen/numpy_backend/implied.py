"""What a condition says of the subscripts that are computed under it.

``if 0 <= i < n: counts[i] += 1`` stands there so that ``i`` names an element: with ``n`` at most
the length, which one test of two numbers tells, no element needs to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...loopnest.affine import Affine, affine
from ...loopnest.ir import Bool, Compare, Expr, Interval, Kind, Unary
from .intervals import ANY
from .ranges import Ranges
from .session import BufferRef, Context, Session

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def implied_inside(session: Session, index: Expr, size: Affine, condition: Expr | None) -> bool:
    """Whether ``condition`` holds an integer in ``[0, size)``; bounds become guards.

    ``size``: the extent of the array in that dimension.
    """
    if condition is None or index.type.kind is not Kind.INT:
        return False
    above = below = False
    for test in _all_of(condition, True):
        bound = _bound_of(test, index)
        if bound is None:
            continue
        op, form = bound
        if op in (">", ">="):
            above = above or session.facts.proved(form + (1 if op == ">" else 0))
        elif op in ("<", "<="):
            # Only one of several bounds need be a guard.
            below = below or session.facts.require(size - form - (1 if op == "<=" else 0))
    return above and below


@contextmanager
def known_under(session: Session, context: Context) -> Iterator[None]:
    """Meanwhile expanded integers have the range that the context's condition gives them.

    For what is computed of all elements and used of those under the condition alone.
    """
    before = dict(session.buffer_ranges)
    for test in () if context.mask is None else _all_of(context.mask, True):
        for op, one, other in _both_ways(test):
            if isinstance(one, BufferRef) and one.type.kind is other.type.kind is Kind.INT:
                version = one.buffer.version
                ranges = Ranges(session, context)
                bound = ranges.interval(other)
                found = _cut(session.buffer_ranges.get(version, ANY), op, bound)
                if found != session.buffer_ranges.get(version, ANY):
                    ranges.commit()
                    session.buffer_ranges[version] = found
    yield
    session.buffer_ranges = before


def _cut(found: Interval, op: str, bound: Interval) -> Interval:
    """The integers of ``found`` that are ``op`` some number of ``bound``."""
    low, high = found.low, found.high
    if op in (">", ">=") and bound.low is not None:
        least = bound.low + (1 if op == ">" else 0)
        return Interval(least if low is None else max(low, least), high)
    if op in ("<", "<=") and bound.high is not None:
        most = bound.high - (1 if op == "<" else 0)
        return Interval(low, most if high is None else min(high, most))
    return found


def _all_of(condition: Expr, wanted: bool) -> Iterator[Compare]:
    """Comparisons that all hold where the condition is true (or, not ``wanted``, is false)."""
    match condition:
        case Unary(op="not", operand=operand):
            yield from _all_of(operand, not wanted)
        case Bool(op=op, operands=operands) if (op == "and") == wanted:
            for operand in operands:
                yield from _all_of(operand, wanted)
        case Compare(op=op) if op in _NEGATED:
            # Integers only, see `_bound_of`: a NaN is neither below nor above.
            negated = Compare(
                condition.type, condition.line, _NEGATED[op], condition.left, condition.right
            )
            yield condition if wanted else negated


def _both_ways(test: Compare) -> tuple[tuple[str, Expr, Expr], tuple[str, Expr, Expr]]:
    return (test.op, test.left, test.right), (_TURNED[test.op], test.right, test.left)


def _bound_of(test: Compare, index: Expr) -> tuple[str, Affine] | None:
    """``(op, bound)`` of ``index op bound``, both integers."""
    for op, one, other in _both_ways(test):
        if one == index and other.type.kind is Kind.INT:
            form = affine(other)
            return None if form is None else (op, form)
    return None
