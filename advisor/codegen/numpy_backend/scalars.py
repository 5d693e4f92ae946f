"""Private scalars: expanded to arrays, substituted, updated in place."""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.fold import fold, reads, substitute
from ...loopnest.ir import (
    Assign,
    Binary,
    Const,
    Expr,
    For,
    Interval,
    Kind,
    Load,
    Stmt,
    Var,
    statements,
    walk,
)
from .buffers import kept_array
from .expressions import evaluate, wanted_dtype
from .extremes import extreme_of
from .intervals import union
from .legality import index_range
from .normal import NotVectorisable
from .ranges import LARGEST, MOST_INT, Ranges, best, fits
from .reductions import reduce_assign
from .session import Binding, Buffer, BufferRef, Context, Env, Session, Span
from .values import ATOM, cast, dtype_text, natural_dtype, result_dtype

MAX_INLINE = 9


"""Nodes of an expression beyond which it gets a name of its own."""


def closed(expr: Expr, env: Env) -> Expr:
    """The expression over loads, indices, live-in scalars and buffers."""
    return fold(substitute(expr, {name: binding.expr for name, binding in env.items()}))


def carry(session: Session, name: str, loop: For, context: Context, env: Env) -> None:
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
    session.starts[name] = initial
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
        session.buffer_ranges[buffer.version] = _accumulator_range(
            session, name, initial, loop, context
        )
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


def _accumulator_range(
    session: Session, name: str, initial: Expr, loop: For, context: Context
) -> Interval:
    """What a carried integer can be: a sum of bounded steps, or one of a few bounded values."""
    values = [s.value for s in statements(loop.body) if isinstance(s, Assign) and s.name == name]
    if not any(name in reads(value) for value in values):
        return _one_of(session, [initial, *values], loop, context)
    # A start and fewer than 2**40 steps (see `ranges.GIVEN`) of a bounded size.
    largest = 0
    for value in values:
        match value:
            case Binary(op="+" | "-", left=Var(name=left), right=right) if left == name:
                step = _magnitude(session, right, context, (1, 2**8, 2**20))
                if step is None:
                    return Interval()
                largest += step
            case _:
                return Interval()
    # Any start counts: s = base, with base = 2**62, passes 64 bits in a few steps.
    start = _magnitude(session, initial, context, (0, 2**31, 2**60))
    if start is None:
        return Interval()
    bound = start + largest * LARGEST
    session.sized = True
    return Interval(-bound, bound) if bound <= MOST_INT else Interval()


def _one_of(session: Session, values: list[Expr], loop: For, context: Context) -> Interval:
    """The range of ``label = -1``, then ``label = c`` in loops over ``c``."""
    inner = [s for s in statements((loop,)) if isinstance(s, For)]
    known = {one.index: bounds for one in inner if (bounds := index_range(one)) is not None}
    before = dict(session.facts.ranges)
    session.facts.ranges.update(
        {name: bounds for name, bounds in known.items() if name not in context.axes}
    )
    found: Interval | None = None
    for value in values:
        one = best(session, context, value)
        found = one if found is None else union(found, one)
    session.facts.ranges.clear()
    session.facts.ranges.update(before)
    return found or Interval()


def _magnitude(
    session: Session, expr: Expr, context: Context, bounds: tuple[int, ...]
) -> int | None:
    """The first bound that no value exceeds."""
    return next((b for b in bounds if fits(session, context, expr, -b, b)), None)


def shape_text(session: Session, context: Context) -> str:
    """The shape of a full array of the block."""
    facts = session.facts
    sizes = []
    for _, span in context.spans:
        # np.zeros(n - 2) raises for n == 1, where the loop has no iteration
        if span.step == 1 and not facts.require(span.high - span.low):
            raise NotVectorisable("the trip count of a loop may be negative")
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
    release(session, name, context, env)
    buffer = new_buffer(session, name, context, result.dtype or "float64", result.axes)
    buffer = replace(buffer, origin=value)
    text = result.text if result.fresh else f"{result.at(ATOM)}.copy()"
    found = Ranges(session, context).interval(value)
    if value.type.kind is Kind.INT:
        session.buffer_ranges[buffer.version] = best(session, context, value)
    elif found.low is not None:
        session.buffer_ranges[buffer.version] = found
    lines = kept_array(session, buffer.name, value, context)
    for line in lines or [f"{buffer.name} = {text}"]:
        session.line(line)
    return BufferRef(value.type, value.line, buffer)


def release(session: Session, name: str, context: Context, env: Env) -> None:
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
    release(session, name, context, env)
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


def spill(session: Session, name: str, old: Binding, context: Context, env: Env) -> None:
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
    release(session, name, context, env)
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
    found = extreme_of(session, name, buffer, value)
    if found is not None and target.is_array and not session.silent:
        function, other = found
        operand = evaluate(session, other, context)
        if operand.dtype == buffer.dtype == target.dtype:
            text = f"{session.np}.{function}({target.text}, {operand.text}, out={target.text})"
            session.line(text)
            _note_union(session, buffer, known, value, context)
            return
    session.line(f"{slot} = {result.text}")
    _note_union(session, buffer, known, value, context)


def _note_union(
    session: Session, buffer: Buffer, known: Interval, value: Expr, context: Context
) -> None:
    if context.kept:
        return  # the range of a carried scalar was settled before the loop
    ranges = Ranges(session, context)
    session.buffer_ranges[buffer.version] = union(known, ranges.interval(value))
    ranges.commit()
