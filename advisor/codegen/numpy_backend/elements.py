"""Elements of arrays as slices, gathers and slices of bordered copies."""

from __future__ import annotations

from collections.abc import Sequence

from ...loopnest.affine import affine, extent_symbol, variable
from ...loopnest.ir import (
    PY_INT,
    Const,
    For,
    Kind,
    Load,
    Scalar,
    Store,
    expressions,
    statements,
    walk,
)
from . import indexing
from .flat import Folded
from .halo import Halo, new_halo
from .normal import NotVectorisable
from .session import BufferRef, Context, Session
from .slanted import slanted, wave_of
from .values import (
    ATOM,
    Value,
    natural_dtype,
)


def align(text: str, present: list[str], axes: tuple[str, ...]) -> str:
    """Insert ``None`` for axes without a dimension; ``present`` are in the block's order."""
    first = axes.index(present[0])
    parts = [":" if axis in present else "None" for axis in axes[first:]]
    return text if "None" not in parts else f"{text}[{', '.join(parts)}]"


def load(session: Session, expr: Load, context: Context, *, target: bool = False) -> Value:
    """Elements of an array as slices of it."""
    from .effects import inside
    from .expressions import evaluate

    info = session.nest.arrays[expr.array]
    wave = wave_of(session, context)
    slant = None if wave is None else slanted(session, expr, wave, context, target=target)
    if slant is not None:
        return slant
    found = [_subscript(session, expr, dim, context) for dim in range(len(expr.index))]
    if all(isinstance(part, str) for part in found) and not target:
        return _element(session, expr, [str(p) for p in found], context)
    if any(isinstance(part, indexing.Border) for part in found):
        if target:
            raise NotVectorisable(f"{expr.array} is written across its edge", expr.line)
        _check_read_before_written(session, expr, found)
        found = _with_halo(session, expr, found, context)
    name, dtype = expr.array, info.element.dtype or natural_dtype(info.element)
    halo = session.halos.get(expr.array)
    if isinstance(halo, Halo) and not target:
        name, dtype = halo.name, halo.dtype
        found = [_in_halo(session, expr, dim, context, halo) for dim in range(len(expr.index))]
    elif expr.array in session.array_names:
        name = session.array_names[expr.array]
        dtype = session.narrow.get(expr.array, dtype) if not target else dtype
    if not any(isinstance(p, indexing.AxisIndex | Value) for p in found):
        return _fixed(f"{name}[{', '.join(str(p) for p in found)}]", expr, info.element)
    if any(isinstance(part, Value) for part in found):
        if target:
            raise NotVectorisable(
                f"{expr.array} is written at computed places: two may coincide", expr.line
            )
        for dim, part in enumerate(found):
            if isinstance(part, Value):
                inside(session, expr, dim, context, evaluate)
        return _gather(session, expr, found, name, dtype, context)
    along = [part.axis for part in found if isinstance(part, indexing.AxisIndex)]
    if len(along) == len(found) == 2 and along[0] == along[1]:
        return _diagonal(session, expr, found, name, dtype, context, target=target)
    return _view(expr, found, name, dtype, context, target=target)


def _check_read_before_written(session: Session, expr: Load, found: Sequence[Part]) -> None:
    """``x[i - 1]`` at ``i == 0`` is the last element as it was before the loop came to it.

    That is not what stands there once ``x[i] = ...`` has run as one statement, and no dependence
    test of ``i`` and ``i - 1`` knows of it. Loops are those of the user: they may be split by now.
    """
    wraps = any(
        isinstance(part, indexing.Border) and affine(index) is not None
        for part, index in zip(found, expr.index, strict=True)
    )
    if not wraps:
        return
    for loop in statements((session.nest.root,)):
        if isinstance(loop, For) and _reads_along(loop, expr):
            inner = statements(loop.body)
            if any(isinstance(s, Store) and s.array == expr.array for s in inner):
                raise NotVectorisable(
                    f"{expr.array} is read across its edge and written in the same loop", expr.line
                )


def _reads_along(loop: For, expr: Load) -> bool:
    """Whether the loop's own index is in the subscripts of the array in that line."""
    for statement in statements(loop.body):
        for part in (p for e in expressions(statement) for p in walk(e)):
            if isinstance(part, Load) and (part.array, part.line) == (expr.array, expr.line):
                forms = [form for e in part.index if (form := affine(e)) is not None]
                if any(form.coefficient(loop.index) for form in forms):
                    return True
    return False


Part = str | indexing.AxisIndex | indexing.Border | Value


def _subscript(session: Session, expr: Load, dim: int, context: Context) -> Part:
    from .expressions import evaluate, scalar_text

    index = expr.index[dim]
    if dim == 1 and expr.array in session.loose:
        return _place_in_row(session, expr, context)
    axes = indexing.axes_of(index, context)
    buffers = any(isinstance(p, BufferRef) for p in walk(index))
    if not axes and not buffers:
        _check_fixed(session, expr, dim, context)
        return scalar_text(session, index)
    if len(axes) == 1 and not buffers:
        found = indexing.border(index, expr.array, dim, context, session.facts)
        if found is not None:
            return found
        form = affine(index)
        (axis,) = axes
        if form is not None and form.coefficient(axis):
            text = indexing.slice_text(
                session, form, axis, context.span(axis), expr.array, dim, expr.line
            )
            return indexing.AxisIndex(axis, text)
    if context.narrowed:
        raise NotVectorisable(
            f"a computed subscript of {expr.array} under a condition may be out of range",
            expr.line,
        )
    return evaluate(session, index, context)


def _place_in_row(session: Session, expr: Load, context: Context) -> indexing.AxisIndex:
    """A slice that ends where the row does at the latest: beyond are elements of the next one."""
    form, axes = affine(expr.index[1]), indexing.axes_of(expr.index[1], context)
    if form is None or len(axes) != 1 or expr.array in session.halos:
        raise NotVectorisable(f"a subscript of {expr.array} may leave its row", expr.line)
    (axis,) = axes
    span = context.span(axis)
    text = indexing.slice_text(session, form, axis, span, expr.array, 1, expr.line)
    return indexing.AxisIndex(axis, text)


def _check_fixed(session: Session, expr: Load, dim: int, context: Context) -> None:
    """An element that every iteration shares must exist even if no iteration runs.

    Behind the end of a list its array raises with another text, and the list is not written back.
    """
    if not context.axes and session.nest.arrays[expr.array].container == "ndarray":
        return
    form = affine(expr.index[dim])
    if form is None:
        if context.narrowed or not context.axes:
            raise NotVectorisable(f"a subscript of {expr.array} may leave it", expr.line)
        return
    size = variable(extent_symbol(expr.array, dim))
    ok = (
        session.facts.require(size + form)
        if form.is_const and form.const < 0
        else session.facts.require(form) and session.facts.require(size - form - 1)
    )
    if not ok:
        raise NotVectorisable(f"a subscript of {expr.array} may leave it", expr.line)


def _with_halo(session: Session, expr: Load, found: list[Part], context: Context) -> list[Part]:
    """Record the border the access needs; the attempt is repeated with it."""
    halo = session.halos.get(expr.array)
    current = halo if isinstance(halo, Halo) else new_halo(session, expr.array)
    for dim, part in enumerate(found):
        if isinstance(part, indexing.Border):
            wider = current.widened(dim, part.offset, part.mode)
            if wider is None:
                raise NotVectorisable(
                    f"{expr.array} is both wrapped and clamped at its edge", expr.line
                )
            current = wider
    session.halos[expr.array] = current
    return found


def _in_halo(session: Session, expr: Load, dim: int, context: Context, halo: Halo) -> Part:
    index = expr.index[dim]
    left, right = halo.left[dim], halo.right[dim]
    found = indexing.border(index, expr.array, dim, context, session.facts)
    axes = indexing.axes_of(index, context)
    form = affine(index)
    if found is not None:
        axis, offset = found.axis, found.offset
    elif len(axes) == 1 and form is not None:
        (axis,) = axes
        rest = session.facts.canonical(form.without(axes))
        if form.coefficient(axis) != 1 or not rest.is_const:
            raise NotVectorisable(f"mixed subscripts of {expr.array}", expr.line)
        offset = rest.const
    elif not axes and form is not None:
        if form.is_const and form.const < 0:
            return str(form.const - right)
        return session.facts.text(form + left)
    else:
        raise NotVectorisable(f"mixed subscripts of {expr.array}", expr.line)
    return _halo_slice(session, expr, dim, axis, offset, halo, context)


def _halo_slice(
    session: Session,
    expr: Load,
    dim: int,
    axis: str,
    offset: int,
    halo: Halo,
    context: Context,
) -> indexing.AxisIndex:
    span, facts = context.span(axis), session.facts
    left, right = halo.left[dim], halo.right[dim]
    size = variable(extent_symbol(expr.array, dim))
    first = facts.canonical(span.low + offset + left)
    behind = facts.canonical(size + left + right - (span.high + offset + left))
    inside = facts.require(first) and facts.require(behind) and facts.require(span.low)
    if not inside or not facts.require(size - span.high):
        raise NotVectorisable(f"a subscript of {expr.array} may leave it", expr.line)
    start = "" if first == affine(Const(PY_INT, 0, 0)) else facts.text(first)
    if behind.is_const:
        stop = f"-{behind.const}" if behind.const else ""
    else:
        stop = facts.text(span.high + offset + left)
    return indexing.AxisIndex(axis, f"{start}:{stop}" + (f":{span.step}" if span.step > 1 else ""))


def _element(session: Session, expr: Load, parts: list[str], context: Context) -> Value:
    """One element, of the original array: a narrowed copy's would wrap in arithmetic."""
    info = session.nest.arrays[expr.array]
    if info.container == "ndarray" and not isinstance(info, Folded):
        return _fixed(f"{expr.array}[{', '.join(parts)}]", expr, info.element)
    # The list itself is stale while the array stands for it.
    name = session.array_names.get(expr.array, expr.array)
    if expr.array in session.narrow:
        raise NotVectorisable(f"single elements of {expr.array} are read", expr.line)
    text = f"{name}[{', '.join(parts)}]"
    return _fixed(text if context.axes else f"{text}.item()", expr, info.element)


def _fixed(text: str, expr: Load, element: Scalar) -> Value:
    return Value(text, ATOM, expr.type, element.dtype)


def _gather(
    session: Session, expr: Load, found: list[Part], name: str, dtype: str, context: Context
) -> Value:
    """``a[idx[i]]``: index arrays broadcast against each other."""
    from .expressions import evaluate

    texts: list[str] = []
    axes: frozenset[str] = frozenset()
    for dim, part in enumerate(found):
        if isinstance(part, str):
            texts.append(part)
            continue
        value = part
        if not isinstance(value, Value):
            value = evaluate(session, expr.index[dim], context)
        if value.dtype == "bool" or value.type.kind is not Kind.INT:
            raise NotVectorisable(f"{expr.array} is indexed by truth values", expr.line)
        texts.append(value.text)
        axes |= value.axes
    return Value(f"{name}[{', '.join(texts)}]", ATOM, expr.type, dtype, axes, True)


def _view(
    expr: Load, found: list[Part], name: str, dtype: str, context: Context, *, target: bool
) -> Value:
    axes = [part.axis for part in found if isinstance(part, indexing.AxisIndex)]
    if len(set(axes)) != len(axes):
        raise NotVectorisable(f"a diagonal of {expr.array}", expr.line)
    order = [axis for axis in context.axes if axis in axes]
    first = context.axes.index(order[0])
    missing = [a for a in context.axes[first:] if a not in axes]
    texts = [part.text if isinstance(part, indexing.AxisIndex) else str(part) for part in found]
    if target and set(axes) != set(context.axes):
        raise NotVectorisable(f"iterations write the same element of {expr.array}", expr.line)
    if axes == order and not missing:
        text = name if all(t == ":" for t in texts) else f"{name}[{_joined(texts)}]"
        return Value(text, ATOM, expr.type, dtype, frozenset(axes))
    if axes == order:
        inserted: list[str] = []
        for part, piece in zip(found, texts, strict=True):
            if isinstance(part, indexing.AxisIndex):
                while inserted_axes(inserted, context.axes[first:], axes) != part.axis:
                    inserted.append("None")
                inserted.append(f"@{part.axis}@{piece}")
            else:
                inserted.append(piece)
        while inserted_axes(inserted, context.axes[first:], axes):
            inserted.append("None")
        clean = [p.split("@", 2)[2] if p.startswith("@") else p for p in inserted]
        return Value(f"{name}[{', '.join(clean)}]", ATOM, expr.type, dtype, frozenset(axes))
    base = name if all(t == ":" for t in texts) else f"{name}[{_joined(texts)}]"
    turned = (
        f"{base}.T"
        if len(axes) == 2
        else (f"{base}.transpose({', '.join(str(axes.index(a)) for a in order)})")
    )
    return Value(align(turned, order, context.axes), ATOM, expr.type, dtype, frozenset(axes))


def _diagonal(
    session: Session,
    expr: Load,
    found: list[Part],
    name: str,
    dtype: str,
    context: Context,
    *,
    target: bool,
) -> Value:
    """``a[i, i]``: ``a.diagonal()``, and where it is written a pair of subscripts each."""
    (axis,) = {part.axis for part in found if isinstance(part, indexing.AxisIndex)}
    if not target:
        texts = [part.text for part in found if isinstance(part, indexing.AxisIndex)]
        whole = name if texts == [":", ":"] else f"{name}[{', '.join(texts)}]"
        text = align(f"{whole}.diagonal()", [axis], context.axes)
        return Value(text, ATOM, expr.type, dtype, frozenset({axis}))
    span = context.span(axis)
    forms = [affine(index) for index in expr.index]
    if context.axes != (axis,) or span.step != 1:
        raise NotVectorisable(f"iterations write the same element of {expr.array}", expr.line)
    places = []
    for form in forms:
        if form is None or form.coefficient(axis) != 1:
            raise NotVectorisable(f"a diagonal of {expr.array}", expr.line)
        first, stop = indexing.touched(form, axis, span)
        low, high = session.facts.text(first), session.facts.text(stop)
        places.append(f"{session.np}.arange({high if low == '0' else f'{low}, {high}'})")
    text = f"{name}[{', '.join(places)}]"  # read, a copy
    return Value(text, ATOM, expr.type, dtype, frozenset({axis}), True)


def inserted_axes(done: list[str], axes: tuple[str, ...], present: list[str]) -> str:
    """The next axis a subscript has to provide for, ``""`` when all are."""
    count = sum(1 for part in done if part == "None" or part.startswith("@"))
    return axes[count] if count < len(axes) else ""


def _joined(texts: list[str]) -> str:
    kept = list(texts)
    while len(kept) > 1 and kept[-1] == ":" and all(":" not in t for t in kept[:-1]):
        kept.pop()  # grid[i] rather than grid[i, :]
    return ", ".join(kept)
