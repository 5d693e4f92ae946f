"""Conditions on loop indices as narrower spans (index-set splitting)."""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.affine import Affine, affine
from ...loopnest.ir import PY_BOOL, Bool, Compare, Expr
from .normal import negate
from .session import Context, Session, Span

Spans = tuple[tuple[str, Span], ...]
Piece = tuple[Spans, Expr | None, bool]
"""Spans, the rest of the condition there (None: it holds), and whether it may hold at all."""


def split(session: Session, test: Expr, context: Context) -> list[Piece] | None:
    """Disjoint parts of the present spans; None if no condition is on the indices alone."""
    parts = _conjuncts(test)
    bounds = [p for p in parts if _on_axis(p, context) is not None]
    if not bounds:
        if isinstance(test, Bool) and test.op == "or":
            opposite = negate(test)
            if all(_on_axis(p, context) for p in _conjuncts(opposite)):
                swapped = split(session, opposite, context)
                if swapped is not None and all(rest is None for _, rest, _ in swapped):
                    return [(s, None, not holds) for s, _, holds in reversed(swapped)]
        return None
    inside = context.spans
    outside: list[Piece] = []
    for part in bounds:
        found = _on_axis(part, context)
        assert found is not None
        axis, op, bound = found
        cut = _cut(session, axis, op, bound, dict(inside)[axis])
        if cut is None:
            return None
        kept, removed = cut
        outside += [(_with(inside, axis, span), None, False) for span in removed]
        inside = _with(inside, axis, kept)
    rest = [p for p in parts if p not in bounds]
    left: Expr | None = None
    if rest:
        left = rest[0] if len(rest) == 1 else Bool(PY_BOOL, test.line, "and", tuple(rest))
    return [(inside, left, True), *outside]


def _with(spans: Spans, axis: str, span: Span) -> Spans:
    return tuple((name, span if name == axis else old) for name, old in spans)


def _conjuncts(test: Expr) -> list[Expr]:
    if isinstance(test, Bool) and test.op == "and":
        return [part for operand in test.operands for part in _conjuncts(operand)]
    return [test]


def _on_axis(part: Expr, context: Context) -> tuple[str, str, Affine] | None:
    """``axis op bound`` with a bound that is the same for all elements."""
    if not isinstance(part, Compare):
        return None
    left, right = affine(part.left), affine(part.right)
    if left is None or right is None:
        return None
    difference = left - right
    axes = difference.symbols & set(context.axes)
    if len(axes) != 1:
        return None
    (axis,) = axes
    factor, op = difference.coefficient(axis), part.op
    if abs(factor) != 1 or context.span(axis).step != 1:
        return None
    if factor == -1:
        op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    return axis, op, difference.without({axis}).scale(-factor)


def _cut(
    session: Session, axis: str, op: str, bound: Affine, span: Span
) -> tuple[Span, list[Span]] | None:
    """The part of a span where the condition holds, and the parts where it does not."""
    facts = session.facts
    match op:
        case ">":
            return _cut(session, axis, ">=", bound + 1, span)
        case "<=":
            return _cut(session, axis, "<", bound + 1, span)
        case ">=":
            if facts.proved(span.low - bound):
                return span, []
            if not facts.require(bound - span.low) or not facts.require(span.high - bound):
                return None
            return replace(span, low=bound), [replace(span, high=bound)]
        case "<":
            if facts.proved(bound - span.high):
                return span, []
            if not facts.require(span.high - bound) or not facts.require(bound - span.low):
                return None
            return replace(span, high=bound), [replace(span, low=bound)]
        case "==":
            if not facts.require(bound - span.low) or not facts.require(span.high - bound - 1):
                return None
            return Span(bound, bound + 1), _around(session, bound, span)
        case "!=":
            if not facts.require(bound - span.low) or not facts.require(span.high - bound - 1):
                return None
            around = _around(session, bound, span)
            return (around[0], [Span(bound, bound + 1)]) if len(around) == 1 else None
    return None


def _around(session: Session, bound: Affine, span: Span) -> list[Span]:
    facts = session.facts
    parts = []
    if not facts.equal(bound, span.low):
        parts.append(Span(span.low, bound))
    if not facts.equal(bound + 1, span.high):
        parts.append(Span(bound + 1, span.high))
    return parts
