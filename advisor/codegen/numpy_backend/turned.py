"""Arrays whose columns are read and written one after the other: a copy that has them as rows.

``for k: a[:, k] = ..`` touches another cache line for every element. ``a_columns = a.T.copy()`` in
front of the loops has each column in one piece, and ``a[:] = a_columns.T`` puts them back.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ...loopnest.affine import affine
from ...loopnest.fold import map_children, reads
from ...loopnest.ir import (
    PY_INT,
    ArrayInput,
    Assign,
    Call,
    Dim,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    expressions,
    statements,
    walk,
)
from ...model import Region
from ...names import free_name
from ..made_lists import dead_after
from .flat import Turning
from .legality import Access, accesses
from .planning import STRIDED
from .provenance import proved_type
from .restructure import Variant
from .session import Session
from .sizes import trips

COPY = 3 * STRIDED
"""Seconds for one element of a turned copy, there and back."""
SHRINKING = 0.5
"""An element of rows that become shorter costs so much of what one of a column does."""
WORTH = 2.0
"""How many times what the copies cost has to be gained."""


@dataclass(frozen=True)
class Turned:
    """The nest with such copies, and the loops that are axes, by ``id``."""

    variant: Variant
    nest: Nest
    axes: frozenset[int]


def turned(nest: Nest, variant: Variant, axes: frozenset[int], region: Region) -> Turned | None:
    """The nest with columns as rows; None where no array gains by it."""
    if variant.waves is not None:
        return None
    loops = [s for s in statements((variant.root,)) if isinstance(s, For)]
    kept = frozenset(id(loop) for loop in loops) - axes  # those of sums are axes, too
    found = accesses(variant.root)
    chosen = [name for name, info in nest.arrays.items() if _gains(name, info, found, kept, nest)]
    if not chosen:
        return None
    names: dict[str, str] = {}
    for name in chosen:
        names[name] = free_name(region.source, f"{name}_columns", names.values())
    swap = _Swap(names)
    root = swap.statement(variant.root)
    user = _Swap(names).statement(nest.root)
    assert isinstance(root, For) and isinstance(user, For)
    arrays = dict(nest.arrays)
    for name, new in names.items():
        arrays[new] = _copy(arrays[name], new, variant.root.line)
    moved = frozenset(swap.ids[one] for one in variant.moved if one in swap.ids)
    back = {new: name for name, new in names.items() if not _is_dead(nest.arrays[name], region)}
    stored = {s.array for s in statements((root,)) if isinstance(s, Store)}
    result = Variant(
        root,
        moved,
        turned={new: name for name, new in names.items()},
        turned_back=frozenset(back.keys() & stored),
    )
    new_axes = frozenset(swap.ids[one] for one in axes)
    return Turned(result, replace(nest, root=user, arrays=arrays), new_axes)


# ---------------------------------------------------------------------- worth
def _gains(
    name: str, info: ArrayInput, found: tuple[Access, ...], kept: frozenset[int], nest: Nest
) -> bool:
    """Its columns are gone through more often than its rows, and often enough."""
    if info.container != "ndarray" or info.ndim != 2 or info.aliases or not info.c_contiguous:
        return False
    if not name.isidentifier() or type(info) is not ArrayInput or None in info.shape:
        return False
    if info.element.kind is Kind.COMPLEX or info.element.dtype is None:
        return False
    columns = rows = 0.0
    for access in found:
        if access.array != name:
            continue
        if any(affine(index) is None for index in access.index):
            return False
        along = {loop.index for loop in access.loops if id(loop) not in kept}
        down, on = (bool(reads(index) & along) for index in access.index)
        if down != on and any(id(loop) in kept for loop in access.loops):
            columns += _times(access, nest) if down else 0.0
            rows += _times(access, nest) if on else 0.0
        elif down and on and _shrinks(access, kept):
            columns += _times(access, nest) * SHRINKING
    size = float((info.shape[0] or 0) * (info.shape[1] or 0))
    gain = (columns - rows) * STRIDED
    return columns >= 2 * rows and gain > WORTH * size * COPY


def _shrinks(access: Access, kept: frozenset[int]) -> bool:
    """Parts of all rows, and fewer of each from iteration to iteration: ``a[:, k + 1:]``.

    The other way round they are whole rows, all in one piece.
    """
    around = {loop.index for loop in access.loops if id(loop) in kept}
    changing = {
        loop.index
        for loop in access.loops
        if id(loop) not in kept and (reads(loop.start) | reads(loop.stop)) & around
    }
    first, last = (bool(reads(index) & changing) for index in access.index)
    return last and not first


def _times(access: Access, nest: Nest) -> float:
    times = 1.0
    for loop in access.loops:
        times *= max(1.0, trips(loop, nest, {}))
    return times


def _is_dead(info: ArrayInput, region: Region) -> bool:
    """The function made it, under one name, and nobody reads it behind the loops."""
    made = info.allocation
    if made is None or not proved_type(info) or not isinstance(made.node, ast.Assign):
        return False
    return len(made.node.targets) == 1 and dead_after(region, info.name)


def _copy(info: ArrayInput, new: str, line: int) -> ArrayInput:
    dtype = "" if info.element.dtype == "float64" else f", dtype=np.{info.element.dtype}"
    (node,) = ast.parse(f"{new} = np.empty((0, 0){dtype})").body
    return replace(
        info,
        name=new,
        shape=info.shape[::-1],
        allocation=Turning("numpy.empty", line, node),
        extents=(Dim(PY_INT, line, info.name, 1), Dim(PY_INT, line, info.name, 0)),
    )


# ------------------------------------------------------------------- the nest
class _Swap:
    """Statements with the subscripts of some arrays the other way round."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.ids: dict[int, int] = {}
        """``id`` of each statement: before, now."""

    def statement(self, old: Stmt) -> Stmt:
        """A new statement for each one."""
        new = self._changed(old)
        self.ids[id(old)] = id(new)
        return new

    def _changed(self, old: Stmt) -> Stmt:
        match old:
            case Assign(value=value):
                return replace(old, value=self.expr(value))
            case Store(array=array, index=index, value=value):
                index = tuple(map(self.expr, index))
                if array in self.names:
                    array, index = self.names[array], index[::-1]
                return replace(old, array=array, index=index, value=self.expr(value))
            case If(test=test, then=then, orelse=orelse):
                both = self.body(then), self.body(orelse)
                return replace(old, test=self.expr(test), then=both[0], orelse=both[1])
            case For(start=start, stop=stop, body=body):
                ends = self.expr(start), self.expr(stop)
                return replace(old, start=ends[0], stop=ends[1], body=self.body(body))
        return replace(old)

    def body(self, old: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements of one level."""
        return tuple(map(self.statement, old))

    def expr(self, old: Expr) -> Expr:
        """An expression."""
        new = map_children(old, self.expr)
        if isinstance(new, Load) and new.array in self.names:
            return replace(new, array=self.names[new.array], index=new.index[::-1])
        return new


# ------------------------------------------------------------------- the text
def write_copies(session: Session, variant: Variant) -> None:
    """The lines that make the copies, and those that put them back whatever happens."""
    session.prologue[:0] = [f"{new} = {name}.T.copy()" for new, name in variant.turned.items()]
    back = [
        f"{variant.turned[new]}[:] = {new}.T"
        for new in variant.turned
        if new in variant.turned_back
    ]
    if back and _may_raise(session):
        inner = ["    " + line for line in session.lines]
        session.lines = ["try:", *inner, "finally:", *("    " + line for line in back)]
    else:
        session.epilogue[:0] = back


def _may_raise(session: Session) -> bool:
    """Some statement on single elements may raise: what was stored until then stays."""
    inside = {id(s) for loop in _axes(session) for s in statements((loop,))}
    for statement in statements((session.root,)):
        if id(statement) in inside:
            continue
        if isinstance(statement, Store):
            return True
        for expr in expressions(statement):
            if any(isinstance(part, Load | Call) for part in walk(expr)):
                return True
    return False


def _axes(session: Session) -> list[For]:
    return [s for s in statements((session.root,)) if isinstance(s, For) and id(s) in session.axes]
