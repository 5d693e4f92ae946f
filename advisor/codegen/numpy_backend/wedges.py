"""Sums with another number of terms in each row: ``for k in range(i): s += A[i, k] * B[k, j]``.

As one product the factor with both indices is zero outside its triangle, ``np.tril(A, -1) @ B``.
A zero times infinity or NaN would be NaN where the loop has no term at all, so the other factor
must be finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...loopnest.affine import Affine, affine, constant, extent_symbol, variable
from ...loopnest.ir import Expr, For, Load, Store, statements, walk
from .normal import NotVectorisable
from .session import Context, Session, Span
from .triangles import extreme
from .values import ATOM, Value

UNEVEN = "the number of terms differs between the elements"


@dataclass(frozen=True)
class Wedge:
    """The terms of a row: those with ``low <= index < high``, where a bound follows the axis."""

    index: str
    """Of the loop that adds up."""
    axis: str
    low: Affine | None
    high: Affine | None


def wedge_of(loop: For, context: Context) -> Wedge | None:
    """The part of the square that a loop adds up; None if all rows are equally long.

    Raises NotVectorisable.
    """
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None:
        return None
    axes = (start.symbols | stop.symbols) & set(context.axes)
    if not axes:
        return None
    forms = [form for form in (start, stop) if form.symbols & axes]
    if len(axes) > 1 or loop.step != 1 or any(f.coefficient(next(iter(axes))) != 1 for f in forms):
        raise NotVectorisable(UNEVEN, loop.line)
    (axis,) = axes
    low, high = (form if axis in form.symbols else None for form in (start, stop))
    return Wedge(loop.index, axis, low, high)


def whole_rows(session: Session, loop: For, body: Expr, context: Context) -> Span:
    """The terms of the longest row; those of the axis where the arrays are as long as that."""
    start, stop = affine(loop.start), affine(loop.stop)
    assert start is not None and stop is not None
    low, high = extreme(start, context, lowest=True), extreme(stop, context, lowest=False)
    wedge = wedge_of(loop, context)
    assert wedge is not None
    rows = context.span(wedge.axis)
    facts = session.facts
    # An end that does not follow the axis is cut off nowhere: it must be the axis' own.
    longer = (
        facts.equal(low, rows.low) if wedge.low is None else facts.proved(low - rows.low)
    ) and (facts.equal(high, rows.high) if wedge.high is None else facts.proved(rows.high - high))
    if (
        rows.step == 1
        and longer
        and all(_ends_at(session, e, rows.high) for e in _extents(loop, body))
    ):
        return rows
    return Span(low, high)


def _extents(loop: For, body: Expr) -> Iterator[Affine]:
    """Extents of the arrays along the subscripts that are the index itself."""
    for part in walk(body):
        if isinstance(part, Load):
            for dim, index in enumerate(part.index):
                if affine(index) == variable(loop.index):
                    yield variable(extent_symbol(part.array, dim))


def _ends_at(session: Session, extent: Affine, stop: Affine) -> bool:
    session.facts.suppose_whole(extent, stop)
    return session.facts.equal(extent, stop)


def require_finite(session: Session, expr: Expr, context: Context) -> None:
    """Test the factor that the zeros are multiplied with. Raises NotVectorisable."""
    if not isinstance(expr, Load):
        raise NotVectorisable(UNEVEN, expr.line)
    info = session.nest.arrays[expr.array]
    repeated = context.kept or session.kept_around
    stored = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    late = expr.array in (stored if repeated else session.changed)
    if late or info.container != "ndarray" or expr.array in session.halos:
        raise NotVectorisable(UNEVEN, expr.line)
    test = f"{session.np}.isfinite({expr.array}).all()"
    if test not in session.domains:
        session.domains.append(test)


def cut(
    session: Session,
    value: Value,
    axes: Sequence[str],
    wedges: Sequence[Wedge],
    spans: dict[str, Span],
) -> Value:
    """The matrix with zeros outside the triangles. Raises NotVectorisable."""
    for wedge in wedges:
        if set(axes) != {wedge.index, wedge.axis}:
            raise NotVectorisable(UNEVEN)
        upright = axes[0] == wedge.axis
        # In the matrix element (p, q) the index is q + first, the axis p + base, or the reverse.
        first, base = spans[wedge.index].low, spans[wedge.axis].low
        for bound, is_low in ((wedge.low, True), (wedge.high, False)):
            if bound is None:
                continue
            shift = bound.substitute({wedge.axis: base}) - first - (0 if is_low else 1)
            offset = session.facts.canonical(shift if upright else -shift)
            if not offset.is_const:
                raise NotVectorisable(UNEVEN)
            function = "triu" if is_low == upright else "tril"
            which = f", {offset.const}" if offset != constant(0) else ""
            text = f"{session.np}.{function}({value.text}{which})"
            value = replace(value, text=text, level=ATOM, fresh=True)
    return value
