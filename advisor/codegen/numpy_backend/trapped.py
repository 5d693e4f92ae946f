"""Array code that stops where Python would raise, and leaves the loop to start again.

Whether ``math.sqrt(a)`` raises may hang on numbers that only the loop computes. With inputs that
are finite, all that makes Python raise sets a flag of the processor: a root of a negative number,
a division by zero, an overflow. NumPy turns the flags into FloatingPointError on request; as long
as nothing that the program can see was changed by then, the original loop raises as it did.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...loopnest.ir import Assign, Expr, For, Kind, Load, Store, expressions, statements, walk
from .flat import as_it_is
from .normal import NotVectorisable
from .session import BufferRef, Context, Session

STOP = "raise IndexError"
"""Leaves the array code: some place is in no array, and the loop raises when it comes there."""


def trap(session: Session, context: Context, *, everywhere: bool = False) -> bool:
    """Whether the flags tell what an expression would raise; then the text asks for them.

    ``everywhere``: the elements that a condition on indices leaves out are likely to set them, as
    the distance of a point to itself does where it is divided by.
    """
    conditions = [*session.tests, *([] if context.mask is None else [context.mask])]
    if conditions and (everywhere or not all(map(_is_of_indices, conditions))):
        return False  # if x > 0: log(x): what the original leaves out would stop it always
    if session.in_bytes or not _can_start_again(session):
        return False
    tests = list(_finite(session))
    session.domains += [test for test in tests if test not in session.domains]
    session.trapped += 1
    return True


def trap_where_it_counts(session: Session, context: Context) -> bool:
    """As `trap`, of a division or power whose text has one where the original leaves it out."""
    conditions = [*session.tests, *([] if context.mask is None else [context.mask])]
    if not conditions or session.in_bytes or not _can_start_again(session):
        return False
    session.domains += [t for t in _finite(session) if t not in session.domains]
    session.trapped += 1
    session.counting = tuple(conditions)
    return True


def can_stop(session: Session) -> bool:
    """Whether the text may end at `STOP`, with the loop starting again; it is then made to."""
    if session.in_bytes or not _can_start_again(session):
        return False
    session.stops = True
    return True


def _is_of_indices(test: Expr) -> bool:
    """Whether a condition looks at no element: ``i != j``."""
    for part in walk(test):
        if isinstance(part, BufferRef):
            if part.buffer.origin is None or not _is_of_indices(part.buffer.origin):
                return False
        elif isinstance(part, Load):
            return False
    return True


def _can_start_again(session: Session) -> bool:
    """Nothing outlives an exception: lists are written back at the end, and arrays are new, or
    added to at the end.

    Variables from before the loop get their value back.
    """
    nest = session.nest
    loops = [s for s in statements((session.root,)) if isinstance(s, For)]
    flat = all(id(loop) in session.axes for loop in loops)  # `trapping` moves the stores behind
    for statement in statements((session.root,)):
        if isinstance(statement, Store) and statement.array not in session.made:
            info = as_it_is(nest.arrays[statement.array])
            if info.container != "list" and not (flat and id(statement) in session.scatters):
                return False
        unset = nest.live_out - nest.scalars.keys()
        if isinstance(statement, Assign) and statement.name in unset:
            return False
    return True


def _set_back(session: Session) -> dict[str, str]:
    """Variables from before the loop that it changes -> where their value is kept meanwhile."""
    sets = (s.name for s in statements((session.root,)) if isinstance(s, Assign))
    names = [name for name in dict.fromkeys(sets) if name in session.nest.scalars]
    return {name: session.fresh(f"{name.rpartition('.')[2]}_before") for name in names}


def _finite(session: Session) -> Iterator[str]:
    """Tests that no input is infinite or NaN: of such, nothing sets a flag."""
    nest = session.nest
    exprs = (e for s in statements((session.root,)) for e in expressions(s))
    read = {part.array for expr in exprs for part in walk(expr) if isinstance(part, Load)}
    for name, info in nest.arrays.items():
        plain = as_it_is(info)
        if plain.element.kind is not Kind.FLOAT or name not in read - session.made:
            continue
        if plain.container == "ndarray":
            yield f"{session.np}.isfinite({name}).all()"
        elif plain.ndim == 1:
            yield f"abs(sum({name})) < float('inf')"
        elif plain.ndim == 2:
            yield f"abs(sum(map(sum, {name}))) < float('inf')"
        else:
            raise NotVectorisable(f"{name} may hold infinities")
    for name, scalar in nest.scalars.items():
        if scalar.type.kind is Kind.FLOAT and scalar.literal is None:
            yield f"abs({name}) < float('inf')"


def trapping(session: Session, lines: list[str], last: list[str]) -> list[str]:
    """The array code under the flags, and the lines that hand on what it computed."""
    if session.hushed and session.trapped:
        raise NotVectorisable("some elements are computed that the loop leaves out")
    session.stored = session.fresh("stored")
    caught = "(FloatingPointError, IndexError)" if session.stops else "FloatingPointError"
    if not session.trapped:
        caught = "IndexError"
    kept = _set_back(session)
    first, final = _stores_apart(session, lines)
    lines, last = first, [*final, *last]
    if session.trapped:
        flags = f'with {session.np}.errstate(over="raise", divide="raise", invalid="raise"):'
        lines = [flags, *(f"    {line}" for line in lines)]
    return [
        *(f"{copy} = {name}" for name, copy in kept.items()),
        "try:",
        *(f"    {line}" for line in lines),
        f"except {caught}:",
        "    # the loop raises there: it starts again",
        *([f"    {name} = {copy}" for name, copy in kept.items()] or ["    pass"]),
        "else:",
        *(f"    {line}" for line in last),
        f"    {session.stored} = True",
    ]


def _stores_apart(session: Session, lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines without, and with, the stores that everybody sees: these come behind the rest.

    Raises NotVectorisable where something that such a store reads is set again after it.
    """
    final = [line for n, line in enumerate(lines) if n in session.final]
    for number in session.final:
        read = {n.id for n in ast.walk(ast.parse(lines[number])) if isinstance(n, ast.Name)}
        later = [line for n, line in enumerate(lines) if n > number and n not in session.final]
        if read & _set_in(later):
            raise NotVectorisable("an array is changed before what may raise was computed")
    return [line for n, line in enumerate(lines) if n not in session.final], final


def _set_in(lines: list[str]) -> set[str]:
    """Names bound, and arrays written, by assignments, ``out=`` or calls that stand alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        places: list[ast.expr] = []
        match node:
            case ast.Name(ctx=ast.Store()):
                places = [node]
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                places = [node.value]
            case ast.keyword(arg="out"):
                places = [node.value]
            case ast.Expr(value=ast.Call(args=args)):
                places = args
        found |= {n.id for place in places for n in ast.walk(place) if isinstance(n, ast.Name)}
    return found
