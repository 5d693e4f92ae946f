"""IR expressions as NumPy source text."""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.ir import (
    PY_BOOL,
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
    Sum,
    Unary,
    Var,
    walk,
)
from ..text_edge import short_number
from . import indexing
from .checks import (
    check_domain,
    check_exact,
    check_integer,
    check_quotient,
    check_scalar,
    check_sign_of_zero,
    check_weak,
    is_exact_power,
)
from .elements import align, load
from .functions import call_value
from .known import extent_text
from .normal import NotVectorisable, negate
from .products import sum_value
from .ranges import Ranges, fits
from .session import BufferRef, Context, Session
from .triangles import triangle_value
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
    if not fits(session, context, expr, *limits):
        raise NotVectorisable(f"values may not fit into {value.dtype}", expr.line)


def _evaluate(session: Session, expr: Expr, context: Context) -> Value:
    match expr:
        case Const():
            return _constant(expr)
        case BufferRef():
            return _buffer(session, expr, context)
        case Var(name=name):
            if name in context.axes:
                return _axis_index(session, name, context)
            if name in session.nest.text and name not in session.nest.privates:
                given = session.nest.scalars[name]
                text = short_number(name, given.interval)
                if given.literal is not None:
                    text = repr(given.literal)
                return Value(text, ATOM, expr.type, None)
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
        case Sum():
            return sum_value(session, expr, context)
    raise NotVectorisable("an expression has no array form", expr.line)


def _constant(expr: Const) -> Value:
    text = expr.name or repr(expr.value)
    level = UNARY_LEVEL if text.startswith("-") else ATOM
    if text in ("inf", "nan", "-inf") or isinstance(expr.value, complex):
        text, level = f"float({text!r})" if not isinstance(expr.value, complex) else text, ATOM
    return Value(text, level, expr.type, expr.type.dtype)


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
    check_sign_of_zero(session, expr)
    dtype = wanted_dtype(session, expr)
    check_integer(session, expr, context)
    value = cast(value, dtype, session.np)
    text = f"{expr.op}{value.at(UNARY_LEVEL)}"
    return Value(text, UNARY_LEVEL, expr.type, dtype, value.axes, True)


def _binary(session: Session, expr: Binary, context: Context) -> Value:
    left = evaluate(session, expr.left, context)
    right = evaluate(session, expr.right, context)
    if not left.is_array and not right.is_array:
        if context.axes:  # 1 / s raises only if some iteration gets there
            check_domain(session, expr, context, evaluate)
            if session.counting:
                session.counting = ()
                raise NotVectorisable("a divisor may be zero", expr.line)
        return binary(expr.op, left, right, expr.type, expr.type.dtype)
    dtype = wanted_dtype(session, expr)
    if expr.op in ("*", "/") and left.type.kind is right.type.kind is Kind.COMPLEX:
        session.last_digit = True  # arrays may use fused multiply-adds, scalars do not
    check_integer(session, expr, context)
    for operand, value in ((expr.left, left), (expr.right, right)):
        check_scalar(session, operand, value, expr.type, context)
    check_domain(session, expr, context, evaluate)
    if expr.op == "**":
        left = _where_it_counts(session, left, context)
    else:
        right = _where_it_counts(session, right, context)
    check_sign_of_zero(session, expr)
    if expr.op in ("/",):
        dtype = natural_dtype(expr.type)
        check_quotient(session, expr, context)
    check_weak(session, expr, (left, right), context)
    if result_dtype(expr.op, left, right) != dtype:
        left, right = _widened(session, left, right, dtype, expr)
    if expr.op == "**" and session.exact_powers and is_exact_power(expr):
        text = f"{session.np}.float_power({left.text}, {right.text})"
        return Value(text, ATOM, expr.type, dtype, left.axes | right.axes, True)
    if expr.op == "*" and _is_square(expr, left):
        text = f"{session.np}.square({left.text})"  # (x - mean) * (x - mean)
        return Value(text, ATOM, expr.type, dtype, left.axes, True)
    return binary(expr.op, left, right, expr.type, dtype)


def _where_it_counts(session: Session, value: Value, context: Context) -> Value:
    """One in place of divisors that the original leaves out, 0.0 at ``i == j``, and of bases."""
    conditions, session.counting = session.counting, ()
    if not conditions:
        return value
    counts = truth(evaluate(session, _all(conditions), context))
    one = "1.0" if value.type.kind is Kind.FLOAT else "1"
    text = f"{session.np}.where({counts.text}, {value.text}, {one})"
    return replace(value, text=text, level=ATOM, axes=value.axes | counts.axes, fresh=True)


def _all(conditions: tuple[Expr, ...]) -> Expr:
    if len(conditions) == 1:
        return conditions[0]
    return Bool(PY_BOOL, conditions[0].line, "and", conditions)


def _is_square(expr: Binary, left: Value) -> bool:
    """A product of one computed array with itself, to be computed once."""
    real = expr.type.kind in (Kind.INT, Kind.FLOAT)
    return real and left.is_array and left.level < ATOM and expr.left == expr.right


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


def _compare(session: Session, expr: Compare, context: Context) -> Value:
    triangle = triangle_value(session, expr, context)
    if triangle is not None:
        return triangle
    left = evaluate(session, expr.left, context)
    right = evaluate(session, expr.right, context)
    if left.is_array or right.is_array:
        check_exact(session, expr, context)
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
    values = [_bit_operand(value) for value in values]
    level, symbol = (BITAND, "&") if expr.op == "and" else (BITOR, "|")
    text = f" {symbol} ".join(v.at(level + 1) for v in values)
    return Value(text, level, expr.type, "bool", axes, True)


def _bit_operand(value: Value) -> Value:
    """``mask and flags`` with flags = 2 is no ``mask & 2``."""
    if value.is_array or value.dtype == "bool" or value.type.kind is Kind.BOOL:
        return value
    return compare("!=", value, Value("0", ATOM, PY_INT, None), PY_BOOL)


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
    check_scalar(session, expr.then, then, expr.type, context)
    check_scalar(session, expr.orelse, orelse, expr.type, context)
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
        if then.dtype != "bool" or orelse.dtype != "bool" or not _short(expr.test):
            return None
        ranges.commit()
        kept = _bitwise("&", test, then, expr)
        return _bitwise(
            "|", kept, _bitwise("&", _inverse(session, expr, context), orelse, expr), expr
        )
    ranges.commit()
    if fixed_then is not None and fixed_else is not None:
        if fixed_then == fixed_else:
            return None
        return test if fixed_then else _inverse(session, expr, context)
    if fixed_then == 1:
        return _bitwise("|", test, orelse, expr)
    if fixed_then == 0:
        return _bitwise("&", _inverse(session, expr, context), orelse, expr)
    if fixed_else == 0:
        return _bitwise("&", test, then, expr)
    return _bitwise("|", _inverse(session, expr, context), then, expr)


def _bit(expr: Expr) -> int | None:
    return int(expr.value) if isinstance(expr, Const) and expr.value in (0, 1) else None  # type: ignore[arg-type]


def _inverse(session: Session, expr: Select, context: Context) -> Value:
    """Where the test is false."""
    return truth(evaluate(session, negate(expr.test), context))


def _short(test: Expr) -> bool:
    """Cheap to write twice."""
    return sum(1 for _ in walk(test)) <= 6


def _bitwise(op: str, mask: Value, other: Value, expr: Expr) -> Value:
    level = BITAND if op == "&" else BITOR
    dtype = "bool" if other.dtype == "bool" else other.dtype
    text = f"{mask.at(level)} {op} {other.at(level + 1)}"
    return Value(text, level, expr.type, dtype, mask.axes | other.axes, True)
