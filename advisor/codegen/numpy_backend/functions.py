"""Calls of pure functions on arrays: which NumPy function is the same, and where it is not."""

from __future__ import annotations

from dataclasses import replace

from ...loopnest.ir import Call, Kind
from .checks import check_scalar
from .domains import require, require_number
from .normal import NotVectorisable
from .ordered import ordered
from .ranges import Ranges, fits
from .session import Context, Session
from .trapped import trap
from .values import ATOM, Value, cast, compare, natural_dtype

_SAME = {
    "math.sqrt": "sqrt", "math.sin": "sin", "math.cos": "cos", "math.fabs": "fabs",
    "math.radians": "radians", "math.degrees": "degrees",
    "math.isnan": "isnan", "math.isinf": "isinf",
    "math.isfinite": "isfinite", "math.copysign": "copysign",
    "numpy.sqrt": "sqrt", "numpy.abs": "abs", "numpy.absolute": "abs", "numpy.fabs": "fabs",
    "numpy.maximum": "maximum", "numpy.minimum": "minimum", "numpy.floor": "floor",
    "numpy.ceil": "ceil", "numpy.trunc": "trunc", "numpy.rint": "rint", "numpy.sign": "sign",
    "numpy.square": "square", "numpy.isnan": "isnan", "numpy.isinf": "isinf",
    "numpy.isfinite": "isfinite", "numpy.negative": "negative", "numpy.copysign": "copysign",
}  # fmt: skip
"""Functions whose array form gives the same bits as the scalar one."""

_LAST_DIGIT = {
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "expm1": "expm1", "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "hypot": "hypot",
    "asinh": "arcsinh", "exp2": "exp2",
}  # fmt: skip
"""``math`` functions whose NumPy form may round the last digit differently."""

_SAME_LOOP = frozenset((
    "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "tanh", "sinh",
    "cosh", "arcsin", "arccos", "arctan", "arctan2", "hypot", "arcsinh", "exp2", "cbrt",
))  # fmt: skip
"""NumPy functions: a scalar goes through the same loop as an array."""

_DOMAIN = {
    "math.sqrt": "not negative", "math.sin": "finite", "math.cos": "finite", "math.tan": "finite",
    "math.exp": "exp", "math.expm1": "exp", "math.exp2": "exp", "math.sinh": "unit",
    "math.cosh": "unit", "math.log": "positive", "math.log2": "positive",
    "math.log10": "positive", "math.log1p": "not negative", "math.asin": "unit",
    "math.acos": "unit", "numpy.sqrt": "not negative", "numpy.log": "positive",
    "numpy.log2": "positive", "numpy.log10": "positive", "numpy.exp": "exp",
    "numpy.arcsin": "unit", "numpy.arccos": "unit",
}  # fmt: skip
"""Where ``math`` raises ValueError or OverflowError and NumPy warns (a sufficient condition)."""


def rounds_differently(function: str) -> bool:
    """The array form may differ from the call in the last digit."""
    module, _, name = function.rpartition(".")
    return module == "math" and name in _LAST_DIGIT


def call_value(session: Session, expr: Call, context: Context) -> Value:
    """The value of a call over the axes."""
    from .expressions import evaluate

    if expr in session.named:
        return session.named[expr]
    values = [evaluate(session, a, context) for a in expr.args]
    if not any(v.is_array for v in values):
        if context.axes:  # math.sqrt(s) raises only if some iteration gets there
            _check_scalar_call(session, expr, context)
        return _scalar_call(session, expr, values)
    axes = frozenset().union(*(v.axes for v in values))
    name = expr.function
    if name in ("min", "max"):
        return _extreme(session, expr, values, axes, context)
    if name == "sorted":
        return ordered(session, expr, values)
    if name == "abs":
        dtype = natural_dtype(expr.type)
        # Python's abs(z) is the C library's hypot, NumPy's may be its own.
        session.last_digit |= values[0].type.kind is Kind.COMPLEX
        text = f"{session.np}.abs({values[0].text})"
        return Value(text, ATOM, expr.type, dtype, axes, True)
    if name in ("int", "float", "bool") or (name.startswith("numpy.") and _is_cast(name)):
        return _cast(session, expr, values[0], context)
    if name in ("math.floor", "math.ceil", "math.trunc") or (name == "round" and len(values) == 1):
        return _rounded(session, expr, values[0], context)
    module, _, short = name.rpartition(".")
    if name in _SAME or (module == "numpy" and short in _SAME_LOOP):
        _check_domain(session, expr, context)
        return _ufunc(session, expr, _SAME.get(name, short), values, axes)
    if module == "math" and short in _LAST_DIGIT and len(values) <= 2:
        if short == "log" and len(values) == 2:
            raise NotVectorisable("math.log() with a base has no NumPy form", expr.line)
        _check_domain(session, expr, context)
        session.last_digit = True
        return _ufunc(session, expr, _LAST_DIGIT[short], values, axes)
    raise NotVectorisable(f"{name}() has no array form", expr.line)


def _check_scalar_call(session: Session, expr: Call, context: Context) -> None:
    from .expressions import evaluate

    whole = expr.function in ("int", "math.floor", "math.ceil", "math.trunc")
    if whole and expr.args[0].type.kind is Kind.FLOAT:
        reason = "a float may be too large for an integer, or not a number"
        require(session, expr.args[0], "int64", context, evaluate, reason)
    _check_domain(session, expr, context)


def _scalar_call(session: Session, expr: Call, values: list[Value]) -> Value:
    module, _, name = expr.function.rpartition(".")
    text = name
    if module:
        local = {full: local for local, full in session.nest.modules.items()}
        if expr.function in local:
            text = local[expr.function]
        elif module in local:
            text = f"{local[module]}.{name}"
        else:
            raise NotVectorisable(f"{expr.function} has no name here", expr.line)
    arguments = ", ".join(v.text for v in values)
    return Value(f"{text}({arguments})", ATOM, expr.type, expr.type.dtype)


def _ufunc(
    session: Session, expr: Call, name: str, values: list[Value], axes: frozenset[str]
) -> Value:
    dtype = natural_dtype(expr.type)
    cast_values = []
    for value in values:
        # math.sqrt(3) of an integer goes through a double; so does the array's cast.
        cast_values.append(
            cast(value, dtype, session.np)
            if expr.type.kind is Kind.FLOAT and value.dtype != dtype
            else value
        )
    text = f"{session.np}.{name}({', '.join(v.text for v in cast_values)})"
    return Value(text, ATOM, expr.type, dtype, axes, True)


def _check_domain(session: Session, expr: Call, context: Context) -> None:
    from .expressions import evaluate

    what = _DOMAIN.get(expr.function)
    if what is None:
        return
    ranges = Ranges(session, context)
    found = ranges.interval(expr.args[0])
    low, high = found.low, found.high
    fine = {
        "not negative": low is not None and low >= 0,
        "positive": low is not None and low > 0,
        "finite": low is not None and high is not None,
        "exp": high is not None and high <= 709,
        "unit": low is not None and high is not None and low >= -1 and high <= 1,
    }
    if fine.get(what):
        ranges.commit()
        return
    if expr.function.startswith("numpy."):
        if session.warns or context.mask is not None:
            session.silent = True
        return
    reason = f"{expr.function}() raises for some arguments where NumPy does not"
    try:
        require(session, expr.args[0], what, context, evaluate, reason)
    except NotVectorisable:
        if not trap(session, context, everywhere=what == "positive"):
            raise


def _is_cast(name: str) -> bool:
    short = name.rpartition(".")[2]
    return short in (
        "float64", "float32", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32",
        "uint64", "bool_", "double", "single", "intp", "int_",
    )  # fmt: skip


def _cast(session: Session, expr: Call, value: Value, context: Context) -> Value:
    from .expressions import wanted_dtype

    source, target = value.type.kind, expr.type.kind
    dtype = wanted_dtype(session, expr)
    if target is Kind.BOOL:
        if source is Kind.BOOL:
            return Value(value.text, value.level, expr.type, "bool", value.axes, value.fresh)
        zero = Value("0", ATOM, expr.args[0].type, None)
        return compare("!=", value, zero, expr.type)
    if source is Kind.FLOAT and target is Kind.INT:
        return _cut(session, expr, value, context)
    if target is Kind.INT and source is Kind.INT and value.dtype != dtype and value.is_array:
        if session.narrow:
            return value
        if expr.type.is_python:
            return cast(value, dtype, session.np)
        raise NotVectorisable("integers are cast to another width", expr.line)
    changed = cast(value, dtype, session.np)
    return Value(changed.text, changed.level, expr.type, changed.dtype, value.axes, changed.fresh)


def _rounded(session: Session, expr: Call, value: Value, context: Context) -> Value:
    """``math.floor`` and friends: a Python int of a float."""
    name = {"round": "rint"}.get(expr.function, expr.function.rpartition(".")[2])
    if value.type.kind is not Kind.FLOAT:
        return value
    if expr.type.kind is not Kind.INT:  # round(np.float64(x)) is an int, round(x, 2) is none
        raise NotVectorisable(f"{expr.function}() has no array form", expr.line)
    text = f"{session.np}.{name}({value.text})"
    whole = Value(text, ATOM, value.type, value.dtype, value.axes, True)
    return _cut(session, expr, whole, context)


def _cut(session: Session, expr: Call, value: Value, context: Context) -> Value:
    """An integer of each float, towards zero. ``int(nan)`` raises, ``int(1e30)`` is exact."""
    from .expressions import evaluate

    reason = "a float may be too large for an integer, or not a number"
    if fits(session, context, expr.args[0]):
        # int(min(max(x, 0.0), 255.0)) raises for x = nan: no range says that it is a number.
        require_number(session, expr.args[0], context, evaluate, reason)
    else:
        try:
            require(session, expr.args[0], "int64", context, evaluate, reason)
        except NotVectorisable:
            # Casting what no 64 bits hold, or NaN, sets the flag of invalid operations.
            if not trap(session, context):
                raise
    return replace(cast(value, natural_dtype(expr.type), session.np), type=expr.type)


def name_extreme(session: Session, expr: Call, context: Context) -> None:
    """``least = np.where(b < a, b, a)`` and so on: in one expression each would be there twice."""
    from .expressions import evaluate

    values = [evaluate(session, a, context) for a in expr.args]
    axes = frozenset().union(*(value.axes for value in values))
    if not axes:
        return
    name = session.fresh("least" if expr.function == "min" else "largest")
    current = values[0]
    for argument, value in zip(expr.args[1:], values[1:], strict=True):
        pair = replace(expr, args=(expr.args[0], argument))
        current = _extreme(session, pair, [current, value], axes, context)
        session.line(f"{name} = {current.text}")
        current = replace(current, text=name, fresh=False)
    session.named[expr] = current


def _extreme(
    session: Session, expr: Call, values: list[Value], axes: frozenset[str], context: Context
) -> Value:
    """``min(a, b)`` keeps ``a`` unless ``b < a``: NaN and signed zeros follow from that."""
    dtype = natural_dtype(expr.type)
    for argument, value in zip(expr.args, values, strict=True):
        check_scalar(session, argument, value, expr.type, context)
    if expr.type.kind in (Kind.INT, Kind.BOOL):
        name = "minimum" if expr.function == "min" else "maximum"
        result = values[0].text
        width = next((d for d in session.narrow.values()), None)
        if width is None:
            values = [cast(v, dtype, session.np) for v in values]
        result = values[0].text
        for value in values[1:]:
            result = f"{session.np}.{name}({result}, {value.text})"
        return Value(result, ATOM, expr.type, width or dtype, axes, True)
    op = "<" if expr.function == "min" else ">"
    current = cast(values[0], dtype, session.np)
    for value in values[1:]:
        other = cast(value, dtype, session.np)
        test = compare(op, other, current, expr.type)
        text = f"{session.np}.where({test.text}, {other.text}, {current.text})"
        current = Value(text, ATOM, expr.type, dtype, axes, True)
    return current
