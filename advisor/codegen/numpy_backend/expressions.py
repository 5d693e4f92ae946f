"""IR expressions as NumPy source text."""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.affine import affine, extent_symbol, variable
from ...loopnest.ir import (
    PY_INT,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    Kind,
    Load,
    Scalar,
    Select,
    Unary,
    Var,
    walk,
)
from . import indexing
from .domains import nonzero_divisor, require
from .functions import call_value
from .halo import Halo, new_halo
from .known import extent_text
from .normal import NotVectorisable, negate
from .ranges import Ranges
from .session import BufferRef, Context, Session
from .values import (
    AND,
    ATOM,
    BITAND,
    BITOR,
    NOT,
    OR,
    TERNARY,
    Value,
    binary,
    cast,
    compare,
    dtype_text,
    natural_dtype,
    result_dtype,
)
from .values import UNARY as UNARY_LEVEL


def scalar_text(session: Session, expr: Expr) -> str:
    """Python source of an expression of the kept loops: no axis takes part."""
    return evaluate(session, expr, Context((), ())).text


def wanted_dtype(session: Session, expr: Expr) -> str:
    """The dtype an array of the expression's values is computed in."""
    natural = natural_dtype(expr.type)
    if expr.type.kind is Kind.INT and session.narrow and natural in ("int64", "uint8", "int32"):
        return next(iter(session.narrow.values()))
    return natural


def evaluate(session: Session, expr: Expr, context: Context) -> Value:
    """The value of a closed expression over the axes of the context."""
    value = _evaluate(session, expr, context)
    if session.narrow and value.is_array and not isinstance(expr, Load | BufferRef):
        _check_narrow(session, expr, value, context)
    return value


_LIMITS = {"uint8": (0, 255), "int16": (-32768, 32767)}


def _check_narrow(session: Session, expr: Expr, value: Value, context: Context) -> None:
    """Nothing may wrap in the narrower type that would not wrap in the original."""
    limits = _LIMITS.get(value.dtype or "")
    if expr.type.kind is not Kind.INT or limits is None or value.dtype == expr.type.dtype:
        return
    ranges = Ranges(session, context)
    found = ranges.interval(expr)
    if found.low is None or found.high is None or found.low < limits[0] or found.high > limits[1]:
        raise NotVectorisable(f"values may not fit into {value.dtype}", expr.line)
    ranges.commit()


def _evaluate(session: Session, expr: Expr, context: Context) -> Value:
    match expr:
        case Const():
            return _constant(expr)
        case BufferRef():
            return _buffer(session, expr, context)
        case Var(name=name):
            if name in context.axes:
                return _axis_index(session, name, context)
            return Value(name, ATOM, expr.type, expr.type.dtype)
        case Dim(array=array, axis=axis):
            return Value(extent_text(session.nest, array, axis), ATOM, PY_INT, None)
        case Load():
            return load(session, expr, context)
        case Unary():
            return _unary(session, expr, context)
        case Binary():
            return _binary(session, expr, context)
        case Compare():
            return _compare(session, expr, context)
        case Bool():
            return _bool(session, expr, context)
        case Select():
            return _select(session, expr, context)
        case Call():
            return call_value(session, expr, context)
    raise NotVectorisable("an expression has no array form", expr.line)


def _constant(expr: Const) -> Value:
    text = expr.name or repr(expr.value)
    level = UNARY_LEVEL if text.startswith("-") else ATOM
    if text in ("inf", "nan", "-inf") or isinstance(expr.value, complex):
        text, level = f"float({text!r})" if not isinstance(expr.value, complex) else text, ATOM
    return Value(text, level, expr.type, expr.type.dtype)


def align(text: str, present: list[str], axes: tuple[str, ...]) -> str:
    """Insert ``None`` for axes without a dimension; ``present`` are in the block's order."""
    first = axes.index(present[0])
    parts = [":" if axis in present else "None" for axis in axes[first:]]
    return text if "None" not in parts else f"{text}[{', '.join(parts)}]"


def _axis_index(session: Session, name: str, context: Context) -> Value:
    span = context.span(name)
    facts = session.facts
    start, stop = facts.text(span.low), facts.text(span.high)
    bounds = stop if start == "0" and span.step == 1 else f"{start}, {stop}"
    if span.step != 1:
        bounds += f", {span.step}"
    text = align(f"{session.np}.arange({bounds})", [name], context.axes)
    return Value(text, ATOM, PY_INT, "int64", frozenset({name}), True)


def _buffer(session: Session, expr: BufferRef, context: Context) -> Value:
    buffer = expr.buffer
    if not set(buffer.dims) <= set(context.axes):
        raise NotVectorisable(f"{buffer.private} is read outside its loop", expr.line)
    slices = indexing.buffer_slices(session, buffer, context)
    first = context.axes.index(buffer.dims[0])
    parts = [
        "None" if axis not in buffer.dims else slices.get(axis, ":")
        for axis in context.axes[first:]
    ]
    text = buffer.name
    if any(part != ":" for part in parts):
        text = f"{buffer.name}[{', '.join(parts)}]"
    return Value(text, ATOM, expr.type, buffer.dtype, buffer.axes)


# ------------------------------------------------------------------ elements
def load(session: Session, expr: Load, context: Context, *, target: bool = False) -> Value:
    """Elements of an array as slices of it."""
    info = session.nest.arrays[expr.array]
    found = [_subscript(session, expr, dim, context) for dim in range(len(expr.index))]
    if any(isinstance(part, indexing.Border) for part in found):
        if target:
            raise NotVectorisable(f"{expr.array} is written across its edge", expr.line)
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
        return _element(session, expr, [str(p) for p in found], info.container, name)
    if any(isinstance(part, Value) for part in found):
        if target:
            raise NotVectorisable(
                f"{expr.array} is written at computed places: two may coincide", expr.line
            )
        return _gather(session, expr, found, name, dtype, context)
    return _view(expr, found, name, dtype, context, target=target)


Part = str | indexing.AxisIndex | indexing.Border | Value


def _subscript(session: Session, expr: Load, dim: int, context: Context) -> Part:
    index = expr.index[dim]
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


def _check_fixed(session: Session, expr: Load, dim: int, context: Context) -> None:
    """An element that every iteration shares must exist even if no iteration runs."""
    if not context.axes:
        return
    form = affine(expr.index[dim])
    if form is None:
        if context.narrowed:
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


def _element(session: Session, expr: Load, parts: list[str], container: str, name: str) -> Value:
    if container == "ndarray" or name != expr.array:
        text = f"{name}[{', '.join(parts)}]"
        dtype: str | None = natural_dtype(expr.type)
        if name != expr.array and expr.type.is_python and not session.axes:
            raise NotVectorisable("single elements of a list are read", expr.line)
    else:
        text = name + "".join(f"[{part}]" for part in parts)
        dtype = None
    return Value(text, ATOM, expr.type, dtype)


def _gather(
    session: Session, expr: Load, found: list[Part], name: str, dtype: str, context: Context
) -> Value:
    """``a[idx[i]]``: index arrays broadcast against each other."""
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


def inserted_axes(done: list[str], axes: tuple[str, ...], present: list[str]) -> str:
    """The next axis a subscript has to provide for, ``""`` when all are."""
    count = sum(1 for part in done if part == "None" or part.startswith("@"))
    return axes[count] if count < len(axes) else ""


def _joined(texts: list[str]) -> str:
    kept = list(texts)
    while len(kept) > 1 and kept[-1] == ":" and all(":" not in t for t in kept[:-1]):
        kept.pop()  # grid[i] rather than grid[i, :]
    return ", ".join(kept)


# ---------------------------------------------------------------- arithmetic
def _unary(session: Session, expr: Unary, context: Context) -> Value:
    value = evaluate(session, expr.operand, context)
    if expr.op == "not":
        mask = truth(value)
        if mask.is_array:
            return replace(mask, text=f"~{mask.at(UNARY_LEVEL)}", level=UNARY_LEVEL, fresh=True)
        return Value(f"not {mask.at(NOT)}", NOT, expr.type, None)
    if not value.is_array:
        text = f"{expr.op}{value.at(UNARY_LEVEL)}"
        return Value(text, UNARY_LEVEL, expr.type, expr.type.dtype)
    if expr.op == "+":
        return value
    dtype = wanted_dtype(session, expr)
    _check_integer(session, expr, context)
    value = cast(value, dtype, session.np)
    text = f"{expr.op}{value.at(UNARY_LEVEL)}"
    return Value(text, UNARY_LEVEL, expr.type, dtype, value.axes, True)


def _binary(session: Session, expr: Binary, context: Context) -> Value:
    left = evaluate(session, expr.left, context)
    right = evaluate(session, expr.right, context)
    if not left.is_array and not right.is_array:
        return binary(expr.op, left, right, expr.type, expr.type.dtype)
    dtype = wanted_dtype(session, expr)
    _check_integer(session, expr, context)
    _check_domain(session, expr, context)
    if expr.op in ("/",):
        dtype = natural_dtype(expr.type)
    if result_dtype(expr.op, left, right) != dtype:
        left, right = _widened(session, left, right, dtype, expr)
    return binary(expr.op, left, right, expr.type, dtype)


def _widened(
    session: Session, left: Value, right: Value, dtype: str, expr: Expr
) -> tuple[Value, Value]:
    """Cast array operands so that NumPy computes in the type the scalars had.

    ``k * x`` with a loop index and a float32 is float32 for scalars, float64 for int64 arrays.
    """
    op = expr.op if isinstance(expr, Binary) else "+"
    for change_left, change_right in ((True, False), (False, True), (True, True)):
        a = cast(left, dtype, session.np) if change_left else left
        b = cast(right, dtype, session.np) if change_right else right
        if result_dtype(op, a, b) == dtype:
            return a, b
    raise NotVectorisable("NumPy computes arrays of these types in another precision", expr.line)


def _check_integer(session: Session, expr: Expr, context: Context) -> None:
    """Python's integers do not wrap: the result must be shown to fit."""
    if not expr.type.is_python or expr.type.kind is not Kind.INT:
        return
    ranges = Ranges(session, context)
    found = ranges.interval(expr)
    if found.low is None or found.high is None or max(-found.low, found.high) >= 2**62:
        raise NotVectorisable("integers may grow beyond 64 bits", expr.line)
    ranges.commit()


def _check_domain(session: Session, expr: Binary, context: Context) -> None:
    """Zero divisors: Python raises, NumPy scalars warn, array code must do as they do."""
    if expr.op in ("/", "//", "%"):
        python = expr.type.is_python or expr.type.kind is Kind.INT
        nonzero_divisor(session, expr.right, python, context, evaluate)
    if expr.op == "**":
        _check_power(session, expr, context)


def _check_power(session: Session, expr: Binary, context: Context) -> None:
    exponent = expr.right
    if not isinstance(exponent, Const) or isinstance(exponent.value, complex):
        raise NotVectorisable("a power with a varying exponent", expr.line)
    if expr.type.kind is Kind.INT:
        if isinstance(exponent.value, int) and exponent.value >= 0:
            return
        raise NotVectorisable("an integer is raised to a negative power", expr.line)
    if expr.type.kind is not Kind.FLOAT:
        raise NotVectorisable("a power of complex numbers", expr.line)
    # pow(x, 2) of the C library is not x * x for one double in a thousand.
    session.last_digit = True
    negative, whole = exponent.value < 0, float(exponent.value).is_integer()
    if negative:
        nonzero_divisor(session, expr.left, expr.type.is_python, context, evaluate)
    if not whole:
        # A root of a negative number is complex in Python, nan with a warning in NumPy.
        ranges = Ranges(session, context)
        low = ranges.interval(expr.left).low
        if low is not None and low >= 0:
            ranges.commit()
        elif expr.type.is_python:
            reason = "a root of a negative number is complex"
            require(session, expr.left, "not negative", context, evaluate, reason)
        elif session.warns or context.mask is not None:
            session.silent = True


def _compare(session: Session, expr: Compare, context: Context) -> Value:
    left = evaluate(session, expr.left, context)
    right = evaluate(session, expr.right, context)
    return compare(expr.op, left, right, expr.type)


def truth(value: Value) -> Value:
    """The value as a condition."""
    if value.dtype == "bool" or value.type.kind is Kind.BOOL:
        return value
    if not value.is_array:
        return value
    return compare("!=", value, Value("0", ATOM, PY_INT, None), Scalar(Kind.BOOL, "bool"))


def _bool(session: Session, expr: Bool, context: Context) -> Value:
    before = session.warns
    values = []
    for operand in expr.operands:
        values.append(truth(evaluate(session, operand, context)))
        session.warns = True  # the rest is not evaluated for every element in the original
        session.tests.append(operand if expr.op == "and" else negate(operand))
    del session.tests[len(session.tests) - len(expr.operands) :]
    session.warns = before
    axes = frozenset().union(*(v.axes for v in values))
    if not axes:
        level = AND if expr.op == "and" else OR
        text = f" {expr.op} ".join(v.at(level + 1) for v in values)
        return Value(text, level, expr.type, None)
    level, symbol = (BITAND, "&") if expr.op == "and" else (BITOR, "|")
    text = f" {symbol} ".join(v.at(level + 1) for v in values)
    return Value(text, level, expr.type, "bool", axes, True)


# ----------------------------------------------------------------- selection
def _select(session: Session, expr: Select, context: Context) -> Value:
    test = truth(evaluate(session, expr.test, context))
    before, session.warns = session.warns, True
    session.tests.append(expr.test)
    then = evaluate(session, expr.then, context)
    session.tests[-1] = negate(expr.test)
    orelse = evaluate(session, expr.orelse, context)
    session.tests.pop()
    session.warns = before
    if not (test.is_array or then.is_array or orelse.is_array):
        text = f"{then.at(TERNARY + 1)} if {test.at(TERNARY + 1)} else {orelse.at(TERNARY)}"
        return Value(text, TERNARY, expr.type, expr.type.dtype)
    logical = _logical(session, expr, test, then, orelse, context)
    if logical is not None:
        return logical
    dtype = wanted_dtype(session, expr)
    axes = test.axes | then.axes | orelse.axes
    then, orelse = cast(then, dtype, session.np), cast(orelse, dtype, session.np)
    a, b = then.text, orelse.text
    if not then.is_array and not orelse.is_array and _where_dtype(then, orelse) != dtype:
        a = f"{dtype_text(session.np, dtype)}({a})"
    text = f"{session.np}.where({test.text}, {a}, {b})"
    actual = result_dtype("add", then, orelse) if (then.is_array or orelse.is_array) else dtype
    if actual != dtype and (then.is_array or orelse.is_array):
        raise NotVectorisable("the arms of a condition have different types", expr.line)
    return Value(text, ATOM, expr.type, dtype, axes, True)


def _where_dtype(then: Value, orelse: Value) -> str | None:
    import numpy as np

    from .values import sample

    return str(np.where(np.ones(1, bool), sample(then), sample(orelse)).dtype)


def _logical(
    session: Session, expr: Select, test: Value, then: Value, orelse: Value, context: Context
) -> Value | None:
    """``np.where(t, 1, x)`` of zeros and ones is ``t | x``."""
    if expr.type.kind not in (Kind.INT, Kind.BOOL) or not test.is_array:
        return None
    ranges = Ranges(session, context)
    arms = [ranges.interval(expr.then), ranges.interval(expr.orelse)]
    if any(a.low is None or a.high is None or a.low < 0 or a.high > 1 for a in arms):
        return None
    fixed_then = _bit(expr.then)
    fixed_else = _bit(expr.orelse)
    if fixed_then is None and fixed_else is None:
        return None
    ranges.commit()
    if fixed_then is not None and fixed_else is not None:
        if fixed_then == fixed_else:
            return None
        return test if fixed_then else _inverted(test)
    if fixed_then == 1:
        return _bitwise("|", test, orelse, expr)
    if fixed_then == 0:
        return _bitwise("&", _inverted(test), orelse, expr)
    if fixed_else == 0:
        return _bitwise("&", test, then, expr)
    return _bitwise("|", _inverted(test), then, expr)


def _bit(expr: Expr) -> int | None:
    return int(expr.value) if isinstance(expr, Const) and expr.value in (0, 1) else None  # type: ignore[arg-type]


def _inverted(mask: Value) -> Value:
    return replace(mask, text=f"~{mask.at(UNARY_LEVEL)}", level=UNARY_LEVEL, fresh=True)


def _bitwise(op: str, mask: Value, other: Value, expr: Expr) -> Value:
    level = BITAND if op == "&" else BITOR
    dtype = "bool" if other.dtype == "bool" else other.dtype
    text = f"{mask.at(level)} {op} {other.at(level + 1)}"
    return Value(text, level, expr.type, dtype, mask.axes | other.axes, True)
