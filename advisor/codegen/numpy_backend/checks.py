"""What must hold of numbers so that array arithmetic gives what scalar arithmetic gave."""

from __future__ import annotations

from ...loopnest.ir import Binary, Compare, Const, Expr, Kind, Scalar, Unary
from .domains import Evaluate, bounded, nonzero_divisor, require
from .flavours import flavours, may_be_python
from .normal import NotVectorisable
from .ranges import EXACT, Ranges, fits, type_range
from .session import Context, Session
from .trapped import trap, trap_where_it_counts
from .values import Value, natural_dtype


def check_weak(
    session: Session, expr: Binary, values: tuple[Value, Value], context: Context
) -> None:
    """``np.uint8(7) + i`` raises where the Python integer i is beyond 255; arrays would wrap."""
    dtype = expr.type.dtype or ""
    if expr.type.kind is not Kind.INT or expr.type.is_python or dtype == "int64":
        return
    for operand, value in zip((expr.left, expr.right), values, strict=True):
        python = operand.type.is_python and operand.type.kind is Kind.INT
        if python and value.is_array and not fits(session, context, operand, *type_range(dtype)):
            raise NotVectorisable(f"an integer may not fit into {dtype}", expr.line)


def check_scalar(
    session: Session, operand: Expr, value: Value, type_: Scalar, context: Context
) -> None:
    """A Python integer that takes part in an array operation must be one of its dtype's.

    ``np.where(x < big, x, big)`` raises OverflowError for ``big = 2**64``, the comparison of
    scalars does not; and ``x[i] + big`` raises only where an iteration gets that far.
    """
    if value.is_array or not operand.type.is_python or operand.type.kind is not Kind.INT:
        return
    if isinstance(operand, Const) and type_.kind is not Kind.INT:
        return
    natural = natural_dtype(type_)
    if type_.kind is Kind.INT and session.narrow and natural in ("int64", "int32", "uint8"):
        natural = next(iter(session.narrow.values()))  # bytes + (0 - s): -3 is no byte
    limits = type_range(natural) if type_.kind is Kind.INT else (-EXACT, EXACT)
    if type_.kind in (Kind.INT, Kind.FLOAT) and not fits(session, context, operand, *limits):
        raise NotVectorisable(f"an integer may not fit into {natural}", operand.line)


def check_quotient(session: Session, expr: Binary, context: Context) -> None:
    """``a / b`` of Python integers is rounded once; of arrays, a and b are rounded before."""
    operands = (expr.left, expr.right)
    if any(o.type.kind not in (Kind.INT, Kind.BOOL) for o in operands):
        return
    if not all(may_be_python(session, o) for o in operands):
        return
    for operand in operands:
        if not fits(session, context, operand, -EXACT, EXACT):
            raise NotVectorisable("an integer may be too large for an exact double", expr.line)


def check_integer(session: Session, expr: Expr, context: Context) -> None:
    """Python's integers do not wrap: the result must be shown to fit."""
    if expr.type.kind is not Kind.INT or not may_be_python(session, expr):
        return
    if not fits(session, context, expr):
        raise NotVectorisable("integers may grow beyond 64 bits", expr.line)


def check_domain(session: Session, expr: Binary, context: Context, evaluate: Evaluate) -> None:
    """Zero divisors: Python raises, NumPy scalars warn, array code must do as they do."""
    if expr.op in ("/", "//", "%"):
        # max(0.0, x[i]) may be Python's 0.0: as a divisor of a Python number it raises.
        python = expr.type.kind is Kind.INT or (
            may_be_python(session, expr.left) and may_be_python(session, expr.right)
        )
        message = None
        if expr.op == "/":  # as Python 3.11 to 3.13 word it
            exact = expr.left.type.kind is Kind.INT and expr.right.type.kind is Kind.INT
            message = "division by zero" if exact else "float division by zero"
        nonzero_divisor(session, expr.right, python, context, evaluate, message)
    if expr.op == "**":
        _check_power(session, expr, context, evaluate)


def _check_power(session: Session, expr: Binary, context: Context, evaluate: Evaluate) -> None:
    exponent = expr.right
    if not isinstance(exponent, Const):
        _check_varying_power(session, expr, context)
        return
    if isinstance(exponent.value, complex):
        raise NotVectorisable("a power of complex numbers", expr.line)
    if expr.type.kind is Kind.INT:
        if isinstance(exponent.value, int) and exponent.value >= 0:
            return
        raise NotVectorisable("an integer is raised to a negative power", expr.line)
    if expr.type.kind is not Kind.FLOAT:
        raise NotVectorisable("a power of complex numbers", expr.line)
    # pow(x, 2) of the C library is not x * x for one double in a thousand.
    session.last_digit |= not (session.exact_powers and is_exact_power(expr))
    python = may_be_python(session, expr.left)
    if python:
        try:
            _check_overflow(session, expr.left, float(exponent.value), context, evaluate)
        except NotVectorisable:
            if not trap(session, context) and not trap_where_it_counts(session, context):
                raise
    negative, whole = exponent.value < 0, float(exponent.value).is_integer()
    if negative and not python:
        nonzero_divisor(session, expr.left, python, context, evaluate)
    if not whole:
        # A root of a negative number is complex in Python, nan with a warning in NumPy.
        ranges = Ranges(session, context)
        low = ranges.interval(expr.left).low
        if low is not None and low >= 0:
            ranges.commit()
        elif python:
            reason = "a root of a negative number is complex"
            try:
                require(session, expr.left, "not negative", context, evaluate, reason)
            except NotVectorisable:
                if not trap(session, context) and not trap_where_it_counts(session, context):
                    raise
        elif session.warns or context.mask is not None:
            session.silent = True


def is_exact_power(expr: Binary) -> bool:
    """Whether ``np.float_power`` gives the same bits: it calls the C library's ``pow``."""
    sides = (expr.left.type, expr.right.type)
    doubles = all(t.is_python or t.dtype == "float64" for t in (expr.type, *sides))
    return doubles and expr.type.kind is Kind.FLOAT and expr.left.type.kind is Kind.FLOAT


def _check_varying_power(session: Session, expr: Binary, context: Context) -> None:
    """``u ** (2 * j - i)``: what is complex or raises in Python sets a flag of the processor."""
    python = may_be_python(session, expr.left) and expr.type.is_python
    if not (python and session.exact_powers and is_exact_power(expr)):
        raise NotVectorisable("a power with a varying exponent", expr.line)
    if not trap(session, context) and not trap_where_it_counts(session, context):
        reason = "a power of floats may raise or be complex where arrays give infinity or NaN"
        raise NotVectorisable(reason, expr.line)


def check_sign_of_zero(session: Session, expr: Binary | Unary) -> None:
    """The integer 0 has no sign: ``s = 0``, on some paths ``s = x[i]``, then ``-s``.

    Where the value is an integer, ``-s`` is 0 and not -0.0; so with products and remainders.
    """
    if expr.type.kind is not Kind.FLOAT:
        return
    operands = (expr.operand,) if isinstance(expr, Unary) else (expr.left, expr.right)
    if isinstance(expr, Binary) and (
        expr.op not in ("*", "%", "//")
        or _is_positive(expr.right)
        or (expr.op == "*" and _is_positive(expr.left))
    ):
        return
    if all(any(kind is not Kind.FLOAT for _, kind in flavours(session, o)) for o in operands):
        raise NotVectorisable(
            "a value is an integer on one path and a float on another, and only the float has a "
            "negative zero",
            expr.line,
            "start the variable with 0.0 instead of 0",
        )


def _is_positive(expr: Expr) -> bool:
    return isinstance(expr, Const) and not isinstance(expr.value, complex) and expr.value > 0


def check_exact(session: Session, expr: Compare, context: Context) -> None:
    """Python compares an integer with a float exactly; an array makes it a double first."""
    kinds = {expr.left.type.kind, expr.right.type.kind}
    for operand in (expr.left, expr.right):
        python = operand.type.is_python and operand.type.kind is Kind.INT
        # A Python integer beyond 64 bits cannot be compared with np.True_ at all.
        if not python or len(kinds) == 1:
            continue
        if not isinstance(operand, Const) and not fits(session, context, operand, -EXACT, EXACT):
            raise NotVectorisable("an integer may be too large for an exact double", expr.line)


def _check_overflow(
    session: Session, base: Expr, exponent: float, context: Context, evaluate: Evaluate
) -> None:
    """``x ** 2`` of Python floats raises OverflowError where arrays give inf, ``x * x`` too."""
    reason = "a power of floats raises OverflowError where arrays give infinity"
    if exponent < 0:  # x ** -1 overflows for denormal x
        least = f"{1e300 ** (1 / exponent):.0e}"
        require(session, base, "not tiny", context, evaluate, reason, least)
    elif exponent > 1 and not bounded(
        session, base, 1e300 ** (1 / exponent), context, evaluate, reason
    ):
        raise NotVectorisable(reason, base.line, "multiply: x * x instead of x ** 2")
