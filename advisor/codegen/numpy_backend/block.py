"""Statements of a block as array statements."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...loopnest.affine import affine
from ...loopnest.fold import fold, reads, substitute
from ...loopnest.ir import (
    PY_BOOL,
    Assign,
    Binary,
    Bool,
    Call,
    Const,
    Expr,
    For,
    If,
    Interval,
    Kind,
    Load,
    Scalar,
    Select,
    Stmt,
    Store,
    Var,
    statements,
    walk,
)
from .boxes import split
from .expressions import evaluate, load, truth, wanted_dtype
from .legality import index_range
from .normal import NotVectorisable, exposed, negate
from .provenance import copied_from
from .ranges import Ranges
from .reductions import reduce_assign, reduce_extreme
from .session import Binding, Buffer, BufferRef, Context, Env, Session, Span
from .values import ATOM, Value, cast, dtype_text, natural_dtype, result_dtype

MAX_INLINE = 9
"""Nodes of an expression beyond which it gets a name of its own."""


@dataclass(frozen=True)
class Pending:
    """A store under a condition on data, not yet written."""

    array: str
    index: tuple[Expr, ...]
    value: Expr
    statement: Store


def closed(expr: Expr, env: Env) -> Expr:
    """The expression over loads, indices, live-in scalars and buffers."""
    return fold(substitute(expr, {name: binding.expr for name, binding in env.items()}))


def block_body(
    session: Session, body: tuple[Stmt, ...], context: Context, env: Env
) -> list[Pending]:
    """Emit statements in order; returns the stores a branch leaves to its join."""
    pending: list[Pending] = []
    for position, statement in enumerate(body):
        after = exposed(body[position + 1 :]) | context.future
        here = replace(context, future=after)
        _forward(statement, pending)
        match statement:
            case Assign(name=name, value=value):
                assign(session, name, closed(value, env), here, env, statement)
            case Store():
                pending += store(session, statement, here, env)
            case If():
                pending += branch(session, statement, here, env)
            case For():
                if context.branch and id(statement) not in session.axes:
                    raise NotVectorisable(
                        "a loop that stays a loop runs under a condition on data", statement.line
                    )
                pending += inner_loop(session, statement, here, env)
            case _:
                raise NotVectorisable("a statement has no array form", statement.line)
    return pending


def _forward(statement: Stmt, pending: list[Pending]) -> None:
    """Nothing may read what a pending store would have written."""
    written = {p.array for p in pending}
    for inner in statements((statement,)):
        for part in _loads(inner):
            if part.array in written and not all(
                _distinct(part.index, p.index) for p in pending if p.array == part.array
            ):
                raise NotVectorisable(
                    f"{part.array} is read after it was written under a condition", part.line
                )


def _distinct(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Two subscripts that never name one element: ``acc[i, 0]`` and ``acc[i, 1]``."""
    for x, y in zip(a, b, strict=True):
        f, g = affine(x), affine(y)
        if f is not None and g is not None and (f - g).is_const and (f - g).const:
            return True
    return False


def _loads(statement: Stmt) -> list[Load]:
    from ...loopnest.ir import expressions

    return [p for e in expressions(statement) for p in walk(e) if isinstance(p, Load)]


# --------------------------------------------------------------------- loops
def inner_loop(session: Session, loop: For, context: Context, env: Env) -> list[Pending]:
    """A loop inside a block: one more axis, or a loop around array statements."""
    if id(loop) in session.axes:
        span = span_of(loop)
        deeper = replace(
            context,
            spans=_ordered(session, (*context.spans, (loop.index, span))),
            full=_ordered(session, (*context.full, (loop.index, span))),
        )
        inner = dict(env)
        result = block_body(session, loop.body, deeper, inner)
        for name in session.carried & inner.keys():
            env[name] = inner[name]
        return result
    _kept_loop(session, loop, context, env)
    return []


def _ordered(session: Session, spans: tuple[tuple[str, Span], ...]) -> tuple[tuple[str, Span], ...]:
    """Axes in the order of the array that is written, not of the loops, where that is free."""
    return tuple(sorted(spans, key=lambda item: session.axis_order.get(item[0], 99)))


def axis_order(session: Session, loop: For) -> dict[str, int]:
    """Position of each axis; the loops' own order where elements are reduced in it."""
    axes = [loop.index]
    axes += [s.index for s in statements(loop.body) if isinstance(s, For) and id(s) in session.axes]
    if not session.reductions:
        stores = [s for s in statements(loop.body) if isinstance(s, Store)]
        if stores:
            written = [reads(e) & set(axes) for e in stores[0].index]
            first = [name for names in written for name in sorted(names)]
            axes = list(dict.fromkeys((*first, *axes)))
    return {name: position for position, name in enumerate(dict.fromkeys(axes))}


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


def _kept_loop(session: Session, loop: For, context: Context, env: Env) -> None:
    assigned = {s.name for s in statements(loop.body) if isinstance(s, Assign)}
    carried = sorted((assigned & (exposed(loop.body) | context.future)) - session.reductions.keys())
    ahead = exposed(loop.body) | context.future
    _settle(session, loop, replace(context, future=ahead), env)
    for name in carried:
        _carry(session, name, loop, context, env)
    before = set(session.carried)
    session.carried |= set(carried)
    bounds = index_range(loop)
    if bounds is not None:
        session.facts.ranges[loop.index] = bounds
    if loop.index in session.nest.live_out:
        raise NotVectorisable(f"{loop.index} is read after the loop", loop.line)
    inner = replace(context, kept=context.kept + 1, future=ahead)
    local = dict(env)
    with session.indented(loop_header(session, loop)):
        count = len(session.lines)
        block_body(session, loop.body, inner, local)
        if len(session.lines) == count:
            session.line("pass")
    session.facts.ranges.pop(loop.index, None)
    session.carried = before


def _settle(session: Session, loop: For, context: Context, env: Env) -> None:
    """Scalars that stand for elements which the kept loop overwrites get their value now."""
    stored = {s.array for s in statements(loop.body) if isinstance(s, Store)}
    for array in sorted(stored):
        _save_readers(session, array, context, env)


def loop_header(session: Session, loop: For) -> str:
    """``for k in range(1, n):``."""
    start, stop = (evaluate(session, e, Context((), ())).text for e in (loop.start, loop.stop))
    bounds = stop if (start, loop.step) == ("0", 1) else f"{start}, {stop}"
    if loop.step != 1:
        bounds += f", {loop.step}"
    return f"for {loop.index} in range({bounds}):"


def _carry(session: Session, name: str, loop: For, context: Context, env: Env) -> None:
    """Expand a scalar that the kept loop updates: one element an iteration of the axes."""
    if name not in env:
        raise NotVectorisable(f"{name} is carried from one iteration to the next", loop.line)
    type_ = session.nest.privates[name]
    dtype = natural_dtype(type_)
    if _full_already(name, env, context.spans, dtype):
        return
    initial = env[name].expr
    shape = shape_text(session, context)
    buffer = new_buffer(session, name, context, dtype, frozenset(context.axes))
    if any(isinstance(p, BufferRef) and p.buffer.name == buffer.name for p in walk(initial)):
        buffer = replace(buffer, name=session.fresh(name))
    np, kind = session.np, dtype_text(session.np, dtype)
    suffix = "" if dtype == "float64" else f", dtype={kind}"
    if isinstance(initial, Const) and initial.value == 0 and str(initial.value) != "-0.0":
        session.line(f"{buffer.name} = {np}.zeros({shape}{suffix})")
    else:
        value = evaluate(session, initial, context)
        if value.is_array:
            session.line(f"{buffer.name} = {np}.empty({shape}{suffix})")
            session.line(f"{buffer.name}[...] = {value.text}")
        else:
            session.line(f"{buffer.name} = {np}.full({shape}, {value.text}, dtype={kind})")
    if type_.is_python and type_.kind is Kind.INT:
        session.buffer_ranges[buffer.version] = _accumulator_range(session, name, loop, context)
    env[name] = Binding(BufferRef(type_, loop.line, buffer), context.spans)


def _full_already(name: str, env: Env, spans: tuple[tuple[str, Span], ...], dtype: str) -> bool:
    """The scalar is an array of its own over all axes, and no other scalar refers to it."""
    expr = env[name].expr
    if not isinstance(expr, BufferRef):
        return False
    buffer = expr.buffer
    whole = buffer.axes == frozenset(axis for axis, _ in spans)
    others = (b.expr for other, b in env.items() if other != name)
    shared = any(
        isinstance(part, BufferRef) and part.buffer.name == buffer.name
        for other in others
        for part in walk(other)
    )
    own = buffer.private == name and buffer.spans == spans and buffer.dtype == dtype
    return own and whole and not shared


def _accumulator_range(session: Session, name: str, loop: For, context: Context) -> Interval:
    """A Python integer that only grows by small steps cannot leave 64 bits in a program's life."""
    for statement in statements(loop.body):
        if not isinstance(statement, Assign) or statement.name != name:
            continue
        match statement.value:
            case Binary(op="+" | "-", left=Var(name=left), right=right) if left == name:
                ranges = Ranges(session, context)
                step = ranges.interval(right)
                if step.low is None or step.high is None:
                    return Interval()
                if max(-step.low, step.high) >= 2**20:
                    return Interval()
                ranges.commit()
            case _:
                return Interval()
    return Interval(-(2**60), 2**60)


def shape_text(session: Session, context: Context) -> str:
    """The shape of a full array of the block."""
    facts = session.facts
    sizes = []
    for _, span in context.spans:
        if span.step == 1:
            sizes.append(facts.text(facts.canonical(span.high - span.low)))
        else:
            low, high = facts.text(span.low), facts.text(span.high)
            sizes.append(f"len(range({low}, {high}, {span.step}))")
    return sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"


def new_buffer(
    session: Session, private: str, context: Context, dtype: str, axes: frozenset[str]
) -> Buffer:
    """A name for an expanded scalar: the user's own, unless it must survive."""
    usable = private.isidentifier() and private not in session.nest.live_out
    own = not context.branch or private in session.single
    name = private if usable and own else session.fresh(private)
    if name in session.reductions or private in session.nest.invented:
        name = session.fresh(private.rstrip("_"))
    first = min(context.axes.index(axis) for axis in axes)
    dims = context.axes[first:]
    return Buffer(name, private, axes, context.spans, dtype, session.next_version(), dims)


# --------------------------------------------------------------- assignments
def assign(
    session: Session, name: str, value: Expr, context: Context, env: Env, statement: Stmt
) -> None:
    """Give a private scalar a closed value."""
    if name in session.reductions:
        reduce_assign(session, name, value, context, statement)
        return
    old = env.get(name)
    if name in session.nest.live_out:
        raise NotVectorisable(f"the last value of {name} is read after the loop", statement.line)
    if not context.branch and old is not None and name in session.carried:
        _update(session, name, value, context, env)
        return
    if not context.branch and _in_place(session, name, value, context, env):
        return
    alone = name in session.single and name not in env
    if _worth_a_name(session, name, value) and (alone or not context.branch):
        env[name] = Binding(materialise(session, name, value, context, env), context.spans)
        return
    env[name] = Binding(value, context.spans)


def _worth_a_name(session: Session, name: str, value: Expr) -> bool:
    size = sum(1 for part in walk(value) if not isinstance(part, Const))
    computed = any(not isinstance(p, Const | Var | Load | BufferRef) for p in walk(value))
    index_only = isinstance(value, Load)
    if not computed or index_only:
        return False
    return (session.uses.get(name, 0) > 1 and size > 1) or size > MAX_INLINE


def materialise(session: Session, name: str, value: Expr, context: Context, env: Env) -> Expr:
    """Compute a value now, under a name."""
    result = evaluate(session, value, context)
    if not result.is_array:
        return value
    _release(session, name, context, env)
    buffer = new_buffer(session, name, context, result.dtype or "float64", result.axes)
    buffer = replace(buffer, origin=value)
    text = result.text if result.fresh else f"{result.at(ATOM)}.copy()"
    ranges = Ranges(session, context)
    found = ranges.interval(value)
    if value.type.kind is Kind.INT and found.low is not None and found.high is not None:
        ranges.commit()
        session.buffer_ranges[buffer.version] = found
    elif found.low is not None:
        session.buffer_ranges[buffer.version] = found
    session.line(f"{buffer.name} = {text}")
    return BufferRef(value.type, value.line, buffer)


def _release(session: Session, name: str, context: Context, env: Env) -> None:
    """Before a name is bound again: whoever refers to its old array needs another one."""
    old = env.get(name)
    for other, binding in list(env.items()):
        if other == name:
            continue
        for part in walk(binding.expr):
            if isinstance(part, BufferRef) and part.buffer.name == name:
                if other in context.future:
                    env[other] = Binding(
                        materialise(session, other, binding.expr, context, env), binding.spans
                    )
                else:
                    del env[other]
                break
    del old


def _in_place(session: Session, name: str, value: Expr, context: Context, env: Env) -> bool:
    """``s = s + x`` on an array of our own becomes ``s += x``."""
    old = env.get(name)
    if old is None or not isinstance(old.expr, BufferRef):
        return False
    buffer = old.expr.buffer
    match value:
        case Binary(op="+" | "-" | "*" as op, left=BufferRef(buffer=left), right=right) if (
            left.version == buffer.version
        ):
            pass
        case _:
            return False
    if buffer.private != name or any(
        isinstance(p, BufferRef) and p.buffer == buffer for p in walk(right)
    ):
        return False
    if old.spans != context.spans:
        return False
    operand = evaluate(session, right, context)
    here = evaluate(session, old.expr, context)
    if not operand.axes <= buffer.axes:
        return False
    evaluate(session, value, context)  # its checks
    if result_dtype(op, here, operand) != buffer.dtype or (
        buffer.dtype != wanted_dtype(session, value)
    ):
        return False
    _release(session, name, context, env)
    _grow_range(session, buffer, value, context)
    session.line(f"{buffer.name} {op}= {operand.text}")
    new = replace(buffer, version=session.next_version(), origin=None)
    session.buffer_ranges[new.version] = session.buffer_ranges.pop(-buffer.version, Interval())
    env[name] = Binding(BufferRef(value.type, value.line, new), context.spans)
    return True


def _grow_range(session: Session, buffer: Buffer, value: Expr, context: Context) -> None:
    ranges = Ranges(session, context)
    found = ranges.interval(value)
    if value.type.kind is Kind.INT and found.low is not None:
        ranges.commit()
    session.buffer_ranges[-buffer.version] = found


def _spill(session: Session, name: str, old: Binding, context: Context, env: Env) -> None:
    """Expand a scalar whose elements get different values in parts of the block."""
    outer = replace(context, spans=old.spans)
    type_ = session.nest.privates[name]
    dtype = wanted_dtype(session, replace(old.expr, type=type_))
    if _full_already(name, env, old.spans, dtype):
        return
    buffer = new_buffer(session, name, outer, dtype, frozenset(outer.axes))
    if any(isinstance(p, BufferRef) and p.buffer.name == buffer.name for p in walk(old.expr)):
        buffer = replace(buffer, name=session.fresh(name))
    shape, kind = shape_text(session, outer), dtype_text(session.np, dtype)
    value = evaluate(session, old.expr, outer)
    suffix = "" if dtype == "float64" else f", dtype={kind}"
    if isinstance(old.expr, Const) and old.expr.value == 0:
        session.line(f"{buffer.name} = {session.np}.zeros({shape}{suffix})")
    elif not value.is_array:
        session.line(f"{buffer.name} = {session.np}.full({shape}, {value.text}, dtype={kind})")
    else:
        session.line(f"{buffer.name} = {session.np}.empty({shape}{suffix})")
        session.line(f"{buffer.name}[...] = {value.text}")
    ranges = Ranges(session, outer)
    session.buffer_ranges[buffer.version] = ranges.interval(old.expr)
    ranges.commit()
    env[name] = Binding(BufferRef(type_, old.expr.line, buffer), old.spans)


def _update(session: Session, name: str, value: Expr, context: Context, env: Env) -> None:
    """Write into the part of an expanded scalar that the present spans cover."""
    binding = env[name]
    ref = binding.expr
    assert isinstance(ref, BufferRef)
    buffer = ref.buffer
    _release(session, name, context, env)
    target = evaluate(session, ref, context)
    slot = target.text if "[" in target.text else f"{target.text}[...]"
    known = session.buffer_ranges.get(buffer.version, Interval())
    # ``value`` may refer to the buffer before a partial update: same array, older version.
    match value:
        case Binary(op="+" | "-" | "*" as op, left=BufferRef(buffer=left), right=right) if (
            left.name == buffer.name
            and not any(
                isinstance(p, BufferRef) and p.buffer.name == buffer.name for p in walk(right)
            )
        ):
            operand = evaluate(session, right, context)
            evaluate(session, value, context)
            if result_dtype(op, target, operand) == buffer.dtype:
                session.line(f"{target.text} {op}= {operand.text}")
                _note_union(session, buffer, known, value, context)
                return
    result = evaluate(session, value, context)
    if buffer.dtype != result.dtype and result.dtype is not None and result.is_array:
        result = cast(result, buffer.dtype, session.np)
    session.line(f"{slot} = {result.text}")
    _note_union(session, buffer, known, value, context)


def _note_union(
    session: Session, buffer: Buffer, known: Interval, value: Expr, context: Context
) -> None:
    from .ranges import union

    if context.kept:
        return  # the range of a carried scalar was settled before the loop
    ranges = Ranges(session, context)
    session.buffer_ranges[buffer.version] = union(known, ranges.interval(value))
    ranges.commit()


# -------------------------------------------------------------------- stores
def store(session: Session, statement: Store, context: Context, env: Env) -> list[Pending]:
    """Write elements, or leave that to the join of a branch."""
    index = tuple(closed(e, env) for e in statement.index)
    value = closed(statement.value, env)
    if context.branch:
        return [Pending(statement.array, index, value, statement)]
    write(session, Pending(statement.array, index, value, statement), context, env)
    return []


def write(session: Session, item: Pending, context: Context, env: Env) -> None:
    """One array store."""
    _save_readers(session, item.array, context, env)
    info = session.nest.arrays[item.array]
    line = item.statement.line
    element = Load(info.element, line, item.array, item.index)
    target = load(session, element, context, target=True)
    _check_store(session, item.value, info.element, context, line)
    match item.value:
        case Select(test=test, then=then, orelse=Load(array=same, index=at)) if (
            same == item.array and at == item.index
        ):
            mask = truth(evaluate(session, test, context))
            session.warns = True
            session.tests.append(test)
            new = evaluate(session, then, context)
            session.tests.pop()
            session.warns = False
            slot = target.text
            if mask.is_array:
                session.line(f"{session.np}.copyto({slot}, {new.text}, where={mask.text})")
                if new.dtype not in (None, natural_dtype(info.element)):
                    raise NotVectorisable("a masked store converts its values", line)
                if (
                    new.type.is_python
                    and new.type.kind is Kind.FLOAT
                    and (info.element.kind is not Kind.FLOAT)
                ):
                    raise NotVectorisable("a masked store converts its values", line)
                return
    result = evaluate(session, item.value, context)
    slot = target.text if target.text.endswith("]") else f"{target.text}[:]"
    if target.text.endswith(".T"):
        slot = f"{target.text}[:]"
    whole = _ufunc_out(session, item.value, target, result, context)
    session.line(whole or f"{slot} = {result.text}")


def _ufunc_out(
    session: Session, value: Expr, target: Value, result: Value, context: Context
) -> str | None:
    """``a[i] = a[i] + x`` becomes ``a += x``."""
    match value:
        case Binary(op="+" | "-" | "*" as op, left=Load() as left, right=right):
            first = evaluate(session, left, context)
            if first.text != target.text or not result.is_array:
                return None
            second = evaluate(session, right, context)
            if result_dtype(op, first, second) != natural_dtype(left.type):
                return None
            if result.dtype != natural_dtype(left.type) or (
                "[" not in target.text and (context.kept and target.text in session.nest.privates)
            ):
                return None
            if "[" not in target.text:
                return f"{target.text}[:] {op}= {second.text}"
            return f"{target.text} {op}= {second.text}"
    return None


def _check_store(
    session: Session, value: Expr, element: Scalar, context: Context, line: int
) -> None:
    """What NumPy converts silently for arrays but not for scalars."""
    order = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.COMPLEX)
    if (
        element.kind is Kind.INT
        and value.type.kind is Kind.FLOAT
        and _fits(session, value, element, context)
    ):
        return
    if order.index(value.type.kind) > order.index(element.kind) and not (
        element.kind is Kind.BOOL and value.type.kind is Kind.INT
    ):
        raise NotVectorisable(f"a {value.type.kind} is cut to {element} when it is stored", line)
    python = element.kind is Kind.INT and value.type.kind is Kind.INT and value.type.is_python
    if python and not _fits(session, value, element, context):
        raise NotVectorisable(f"an integer may not fit into {element}", line)


_CUTS = ("int", "math.floor", "math.ceil", "math.trunc")


def _fits(session: Session, value: Expr, element: Scalar, context: Context) -> bool:
    """Every value is in the range of the integer type."""
    if isinstance(value, Call) and value.function in _CUTS and element.dtype == "int64":
        return True  # tested where the integer is made
    ranges = Ranges(session, context)
    found = ranges.interval(value)
    limit = 2 ** (8 * _width(element) - 1)
    low, high = (0, 2 * limit) if (element.dtype or "").startswith("u") else (-limit, limit)
    if found.low is None or found.high is None or found.low < low or found.high >= high:
        return False
    ranges.commit()
    return True


def _width(element: Scalar) -> int:
    import numpy as np

    return np.dtype(natural_dtype(element)).itemsize


def _save_readers(session: Session, array: str, context: Context, env: Env) -> None:
    """Scalars that stand for elements about to be overwritten: ``t = a[i]; a[i] = b[i]``."""
    for name, binding in list(env.items()):
        touches = any(isinstance(p, Load) and p.array == array for p in walk(binding.expr))
        if not touches:
            continue
        if name not in context.future:
            del env[name]
            continue
        if binding.spans != context.spans:
            raise NotVectorisable(f"{name} is read after its array changed", context_line(binding))
        env[name] = Binding(materialise(session, name, binding.expr, context, env), binding.spans)


def context_line(binding: Binding) -> int:
    """Where a binding comes from."""
    return binding.expr.line


# ------------------------------------------------------------------ branches
def branch(session: Session, statement: If, context: Context, env: Env) -> list[Pending]:
    """An ``if``: narrower spans for conditions on the indices, masks for the rest."""
    if reduce_extreme(session, statement, context, env, closed):
        return []
    test = closed(statement.test, env)
    pieces = split(session, test, context) if not context.branch else None
    if pieces is None:
        return _masked(session, test, statement, context, env)
    before = set(session.carried)
    session.carried |= _expand_split(session, statement, context, env)
    for spans, rest, holds in pieces:
        inner, local = replace(context, spans=spans), dict(env)
        if not holds:
            block_body(session, statement.orelse, inner, local)
        elif rest is None:
            block_body(session, statement.then, inner, local)
        else:
            _masked(session, rest, statement, inner, local)
    session.carried = before
    return []


def _expand_split(session: Session, statement: If, context: Context, env: Env) -> set[str]:
    """Scalars that get values in parts of the spans and are read after: arrays from here on."""
    assigned = {
        s.name
        for s in statements((*statement.then, *statement.orelse))
        if isinstance(s, Assign) and s.name in context.future
    }
    names = assigned - session.reductions.keys() - session.carried
    for name in sorted(names):
        old = env.get(name)
        if old is None:
            type_ = session.nest.privates[name]
            dtype = wanted_dtype(session, Var(type_, statement.line, name))
            buffer = new_buffer(session, name, context, dtype, frozenset(context.axes))
            shape, kind = shape_text(session, context), dtype_text(session.np, dtype)
            session.line(f"{buffer.name} = {session.np}.empty({shape}, dtype={kind})")
            env[name] = Binding(BufferRef(type_, statement.line, buffer), context.spans)
        else:
            _spill(session, name, old, context, env)
    return names


def _masked(
    session: Session, test: Expr, statement: If, context: Context, env: Env
) -> list[Pending]:
    """Both branches for all elements, joined by the condition."""
    effects = sum(
        1 for s in statements((*statement.then, *statement.orelse)) if not isinstance(s, If)
    )
    if effects > 2 and not context.branch and _is_computed(test) and not _stores_one(statement):
        test = materialise(session, session.fresh("mask"), test, context, env)
    sides: list[tuple[list[Pending], Env]] = []
    for body, sign in ((statement.then, test), (statement.orelse, negate(test))):
        local = dict(env)
        mask = (
            sign if context.mask is None else Bool(PY_BOOL, test.line, "and", (context.mask, sign))
        )
        inner = replace(context, branch=True, mask=mask)
        sides.append((block_body(session, body, inner, local), local))
    (then_stores, then_env), (else_stores, else_env) = sides
    for name in sorted(then_env.keys() | else_env.keys()):
        a, b = then_env.get(name), else_env.get(name)
        if a == b or name in session.reductions:
            continue
        if a is None or b is None:
            # Set on one side only, and not before: no one reads it on the other side.
            chosen = a or b
            assert chosen is not None
            if name in context.future:
                env[name] = chosen
            continue
        if name not in context.future and name not in session.carried:
            continue
        value = _joined(test, a.expr, b.expr, session.nest.privates.get(name, a.expr.type))
        assign(session, name, value, context, env, statement)
    pending = _join_stores(session, test, then_stores, else_stores)
    if context.branch:
        return pending
    _write_all(session, pending, context, env)
    return []


def _stores_one(statement: If) -> bool:
    """All the branches do is give one element its value: the join is one expression."""
    arrays = set()
    for inner in statements((*statement.then, *statement.orelse)):
        if isinstance(inner, Store):
            arrays.add((inner.array, inner.index))
        elif isinstance(inner, Assign):
            return False
    return len(arrays) == 1


def _is_computed(test: Expr) -> bool:
    return not isinstance(test, Const | Var | BufferRef)


def _joined(test: Expr, a: Expr, b: Expr, type_: Scalar) -> Expr:
    return fold(Select(type_, test.line, test, a, b))


def _join_stores(
    session: Session, test: Expr, then: list[Pending], orelse: list[Pending]
) -> list[Pending]:
    rest = list(orelse)
    result: list[Pending] = []
    places = [(p.array, p.index) for p in then]
    if len(set(places)) < len(places) or len({(p.array, p.index) for p in rest}) < len(rest):
        raise NotVectorisable("one element is written twice in a branch", test.line)
    for item in then:
        other = next((o for o in rest if (o.array, o.index) == (item.array, item.index)), None)
        element = session.nest.arrays[item.array].element
        old = _old_value(session, item, element)
        if other is not None:
            rest.remove(other)
            old = other.value
        value = _joined(test, item.value, old, _store_type(item.value, old))
        result.append(replace(item, value=value))
    for item in rest:
        element = session.nest.arrays[item.array].element
        old = _old_value(session, item, element)
        value = _joined(negate(test), item.value, old, _store_type(item.value, old))
        result.append(replace(item, value=value))
    return result


def _old_value(session: Session, item: Pending, element: Scalar) -> Expr:
    """What the element holds where the condition is false: the fill of a fresh array, if known."""
    info = session.nest.arrays[item.array]
    fill = None if info.allocation is None else info.allocation.fill
    places = {
        (s.array, s.index)
        for s in statements((session.root,))
        if isinstance(s, Store) and s.array == item.array
    }
    first_touch = len(places) == 1 and not session.kept_around
    copied = copied_from(session, info)
    if (
        copied is not None
        and first_touch
        and copied not in {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    ):
        return Load(element, item.value.line, copied, item.index)
    if fill is not None and first_touch and isinstance(fill, int):
        return Const(Scalar(Kind(type(fill).__name__)), item.value.line, fill)
    return Load(element, item.value.line, item.array, item.index)


def _store_type(a: Expr, b: Expr) -> Scalar:
    order = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.COMPLEX)
    high, low = (a, b) if order.index(a.type.kind) >= order.index(b.type.kind) else (b, a)
    if high.type.kind is low.type.kind and high.type.is_python:
        return low.type
    return high.type


def _write_all(session: Session, pending: list[Pending], context: Context, env: Env) -> None:
    """Write joined stores; values that read an array written before them are computed first."""
    ready: list[Pending] = []
    for item in pending:
        loads = [p for p in walk(item.value) if isinstance(p, Load)]
        if any(
            p.array == w.array and not _distinct(p.index, w.index) for p in loads for w in ready
        ):
            value = materialise(
                session, session.fresh(f"new_{item.array}"), item.value, context, env
            )
            item = replace(item, value=value)
        ready.append(item)
    for item in ready:
        write(session, item, context, env)
