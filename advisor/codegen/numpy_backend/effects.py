"""What an exception in the middle leaves behind, and whether anyone can see it.

A loop that raises in iteration k has stored what the iterations before gave; an array statement
that raises has stored nothing, or everything. So what may raise is tested in front of the array
code, with the original loop as the other branch; only where the half-filled arrays die with the
function may the array code raise by itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...loopnest.affine import Affine, affine, extent_symbol, variable
from ...loopnest.ir import Expr, Load, Store, statements
from ...loopnest.scope import declared, own_nodes
from .domains import require
from .known import extent_text
from .normal import NotVectorisable
from .ranges import LARGEST, Ranges, fits
from .session import Context, Session
from .values import Value

Evaluate = Callable[[Session, Expr, Context], Value]
_CATCHES = (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def inside(session: Session, load: Load, dim: int, context: Context, evaluate: Evaluate) -> None:
    """Computed subscripts name elements of the array, or the IndexError is the loop's own.

    Raises NotVectorisable.
    """
    index = load.index[dim]
    size = _extent(session, load.array, dim)
    if size.is_const and fits(session, context, index, -size.const, size.const - 1):
        return
    if _known_inside(session, index, size, context) or _bounded(session, index, size, context):
        return
    extent = extent_text(session.nest, load.array, dim)
    reason = f"a computed subscript of {load.array} may be out of range"
    try:
        require(session, index, "inside", context, evaluate, reason, extent)
    except NotVectorisable:
        array = session.nest.arrays[load.array]
        if array.container != "ndarray" or not may_raise(session):
            raise


def _known_inside(session: Session, index: Expr, size: Affine, context: Context) -> bool:
    """The range rests on no observation: a die shows 1 to 6. Then the size is all to ask for."""
    ranges = Ranges(session, context)
    found = ranges.interval(index)
    if ranges.used or found.low is None or found.high is None or found.low < 0:
        return False
    if found.high >= LARGEST or not session.facts.require(size - int(found.high) - 1):
        return False
    ranges.commit()
    return True


def _bounded(session: Session, index: Expr, size: Affine, context: Context) -> bool:
    """``x[i + k]``: its least and greatest values are what the ends of the loops give."""
    low = high = affine(index)
    if low is None or high is None:
        return False
    for axis, span in context.spans:
        least, most = {axis: span.low}, {axis: span.high - 1}
        factor = low.coefficient(axis)
        low = low.substitute(least if factor > 0 else most)
        high = high.substitute(most if factor > 0 else least)
    facts = session.facts
    lengths = (span.high - span.low - 1 for _, span in context.spans)
    return all(map(facts.require, (*lengths, low, size - high - 1)))


def _extent(session: Session, array: str, dim: int) -> Affine:
    return session.facts.canonical(variable(extent_symbol(array, dim)))


def may_raise(session: Session) -> bool:
    """The array code may raise where the loop does: nobody sees what was stored until then.

    Once only: of two places that raise, another might come first.
    """
    if session.raises or not _dies_with_function(session):
        return False
    session.raises = True
    return True


def _dies_with_function(session: Session) -> bool:
    """All arrays written are the function's own, and it ends with the exception.

    Not so for ``def fill(out): ...``, in ``try: ... except IndexError: return out``, and where
    ``def show(): print(out)`` is defined inside.
    """
    function = _function(session)
    if function is None or any(isinstance(n, _CATCHES) for n in own_nodes(function)):
        return False
    written = {s.array for s in statements((session.root,)) if isinstance(s, Store)}
    arrays = session.nest.arrays
    if any(arrays[name].allocation is None for name in written):
        return False
    nested = [n for n in own_nodes(function) if isinstance(n, _SCOPES)]
    captured = {n.id for inner in nested for n in ast.walk(inner) if isinstance(n, ast.Name)}
    return not written & (captured | declared(function))


def _function(session: Session) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function around the loop."""
    line = session.root.line
    found: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    for node in session.source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (
            node.lineno < line <= (node.end_lineno or node.lineno)
        ):
            found = node  # breadth first: inner functions come later
    return found
