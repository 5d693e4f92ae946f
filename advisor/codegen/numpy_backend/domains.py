"""Arguments for which Python raises or warns: zero divisors, roots of negative numbers.

Array code must raise and warn where the scalars did, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable

from ...loopnest.affine import affine
from ...loopnest.fold import map_children
from ...loopnest.ir import (
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Expr,
    Kind,
    Load,
    Select,
    Store,
    Unary,
    Var,
    statements,
    walk,
)
from ...loopnest.text import STRINGS
from .accumulated import Magnitude, of_sum
from .normal import NotVectorisable
from .ranges import Ranges
from .session import BufferRef, Context, Session
from .trapped import trap, trap_where_it_counts
from .values import ATOM, COMPARISON, Value

Evaluate = Callable[[Session, Expr, Context], Value]


def nonzero_divisor(
    session: Session,
    divisor: Expr,
    python: bool,
    context: Context,
    evaluate: Evaluate,
    message: str | None = None,
) -> None:
    """Make sure that dividing arrays does what dividing scalars did.

    ``message``: of the ZeroDivisionError, where it is known.
    """
    ranges = Ranges(session, context)
    if ranges.excludes_zero(divisor):
        ranges.commit()
        return
    if _is_trip_count(session, divisor, context):
        return
    if any(_implies_nonzero(test, divisor) for test in _facts(session, context)):
        session.silent = True
        return
    if python:
        # ZeroDivisionError in the original: the test sends such inputs there.
        try:
            require(session, divisor, "nonzero", context, evaluate, "a divisor may be zero")
        except NotVectorisable:
            if message is not None and _raise_if_zero(session, divisor, context, evaluate, message):
                return
            if not trap(session, context, everywhere=True) and not trap_where_it_counts(
                session, context
            ):
                raise
    elif session.warns or context.mask is not None:
        session.silent = True


def _is_trip_count(session: Session, divisor: Expr, context: Context) -> bool:
    """``% n`` under ``for i in range(n)``: without iterations nothing is divided."""
    form = affine(divisor)
    return form is not None and any(
        session.facts.equal(form, span.high - span.low) for _, span in context.full
    )


def _raise_if_zero(
    session: Session, divisor: Expr, context: Context, evaluate: Evaluate, message: str
) -> bool:
    """A divisor counted in the block itself (``total / count``): raise as Python does."""
    from .effects import may_raise

    if context.mask is not None or session.warns or not isinstance(divisor, BufferRef):
        return False
    if divisor.type.kind is Kind.COMPLEX:
        return False
    text = evaluate(session, divisor, context).text
    if text not in session.checked and not may_raise(session):
        return False
    if text not in session.checked:
        session.checked.add(text)
        session.line(f"if not {session.np}.all({text}):")
        session.line(f'    raise ZeroDivisionError("{message}")')
    return True


def require(
    session: Session,
    expr: Expr,
    what: str,
    context: Context,
    evaluate: Evaluate,
    reason: str,
    extent: str = "",
) -> None:
    """Test all elements of an argument before the array code runs. Raises NotVectorisable.

    ``extent``: of the array, for subscripts (``what`` is then ``"inside"``); the bound itself for
    ``"not tiny"``.
    """
    expr = _original(expr)
    arrays = {part.array for part in walk(expr) if isinstance(part, Load)}
    stored = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    changing = (session.nest.privates.keys() | session.facts.ranges.keys()) - set(context.axes)
    reads = {part.name for part in walk(expr) if isinstance(part, Var)}
    late = any(isinstance(part, BufferRef) for part in walk(expr))
    converted = arrays & (session.array_names.keys() | session.halos.keys())
    reads |= {s for _, span in context.spans for s in span.low.symbols | span.high.symbols}
    if late or arrays & stored or reads & changing:
        raise NotVectorisable(reason, expr.line)
    if converted:
        _require_list(session, expr, what, reason, extent)
        return
    for _, span in context.spans:
        if not session.facts.require(span.high - span.low - 1):
            raise NotVectorisable(reason, expr.line)
    value = evaluate(session, expr, context)
    if value.is_array:
        test = _array_test(session, value, what, extent)
    else:
        test = _scalar_test(value, what, extent)
    if test not in session.domains:
        session.domains.append(test)


def require_number(
    session: Session, expr: Expr, context: Context, evaluate: Evaluate, reason: str
) -> None:
    """Test that an expression is nowhere NaN. Raises NotVectorisable.

    Where it cannot make a NaN itself, its operands are tested: ``x`` for ``max(0.0, x * 255)``.
    """
    expr = _original(expr)
    for part, what in dict.fromkeys(_sources_of_nan(expr)):
        require(session, part, what, context, evaluate, reason)


_PICKS = frozenset((
    "min", "max", "abs", "float", "math.floor", "math.ceil", "math.trunc",
    "math.fabs", "math.sqrt", "math.hypot",  # the root of a number below zero raises
))  # fmt: skip
_KEEPS = frozenset(("floor", "ceil", "trunc", "rint", "abs", "fabs", "absolute", "float64"))
_FINITE = frozenset(("sin", "cos"))


def _sources_of_nan(expr: Expr) -> list[tuple[Expr, str]]:
    """Parts that must be numbers (or finite) so that the expression is one."""
    if expr.type.kind in (Kind.INT, Kind.BOOL):
        return []
    match expr:
        case Const(value=value) if value == value:
            return []
        case Unary(operand=operand):
            return _sources_of_nan(operand)
        case Select(then=then, orelse=orelse):
            return _sources_of_nan(then) + _sources_of_nan(orelse)
        case Binary(op="*" | "/", left=left, right=Const(value=value)) if _scales(value):
            return _sources_of_nan(left)
        case Binary(op="+" | "-", left=left, right=Const(value=value)) if _shifts(value):
            return _sources_of_nan(left)
        case Binary(op="*", left=Const(value=value), right=right) if _scales(value):
            return _sources_of_nan(right)
        case Binary(op="+" | "-", left=Const(value=value), right=right) if _shifts(value):
            return _sources_of_nan(right)
        case Call(function=function, args=args):
            module, _, name = function.rpartition(".")
            if function in _PICKS or (module == "numpy" and name in _KEEPS):
                return [found for arg in args for found in _sources_of_nan(arg)]
            if name in _FINITE and isinstance(args[0], Load | Var):
                return [(args[0], "finite")]
    return [(expr, "number")]


def _shifts(value: complex) -> bool:
    """Adding it makes no NaN."""
    return not isinstance(value, complex) and abs(value) < float("inf")


def _scales(value: complex) -> bool:
    """Multiplying by it, or dividing, makes no NaN."""
    return _shifts(value) and value != 0


LEAF = 1e50
"""Magnitude that the inputs of a power must not exceed, to show that it stays finite."""


def bounded(
    session: Session, expr: Expr, limit: float, context: Context, evaluate: Evaluate, reason: str
) -> bool:
    """Test inputs so that ``abs(expr) < limit``; False if no inputs below `LEAF` ensure it.

    Raises NotVectorisable where the inputs cannot be tested.
    """
    if _lies_within(session, expr, limit, context):
        return True
    expr = _original(expr)
    found = _magnitude(session, expr)
    if found is None or found[0] >= limit:
        return False
    for leaf in dict.fromkeys(found[1]):
        if isinstance(leaf, Load) and _is_fixed_list(session, leaf.array):
            test = f"max(map(abs, {leaf.array}), default=0.0) < {LEAF:.0e}"
            if test not in session.domains:
                session.domains.append(test)
            continue
        require(session, leaf, "moderate", context, evaluate, reason)
    return True


def _is_fixed_list(session: Session, array: str) -> bool:
    """A list of numbers that the loop leaves alone: all of it can be looked at before."""
    info = session.nest.arrays[array]
    stored = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    return info.container == "list" and info.ndim == 1 and array not in stored


def _lies_within(session: Session, expr: Expr, limit: float, context: Context) -> bool:
    """``abs(expr) < limit`` whatever the inputs: a number drawn from [0, 1)."""
    ranges = Ranges(session, context)
    found = ranges.interval(expr)
    if found.low is None or found.high is None or ranges.used:
        return False
    return max(abs(found.low), abs(found.high)) < limit


def _magnitude(
    session: Session, expr: Expr, within: frozenset[str] = frozenset()
) -> Magnitude | None:
    """Bound of an expression of inputs below `LEAF`, and those inputs.

    ``within``: variables of which the bound is being sought.
    """
    if expr.type.kind in (Kind.INT, Kind.BOOL):
        return 2.0**64, []
    match expr:
        case Const(value=value) if not isinstance(value, complex):
            return abs(value), []
        case BufferRef(buffer=buffer):
            return _private_magnitude(session, buffer.private, within)
        case Var(name=name) if name in session.nest.privates:
            return _private_magnitude(session, name, within)
        case Load() | Var():
            return LEAF, [expr]
        case Unary(operand=operand) | Call(function="abs" | "float", args=(operand,)):
            return _magnitude(session, operand, within)
        case Call(function="math.sin" | "math.cos" | "math.tanh"):
            return 1.0, []
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            a, b = _magnitude(session, left, within), _magnitude(session, right, within)
            if a is None or b is None:
                return None
            return (a[0] * b[0] if op == "*" else a[0] + b[0]), a[1] + b[1]
        case Binary(op="/", left=left, right=Const(value=value)) if _scales(value):
            a = _magnitude(session, left, within)
            return None if a is None else (a[0] / abs(value), a[1])
        case Binary(op="/", left=left, right=right) if right.type.kind is Kind.INT:
            return _magnitude(session, left, within)  # by a whole number, or it raises
    return None


def _private_magnitude(session: Session, name: str, within: frozenset[str]) -> Magnitude | None:
    if name in within:
        return None
    inside = within | {name}
    return of_sum(session, name, lambda value: _magnitude(session, value, inside))


def _original(expr: Expr) -> Expr:
    """Expanded scalars do not exist yet when the test runs: what they are computed from."""
    if isinstance(expr, BufferRef) and expr.buffer.origin is not None:
        return _original(expr.buffer.origin)
    return map_children(expr, _original)


def _require_list(session: Session, expr: Expr, what: str, reason: str, extent: str) -> None:
    """Only plain ``values[i]`` of a flat list: its array does not exist yet."""
    match expr:
        case Load(array=array) if session.nest.arrays[array].container in STRINGS:
            pass  # the test would see text, not numbers
        case Load(array=array, index=(index,)) if isinstance(index, Var) or what == "moderate":
            tests = {
                "nonzero": f"0 not in {array}",
                "positive": f"min({array}) > 0",
                "not negative": f"min({array}) >= 0",
                "number": f"all(value == value for value in {array})",
                "inside": f"min({array}) >= -{extent} and max({array}) < {extent}",
                "moderate": f"max(map(abs, {array})) < {LEAF:.0e}",
                "not tiny": f"min(map(abs, {array})) > {extent}",
            }
            exact = expr.type.kind in (Kind.INT, Kind.BOOL)
            if (what in tests and exact) or what in ("nonzero", "number", "moderate", "not tiny"):
                if tests[what] not in session.domains:
                    session.domains.append(tests[what])
                return
        case Load(array=array) if what == "moderate":
            test = f"max(max(map(abs, row)) for row in {array}) < {LEAF:.0e}"
            if test not in session.domains:
                session.domains.append(test)
            return
    raise NotVectorisable(reason, expr.line)


def _scalar_test(value: Value, what: str, extent: str) -> str:
    return {
        "nonzero": f"{value.at(COMPARISON + 1)} != 0",
        "positive": f"{value.at(COMPARISON + 1)} > 0",
        "not negative": f"{value.at(COMPARISON + 1)} >= 0",
        "exp": f"{value.at(COMPARISON + 1)} <= 709",
        "finite": f"abs({value.text}) < float('inf')",
        "number": f"{value.at(COMPARISON + 1)} == {value.at(COMPARISON + 1)}",
        "unit": f"abs({value.text}) <= 1",
        "int64": f"abs({value.text}) < 2**62",
        "moderate": f"abs({value.text}) < {LEAF:.0e}",
        "not tiny": f"abs({value.text}) > {extent}",
        "inside": f"-{extent} <= {value.at(COMPARISON + 1)} < {extent}",
    }[what]


def _array_test(session: Session, value: Value, what: str, extent: str) -> str:
    np = session.np
    bare = value.at(ATOM)
    return {
        "nonzero": f"{np}.all({value.at(COMPARISON + 1)} != 0)",
        "positive": f"{bare}.min() > 0",
        "not negative": f"{bare}.min() >= 0",
        "exp": f"{bare}.max() <= 709",
        "finite": f"{np}.isfinite({value.text}).all()",
        "number": f"not {np}.isnan({value.text}).any()",
        "unit": f"{np}.abs({value.text}).max() <= 1",
        "int64": f"{np}.abs({value.text}).max() < 2**62",
        "moderate": f"{np}.abs({value.text}).max() < {LEAF:.0e}",
        "not tiny": f"{np}.abs({value.text}).min() > {extent}",
        "inside": f"{bare}.min() >= -{extent} and {bare}.max() < {extent}",
    }[what]


def _facts(session: Session, context: Context) -> list[Expr]:
    """Conditions that hold wherever the expression's value is used."""
    found: list[Expr] = []
    for test in (*session.tests, *((context.mask,) if context.mask is not None else ())):
        if isinstance(test, Bool) and test.op == "and":
            found += test.operands
        else:
            found.append(test)
    return found


def _implies_nonzero(test: Expr, divisor: Expr) -> bool:
    match test:
        case Compare(op="!=", left=left, right=Const(value=0)) if left == divisor:
            return True
        case Compare(op=">", left=left, right=Const(value=bound)) if left == divisor:
            return not isinstance(bound, complex) and bound >= 0
        case Compare(op=">=", left=left, right=Const(value=bound)) if left == divisor:
            return not isinstance(bound, complex) and bound > 0
        case Compare(op="<", left=left, right=Const(value=bound)) if left == divisor:
            return not isinstance(bound, complex) and bound <= 0
    return test == divisor
