"""Arguments for which Python raises or warns: zero divisors, roots of negative numbers.

Array code must raise and warn where the scalars did, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable

from ...loopnest.fold import map_children
from ...loopnest.ir import Bool, Compare, Const, Expr, Kind, Load, Store, Var, statements, walk
from .normal import NotVectorisable
from .ranges import Ranges
from .session import BufferRef, Context, Session
from .values import ATOM, COMPARISON, Value

Evaluate = Callable[[Session, Expr, Context], Value]


def nonzero_divisor(
    session: Session, divisor: Expr, python: bool, context: Context, evaluate: Evaluate
) -> None:
    """Make sure that dividing arrays does what dividing scalars did."""
    ranges = Ranges(session, context)
    if ranges.excludes_zero(divisor):
        ranges.commit()
        return
    if any(_implies_nonzero(test, divisor) for test in _facts(session, context)):
        session.silent = True
        return
    if python:
        # ZeroDivisionError in the original: the test sends such inputs there.
        try:
            require(session, divisor, "nonzero", context, evaluate, "a divisor may be zero")
        except NotVectorisable:
            if not _raise_if_zero(session, divisor, context, evaluate):
                raise
    elif session.warns or context.mask is not None:
        session.silent = True


def _raise_if_zero(session: Session, divisor: Expr, context: Context, evaluate: Evaluate) -> bool:
    """A divisor counted in the block itself (``total / count``): raise as Python does."""
    if context.mask is not None or session.warns or not isinstance(divisor, BufferRef):
        return False
    if divisor.type.kind is Kind.COMPLEX:
        return False
    text = evaluate(session, divisor, context).text
    if text not in session.checked:
        session.checked.add(text)
        session.line(f"if not {session.np}.all({text}):")
        session.line('    raise ZeroDivisionError("float division by zero")')
    return True


def may_be_python(session: Session, expr: Expr) -> bool:
    """A scalar that started as a Python number may still be one: ``0.0 / 0`` raises."""
    return any(
        isinstance(part, BufferRef)
        and any(t.is_python for t in session.nest.joined.get(part.buffer.private, ()))
        for part in walk(expr)
    )


def require(
    session: Session,
    expr: Expr,
    what: str,
    context: Context,
    evaluate: Evaluate,
    reason: str,
) -> None:
    """Test all elements of an argument before the array code runs. Raises NotVectorisable."""
    expr = _original(expr)
    arrays = {part.array for part in walk(expr) if isinstance(part, Load)}
    stored = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    changing = (session.nest.privates.keys() | session.facts.ranges.keys()) - set(context.axes)
    reads = {part.name for part in walk(expr) if isinstance(part, Var)}
    late = any(isinstance(part, BufferRef) for part in walk(expr))
    converted = arrays & (session.array_names.keys() | session.halos.keys())
    if late or arrays & stored or reads & changing or session.kept_around or context.kept:
        raise NotVectorisable(reason, expr.line)
    if converted:
        _require_list(session, expr, what, reason)
        return
    for _, span in context.spans:
        if not session.facts.require(span.high - span.low - 1):
            raise NotVectorisable(reason, expr.line)
    value = evaluate(session, expr, context)
    test = _scalar_test(value, what) if not value.is_array else _array_test(session, value, what)
    if test not in session.domains:
        session.domains.append(test)


def _original(expr: Expr) -> Expr:
    """Expanded scalars do not exist yet when the test runs: what they are computed from."""
    if isinstance(expr, BufferRef) and expr.buffer.origin is not None:
        return _original(expr.buffer.origin)
    return map_children(expr, _original)


def _require_list(session: Session, expr: Expr, what: str, reason: str) -> None:
    """Only plain ``values[i]`` of a flat list: its array does not exist yet."""
    match expr:
        case Load(array=array, index=(Var(),)) if session.nest.arrays[array].ndim == 1:
            tests = {
                "nonzero": f"0 not in {array}",
                "positive": f"min({array}) > 0",
                "not negative": f"min({array}) >= 0",
            }
            if (what in tests and expr.type.kind in (Kind.INT, Kind.BOOL)) or what == "nonzero":
                if tests[what] not in session.domains:
                    session.domains.append(tests[what])
                return
    raise NotVectorisable(reason, expr.line)


def _scalar_test(value: Value, what: str) -> str:
    return {
        "nonzero": f"{value.at(COMPARISON + 1)} != 0",
        "positive": f"{value.at(COMPARISON + 1)} > 0",
        "not negative": f"{value.at(COMPARISON + 1)} >= 0",
        "exp": f"{value.at(COMPARISON + 1)} <= 709",
        "finite": f"abs({value.text}) < float('inf')",
        "unit": f"abs({value.text}) <= 1",
        "int64": f"abs({value.text}) < 2**62",
    }[what]


def _array_test(session: Session, value: Value, what: str) -> str:
    np = session.np
    bare = value.at(ATOM)
    return {
        "nonzero": f"{np}.all({value.at(COMPARISON + 1)} != 0)",
        "positive": f"{bare}.min() > 0",
        "not negative": f"{bare}.min() >= 0",
        "exp": f"{bare}.max() <= 709",
        "finite": f"{np}.isfinite({value.text}).all()",
        "unit": f"{np}.abs({value.text}).max() <= 1",
        "int64": f"{np}.abs({value.text}).max() < 2**62",
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
