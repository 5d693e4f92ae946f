"""The statements of a block, in order: axes, kept loops, conditions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ...loopnest.fold import reads
from ...loopnest.ir import (
    PY_BOOL,
    Assign,
    Bool,
    Expr,
    For,
    If,
    Load,
    Stmt,
    Store,
    Sum,
    Var,
    statements,
    walk,
)
from .boxes import split
from .expressions import evaluate, wanted_dtype
from .indexing import span_of
from .legality import index_range
from .normal import NotVectorisable, exposed, may_raise, negate
from .reductions import reduce_extreme
from .rows_at_once import rows_at_once
from .scalars import assign, carry, closed, materialise, new_buffer, release, shape_text, spill
from .scan import scan
from .scatter import scatter_add
from .session import Binding, BufferRef, Context, Env, Session, Span
from .slanted import fold_along, name_repeated
from .stores import (
    Pending,
    counts,
    distinct,
    is_computed,
    join_stores,
    joined,
    loads_of,
    save_readers,
    store,
    stores_one,
    write_all,
)
from .triangles import is_uneven, rectangles
from .values import dtype_text


def block_body(
    session: Session, body: tuple[Stmt, ...], context: Context, env: Env
) -> list[Pending]:
    """Emit statements in order; returns the stores a branch leaves to its join."""
    pending: list[Pending] = []
    for position, statement in enumerate(body):
        after = exposed(body[position + 1 :]) | context.future
        here = replace(context, future=after)
        session.checked.clear()
        session.products.clear()
        session.windows.clear()
        session.named.clear()
        _forward(statement, pending)
        match statement:
            case Assign(name=name, value=value):
                ready = closed(value, env)
                name_repeated(session, ready, here)
                trapped = session.trapped
                if name not in session.reductions:
                    computed_here(session, ready, here)
                needed = after | session.reductions.keys() | session.nest.live_out | session.carried
                if name in needed:
                    assign(session, name, ready, here, env, statement)
                if session.trapped > trapped and name not in session.reductions:
                    _computed_now(session, name, here, env)
            case Store() if id(statement) in session.scatters:
                scatter_add(session, statement, here, env)
            case Store() if id(statement) in session.scans:
                scan(session, statement, here, env)
            case Store(value=value):
                name_repeated(session, closed(value, env), here)
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


def computed_here(session: Session, value: Expr, context: Context) -> None:
    """What may raise must be shown not to, for all elements, even if few of them are used.

    ``t = 1.0 / x[i]`` raises for ``x[i] == 0`` although ``if x[i] != 0: y[i] = t`` follows, and
    ``t = x[i + 1]`` behind the end although nobody reads ``t``.
    """
    if not may_raise(value):
        return
    lines, silent, products = len(session.lines), session.silent, dict(session.products)
    evaluate(session, value, context)
    session.products = products
    if len(session.lines) > lines:
        session.checked.clear()
        del session.lines[lines:]
    session.silent = silent


def _computed_now(session: Session, name: str, context: Context, env: Env) -> None:
    """What is asked of the flags of the processor is computed, for all elements, at this place."""
    known = env.get(name)
    if known is not None and not isinstance(known.expr, BufferRef):
        env[name] = Binding(materialise(session, name, known.expr, context, env), context.spans)
    if known is None or not isinstance(env[name].expr, BufferRef):
        raise NotVectorisable("a value that nobody reads may raise")


def _forward(statement: Stmt, pending: list[Pending]) -> None:
    """Nothing may read what a pending store would have written."""
    written = {p.array for p in pending}
    for inner in statements((statement,)):
        for part in loads_of(inner):
            if part.array in written and not all(
                distinct(part.index, p.index) for p in pending if p.array == part.array
            ):
                raise NotVectorisable(
                    f"{part.array} is read after it was written under a condition", part.line
                )


# --------------------------------------------------------------------- loops
def inner_loop(session: Session, loop: For, context: Context, env: Env) -> list[Pending]:
    """A loop inside a block: one more axis, or a loop around array statements."""
    if id(loop) in session.axes and is_uneven(loop, context.axes):
        for part in rectangles(session, loop, context):
            inner_loop(session, part, context, env)
        return []
    if id(loop) in session.axes:
        span = span_of(loop)
        deeper = replace(
            context,
            spans=_ordered(session, (*context.spans, (loop.index, span))),
            full=_ordered(session, (*context.full, (loop.index, span))),
        )
        ahead = exposed(loop.body) | context.future
        _settle(session, loop.body, replace(context, future=ahead), env)
        inner = dict(env)
        result = block_body(session, loop.body, deeper, inner)
        for name in session.carried & inner.keys():
            env[name] = inner[name]
        return result
    if session.waves is not None and id(loop) in session.waves.folds:
        fold_along(session, loop, context, env)
        return []
    if rows_at_once(session, loop, context, env, block_body):
        return []
    _kept_loop(session, loop, context, env)
    return []


def _ordered(session: Session, spans: tuple[tuple[str, Span], ...]) -> tuple[tuple[str, Span], ...]:
    """Axes in the order of the array that is written, not of the loops, where that is free."""
    return tuple(sorted(spans, key=lambda item: session.axis_order.get(item[0], 99)))


def axis_order(session: Session, loop: For) -> dict[str, int]:
    """Position of each axis; the loops' own order where elements are reduced in it."""
    axes = [loop.index]
    axes += [s.index for s in statements(loop.body) if isinstance(s, For) and id(s) in session.axes]
    if not session.reductions and not session.scatters:
        stores = [s for s in statements(loop.body) if isinstance(s, Store)]
        if stores:
            # rows of the largest array that is written, in the order they lie in memory
            along = [[reads(e) & set(axes) for e in store.index] for store in stores]
            written = max(along, key=lambda names: len(frozenset().union(*names)))
            first = [name for names in written for name in sorted(names)]
            axes = list(dict.fromkeys((*first, *axes)))
    return {name: position for position, name in enumerate(dict.fromkeys(axes))}


def _kept_loop(session: Session, loop: For, context: Context, env: Env) -> None:
    assigned = {s.name for s in statements(loop.body) if isinstance(s, Assign)}
    carried = sorted((assigned & (exposed(loop.body) | context.future)) - session.reductions.keys())
    ahead = exposed(loop.body) | context.future
    here = replace(context, future=ahead)
    _settle(session, loop.body, here, env)
    for name in carried:
        release(session, name, here, env)
        carry(session, name, loop, context, env)
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
        block_body(session, loop.body, inner, local)
    session.facts.ranges.pop(loop.index, None)
    session.carried = before


def _settle(session: Session, body: tuple[Stmt, ...], context: Context, env: Env) -> None:
    """Scalars that stand for elements which the body overwrites get their value now.

    ``t = a[i]``, then ``if i > 0: a[i] = 0.0``, then ``b[i] = t``.
    """
    stored = {s.array for s in statements(body) if isinstance(s, Store)}
    for array in sorted(stored):
        save_readers(session, array, context, env)


def loop_header(session: Session, loop: For) -> str:
    """``for k in range(1, n):``."""
    start, stop = (evaluate(session, e, Context((), ())).text for e in (loop.start, loop.stop))
    bounds = stop if (start, loop.step) == ("0", 1) else f"{start}, {stop}"
    if loop.step != 1:
        bounds += f", {loop.step}"
    return f"for {loop.index} in range({bounds}):"


# ------------------------------------------------------------------ branches
def branch(session: Session, statement: If, context: Context, env: Env) -> list[Pending]:
    """An ``if``: narrower spans for conditions on the indices, masks for the rest."""
    if reduce_extreme(session, statement, context, env, closed):
        return []
    test = closed(statement.test, env)
    pieces = split(session, test, context) if not context.branch else None
    if pieces is None:
        if not context.branch and not context.kept and len(_axes_tested(test, context)) > 1:
            place = (test, context.spans)
            if place not in session.masks:
                name = session.fresh("mask")
                session.masks[place] = materialise(session, name, test, context, env)
            test = session.masks[place]
        return _masked(session, test, statement, context, env)
    both = (*statement.then, *statement.orelse)
    ahead = replace(context, future=exposed(both) | context.future)
    if not context.branch:
        _settle(session, both, ahead, env)
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


def _axes_tested(test: Expr, context: Context) -> frozenset[str]:
    """The axes of a test on indices alone; none if it looks at data."""
    if any(isinstance(part, Load | BufferRef | Sum) for part in walk(test)):
        return frozenset()
    return reads(test) & frozenset(context.axes)


def _expand_split(session: Session, statement: If, context: Context, env: Env) -> set[str]:
    """Scalars that get values in parts of the spans and are read after: arrays from here on."""
    assigned = {
        s.name
        for s in statements((*statement.then, *statement.orelse))
        if isinstance(s, Assign) and s.name in context.future
    }
    names = assigned - session.reductions.keys() - session.carried
    for name in sorted(names):
        release(session, name, context, env)
        old = env.get(name)
        if old is None:
            type_ = session.nest.privates[name]
            dtype = wanted_dtype(session, Var(type_, statement.line, name))
            buffer = new_buffer(session, name, context, dtype, frozenset(context.axes))
            shape, kind = shape_text(session, context), dtype_text(session.np, dtype)
            session.line(f"{buffer.name} = {session.np}.empty({shape}, dtype={kind})")
            env[name] = Binding(BufferRef(type_, statement.line, buffer), context.spans)
        else:
            spill(session, name, old, context, env)
    return names


def _turns(session: Session, test: Expr, statement: If) -> bool:
    """Updates in place would change the test for those that follow: ``if d < best: best = d; ..``.

    One update alone reads the test before it writes.
    """
    body = tuple(statements((*statement.then, *statement.orelse)))
    assigned = {s.name for s in body if isinstance(s, Assign)} & session.carried
    updates = [s for s in body if not isinstance(s, If)]
    return len(updates) > 1 and any(
        isinstance(part, BufferRef) and part.buffer.private in assigned for part in walk(test)
    )


def _masked(
    session: Session, test: Expr, statement: If, context: Context, env: Env
) -> list[Pending]:
    """Both branches for all elements, joined by the condition."""
    computed_here(session, test, context)
    effects = sum(
        1 for s in statements((*statement.then, *statement.orelse)) if not isinstance(s, If)
    )
    named = effects > 2 and not stores_one(statement)
    if (named or _turns(session, test, statement)) and not context.branch and is_computed(test):
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
    values: dict[str, Expr] = {}
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
        if name in context.future or name in session.carried:
            type_ = session.nest.privates.get(name, a.expr.type)
            counted = None if context.branch else counts(test, a.expr, b.expr, type_)
            values[name] = counted or joined(test, a.expr, b.expr, type_)
    pending = join_stores(session, test, then_stores, else_stores)
    if context.branch:
        for name, value in values.items():
            assign(session, name, value, context, env, statement)
        return pending
    changing = {buffer: name for name in values for buffer in _buffers(env.get(name), name)}
    pending = [_before(session, item, changing, context, env) for item in pending]
    _assign_all(session, values, context, env, statement)
    write_all(session, pending, context, env)
    return []


def _buffers(binding: Binding | None, name: str) -> list[str]:
    """The array that an update of the scalar would write into."""
    match binding:
        case Binding(expr=BufferRef(buffer=buffer)) if buffer.private == name:
            return [buffer.name]
    return []


def _reads_one(expr: Expr, buffers: Collection[str]) -> bool:
    return any(isinstance(part, BufferRef) and part.buffer.name in buffers for part in walk(expr))


def _before(
    session: Session, item: Pending, changing: Mapping[str, str], context: Context, env: Env
) -> Pending:
    """``out[i] = best``, then ``best = d``: the stored value is computed before."""
    if not _reads_one(item.value, changing):
        return item
    name = session.fresh(f"new_{item.array}")
    return replace(item, value=materialise(session, name, item.value, context, env))


def _assign_all(
    session: Session, values: Mapping[str, Expr], context: Context, env: Env, statement: If
) -> None:
    """All scalars get their values at once: ``if d < best: second = best; best = d``."""
    left = dict(values)
    while left:
        arrays = {name: _buffers(env.get(name), name) for name in left}
        name = next((n for n in left if not _read_by_others(arrays[n], left, n)), "")
        if not name:  # a, b = b, a + b
            name = next(iter(left))
            for other, value in left.items():
                if other != name and _reads_one(value, arrays[name]):
                    fresh = session.fresh(f"new_{other}")
                    left[other] = materialise(session, fresh, value, context, env)
        assign(session, name, left.pop(name), context, env, statement)


def _read_by_others(arrays: Collection[str], values: Mapping[str, Expr], name: str) -> bool:
    return any(other != name and _reads_one(value, arrays) for other, value in values.items())
