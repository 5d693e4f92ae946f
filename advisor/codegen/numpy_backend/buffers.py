"""Arithmetic on large arrays inside a loop that stays, into a buffer made before the loop.

``b[1:-1] = 0.5 * (a[:-2] + a[2:])`` takes memory for every operation, in each iteration anew, and
gives it back. Where it is more than the allocator keeps, every time all of it is mapped and zeroed
by the kernel before it is written: the same operations with ``out=`` took half the time.
"""

from __future__ import annotations

from typing import TypeGuard

from ...loopnest.ir import Binary, Expr, Kind, walk
from .session import BufferRef, Context, Session
from .values import Value, binary, result_dtype

FEWEST = 4096
"""Elements of an array from which on memory is worth keeping."""
SHORT = 76
"""Longest call that takes the place of an assignment."""
UFUNCS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


def straight_into(
    session: Session, value: Expr, target: Value, result: Value, context: Context
) -> list[str]:
    """``np.add(x, y, out=a)`` for ``a[:] = x + y`` in a loop that stays: nothing is copied.

    NumPy sees to it if ``x`` is a part of ``a``. Empty where that is not the same, or runs once.
    """
    from .expressions import evaluate

    if not (context.kept or session.kept_around):
        return []
    match value:
        case Binary(op=op, left=left, right=right) if op in UFUNCS:
            one, two = (evaluate(session, e, context) for e in (left, right))
        case _:
            return []
    if binary(op, one, two, value.type, result.dtype).text != result.text:
        return []  # computed in another way
    if result_dtype(op, one, two) != result.dtype:
        return []
    call = f"{session.np}.{UFUNCS[op]}({one.text}, {two.text}, out={target.text})"
    return [call] if len(call) <= SHORT else []  # one copy is little among many operations


def in_steps(
    session: Session, expr: Expr, context: Context, out: str = ""
) -> tuple[list[str], str] | None:
    """The statements that compute an expression one operation after the other, and where to.

    The last one goes into ``out``, else into a buffer. None where an expression does as well: for
    one operation, whose result goes where it belongs anyway, or for few elements.
    """
    if not _repeats(session, context) or not _is_step(expr, session, context):
        return None
    if out and not any(_is_step(part, session, context) for part in (expr.left, expr.right)):
        return None
    shape = _shape(session, context)
    if shape is None:
        return None
    writer = _Writer(session, context, shape)
    place = out or writer.buffer(0)
    writer.write(expr, 0, place)
    return writer.lines, place


def kept_array(session: Session, name: str, expr: Expr, context: Context) -> list[str] | None:
    """``name = expr`` with memory that was made before the loop; None where it need not be."""
    if name not in session.single or not _repeats(session, context):
        return None
    if not _is_step(expr, session, context) or reads_buffer(expr, name):
        return None
    shape = _shape(session, context)
    if shape is None:
        return None
    writer = _Writer(session, context, shape, first=name)
    making = f"{name} = {session.np}.empty({shape})"
    if making not in session.prologue:
        session.prologue.append(making)
    writer.write(expr, 0, name)
    return writer.lines


def reads_buffer(expr: Expr, name: str) -> bool:
    """The expression reads the array that the name stands for."""
    return any(isinstance(part, BufferRef) and part.buffer.name == name for part in walk(expr))


def _repeats(session: Session, context: Context) -> bool:
    """Directly inside a loop that stays, for all elements."""
    inside = session.kept_around and not context.kept
    return inside and not context.branch and not context.narrowed and not session.silent


def _shape(session: Session, context: Context) -> str | None:
    """The same in all iterations of the loops around, and large."""
    from .scalars import shape_text
    from .sizes import greatest

    changing = session.facts.ranges.keys() | session.nest.privates.keys()
    size = 1.0
    for _, span in context.spans:
        length = session.facts.canonical(span.high - span.low)
        seen = greatest(length, session.nest, {})
        if span.step != 1 or length.symbols & changing or seen is None:
            return None
        size *= seen
    if size < FEWEST or session.waves is not None:
        return None
    lengths = (span.high - span.low for _, span in context.spans)
    return shape_text(session, context) if all(map(session.facts.require, lengths)) else None


def _is_step(expr: Expr, session: Session, context: Context) -> TypeGuard[Binary]:
    """An operation on arrays that has the same result with ``out=``."""
    from .expressions import evaluate

    match expr:
        case Binary(op="+" | "-" | "*" | "/" as op, left=left, right=right):
            pass
        case _:
            return False
    value, one, two = (evaluate(session, e, context) for e in (expr, left, right))
    plain = value.dtype == "float64" and value.axes == frozenset(context.axes)
    return plain and expr.type.kind is Kind.FLOAT and result_dtype(op, one, two) == "float64"


class _Writer:
    """Writes the operations of one expression."""

    def __init__(self, session: Session, context: Context, shape: str, first: str = "") -> None:
        self.session, self.context, self.shape, self.first = session, context, shape, first
        self.lines: list[str] = []

    def buffer(self, depth: int) -> str:
        """Memory for what one side of an operation gives while the other side waits."""
        if depth == 0 and self.first:
            return self.first
        session, key = self.session, (self.shape, depth)
        if key not in session.buffers:
            session.buffers[key] = session.fresh("work")
            making = f"{session.buffers[key]} = {session.np}.empty({self.shape})"
            session.prologue.append(making)
        return session.buffers[key]

    def write(self, expr: Binary, depth: int, out: str) -> None:
        """The value of the expression into ``out``."""
        left, op, own = expr.left, expr.op, self.buffer(depth)
        one = self._operand(left, depth)
        if op == "*" and left == expr.right and one == own:
            self.lines.append(f"{self.session.np}.square({one}, out={out})")
            return
        two = self._operand(expr.right, depth + 1 if one == own else depth)
        if out == own == one:
            self.lines.append(f"{out} {op}= {two}")
        elif out == own == two and op in "+*":
            self.lines.append(f"{out} {op}= {one}")  # sums and products may change sides
        else:
            function = f"{self.session.np}.{UFUNCS[op]}"
            self.lines.append(f"{function}({one}, {two}, out={out})")

    def _operand(self, expr: Expr, depth: int) -> str:
        from .expressions import evaluate

        if not _is_step(expr, self.session, self.context):
            return evaluate(self.session, expr, self.context).text
        self.write(expr, depth, self.buffer(depth))
        return self.buffer(depth)
