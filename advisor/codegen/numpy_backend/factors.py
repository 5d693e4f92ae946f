"""Triangular factorisations as blocked library calls: Cholesky, and LU without exchanges.

The loops are matched by the equations that they solve, whatever order they take; two forms of each
are known, row by row and column by column (Golub and Van Loan, "Matrix Computations", 3.2 and
4.2). Where there is no factor, or rounding may decide whether there is one, the loops run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...loopnest.affine import affine, constant, extent_symbol, variable
from ...loopnest.fold import substitute
from ...loopnest.ir import (
    PY_INT,
    Assign,
    Binary,
    Call,
    Const,
    Expr,
    For,
    Load,
    Nest,
    Sum,
    Var,
    statements,
)
from .known import Facts
from .normal import NotVectorisable
from .recurrences import Cell, NoEquation, cells, difference, quotient
from .session import Session

CHOLESKY = '''\
def {name}(matrix):
    """The lower Cholesky factor; None if there is none, or if rounding may decide it."""
    try:
        lower = {np}.linalg.cholesky(matrix)
    except {np}.linalg.LinAlgError:
        return None
    pivots = {np}.square(lower.diagonal())
    clear = {np}.isfinite(lower).all() and pivots.min(initial=1.0) > 1e-8 * pivots.max(initial=0.0)
    return lower if clear else None
'''
LU = '''\
def {name}(matrix):
    """Both factors of LU without exchanges in one matrix; None if a pivot is close to zero."""
    factors = matrix.copy()
    size = len(factors)
    with {np}.errstate(all="ignore"):
        for first in range(0, size, 32):
            last = min(first + 32, size)
            for k in range(first, last):
                factors[k + 1:, k] /= factors[k, k]
                factors[k + 1:, k + 1:last] -= factors[k + 1:, k, None] * factors[k, k + 1:last]
            # The rows beside the block, then one product of matrices for all that is left.
            for k in range(first + 1, last):
                factors[k, last:] -= factors[k, first:k] @ factors[first:k, last:]
            factors[last:, last:] -= factors[last:, first:last] @ factors[first:last, last:]
        pivots = {np}.abs(factors.diagonal())
        least = 1e-8 * {np}.abs(matrix).max(initial=0.0)
        clear = {np}.isfinite(factors).all() and pivots.min(initial=1.0) > least
    return factors if clear else None
'''


_HELPERS = {
    "cholesky": (CHOLESKY, ("_cholesky_factor", "lower")),
    "lu": (LU, ("_lu_factors", "factors")),
}


@dataclass(frozen=True)
class Factorisation:
    """A nest that factorises the leading part of ``source`` into ``target``."""

    kind: str
    """``cholesky`` or ``lu``."""
    source: str
    target: str
    size: Expr
    """Rows and columns."""


def factorisation(root: For, nest: Nest, facts: Facts) -> Factorisation | None:
    """The factorisation that a nest with its sums in expressions is; None if it is none."""
    try:
        found = cells(root)
    except NoEquation:
        return None
    if affine(root.start) != constant(0) or root.step != 1 or affine(root.stop) is None:
        return None
    own = {s.name for s in statements((root,)) if isinstance(s, Assign)}
    own |= {s.index for s in statements((root,)) if isinstance(s, For)}
    if own & nest.live_out or len({cell.array for cell in found}) != 1:
        return None
    for matches in (_cholesky, _lu):
        one = matches(found, root, facts)
        if one is not None and _are_matrices(nest, {one.source, one.target}):
            return one
    return None


def _are_matrices(nest: Nest, arrays: set[str]) -> bool:
    """Of doubles, and no two in one place."""
    infos = [nest.arrays[name] for name in arrays]
    return all(
        info.container == "ndarray"
        and info.ndim == 2
        and info.element.dtype == "float64"
        and not info.aliases
        for info in infos
    )


def write_factorisation(session: Session, found: Factorisation) -> None:
    """The call of a function for it, as the last test in front. Raises NotVectorisable."""
    facts, np = session.facts, session.np
    size = affine(found.size)
    assert size is not None
    whole = True
    for array in dict.fromkeys((found.source, found.target)):
        for axis in (0, 1):
            extent = variable(extent_symbol(array, axis))
            facts.suppose_whole(extent, size)
            if not facts.require(extent - size):
                raise NotVectorisable(f"a subscript of {array} may leave it", session.root.line)
            whole = whole and facts.equal(extent, size)
    if not whole and not facts.require(size):
        raise NotVectorisable("the trip count of a loop may be negative", session.root.line)
    part = "" if whole else f"[:{facts.text(size)}, :{facts.text(size)}]"
    template, names = _HELPERS[found.kind]
    helper, result = (session.fresh(name) for name in names)
    session.helpers.append(template.format(name=helper, np=np))
    session.last_tests.append(f"({result} := {helper}({found.source}{part})) is not None")
    if found.kind == "lu":
        session.line(f"{found.target}{part or '[:]'} = {result}")
    else:
        lower = f"{np}.tri({facts.text(size)}, dtype=bool)"
        session.line(f"{np}.copyto({found.target}{part}, {result}, where={lower})")


# ------------------------------------------------------------------- matching
def _cholesky(found: Sequence[Cell], root: For, facts: Facts) -> Factorisation | None:
    """``L[i, j] = (A[i, j] - sum) / L[j, j]``, on the diagonal the root of such a difference."""
    diagonals = [cell for cell in found if _is_root(cell.value)]
    others = [cell for cell in found if not _is_root(cell.value)]
    if len(diagonals) != 1 or len(others) != 1:
        return None
    diagonal, other = _on_one_index(diagonals[0]), others[0]
    at, place = _names(diagonal), _names(other)
    if at is None or place is None or not _covers(diagonal, other, found, root, facts):
        return None
    row, column = place
    parts, value = quotient(other.value), diagonal.value
    below = None if parts is None else difference(parts[0])
    under = difference(value.args[0] if isinstance(value, Call) else value.left)  # type: ignore[attr-defined]
    if parts is None or below is None or under is None:
        return None
    target = other.array
    if not _is_element(parts[1], target, column, column):
        return None
    if not _is_dot(below[1], target, row, column, column):
        return None
    if not _is_dot(under[1], target, *at, at[0]):
        return None
    match below[0], under[0]:
        case Load(array=source), Load(array=again) if source == again:
            pass
        case _:
            return None
    fits = _is_element(below[0], source, row, column) and _is_element(under[0], source, *at)
    return Factorisation("cholesky", source, target, root.stop) if fits else None


def _on_one_index(cell: Cell) -> Cell:
    """``L[i, j]`` where i is j as ``L[i, i]``."""
    if cell.on_diagonal is not True:
        return cell
    outer, inner = cell.loops[0], cell.loops[-1]
    put: dict[str, Expr] = {inner.index: Var(PY_INT, outer.line, outer.index)}
    index = tuple(substitute(e, put) for e in cell.index)
    return replace(cell, index=index, value=substitute(cell.value, put))


def _is_root(value: Expr) -> bool:
    match value:
        case Call(function="math.sqrt" | "numpy.sqrt", args=(_,)):
            return True
        case Binary(op="**", right=Const(value=0.5)):
            return True
    return False


def _names(cell: Cell) -> tuple[str, str] | None:
    match cell.index:
        case Var(name=row), Var(name=column):
            return row, column
    return None


def _covers(diagonal: Cell, other: Cell, found: Sequence[Cell], root: For, facts: Facts) -> bool:
    """The cells are the whole lower triangle, in an order in which each finds what it reads."""
    row, column = _names(other) or ("", "")
    at = _names(diagonal)
    if other.on_diagonal is False:  # for j in range(i + 1): .. if i == j
        if diagonal.loops != other.loops or diagonal.on_diagonal is not True or at is None:
            return False
        return _runs(other, row, column, root) == (0, 1) and at == (row, row)
    if diagonal.loops != (root,) or at != (root.index, root.index):
        return False
    first = min(found, key=lambda cell: _position(root, cell))
    if _runs(other, row, column, root) == (0, 0):  # by rows, the diagonal last
        return first is other
    return _runs(other, column, row, root) == (1, None) and first is diagonal


def _position(root: For, cell: Cell) -> int:
    """Of the cell's statement, or of the loop around it, in the root's body."""
    if len(cell.loops) > 1:
        return next(n for n, s in enumerate(root.body) if s is cell.loops[1])
    return next(n for n, s in enumerate(root.body) if getattr(s, "array", "") == cell.array)


def _runs(cell: Cell, outer: str, inner: str, root: For) -> tuple[int, int | None] | None:
    """Where the inner of two loops begins and ends.

    ``(0, d)``: from 0 up to ``outer + d``; ``(d, None)``: from ``outer + d`` up to the end.
    """
    if len(cell.loops) != 2 or cell.loops[0] is not root:
        return None
    loop = cell.loops[1]
    if (root.index, loop.index, loop.step) != (outer, inner, 1):
        return None
    start, stop = affine(loop.start), affine(loop.stop)
    if start is None or stop is None:
        return None
    above, below = stop - variable(outer), start - variable(outer)
    if start == constant(0) and above.is_const:
        return 0, above.const
    if below.is_const and stop == affine(root.stop):
        return below.const, None
    return None


def _is_element(expr: Expr, array: str, row: str, column: str) -> bool:
    match expr:
        case Load(array=name, index=(Var(name=one), Var(name=two))):
            return (name, one, two) == (array, row, column)
    return False


def _factors(total: Sum, last: str) -> tuple[Expr, Expr, str] | None:
    """The two factors of a sum of products over ``range(last)``, and the name of its index."""
    if len(total.loops) != 1:
        return None
    (loop,) = total.loops
    if affine(loop.start) != constant(0) or affine(loop.stop) != variable(last) or loop.step != 1:
        return None
    match total.body:
        case Binary(op="*", left=one, right=two):
            return one, two, loop.index
        case Binary(op="**", left=one, right=Const(value=2)):
            return one, one, loop.index
    return None


def _is_dot(total: Sum, array: str, row: str, other: str, last: str) -> bool:
    """``X[row, k] * X[other, k]`` for all k below ``last``."""
    found = _factors(total, last)
    if found is None:
        return False
    one, two, k = found
    straight = _is_element(one, array, row, k) and _is_element(two, array, other, k)
    return straight or (_is_element(two, array, row, k) and _is_element(one, array, other, k))


def _lu(found: Sequence[Cell], root: For, facts: Facts) -> Factorisation | None:
    """``(A[i, j] - sum) / A[j, j]`` below the diagonal, ``A[i, j] - sum`` from it on."""
    if len(found) != 2 or any(cell.on_diagonal is not None for cell in found):
        return None
    low, high = sorted(found, key=lambda cell: quotient(cell.value) is None)
    first = min(found, key=lambda cell: _position(root, cell))
    places = _names(low), _names(high)
    parts = quotient(low.value)
    below = None if parts is None else difference(parts[0])
    above = difference(high.value)
    if parts is None or below is None or above is None or None in places:
        return None
    (row, column), (top, right) = (place or ("", "") for place in places)
    by_rows = _runs(low, row, column, root) == (0, 0) and _runs(high, top, right, root) == (0, None)
    by_columns = _runs(high, right, top, root) == (0, 1) and _runs(low, column, row, root) == (
        1,
        None,
    )
    if not (by_rows or by_columns) or first is not (low if by_rows else high):
        return None
    array = low.array
    fits = _is_element(parts[1], array, column, column)
    for place, (start, total), last in (((row, column), below, column), ((top, right), above, top)):
        fits = (
            fits
            and _is_element(start, array, *place)
            and _is_row_times_column(total, array, *place, last)
        )
    return Factorisation("lu", array, array, root.stop) if fits else None


def _is_row_times_column(total: Sum, array: str, row: str, column: str, last: str) -> bool:
    """``X[row, k] * X[k, column]`` for all k below ``last``."""
    found = _factors(total, last)
    if found is None:
        return False
    one, two, k = found
    straight = _is_element(one, array, row, k) and _is_element(two, array, k, column)
    return straight or (_is_element(two, array, row, k) and _is_element(one, array, k, column))
