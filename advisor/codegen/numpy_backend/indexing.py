"""Subscripts as slices: which elements a block touches, and that they exist."""

from __future__ import annotations

from dataclasses import dataclass

from ...loopnest.affine import Affine, affine, constant, extent_symbol, variable, wrapped
from ...loopnest.ir import Call, Compare, Dim, Expr, For, Select, Var, walk
from .known import Facts
from .normal import NotVectorisable
from .session import Buffer, Context, Session, Span


@dataclass(frozen=True)
class AxisIndex:
    """A subscript that runs with one axis."""

    axis: str
    text: str


def span_of(loop: For) -> Span:
    """The values of an axis, upwards."""
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None:
        raise NotVectorisable("the bounds of a loop are not simple", loop.line)
    if loop.step > 0:
        return Span(start, stop, loop.step)
    if loop.step != -1:
        raise NotVectorisable("a loop counts down with a stride", loop.line)
    return Span(stop + 1, start + 1)


def axes_of(expr: Expr, context: Context) -> frozenset[str]:
    """The axes an index expression depends on."""
    names = {part.name for part in walk(expr) if isinstance(part, Var)}
    return frozenset(names & set(context.axes))


def touched(form: Affine, axis: str, span: Span) -> tuple[Affine, Affine]:
    """First element and one past the last that ``form`` touches, upwards."""
    factor = form.coefficient(axis)
    first = form.substitute({axis: span.low})
    last = form.substitute({axis: span.high - 1})
    return (first, last + 1) if factor > 0 else (last, first + 1)


def slice_text(
    session: Session, form: Affine, axis: str, span: Span, array: str, dim: int, line: int
) -> str:
    """The slice for an affine subscript, with its bounds proved or put under a guard."""
    factor = form.coefficient(axis)
    if factor < 0 and span.step != 1:
        raise NotVectorisable(f"{array} is read backwards with a stride", line)
    first, stop = touched(form, axis, span)
    size = variable(extent_symbol(array, dim))
    facts = session.facts
    facts.suppose_whole(size, stop)
    # u[i - 1] at i == 0 is u[-1] in Python: the slice must start inside.
    if not facts.require(first):
        raise NotVectorisable(f"the subscript of {array} becomes negative and wraps around", line)
    if not facts.require(size - stop):
        raise NotVectorisable(f"a subscript of {array} may leave it", line)
    step = abs(factor) * span.step
    return _spelled(facts, first, stop, size, step, backwards=factor < 0)


def _spelled(
    facts: Facts, first: Affine, stop: Affine, size: Affine, step: int, *, backwards: bool
) -> str:
    start_text = "" if facts.equal(first, constant(0)) else facts.text(first)
    behind = facts.canonical(size - stop)
    if behind == constant(0):
        stop_text = ""
    elif behind.is_const and behind.const > 0:
        stop_text = f"-{behind.const}"
    else:
        # A stop such as n - 2 must not be negative: for n == 1 it would count from the end.
        if not facts.require(stop):
            raise NotVectorisable("the trip count of a loop may be negative")
        stop_text = facts.text(stop)
    if backwards:
        # Taken upwards, then turned round: a stop of -1 could not be written.
        inner = f"{start_text}:{stop_text}"
        if inner == ":" and step == 1:
            return "::-1"
        if step != 1:
            raise NotVectorisable("an array is read backwards with a stride")
        before = facts.canonical(first)
        low = "" if before == constant(0) else facts.text(first - 1)
        high = facts.text(stop - 1) if stop_text else ""
        if stop_text.startswith("-"):
            high = f"-{behind.const + 1}"
        if low and not facts.proved(first - 1):
            raise NotVectorisable("an array is read backwards from an unknown place")
        # u[n - 3:0:-1] starts at the end for n == 2: the empty slice could not be written
        if stop_text and not stop_text.startswith("-") and not facts.require(stop - 1):
            raise NotVectorisable("a loop that reads an array backwards may have no iteration")
        return f"{high}:{low}:-1"
    return f"{start_text}:{stop_text}" + (f":{step}" if step != 1 else "")


def buffer_slices(session: Session, buffer: Buffer, context: Context) -> dict[str, str]:
    """Slices of an expanded scalar for the present spans, by axis."""
    facts = session.facts
    outer = dict(buffer.spans)
    parts: dict[str, str] = {}
    for axis, span in context.spans:
        if axis not in buffer.axes:
            continue
        whole = outer[axis]
        low, high = span.low - whole.low, whole.high - span.high
        if whole.step != 1:
            if not (facts.equal(low, constant(0)) and facts.equal(high, constant(0))):
                raise NotVectorisable("a strided loop with a condition on its index")
            parts[axis] = ":"
            continue
        start = "" if facts.equal(low, constant(0)) else facts.text(facts.canonical(low))
        behind = facts.canonical(high)
        if behind == constant(0):
            stop = ""
        elif behind.is_const and behind.const > 0:
            stop = f"-{behind.const}"
        else:
            stop = facts.text(span.high - whole.low)
        parts[axis] = f"{start}:{stop}"
    return parts


# ---------------------------------------------------------------- wrap-around
@dataclass(frozen=True)
class Border:
    """A subscript that leaves the array and comes back: offset from the axis, and how."""

    axis: str
    offset: int
    mode: str
    """``wrap`` or ``edge``."""


def border(expr: Expr, array: str, dim: int, context: Context, facts: Facts) -> Border | None:
    """Recognise ``(i + 1) % n``, ``i - 1`` at ``i == 0``, ``max(i - 1, 0)`` and the like."""
    size = variable(extent_symbol(array, dim))
    found = wrapped(expr)
    if found is not None:
        offset = _offset(found.base, context, facts, modulus=found.modulus)
        if offset is None or not _may_fit(size - context.span(offset[0]).high, facts):
            return None  # means[i % period]: round and round
        if not _is_extent(found.modulus, size, facts):
            return None
        return Border(*offset, "wrap")
    match expr:
        case Select(test=Compare() as test, then=then, orelse=orelse):
            return _chosen(test, then, orelse, size, context, facts)
        case Call(function="min" | "max", args=(_, _)):
            return _clamped(expr, size, context, facts)
    form = affine(expr)
    if form is None:
        return None
    offset = _offset(form, context, facts)
    if offset is None:
        return None
    axis, distance = offset
    span = context.span(axis)
    # grid[i - 1] at i == 0 is the last row, by Python's negative index.
    if distance < 0 and facts.equal(span.low, constant(0)) and facts.proved(size - span.high):
        return Border(axis, distance, "wrap")
    return None


def _may_fit(room: Affine, facts: Facts) -> bool:
    """Whether ``room >= 0`` is known, or was seen and can be tested."""
    return facts.proved(room) or facts.is_testable(facts.outermost(room, lowest=True))


def _is_extent(form: Affine, size: Affine, facts: Facts) -> bool:
    if facts.equal(form, size):
        return True
    ((symbol, _),) = size.pairs
    if len(form.pairs) > 1 or (form.pairs and form.pairs[0][1] != 1) or (form.pairs and form.const):
        return False
    return facts.require_equal(symbol, form)


def _offset(
    form: Affine, context: Context, facts: Facts, modulus: Affine | None = None
) -> tuple[str, int] | None:
    """``axis + constant``, multiples of the modulus left out."""
    axes = form.symbols & set(context.axes)
    if len(axes) != 1:
        return None
    (axis,) = axes
    if form.coefficient(axis) != 1 or context.span(axis).step != 1:
        return None
    rest = facts.canonical(form.without({axis}))
    if modulus is not None and not rest.is_const:
        size = facts.canonical(modulus)
        for times in (1, -1):
            if (rest - size.scale(times)).is_const:
                rest = rest - size.scale(times)
                break
    return (axis, rest.const) if rest.is_const else None


def _chosen(
    test: Compare, then: Expr, orelse: Expr, size: Affine, context: Context, facts: Facts
) -> Border | None:
    """``i - 1 if i > 0 else n - 1`` and its mirror images."""
    for inner, outer, op in ((then, orelse, test.op), (orelse, then, _NOT[test.op])):
        a, b = affine(inner), affine(outer)
        if a is None or b is None or b.symbols & set(context.axes):
            continue
        offset = _offset(a, context, facts)
        left, right = affine(test.left), affine(test.right)
        if offset is None or left is None or right is None or abs(offset[1]) != 1:
            continue
        axis, distance = offset
        span = context.span(axis)
        whole = facts.equal(span.low, constant(0)) and _is_extent(span.high, size, facts)
        if not whole:
            continue
        edge = constant(0) if distance < 0 else size - 1
        if not _tests_edge(left - right, op, axis, distance, size, facts):
            continue
        other = size - 1 if distance < 0 else constant(0)
        if facts.equal(b, other):
            return Border(axis, distance, "wrap")
        if facts.equal(b, edge):
            return Border(axis, distance, "edge")
    return None


_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _tests_edge(
    difference: Affine, op: str, axis: str, distance: int, size: Affine, facts: Facts
) -> bool:
    """The test holds exactly where ``axis + distance`` stays inside."""
    if difference.coefficient(axis) == -1:
        difference = -difference
        op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    if difference.coefficient(axis) != 1:
        return False
    bound = facts.canonical(-difference.without({axis}))  # axis op bound
    if distance < 0:
        accepted = {">": constant(0), ">=": constant(1), "!=": constant(0)}
    else:
        last = facts.canonical(size)
        accepted = {"<": last - 1, "<=": last - 2, "!=": last - 1}
    return op in accepted and facts.equal(bound, accepted[op])


def _clamped(expr: Call, size: Affine, context: Context, facts: Facts) -> Border | None:
    first, second = expr.args
    both = _clamped_twice(expr, size, context, facts)
    if both is not None:
        return both
    for inner, outer in ((first, second), (second, first)):
        a, b = affine(inner), affine(outer)
        if a is None or b is None or b.symbols & set(context.axes):
            continue
        offset = _offset(a, context, facts)
        if offset is None:
            continue
        axis, distance = offset
        span = context.span(axis)
        if not (facts.equal(span.low, constant(0)) and _is_extent(span.high, size, facts)):
            continue
        low = expr.function == "max" and distance <= 0 and facts.equal(b, constant(0))
        high = expr.function == "min" and distance >= 0 and facts.equal(b, size - 1)
        if low or high:
            return Border(axis, distance, "edge")
    return None


def _clamped_twice(expr: Call, size: Affine, context: Context, facts: Facts) -> Border | None:
    """``max(0, min(i + d, n - 1))``, or the other way round."""
    other = "min" if expr.function == "max" else "max"
    ends = {"max": constant(0), "min": size - 1}
    for inner, outer in (expr.args, expr.args[::-1]):
        if not (isinstance(inner, Call) and inner.function == other and len(inner.args) == 2):
            continue
        for value, bound in (inner.args, inner.args[::-1]):
            forms = [affine(part) for part in (value, bound, outer)]
            offset = None if forms[0] is None else _offset(forms[0], context, facts)
            if offset is None or forms[1] is None or forms[2] is None:
                continue
            span = context.span(offset[0])
            whole = facts.equal(span.low, constant(0)) and _is_extent(span.high, size, facts)
            if (
                whole
                and facts.equal(forms[1], ends[other])
                and facts.equal(forms[2], ends[expr.function])
            ):
                return Border(*offset, "edge")
    return None


def is_extent_expr(expr: Expr) -> bool:
    """``len(a)`` or ``a.shape[0]``."""
    return isinstance(expr, Dim)
