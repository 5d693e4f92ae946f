"""``x[i] = x[i - 1] + e``: each element from the one before, as ``np.add.accumulate``.

The terms are written into the array, and the array is then accumulated in place, in the loop's
own order: floats keep their bits, as they would not with a sum taken in pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.affine import affine
from ...loopnest.ir import (
    Binary,
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


def scan_stores(root: For, nest: Nest) -> dict[int, Scan]:
    """``id`` of the stores of floats that continue the element before, and what they add."""
    found: dict[int, Scan] = {}
    for loop in statements((root,)):
        if isinstance(loop, For) and loop.step == 1:
            for statement in _own(loop.body):
                scan = _scan(statement, loop, nest)
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
    here = [affine(e) for e in statement.index]
    there = [affine(e) for e in before.index]
    moves = 0
    for a, b in zip(here, there, strict=True):
        if a is None or b is None or not (a - b).is_const:
            return None
        distance, factor = (a - b).const, a.coefficient(loop.index)
        if (distance, factor) not in ((0, 0), (1, 1)):
            return None
        moves += distance
    return Scan(_UFUNCS[op], term, loop.index) if moves == 1 else None


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
    ufunc = f"{session.np}.{found.ufunc}.accumulate"
    session.line("# one after the other, as in the loop")
    session.line(f"{ufunc}({whole}, out={whole})")
