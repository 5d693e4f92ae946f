"""Numbers of Python's or of NumPy's: where the data decide which of the two a value is.

``max(0.0, x[i])`` is a Python float or a ``numpy.float64``: the one raises ZeroDivisionError as a
divisor, the other warns.
"""

from __future__ import annotations

from ...loopnest.ir import Binary, Call, Expr, Kind, Select, Sum, Unary, Var
from .session import BufferRef, Session

_ORDER = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.COMPLEX)


def flavours(session: Session, expr: Expr) -> frozenset[tuple[bool, Kind]]:
    """Whether the value is a number of Python's, and its kind; all that are possible."""
    joined = session.nest.joined
    match expr:
        case BufferRef(buffer=buffer) if buffer.private in joined:
            return frozenset((t.is_python, t.kind) for t in joined[buffer.private])
        case Var(name=name) if name in joined:
            return frozenset((t.is_python, t.kind) for t in joined[name])
        case Select(then=then, orelse=orelse):
            return flavours(session, then) | flavours(session, orelse)
        case Call(function="min" | "max", args=args):
            return frozenset().union(*(flavours(session, a) for a in args))
        case Unary(operand=operand):
            return flavours(session, operand)
        case Sum():  # s = 0.0 where there are no terms
            return frozenset(((expr.type.is_python, expr.type.kind), (True, expr.type.kind)))
        case Binary(left=left, right=Sum()):
            own = (expr.type.is_python, expr.type.kind)
            return flavours(session, left) | {own}
        case Binary(left=left, right=right):
            a, b = flavours(session, left), flavours(session, right)
            if len(a) == len(b) == 1:
                return frozenset(((expr.type.is_python, expr.type.kind),))
            return frozenset((p and q, max(k, m, key=_ORDER.index)) for p, k in a for q, m in b)
    return frozenset(((expr.type.is_python, expr.type.kind),))


def may_be_python(session: Session, expr: Expr) -> bool:
    """Some value of the expression may be a number of Python's own."""
    return any(python for python, _ in flavours(session, expr))
