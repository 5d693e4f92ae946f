"""Elements along a wave: slices of the array's elements one after the other, see `wavefront`.

``t[i - 1, diagonal - i]`` for all ``i`` of a wave are as far apart in memory as the next row's
element is, less one. That they lie in the array was shown where the waves were made.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...loopnest.affine import Affine, affine, constant, extent_symbol, variable
from ...loopnest.ir import Assign, Call, Expr, For, Kind, Load, Var, children, walk
from .flat import as_it_is
from .indexing import span_of
from .normal import NotVectorisable
from .provenance import proved_type
from .session import Binding, BufferRef, Context, Env, Session, Span
from .values import ATOM, Value, dtype_text, natural_dtype
from .waves import Wave, fold_of

SHORT = 50
"""Longest text of the elements of a row that gets no name of its own."""


def wave_of(session: Session, context: Context) -> Wave | None:
    """The wave along which the present block runs."""
    if session.waves is None or not session.block_loops:
        return None
    wave = session.waves.along.get(id(session.block_loops[0]))
    return wave if wave is not None and wave.rows in context.axes else None


def slanted(
    session: Session, expr: Load, wave: Wave, context: Context, *, target: bool
) -> Value | None:
    """The elements of a subscript that runs along a wave; None for any other one."""
    forms = [affine(e) for e in expr.index]
    moving = [f for f in forms if f is not None and f.symbols & set(context.axes)]
    if None in forms or not moving:
        return None
    known = [f for f in forms if f is not None]
    info = session.nest.arrays[expr.array]
    dtype = info.element.dtype or natural_dtype(info.element)
    axes = frozenset(a for f in moving for a in f.symbols & set(context.axes))
    if expr.array in session.narrow or expr.array in session.halos:
        raise NotVectorisable(f"{expr.array} is read along a wave", expr.line)
    if (expr.array, expr.index) in session.windows and not target:
        text = session.windows[expr.array, expr.index]
        return Value(text, ATOM, expr.type, dtype, axes)
    if len(axes) > 1:
        raise NotVectorisable(f"{expr.array} is read along a wave and across it", expr.line)
    (axis,) = axes
    if len(moving) == 1:
        text = _slice(session, expr, known, axis, context.span(axis))
    else:
        text = _along(session, expr, known, wave, context, target=target)
    if target and axes != frozenset(context.axes):
        raise NotVectorisable(f"iterations write the same element of {expr.array}", expr.line)
    rest = context.axes[context.axes.index(axis) + 1 :]
    if rest:
        text = f"{text}[:{', None' * len(rest)}]"
    return Value(text, ATOM, expr.type, dtype, axes)


def _slice(session: Session, expr: Load, forms: list[Affine], axis: str, span: Span) -> str:
    """One subscript moves: a slice, turned round where it moves backwards."""
    parts, turned = [], ""
    for form in forms:
        factor = form.coefficient(axis)
        if not factor:
            parts.append(session.facts.text(form))
            continue
        ends = [form.substitute({axis: e}) for e in (span.low, span.high - 1)]
        low, high = ends if factor > 0 else ends[::-1]
        step = f":{abs(factor)}" if abs(factor) > 1 else ""
        start = "" if session.facts.equal(low, constant(0)) else session.facts.text(low)
        parts.append(f"{start}:{session.facts.text(high + 1)}{step}")
        turned = "[::-1]" if factor < 0 else ""
    name = session.array_names.get(expr.array, expr.array)
    return f"{name}[{', '.join(parts)}]{turned}"


def _along(
    session: Session,
    expr: Load,
    forms: list[Affine],
    wave: Wave,
    context: Context,
    *,
    target: bool,
) -> str:
    """Both subscripts move: ``flat[at - n:end - n:step]``."""
    del target
    facts = session.facts
    row = _row(session, expr, forms)
    shifts = forms[0] - variable(wave.rows), forms[1] + variable(wave.rows).scale(wave.factor)
    rest = shifts[1] - wave.number
    place = next((p for p in wave.places if facts.equal(p.row, row)), None)
    if place is None or not shifts[0].is_const or rest.symbols & set(context.axes):
        raise NotVectorisable(f"a diagonal of {expr.array}", expr.line)
    if not facts.require(place.step - 1):
        raise NotVectorisable(f"the rows of {expr.array} may be too short", expr.line)
    shift = row.scale(shifts[0].const) + rest
    ends = (facts.text(facts.canonical(end + shift)) for end in (place.start, place.end))
    step = facts.text(place.step)
    return f"{_flat(session, expr)}[{':'.join(ends)}{'' if step == '1' else ':' + step}]"


def _row(session: Session, expr: Load, forms: list[Affine]) -> Affine:
    if len(forms) != 2:
        raise NotVectorisable(f"a diagonal of {expr.array}", expr.line)
    return session.facts.canonical(variable(extent_symbol(expr.array, 1)))


def _flat(session: Session, expr: Load) -> str:
    """The name of the array's elements one after the other: a view of one in C order."""
    array = expr.array
    if array in session.flats:
        return session.flats[array]
    info = session.nest.arrays[array]
    given = as_it_is(info)
    made_here = info.allocation is not None and proved_type(info)
    tested = info.allocation is None and info.c_contiguous
    if given.container == "ndarray" and info.written and not (made_here or tested):
        raise NotVectorisable(f"the rows of {array} may lie apart in memory", expr.line)
    name = session.array_names.get(array, array)
    flat = session.fresh(f"{array}_flat")
    session.flats[array] = flat
    session.prologue.append(f"{flat} = {name}.reshape(-1)")
    return flat


# ----------------------------------------------------------------------- names
_DIRECTIONS = {
    (-1, 0): "above", (1, 0): "below", (0, -1): "left", (0, 1): "right", (-1, -1): "above_left",
    (-1, 1): "above_right", (1, -1): "below_left", (1, 1): "below_right",
}  # fmt: skip


def name_repeated(session: Session, value: Expr, context: Context) -> None:
    """A name for what the array statement mentions more than once."""
    from .functions import name_extreme

    wave = wave_of(session, context)
    if wave is None or len(context.axes) > 1:
        return
    times: dict[Load, int] = {}
    _count(value, 1, times)
    for load, count in times.items():
        if count > 1 and (load.array, load.index) not in session.windows:
            found = slanted(session, load, wave, context, target=False)
            if found is not None and found.text.count(":") > 1:
                name = session.fresh(_direction(load, wave))
                session.line(f"{name} = {found.text}")
                session.windows[load.array, load.index] = name
    for part in reversed(list(walk(value))):
        match part:
            case Call(function="min" | "max", args=(_, _, _, *_)) if part.type.kind is Kind.FLOAT:
                name_extreme(session, part, context)


def _count(expr: Expr, weight: int, times: dict[Load, int]) -> None:
    """How often an element is mentioned: of the least of two floats each is asked for twice."""
    if isinstance(expr, Load):
        times[expr] = times.get(expr, 0) + weight
    match expr:
        case Call(function="min" | "max") if expr.type.kind is Kind.FLOAT:
            weight *= 2
    for child in children(expr):
        _count(child, weight, times)


def _direction(load: Load, wave: Wave) -> str:
    """Where an element lies, seen from that of the wave: ``above``."""
    forms = [affine(e) for e in load.index]
    if len(forms) == 2 and forms[0] is not None and forms[1] is not None:
        rows = variable(wave.rows)
        away = forms[0] - rows, forms[1] + rows.scale(wave.factor) - wave.number
        if away[0].is_const and away[1].is_const:
            return _DIRECTIONS.get((away[0].const, away[1].const), f"{load.array}_part")
    return f"{load.array}_part"


# ----------------------------------------------------------------------- folds
def fold_along(session: Session, loop: For, context: Context, env: Env) -> None:
    """``for k in ..: best = max(best, e)`` for all elements of a wave at once."""
    from .expressions import evaluate
    from .ranges import fits, type_range
    from .scalars import closed, new_buffer, release

    found = fold_of(loop)
    wave = wave_of(session, context)
    assert found is not None and wave is not None
    name, function, value = found
    value = closed(value, env)
    spans = (*context.spans, (loop.index, span_of(loop)))
    deeper = replace(context, spans=spans, full=spans)
    _name_windows(session, value, deeper)
    result = evaluate(session, value, deeper)
    type_ = session.nest.privates[name]
    start = closed(Var(type_, loop.line, name), env)
    current = evaluate(session, start, context)
    dtype = natural_dtype(type_)
    if not current.is_array and not fits(session, context, start, *type_range(dtype)):
        raise NotVectorisable(f"{name} may start beyond 64 bits", loop.line)
    if result.axes != frozenset(deeper.axes) or result.dtype != dtype:
        raise NotVectorisable("the elements of a row have another type than their least", loop.line)
    values = result.at(ATOM)
    if len(values) > SHORT:
        first = loop.body[0]
        values = first.name if isinstance(first, Assign) and first.name != name else "values"
        values = session.fresh(values)
        session.line(f"{values} = {result.text}")
    best = f"{values}.{function}(axis=1)"
    text = f"{session.np}.{function}imum({current.text}, {best})"
    release(session, name, context, env)
    buffer = new_buffer(session, name, context, dtype, frozenset(context.axes))
    session.line(f"{buffer.name} = {text}")
    session.windows.clear()
    env[name] = Binding(BufferRef(type_, loop.line, buffer), context.spans)


def _name_windows(session: Session, value: Expr, context: Context) -> None:
    """A name for each array of which a row of elements is read for each element of the wave."""
    for part in walk(value):
        if not isinstance(part, Load) or (part.array, part.index) in session.windows:
            continue
        forms = [affine(e) for e in part.index]
        axes = {s for f in forms if f is not None for s in f.symbols & set(context.axes)}
        if len(axes) == 2 and None not in forms:
            window = session.fresh(f"{part.array}_window")
            text = _window(session, part, [f for f in forms if f is not None], context)
            session.line(f"{window} = {text}")
            session.windows[part.array, part.index] = window


def _window(session: Session, expr: Load, forms: list[Affine], context: Context) -> str:
    """Rows of elements as an array of their own over the same memory, in which NumPy keeps it."""
    facts, flat = session.facts, _flat(session, expr)
    row = facts.canonical(variable(extent_symbol(expr.array, 1))) if len(forms) == 2 else None
    dtype = session.nest.arrays[expr.array].element.dtype or natural_dtype(expr.type)
    first = {axis: span.low for axis, span in context.spans}
    start = _place_text(session, [f.substitute(first) for f in forms], row)
    sizes = [facts.text(facts.canonical(s.high - s.low)) for _, s in context.spans]
    strides = []
    for axis in context.axes:
        down, on = [constant(0), *(constant(f.coefficient(axis)) for f in forms)][-2:]
        step = on if row is None else row.scale(down.const) + on
        if not facts.require(step - 1):
            raise NotVectorisable(f"the rows of {expr.array} run backwards", expr.line)
        strides.append(facts.text(step.scale(np.dtype(dtype).itemsize)))
    shape = f"({', '.join(sizes)})"
    kind = dtype_text(session.np, dtype)
    return (
        f"{session.np}.ndarray({shape}, {kind}, {flat}[{start}:], strides=({', '.join(strides)}))"
    )


def _place_text(session: Session, forms: list[Affine], row: Affine | None) -> str:
    """How many elements lie before one."""
    facts, last = session.facts, forms[-1]
    if row is None:
        return facts.text(last)
    if forms[0].is_const:
        return facts.text(facts.canonical(row.scale(forms[0].const) + last))
    return f"({facts.text(forms[0])}) * ({facts.text(row)}) + {facts.text(last)}"
