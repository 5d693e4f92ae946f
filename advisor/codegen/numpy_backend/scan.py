"""``x[i] = x[i - 1] + e``: each element from the one before, as ``np.add.accumulate``.

The terms are written into the array, and the array is then accumulated in place, in the loop's
own order: floats keep their bits, as they would not with a sum taken in pairs.

``x[i] = min(e, x[i - 1] + 2)`` of integers is ``np.minimum.accumulate`` of what the elements have
more than 0, 2, 4 and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...loopnest.affine import affine
from ...loopnest.ir import (
    PY_INT,
    Binary,
    Call,
    Const,
    Expr,
    For,
    Load,
    Nest,
    Stmt,
    Store,
    children,
    expressions,
    statements,
)
from .elements import load
from .expansion import Expansion
from .normal import NotVectorisable
from .scalars import closed
from .session import Context, Env, Session, Span
from .stores import Pending, write
from .values import natural_dtype

_UFUNCS = {"+": "add", "-": "subtract", "*": "multiply"}


@dataclass(frozen=True)
class Scan:
    """One store of that kind."""

    ufunc: str
    term: Expr
    axis: str
    step: int | None = None
    """What is added on the way to the next element of a least or greatest one; None: a sum."""


def scan_stores(root: For, nest: Nest) -> dict[int, Scan]:
    """``id`` of the stores of floats that continue the element before, and what they add."""
    found: dict[int, Scan] = {}
    for loop in statements((root,)):
        if isinstance(loop, For) and loop.step == 1:
            for statement in _own(loop.body):
                scan = _scan(statement, loop, nest) or _extreme(statement, loop, nest)
                if scan is not None:
                    found[id(statement)] = scan
    return found


def _own(body: tuple[Stmt, ...]) -> Iterator[Store]:
    """The stores that run in every iteration: one under a condition may skip elements."""
    yield from (statement for statement in body if isinstance(statement, Store))


def _scan(statement: Store, loop: For, nest: Nest) -> Scan | None:
    array = statement.array
    match statement.value:
        case Binary(op="+" | "-" | "*" as op, left=Load(array=found) as before, right=term) if (
            found == array
        ):
            pass
        case Binary(op="+" | "*" as op, left=term, right=Load(array=found) as before) if (
            found == array
        ):
            pass
        case _:
            return None
    info = nest.arrays[array]
    element, value = info.element, statement.value.type
    reads = [p for e in expressions(statement) for p in _loads(e) if p.array == array]
    floats = {natural_dtype(t) for t in (element, value, term.type)} == {"float64"}
    if not floats or element.is_python != value.is_python or info.aliases or reads != [before]:
        return None
    follows = _follows(statement, before, loop)
    return Scan(_UFUNCS[op], term, loop.index) if follows else None


def _follows(statement: Store, before: Load, loop: For) -> bool:
    """The element that is read is the one of the iteration before."""
    here = [affine(e) for e in statement.index]
    there = [affine(e) for e in before.index]
    moves = 0
    for a, b in zip(here, there, strict=True):
        if a is None or b is None or not (a - b).is_const:
            return False
        distance, factor = (a - b).const, a.coefficient(loop.index)
        if (distance, factor) not in ((0, 0), (1, 1)):
            return False
        moves += distance
    return moves == 1


def _extreme(statement: Store, loop: For, nest: Nest) -> Scan | None:
    """``row[j] = min(e, row[j - 1] + 1)`` of Python's integers."""
    info = nest.arrays[statement.array]
    if info.element != PY_INT or info.container != "list" or info.aliases:
        return None
    value, more = _plus(statement.value)
    if not isinstance(value, Call) or value.function not in ("min", "max"):
        return None
    chain: list[int] = []
    others: list[Expr] = []
    for argument in _choices(value, value.function):
        start, step = _plus(argument)
        if (
            isinstance(start, Load)
            and start.array == statement.array
            and (_follows(statement, start, loop))
        ):
            chain.append(step)
        else:
            others.append(argument)
    whole = all(e.type == PY_INT for e in (statement.value, value, *others))
    if len(chain) != 1 or not others or not whole:
        return None
    if not all(_in_another_row(part, statement, loop) for e in others for part in _loads(e)):
        return None
    line = statement.line
    term = others[0] if len(others) == 1 else Call(PY_INT, line, value.function, tuple(others))
    if more:
        term = Binary(PY_INT, line, "+", term, Const(PY_INT, line, more))
    ufunc = "minimum" if value.function == "min" else "maximum"
    return Scan(ufunc, term, loop.index, chain[0] + more)


def _choices(expr: Expr, function: str) -> Iterator[Expr]:
    """``min(min(a, b), c)`` chooses among three."""
    if isinstance(expr, Call) and expr.function == function:
        for argument in expr.args:
            yield from _choices(argument, function)
    else:
        yield expr


def _plus(expr: Expr) -> tuple[Expr, int]:
    """An expression, and the constant that is added to it."""
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=Const(value=int() as number)):
            start, more = _plus(left)
            return start, more + (number if op == "+" else -number)
        case Binary(op="+", left=Const(value=int() as number), right=right):
            start, more = _plus(right)
            return start, more + number
    return expr, 0


def _in_another_row(part: Load, statement: Store, loop: For) -> bool:
    """Nothing that the loop writes: another array, or another row of the table."""
    if part.array != statement.array:
        return True
    for e, f in zip(statement.index, part.index, strict=True):
        a, b = affine(e), affine(f)
        if a is None or b is None or a.coefficient(loop.index):
            continue
        gap = a - b
        if gap.is_const and gap.const != 0:
            return True
    return False


def without_extremes(scans: Mapping[int, Scan]) -> dict[int, Scan]:
    """Those that are sums."""
    return {key: one for key, one in scans.items() if one.step is None}


def _loads(expr: Expr) -> Iterator[Load]:
    if isinstance(expr, Load):
        yield expr
    for child in children(expr):
        yield from _loads(child)


def only_axis(loops: tuple[For, ...], axes: frozenset[int]) -> bool:
    """Of the loops around the store none but the innermost is an axis."""
    return not any(id(loop) in axes for loop in loops[:-1])


def scan(session: Session, statement: Store, context: Context, env: Env) -> None:
    """Write the store over its axis. Raises NotVectorisable."""
    found = session.scans[id(statement)]
    if context.axes != (found.axis,) or context.narrowed or context.branch:
        raise NotVectorisable("an element is made from the one before", statement.line)
    info = session.nest.arrays[statement.array]
    if isinstance(info.allocation, Expansion):
        raise NotVectorisable(f"{statement.array} has no first element", statement.line)
    if statement.array in session.halos:
        raise NotVectorisable(f"{statement.array} is read across its edge", statement.line)
    index = tuple(closed(e, env) for e in statement.index)
    write(
        session, Pending(statement.array, index, closed(found.term, env), statement), context, env
    )
    span = context.span(found.axis)
    longer = ((found.axis, Span(span.low - 1, span.high)),)
    target = Load(info.element, statement.line, statement.array, index)
    whole = load(session, target, replace(context, spans=longer, full=longer), target=True).text
    lines = [f"{session.np}.{found.ufunc}.accumulate({whole}, out={whole})"]
    if found.step:
        steps = _steps(session, abs(found.step), span, statement.line)
        off, on = ("-", "+") if found.step > 0 else ("+", "-")
        lines = [f"{whole} {off}= {steps}", *lines, f"{whole} {on}= {steps}"]
    session.line("# one after the other, as in the loop")
    for line in lines:
        session.line(line)


def _steps(session: Session, step: int, span: Span, line: int) -> str:
    """The array of what the way to each element adds, made in front of the loops."""
    count = session.facts.canonical(span.high - span.low + 1)
    if count.symbols & (session.facts.ranges.keys() | session.nest.privates.keys()):
        raise NotVectorisable("the rows are of different lengths", line)
    text = session.facts.text(count)
    made = f"{session.np}.arange({text})"
    if step != 1:
        made = f"{step} * {made}"
    for known in session.prologue:
        name, _, value = known.partition(" = ")
        if value == made and name.startswith("steps"):
            return name
    name = session.fresh("steps")
    session.prologue.append(f"{name} = {made}")
    return name
