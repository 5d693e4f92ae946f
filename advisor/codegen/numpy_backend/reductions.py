"""Scalars accumulated over all iterations of a block, as text; `reduced` says which they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ...loopnest.affine import affine
from ...loopnest.ir import (
    Assign,
    Call,
    Const,
    Expr,
    If,
    Kind,
    Stmt,
)
from .expressions import evaluate, truth
from .flavours import flavours
from .normal import NotVectorisable
from .ranges import EXACT, LARGEST, MOST_INT, SIZES, Ranges, fits
from .reduced import extreme_parts, index_parts, term
from .session import Context, Env, Session
from .values import ATOM, BITAND, Value, cast, dtype_text, natural_dtype


def reduce_assign(
    session: Session, name: str, value: Expr, context: Context, statement: Stmt
) -> None:
    """Emit one update of a reduced scalar. ``value`` is closed but for the scalar itself."""
    how = session.reductions[name]
    if how == "flag":
        _flag(session, name, value, context)
    elif how == "sum":
        found = term(value, name)
        if found is None:
            raise NotVectorisable(f"{name} is not a plain sum", statement.line)
        _sum(session, name, *found, value, context)
    else:
        match value:
            case Call(function="min" | "max" as function, args=(_, element)):
                _extreme(session, name, "<" if function == "min" else ">", element, [], context)
            case _:
                raise NotVectorisable(f"{name} is not a plain extreme", statement.line)


def _flag(session: Session, name: str, value: Expr, context: Context) -> None:
    mask = _mask(session, context)
    text = evaluate(session, value, Context((), ())).text
    if mask is None or not mask.is_array:
        raise NotVectorisable(f"{name} is set whatever the data", value.line)
    with session.indented(f"if {_method(session, mask, 'any')}:"):
        session.line(f"{name} = {text}")


def _mask(session: Session, context: Context) -> Value | None:
    return None if context.mask is None else truth(evaluate(session, context.mask, context))


def _one_flavour(session: Session, element: Expr) -> None:
    """Refuse ``s += k if flag else a[i]``: a Python float or a NumPy one, as the data will."""
    if len(flavours(session, element)) > 1:
        raise NotVectorisable(
            "the result is a Python number or one of NumPy's, depending on the data",
            element.line,
            "convert with float() or int()",
        )


def _method(session: Session, value: Value, name: str) -> str:
    if value.level == ATOM:
        return f"{value.text}.{name}()"
    return f"{session.np}.{name}({value.text})"


def _not_empty(session: Session, context: Context, line: int) -> None:
    for _, span in context.spans:
        if not session.facts.require(span.high - span.low - 1):
            raise NotVectorisable("a loop may have no iteration", line)


def _sum(
    session: Session, name: str, op: str, element: Expr, whole: Expr, context: Context
) -> None:
    # s = 0.0; for v in x[:0]: s += v leaves the Python float; where s has one type throughout,
    # accumulate over s alone is s itself.
    if whole.type.kind is not Kind.FLOAT or name in session.nest.joined:
        _not_empty(session, context, whole.line)
    _one_flavour(session, element)
    if whole.type.kind is Kind.INT:
        _sum_integers(session, name, op, element, whole, context)
        return
    if whole.type.kind is not Kind.FLOAT:
        raise NotVectorisable(f"{name} adds up numbers of another kind", whole.line)
    if any(loop.step < 0 for loop in session.block_loops):
        raise NotVectorisable("floats are added up from the end", whole.line)
    mask, value = _mask(session, context), _full(session, element, context)
    dtype = natural_dtype(whole.type)
    if element.type.kind is Kind.INT and fits(session, context, element, -EXACT, EXACT):
        value = cast(value, dtype, session.np)
    if value.dtype != dtype:
        raise NotVectorisable("the terms are added up in another precision", whole.line)
    ufunc = "add" if op == "+" else "subtract"
    text = value.text
    if mask is not None and mask.is_array:
        text, chosen, terms = session.fresh("terms"), mask.text, value.at(ATOM)
        if mask.axes != value.axes:  # if x == 0: the same for all rows
            session.line(f"{text} = {value.text}")
            chosen, terms = f"{session.np}.broadcast_to({mask.text}, {text}.shape)", text
        session.line(f"{text} = {terms}[{chosen}]")
    start = f"{session.np}.append({name}, {text})"
    if dtype != "float64":
        start = f"{start}.astype({dtype_text(session.np, dtype)})"
    # Sums of floats in the loop's own order: a pairwise np.sum would round differently.
    result = f"{session.np}.{ufunc}.accumulate({start})[-1]"
    if whole.type.is_python:
        result = f"float({result})"
    comment = "# accumulate adds in the loop's order, np.sum would not"
    if mask is not None and not mask.is_array:
        with session.indented(f"if {mask.text}:"):
            session.line(comment)
            session.line(f"{name} = {result}")
    elif text != value.text:
        with session.indented(f"if {text}.size:"):
            session.line(comment)
            session.line(f"{name} = {result}")
    else:
        session.line(comment)
        session.line(f"{name} = {result}")


def _full(session: Session, element: Expr, context: Context) -> Value:
    """The element over all axes."""
    value = evaluate(session, element, context)
    if value.axes == frozenset(context.axes):
        return value
    raise NotVectorisable("a sum over a term that does not change", element.line)


def _sum_integers(
    session: Session, name: str, op: str, element: Expr, whole: Expr, context: Context
) -> None:
    mask = _mask(session, context)
    if mask is not None and not mask.is_array:
        # if mode == 1: count += 1, the same for all elements
        with session.indented(f"if {mask.text}:"):
            _sum_integers(session, name, op, element, whole, replace(context, mask=None))
        return
    python = whole.type.is_python
    if python and not sum_fits(session, element, context):
        raise NotVectorisable("a sum of integers may grow beyond 64 bits", whole.line)
    dtype = natural_dtype(whole.type)
    count = isinstance(element, Const) and mask is not None and mask.is_array
    if count and mask is not None and isinstance(element, Const):
        text = f"{session.np}.count_nonzero({mask.text})"
        if mask.axes != frozenset(context.axes):
            raise NotVectorisable("a count over a condition that does not change", whole.line)
        text = f"int({text})" if python else f"{dtype_text(session.np, dtype)}({text})"
        if element.value != 1:
            text = f"{element.value} * {text}"
        session.line(f"{name} {op}= {text}")
        return
    value = evaluate(session, element, context)
    axes = frozenset(context.axes)
    chosen = mask
    if mask is not None and mask.is_array:
        if not python and mask.level != ATOM:
            chosen = mask = _named(session, mask)
        if value.axes == axes == mask.axes:
            value = Value(f"{value.at(ATOM)}[{mask.text}]", ATOM, value.type, value.dtype, axes)
        else:
            text = f"{session.np}.where({mask.text}, {value.text}, 0)"
            value = Value(text, ATOM, value.type, value.dtype, value.axes | mask.axes)
    if value.axes != axes:
        raise NotVectorisable("a sum over a term that does not change", whole.line)
    # uint8([200, 100]).sum() is 300, a uint64; the loop's own sum wraps to 44, a uint8.
    natural = value.dtype == dtype and dtype in ("int64", "uint64")
    suffix = "" if natural else f"dtype={dtype_text(session.np, dtype)}"
    text = f"{value.at(ATOM)}.sum({suffix})"
    update = f"{name} {op}= {f'int({text})' if python else text}"
    if python or chosen is None or not chosen.is_array:
        session.line(update)
        return
    # total = 0 stays a Python int if no element is chosen, and then 0 + np.int64(0) is none.
    with session.indented(f"if {_method(session, chosen, 'any')}:"):
        session.line(update)


def sum_fits(session: Session, element: Expr, context: Context) -> bool:
    """The sum of all terms stays below 2**62 (what it is added to is a Python integer)."""
    for size in SIZES:
        ranges = Ranges(session, context, size)
        found = ranges.interval(element)
        if found.low is None or found.high is None:
            continue
        terms = 1
        for _, span in context.spans:
            trips = ranges.trips(span.low, span.high)
            terms *= LARGEST if trips.high is None else max(1, int(trips.high))
        if max(-found.low, found.high) * min(terms, LARGEST) <= MOST_INT:
            ranges.sized |= terms > LARGEST or size == LARGEST
            ranges.commit()
            return True
    return False


def _named(session: Session, value: Value) -> Value:
    name = session.fresh("chosen")
    session.line(f"{name} = {value.text}")
    return Value(name, ATOM, value.type, value.dtype, value.axes)


def reduce_extreme(
    session: Session,
    statement: If,
    context: Context,
    env: Env,
    close: Callable[[Expr, Env], Expr],
) -> bool:
    """``if e < best: best = e; where = i`` as argmin; False if the statement is not that."""
    index = index_parts(statement)
    if index is not None and session.reductions.get(index[0]) == "extreme":
        best, op, load, old, at = index
        target = evaluate(session, old, Context((), ())).text
        assign = Assign(statement.line, statement.node, best, at)
        _extreme(session, target, op, close(load, env), [(assign, close(at, env))], context)
        return True
    found = extreme_parts(statement)
    if found is None or session.reductions.get(found[0]) != "extreme":
        return False
    name, op, element, others = found
    closed = [(other, close(other.value, env)) for other in others]
    _extreme(session, name, op, close(element, env), closed, context)
    return True


def _extreme(
    session: Session,
    name: str,
    op: str,
    element: Expr,
    others: list[tuple[Assign, Expr]],
    context: Context,
) -> None:
    """Strict comparison keeps the first extreme element, as argmin and argmax do.

    ``name``: the scalar with the extreme so far, or the element that is it.
    """
    line = element.line
    mask = _mask(session, context)
    chosen = mask is not None and element.type.kind is Kind.FLOAT and others == []
    if any(loop.step < 0 for loop in session.block_loops) or (mask is not None and not chosen):
        raise NotVectorisable("an extreme under a condition or from the end", line)
    if mask is not None and mask.axes != frozenset(context.axes):
        raise NotVectorisable("an extreme under a condition that does not change", line)
    _one_flavour(session, element)
    value = cast(_full(session, element, context), natural_dtype(element.type), session.np)
    text = value.text
    if value.level != ATOM or value.fresh or not text.isidentifier():
        text = session.fresh("values")
        session.line(f"{text} = {value.text}")
    arguments = (session, name, op, value, text)
    if mask is not None:
        write = partial(_chosen_extreme, *arguments, mask)
    else:
        write = partial(_extreme_of, *arguments, others, context)
    if _has_terms(session, context):
        write()
        return
    with session.indented(f"if {text}.size:"):
        write()


def _chosen_extreme(
    session: Session, name: str, op: str, value: Value, text: str, mask: Value
) -> None:
    """The extreme of the elements under a mask; the old one where none is, or beyond it."""
    np, function = session.np, "min" if op == "<" else "max"
    worst = f"{np}.inf" if op == "<" else f"-{np}.inf"
    # A comparison with NaN is false, so the loop passes over it.
    kept = f"{mask.at(BITAND)} & ({text} == {text})"
    found = session.fresh("extreme")
    session.line(f"{found} = {np}.where({kept}, {text}, {worst}).{function}()")
    item = f"{found}.item()" if value.type.is_python else found
    with session.indented(f"if {found} {op} {name}:"):
        session.line(f"{name} = {item}")


def _has_terms(session: Session, context: Context) -> bool:
    """Some iteration runs, by proof or guard."""
    trips = [span.high - span.low for _, span in context.spans]
    return all(session.facts.require(length - 1) for length in trips)


def _extreme_of(
    session: Session,
    name: str,
    op: str,
    value: Value,
    text: str,
    others: list[tuple[Assign, Expr]],
    context: Context,
) -> None:
    np, function = session.np, "argmin" if op == "<" else "argmax"
    searched = text
    if value.type.kind is Kind.FLOAT:
        # A comparison with NaN is false, so the loop passes over it; argmin would pick it.
        worst = f"{np}.inf" if op == "<" else f"-{np}.inf"
        searched = f"{np}.where({np}.isnan({text}), {worst}, {text})"
    place = session.fresh("best_at")
    session.line(f"{place} = int({np}.{function}({searched}))")
    item = f"{text}[{place}]" if len(context.axes) == 1 else f"{text}.flat[{place}]"
    if value.type.is_python:
        item = f"{item}.item()"
    with session.indented(f"if {item} {op} {name}:"):
        if name.isidentifier():
            session.line(f"{name} = {item}")
        for assign, expr in others:
            session.line(f"{assign.name} = {_at(session, expr, place, context)}")


def _at(session: Session, expr: Expr, place: str, context: Context) -> str:
    """The value of a companion (``where = i``) at the position found."""
    form = affine(expr)
    if form is not None and len(form.symbols & set(context.axes)) <= 1:
        axes = form.symbols & set(context.axes)
        if not axes:
            return session.facts.text(form)
        if len(context.axes) == 1:
            (axis,) = axes
            span = context.span(axis)
            shifted = session.facts.canonical(form.substitute({axis: span.low}))
            factor = form.coefficient(axis) * span.step
            if factor == 1:
                rest = session.facts.text(shifted)
                return place if rest == "0" else f"{place} + {rest}"
        else:
            (axis,) = axes
            span = context.span(axis)
            if form.coefficient(axis) == 1 and span.step == 1:
                position = context.axes.index(axis)
                sizes = ", ".join(
                    session.facts.text(session.facts.canonical(s.high - s.low))
                    for _, s in context.spans
                )
                text = f"int({session.np}.unravel_index({place}, ({sizes}))[{position}])"
                rest = session.facts.text(form.substitute({axis: span.low}))
                return text if rest == "0" else f"{text} + {rest}"
    raise NotVectorisable("what is kept along with an extreme is not an index", expr.line)
