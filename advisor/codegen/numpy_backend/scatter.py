"""``h[b[i]] += e``: elements that several iterations add to, at places that the data decide.

``np.add.at`` adds one term after the other, in the order of the axes: the loop's own, so floats
keep their bits. Integers are counted by ``np.bincount`` where all terms are one constant.
"""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.affine import affine, extent_symbol, variable
from ...loopnest.ir import (
    PY_INT,
    Assign,
    Binary,
    Const,
    Expr,
    For,
    Kind,
    Load,
    Nest,
    Select,
    Store,
    statements,
)
from . import indexing
from .effects import inside
from .expressions import evaluate, truth
from .flat import as_it_is
from .implied import implied_inside, known_under
from .known import extent_text
from .legality import accesses
from .normal import NotVectorisable
from .ranges import Ranges, fits
from .reductions import sum_fits
from .scalars import closed
from .session import Context, Env, Session
from .trapped import STOP, can_stop
from .values import ATOM, COMPARISON, Value, natural_dtype

_UFUNCS = {"+": "add", "-": "subtract"}
_DTYPES = ("int64", "float64", "float32")


def scatter_stores(root: For, nest: Nest) -> frozenset[int]:
    """``id`` of the stores that add to computed elements of an array that nothing else touches."""
    found = accesses(root)
    assigned = {s.name for s in statements((root,)) if isinstance(s, Assign)}
    result = set()
    for statement in statements((root,)):
        if not isinstance(statement, Store) or added(statement) is None:
            continue
        if not any(_computed(e, assigned) for e in statement.index):
            continue  # C[i, j] += ..: better a loop around array statements
        uses = [a for a in found if a.array == statement.array]
        info = nest.arrays[statement.array]
        if info.container == "bytearray":
            continue  # counts in bytes end at 255
        if len(uses) == 2 and not info.aliases and _keeps_type(statement, nest):
            result.add(id(statement))
    return frozenset(result)


def _computed(subscript: Expr, assigned: set[str]) -> bool:
    """Not a plain function of the loops' indices."""
    form = affine(subscript)
    return form is None or bool(form.symbols & assigned)


def added(statement: Store) -> tuple[str, Expr] | None:
    """``("+", e)`` of ``a[i] = a[i] + e``."""
    match statement.value:
        case Binary(op="+" | "-" as op, left=Load(array=array, index=index), right=right) if (
            array == statement.array and index == statement.index
        ):
            return op, right
        case Binary(op="+", left=left, right=Load(array=array, index=index)) if (
            array == statement.array and index == statement.index
        ):
            return "+", left
    return None


def _keeps_type(statement: Store, nest: Nest) -> bool:
    """The sum has the element's own type: counts in bytes wrap, and a list may hold floats."""
    found = added(statement)
    assert found is not None
    element, value = nest.arrays[statement.array].element, statement.value.type
    same = natural_dtype(element) == natural_dtype(value) == natural_dtype(found[1].type)
    return same and natural_dtype(element) in _DTYPES and element.is_python == value.is_python


def scatter_add(session: Session, statement: Store, context: Context, env: Env) -> None:
    """Write the store over all axes of the context. Raises NotVectorisable."""
    found = added(statement)
    assert found is not None
    op, term = found[0], closed(found[1], env)
    index = tuple(closed(e, env) for e in statement.index)
    if context.spans != context.full:
        raise NotVectorisable("a computed subscript under a condition", statement.line)
    places: list[Value] = []
    unsure: list[int] = []
    for dim in range(len(index)):
        place, sure = _place(session, statement, dim, index, context)
        places.append(place)
        unsure += [] if sure else [dim]
    value = evaluate(session, term, context)
    _check_integers(session, statement, term, context)
    axes = frozenset(context.axes)
    if frozenset().union(*(p.axes for p in places)) != axes:
        raise NotVectorisable("several terms for one computed subscript", statement.line)
    mask = None if context.mask is None else truth(evaluate(session, context.mask, context))
    if mask is not None and mask.is_array:
        places, value = _chosen(session, places, value, mask, statement.line)
    elif mask is not None:
        raise NotVectorisable("a sum under a condition that does not change", statement.line)
    for dim in unsure:
        _stop_outside(session, places[dim], statement.array, dim)
    name = session.array_names.get(statement.array, statement.array)
    session.changed.add(statement.array)
    session.line(
        _counted(session, statement, op, term, index, places, context, name)
        or _added_at(session, op, places, value, name)
    )
    if session.level == 0 and as_it_is(session.nest.arrays[statement.array]).container == "ndarray":
        session.final.add(len(session.lines) - 1)


def _place(
    session: Session, statement: Store, dim: int, index: tuple[Expr, ...], context: Context
) -> tuple[Value, bool]:
    """One subscript as an array of places, and whether all of them are inside.

    Where they are not, the text asks when it has them. Raises NotVectorisable.
    """
    expr = index[dim]
    element = session.nest.arrays[statement.array].element
    target = Load(element, statement.line, statement.array, index)
    form, axes, sure = affine(expr), indexing.axes_of(expr, context), True
    if form is not None and len(axes) == 1 and all(form.coefficient(a) for a in axes):
        (axis,) = axes
        span = context.span(axis)
        indexing.slice_text(
            session, form, axis, span, statement.array, dim, statement.line
        )  # its guards
    else:
        sure = _is_inside(session, target, dim, context)
    with known_under(session, context):
        value = evaluate(session, expr, context)
    if value.dtype in ("bool", "uint64") or value.type.kind is not Kind.INT:
        raise NotVectorisable(f"{statement.array} is indexed by {value.dtype}", statement.line)
    return value, sure


def _is_inside(session: Session, target: Load, dim: int, context: Context) -> bool:
    """Whether all places that are added to are shown to be inside; if not, the text must ask.

    ``if not low <= x[i] < high: continue`` stands there so that the others are. Raises
    NotVectorisable where the text cannot ask either.
    """
    size = session.facts.canonical(variable(extent_symbol(target.array, dim)))
    if implied_inside(session, target.index[dim], size, context.mask):
        return True
    if context.mask is not None and can_stop(session):
        return False  # shorter than asking under which condition, and where, before the loop
    try:
        _ask_ahead(session, target, dim, context)
    except NotVectorisable:
        if not can_stop(session):
            raise
        return False
    return True


def _ask_ahead(session: Session, target: Load, dim: int, context: Context) -> None:
    """Places are tested before the loop, be it under the condition. Raises NotVectorisable."""
    index, everywhere = target.index[dim], replace(context, mask=None)
    if context.mask is None:
        inside(session, target, dim, context, evaluate)
        return
    zero = Const(PY_INT, index.line, 0)
    chosen = Select(index.type, index.line, context.mask, index, zero)
    places = (*target.index[:dim], chosen, *target.index[dim + 1 :])
    try:
        inside(session, replace(target, index=places), dim, everywhere, evaluate)
    except NotVectorisable:  # the condition cannot be asked before the loop
        inside(session, target, dim, context, evaluate)


def _stop_outside(session: Session, places: Value, array: str, dim: int) -> None:
    """Leave the array code if some place is beyond the ends; a selection of none has none."""
    extent = extent_text(session.nest, array, dim)
    place = places.at(COMPARISON + 1)
    session.line(f"if {session.np}.any(({place} < -{extent}) | ({place} >= {extent})):")
    session.line(f"    {STOP}")


def _check_integers(session: Session, statement: Store, term: Expr, context: Context) -> None:
    element = session.nest.arrays[statement.array].element
    if element.kind is not Kind.INT:
        return
    if element.is_python and not sum_fits(session, term, context):
        raise NotVectorisable("a sum of integers may grow beyond 64 bits", statement.line)
    if not fits(session, context, term):
        raise NotVectorisable("an integer may not fit into 64 bits", statement.line)


def _chosen(
    session: Session, places: list[Value], value: Value, mask: Value, line: int
) -> tuple[list[Value], Value]:
    """Places and terms of the elements under the mask."""
    if len(mask.axes) > 1 or any(p.axes != mask.axes for p in places):
        raise NotVectorisable("a computed subscript under a condition", line)
    name = mask.text
    if value.is_array or not name.isidentifier():
        name = session.fresh("chosen")
        session.line(f"{name} = {mask.text}")

    def at(one: Value) -> Value:
        text = f"{one.at(ATOM)}[{name}]"
        return Value(text, ATOM, one.type, one.dtype, one.axes, True) if one.is_array else one

    return [at(place) for place in places], at(value)


def _counted(
    session: Session,
    statement: Store,
    op: str,
    term: Expr,
    index: tuple[Expr, ...],
    places: list[Value],
    context: Context,
    name: str,
) -> str | None:
    """``h += np.bincount(b, minlength=len(h))``; None where that is not the same."""
    if len(places) > 1 or not isinstance(term, Const) or term.type.kind is not Kind.INT:
        return None
    ranges = Ranges(session, context)
    low = ranges.interval(index[0]).low
    if low is None or low < 0:
        return None
    ranges.commit()
    text = places[0].text if len(context.axes) == 1 else f"{places[0].at(ATOM)}.ravel()"
    count = f"{session.np}.bincount({text}, minlength=len({name}))"
    return f"{name} {op}= {count if term.value == 1 else f'{term.value} * {count}'}"


def _added_at(session: Session, op: str, places: list[Value], value: Value, name: str) -> str:
    where = places[0].text if len(places) == 1 else f"({', '.join(p.text for p in places)})"
    return f"{session.np}.{_UFUNCS[op]}.at({name}, {where}, {value.text})"
