"""Array stores: slices, masks, and the join of what two branches store."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...loopnest.affine import affine
from ...loopnest.fold import fold
from ...loopnest.ir import (
    PY_INT,
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    For,
    If,
    Kind,
    Load,
    Scalar,
    Select,
    Stmt,
    Store,
    Var,
    expressions,
    statements,
    walk,
)
from .buffers import in_steps, straight_into
from .domains import require_number
from .elements import load
from .expansion import Expansion
from .expressions import evaluate, truth
from .legality import accesses
from .normal import NotVectorisable, negate
from .provenance import copied_from
from .ranges import fits, type_range
from .restructure import ONCE
from .scalars import closed, materialise
from .session import Binding, BufferRef, Context, Env, Session
from .values import Value, natural_dtype, result_dtype


@dataclass(frozen=True)
class Pending:
    """A store under a condition on data, not yet written."""

    array: str
    index: tuple[Expr, ...]
    value: Expr
    statement: Store


def distinct(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Two subscripts that never name one element: ``acc[i, 0]`` and ``acc[i, 1]``."""
    for x, y in zip(a, b, strict=True):
        f, g = affine(x), affine(y)
        if f is not None and g is not None and (f - g).is_const and (f - g).const:
            return True
    return False


def loads_of(statement: Stmt) -> list[Load]:
    """The elements a statement reads itself."""
    return [p for e in expressions(statement) for p in walk(e) if isinstance(p, Load)]


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
    _write(session, item, context, env)
    session.changed.add(item.array)


def _write(session: Session, item: Pending, context: Context, env: Env) -> None:
    save_readers(session, item.array, context, env)
    info = session.nest.arrays[item.array]
    line = item.statement.line
    element = Load(info.element, line, item.array, item.index)
    target = load(session, element, context, target=True)
    _check_store(session, item.value, info.element, context, line)
    if info.container == "bytearray":
        _check_bytes(session, item.array, item.value, context, line)
    match item.value:
        case Select(test=test, then=then, orelse=Load(array=same, index=at)) if (
            same == item.array and at == item.index and not target.fresh
        ):
            mask = truth(evaluate(session, test, context))
            session.warns = True
            session.tests.append(test)
            new = evaluate(session, then, context)
            session.tests.pop()
            session.warns = False
            slot = target.text
            pick = _extreme(test, then, element)
            if pick and new.is_array and new.dtype == natural_dtype(info.element):
                session.line(f"{session.np}.{pick}({slot}, {new.text}, out={slot})")
                return
            if mask.is_array:
                session.line(_masked_copy(session, item.array, test, new, mask, slot))
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
    if isinstance(info.allocation, Expansion) and item.array not in session.changed:
        if _is_whole(result, target, item.array, context):
            session.line(f"{item.array} = {result.text}")
            return
        make_rows(session, item.array)
    slot = target.text if target.text.endswith("]") else f"{target.text}[:]"
    updates = _in_place(session, item, target, result, context)
    updates = updates or _in_steps(session, item, target, result, context)
    if not updates and _takes_rows(item, target, result, context):
        updates = straight_into(session, item.value, target, result, context)
    for text in updates or [f"{slot} = {result.text}"]:
        session.line(text)


def _masked_copy(
    session: Session, array: str, test: Expr, new: Value, mask: Value, slot: str
) -> str:
    """``if flags[i - k]: flags[i] = True``: a mask of the same array is read while it is written.

    NumPy makes a copy first for operations, but not for the mask of ``copyto``.
    """
    known = session.nest.arrays[array]
    same = isinstance(test, Load) and test.array in {array, *known.aliases}
    overlaps = same and test.type.kind is Kind.BOOL  # else the mask is a new array
    truths = known.element.kind is Kind.BOOL and slot.endswith("]")
    if overlaps and truths and new.text == "True":
        return f"{slot} |= {mask.text}"
    where = f"{mask.text}.copy()" if overlaps else mask.text
    return f"{session.np}.copyto({slot}, {new.text}, where={where})"


def _extreme(test: Expr, then: Expr, element: Load) -> str:
    """``if new < a[i]: a[i] = new`` of integers is ``minimum``; a float may be NaN."""
    match test:
        case Compare(op="<" | ">" as op, left=left, right=right) if element.type.kind is Kind.INT:
            if {left, right} == {then, element}:
                return "minimum" if (op == "<") == (left == then) else "maximum"
    return ""


def _is_whole(result: Value, target: Value, array: str, context: Context) -> bool:
    """The value is a new array of just the elements that are written, all there are."""
    everywhere = result.axes == frozenset(context.axes) and not context.kept
    return everywhere and result.fresh and result.dtype == "float64" and target.text == array


def make_rows(session: Session, array: str) -> None:
    """``rows = np.empty((n, m))`` in front of the loops, once, for an expanded array."""
    info = session.nest.arrays[array]
    if isinstance(info.allocation, Expansion) and array not in session.changed:
        forms = (affine(e) for e in info.extents if e is not None)
        extents = ", ".join(session.facts.text(form) for form in forms if form is not None)
        session.prologue.append(f"{array} = {session.np}.empty(({extents}))")


def _in_place(
    session: Session, item: Pending, target: Value, result: Value, context: Context
) -> list[str]:
    """``a[i] = a[i] + x - y`` becomes ``a += x`` and ``a -= y``, ``x * a[i]`` becomes ``a *= x``.

    Each statement needs one array for its right side, not one for every operation. Empty where
    that is not the same.
    """
    start, steps = _steps(item.value)
    if not isinstance(start, Load) or not steps or not result.is_array:
        return []
    first, dtype = evaluate(session, start, context), natural_dtype(start.type)
    if first.text != target.text or result.dtype != dtype:
        return []
    if "[" not in target.text and context.kept and target.text in session.nest.privates:
        return []
    changed = {item.array, *session.nest.arrays[item.array].aliases}
    later = [part for _, step in steps[1:] for part in walk(step)]
    if any(isinstance(part, Load) and part.array in changed for part in later):
        return []
    # u[1:].T += x would set the attribute T
    plain = target.text.endswith("]") or target.text in session.rebound
    slot = target.text if plain else f"{target.text}[:]"
    lines = []
    for op, step in steps:
        value = evaluate(session, step, context)
        if result_dtype(op, first, value) != dtype or (session.silent and len(steps) > 1):
            return []
        made = in_steps(session, step, context) if value.axes == target.axes else None
        if made is not None:
            lines += made[0]
        lines.append(f"{slot} {op}= {value.text if made is None else made[1]}")
    return lines


def _in_steps(
    session: Session, item: Pending, target: Value, result: Value, context: Context
) -> list[str]:
    """One operation after the other in memory of our own; empty where it need not be."""
    if target.dtype != "float64" or not _takes_rows(item, target, result, context):
        return []
    made = in_steps(session, item.value, context, target.text)
    return [] if made is None else made[0]


def _takes_rows(item: Pending, target: Value, result: Value, context: Context) -> bool:
    """``out=`` may name the target: its elements lie side by side, and all of them are new.

    Not so for a column, which NumPy fills faster from a row than element by element.
    """
    last = affine(item.index[-1])
    if last is None or last.coefficient(context.axes[-1]) != 1 or target.fresh:
        return False
    plain = target.text.endswith("]") or target.text.isidentifier()
    return plain and (result.axes, result.dtype) == (target.axes, target.dtype)


def _steps(value: Expr) -> tuple[Expr, list[tuple[str, Expr]]]:
    """What an expression starts with, and what is then done to it, one after the other.

    ``b * a[i] + x - y``: start with ``a[i]``, multiply by b, add x, subtract y.
    """
    steps: list[tuple[str, Expr]] = []
    while isinstance(value, Binary) and value.op in ("+", "-"):
        steps.insert(0, (value.op, value.right))
        value = value.left
    match value:
        case Binary(op="*", left=other, right=Load() as last) if not isinstance(other, Load):
            return last, [("*", other), *steps]  # rounded as before
        case Binary(op="*" | "/" as op, left=Load() as first, right=right):
            return first, [(op, right), *steps]
    return value, steps


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
    integers = element.kind is Kind.INT and value.type.kind is Kind.INT
    # int8_array[i] = np.int64(130) raises as 130 does; int8_array[:] = int64_array wraps.
    if integers and _narrows(value.type, element) and not _fits(session, value, element, context):
        where = element.dtype or "64 bits"
        raise NotVectorisable(f"an integer may not fit into {where}", line)


def _check_bytes(session: Session, array: str, value: Expr, context: Context, line: int) -> None:
    """A bytearray takes 0 to 255 and raises for all else: proved, or asked of the new elements.

    Asked afterwards, for each must be stored once: ``out[i] = 300``, then ``out[i] = 5`` raises.
    """
    if value.type.kind not in (Kind.INT, Kind.BOOL):
        raise NotVectorisable(f"a {value.type.kind} is stored in a bytearray", line)
    if fits(session, context, value, 0, 255):
        return
    found = [access for access in accesses(session.root) if access.array == array]
    forms = [affine(index) for index in found[0].index]
    symbols = {s for form in forms if form is not None for s in form.symbols}
    if len(found) > 1 or not {loop.index for loop in found[0].loops} <= symbols:
        raise NotVectorisable(f"a number may be stored in {array} that is no byte", line)
    session.in_bytes.add(array)


def _narrows(value: Scalar, element: Scalar) -> bool:
    """Whether the stored type cannot hold every value of the given one."""
    import numpy as np

    return value.is_python or not np.can_cast(natural_dtype(value), natural_dtype(element), "safe")


_CUTS = ("int", "math.floor", "math.ceil", "math.trunc")


def _fits(session: Session, value: Expr, element: Scalar, context: Context) -> bool:
    """Every value is in the range of the integer type."""
    match value:
        case Call(function=function, args=(one, *_)) if (
            function in _CUTS and one.type.kind is Kind.FLOAT and element.dtype in (None, "int64")
        ):
            return True  # tested where the integer is made
    if not fits(session, context, value, *type_range(natural_dtype(element))):
        return False
    if value.type.kind is Kind.FLOAT:
        reason = "a float that is not a number has no integer"
        require_number(session, value, context, evaluate, reason)
    return True


def save_readers(session: Session, array: str, context: Context, env: Env) -> None:
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


def stores_one(statement: If) -> bool:
    """All the branches do is give one element its value: the join is one expression."""
    arrays = set()
    for inner in statements((*statement.then, *statement.orelse)):
        if isinstance(inner, Store):
            arrays.add((inner.array, inner.index))
        elif isinstance(inner, Assign):
            return False
    return len(arrays) == 1


def is_computed(test: Expr) -> bool:
    """Worth a name of its own."""
    return not isinstance(test, Const | Var | BufferRef)


def joined(test: Expr, a: Expr, b: Expr, type_: Scalar) -> Expr:
    """``a if test else b``."""
    return fold(Select(type_, test.line, test, a, b))


def counts(test: Expr, new: Expr, old: Expr, type_: Scalar) -> Expr | None:
    """``count + 1 if test else count`` as ``count + test``; None for anything else."""
    if type_ != PY_INT or isinstance(old, Const):
        return None
    match new:
        case Binary(op="+" | "-", left=left, right=Const(value=1) as one) if (
            left == old and one.type == PY_INT
        ):
            step = Select(PY_INT, test.line, test, one, replace(one, value=0, name=None))
            return replace(new, right=step)
    return None


def join_stores(
    session: Session, test: Expr, then: list[Pending], orelse: list[Pending]
) -> list[Pending]:
    """One store for each place that either branch writes."""
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
        value = joined(test, item.value, old, _store_type(item.value, old))
        result.append(replace(item, value=value))
    for item in rest:
        element = session.nest.arrays[item.array].element
        old = _old_value(session, item, element)
        value = joined(negate(test), item.value, old, _store_type(item.value, old))
        result.append(replace(item, value=value))
    return result


def _old_value(session: Session, item: Pending, element: Scalar) -> Expr:
    """What the element holds where the condition is false: the fill of a fresh array, if known."""
    info = session.nest.arrays[item.array]
    fill = None if info.allocation is None else info.allocation.fill
    first_touch = not session.kept_around and _stored_once(session, session.root, item.array)
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


def _stored_once(session: Session, loop: For, array: str) -> bool:
    """All stores are at one place and in one statement: no second ``if`` sees those of the first.

    ``if a[i] > 0: out[i] = 1``, then ``if b[i] > 0: out[i] = 2``: else the 1 must stay. So it must
    where a loop that stays one stores to the element again: ``if d < best: nearest[i] = c``.
    """
    if loop.index != ONCE and id(loop) not in session.axes:
        return False
    places = {s.index for s in statements((loop,)) if isinstance(s, Store) and s.array == array}
    writing = [s for s in loop.body if _writes(s, array)]
    if len(writing) != 1 or len(places) != 1:
        return False
    (only,) = writing
    return _stored_once(session, only, array) if isinstance(only, For) else True


def _writes(statement: Stmt, array: str) -> bool:
    return any(isinstance(s, Store) and s.array == array for s in statements((statement,)))


def _store_type(a: Expr, b: Expr) -> Scalar:
    order = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.COMPLEX)
    high, low = (a, b) if order.index(a.type.kind) >= order.index(b.type.kind) else (b, a)
    if high.type.kind is low.type.kind and high.type.is_python:
        return low.type
    return high.type


def write_all(session: Session, pending: list[Pending], context: Context, env: Env) -> None:
    """Write joined stores; values that read an array written before them are computed first."""
    ready: list[Pending] = []
    for item in pending:
        loads = [p for p in walk(item.value) if isinstance(p, Load)]
        if any(p.array == w.array and not distinct(p.index, w.index) for p in loads for w in ready):
            value = materialise(
                session, session.fresh(f"new_{item.array}"), item.value, context, env
            )
            item = replace(item, value=value)
        ready.append(item)
    for item in ready:
        write(session, item, context, env)
