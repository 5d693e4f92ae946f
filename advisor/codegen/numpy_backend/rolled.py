"""Rows that a loop makes anew and hands on: ``row = [i]``, ``row.append(..)``, ``previous = row``.

All rows of such a table are equally long, which is asked in front. So there are two arrays, that of
the row at work and that of the row before, and what was appended has a known place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...loopnest.affine import Affine, affine, constant, to_expr, variable
from ...loopnest.fold import fold, map_children, reads
from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Append,
    ArrayInput,
    Assign,
    Break,
    Compare,
    Const,
    Continue,
    Dim,
    Expr,
    For,
    Interval,
    Kind,
    Len,
    Load,
    Nest,
    NewList,
    Stmt,
    Store,
    Var,
    While,
    expressions,
    statements,
    walk,
)
from ...model import Region
from .flat import RowAtWork
from .normal import NotVectorisable
from .shift_names import changed

_FILLS = {Kind.INT: 0, Kind.FLOAT: 0.0, Kind.BOOL: False}


@dataclass(frozen=True)
class _Row:
    """A list that every iteration makes."""

    name: str
    length: Expr
    body: tuple[Stmt, ...]
    """The statements of an iteration, with stores in place of what was appended."""
    asked: tuple[Expr, ...] = ()
    """What the length rests on."""


def rolled(nest: Nest, region: Region) -> Nest:
    """The nest with arrays of known lengths; the same where the loop makes no such lists.

    Raises NotVectorisable where the lists that it makes are of other kinds.
    """
    if not nest.made or nest.grown != nest.replaced or not isinstance(nest.root, For):
        return nest
    found: list[_Row] = []
    root = nest.root
    for name in sorted(nest.made):
        row = _row(name, root.body, nest)
        if row is None or nest.arrays[name].element.kind not in _FILLS:
            raise NotVectorisable(f"the loop makes or grows the list {name}")
        root = replace(root, body=row.body)
        found.append(row)
    lengths = {row.name: row.length for row in found}
    for name in sorted(nest.replaced):
        lengths[name] = _handed_on(name, root)
    lengths = {name: _resolved(name, lengths, nest) for name in lengths}
    root = replace(root, body=changed(root.body, _with_lengths(lengths)))
    _refuse_changing(root, lengths, nest)
    arrays = dict(nest.arrays)
    for name in sorted(nest.replaced):
        arrays[name] = _before(name, nest, region)
    for row in found:
        arrays[row.name] = _at_work(row.name, lengths[row.name], nest, region)
    asked = _asked(root, found, lengths, nest)
    return replace(
        nest,
        root=root,
        arrays=arrays,
        made=frozenset(),
        grown=frozenset(),
        relies_on=(*nest.relies_on, *asked),
    )


def _asked(
    root: For, found: Sequence[_Row], lengths: dict[str, Expr], nest: Nest
) -> tuple[Expr, ...]:
    """What is to be asked of lengths in front of the loop. Raises NotVectorisable."""
    asked: tuple[Expr, ...] = tuple(
        Compare(PY_BOOL, root.line, "==", Dim(PY_INT, root.line, name, 0), lengths[name])
        for name in sorted(nest.replaced)
        if not (isinstance(lengths[name], Dim) and _reads(lengths[name], name))
    )
    asked += tuple(condition for row in found for condition in row.asked)
    if any(reads(condition) & nest.privates.keys() for condition in asked):
        raise NotVectorisable("the length of a list changes in the loop", root.line)
    return asked


# --------------------------------------------------------------------- one row
def _row(name: str, body: tuple[Stmt, ...], nest: Nest) -> _Row | None:
    """How an iteration makes the list; None where its length is not plain."""
    made = [s for s in statements(body) if isinstance(s, NewList) and s.array == name]
    if len(made) != 1 or made[0] not in body or nest.arrays[name].ndim != 1:
        return None
    place = next(k for k, s in enumerate(body) if s is made[0])
    ahead, rest = body[:place], body[place + 1 :]
    if any(_mentions(s, name) for s in ahead):
        return None
    filled = made[0].fill
    match made[0].extents, filled and fold(filled):
        case (length,), Const() as fill:
            return _filled(name, ahead, length, fill, made[0], rest)
        case (), None:
            return _appended(name, ahead, rest)
    return None


def _filled(
    name: str,
    ahead: tuple[Stmt, ...],
    length: Expr,
    fill: Const,
    made: NewList,
    rest: tuple[Stmt, ...],
) -> _Row | None:
    """``row = [0] * m``."""
    if any(isinstance(s, Append) and s.array == name for s in statements(rest)):
        return None
    line, index = made.line, f"{name}_place"
    element = Store(line, made.node, name, (Var(PY_INT, line, index),), fill)
    again = For(line, made.node, index, Const(PY_INT, line, 0), length, 1, (element,))
    return _Row(name, length, (*ahead, again, *rest))


def _appended(name: str, ahead: tuple[Stmt, ...], rest: tuple[Stmt, ...]) -> _Row | None:
    """``row = []``, some elements, and a loop that appends one in each iteration."""
    body: list[Stmt] = []
    count = 0
    for place, statement in enumerate(rest):
        match statement:
            case Append(array=array, value=value) if array == name:
                if _reads(value, name):
                    return None
                index = (Const(PY_INT, statement.line, count),)
                body.append(Store(statement.line, statement.node, name, index, value))
                count += 1
            case For() if _mentions(statement, name):
                stored = _stored(statement, name, count)
                later = rest[place + 1 :]
                if stored is None or any(_grows(s, name) for s in statements(later)):
                    return None
                loop, length, asked = stored
                return _Row(name, length, (*ahead, *body, loop, *later), asked)
            case _ if _mentions(statement, name):
                return None
            case _:
                body.append(statement)
    return None


def _stored(loop: For, name: str, count: int) -> tuple[For, Expr, tuple[Expr, ...]] | None:
    """The loop that stores what it appended, how long the list is then, and what that rests on."""
    appends = [k for k, s in enumerate(loop.body) if _grows(s, name)]
    everything = list(statements(loop.body))
    start, stop = affine(loop.start), affine(loop.stop)
    unsure = any(isinstance(s, Break | Continue | While) for s in everything)
    if start is None or stop is None or unsure or loop.step != 1 or loop.values is not None:
        return None
    if len(appends) != 1 or sum(_grows(s, name) for s in everything) != 1:
        return None
    place, line = appends[0], loop.line
    found, here = loop.body[place], variable(loop.index) - start + count
    assert isinstance(found, Append)
    store = Store(found.line, found.node, name, (to_expr(here, line),), found.value)
    # in front of the append, and behind it, where the list is longer by one
    parts = (((*loop.body[:place], store), here), (loop.body[place + 1 :], here + 1))
    body: tuple[Stmt, ...] = ()
    counters = _counters(loop, name)
    for part, ready in parts:
        part = changed(part, _with_lengths({name: to_expr(ready, line)}))
        there = (_is_there(s, name, ready, count, counters) for s in statements(part))
        if not all(there):
            return None
        body += part
    asked: tuple[Expr, ...] = ()
    trips = stop - start
    if trips.is_const and trips.const < 0:
        return None
    if not trips.is_const and (start != constant(0) or not isinstance(loop.stop, Dim)):
        # range(1, n) has no n - 1 iterations where n is 0
        asked = (Compare(PY_BOOL, line, ">=", loop.stop, loop.start),)
    return replace(loop, body=body), to_expr(trips + count, line), asked


def _counters(loop: For, name: str) -> dict[str, Affine]:
    """Scalars that count along with the loop: the ``j`` of ``enumerate(b, 1)``."""
    assigned = [s.name for s in statements(loop.body) if isinstance(s, Assign)]
    found: dict[str, Affine] = {}
    for statement in loop.body:
        if not isinstance(statement, Assign) or _mentions(statement, name):
            break
        form = affine(statement.value)
        once = assigned.count(statement.name) == 1
        if once and form is not None and form.symbols <= {loop.index}:
            found[statement.name] = form
    return found


def _is_there(
    statement: Stmt, name: str, ready: Affine, count: int, counters: dict[str, Affine]
) -> bool:
    """Every element that is read has been appended: it comes before the one that is next."""
    for part in (p for e in expressions(statement) for p in walk(e)):
        if isinstance(part, Load) and part.array == name:
            form = affine(part.index[0])
            if form is None:
                return False
            form = form.substitute(counters)
            gaps = ready - form, constant(count) - form
            if not any(gap.is_const and gap.const > 0 for gap in gaps):
                return False
    return True


def _grows(statement: Stmt, name: str) -> bool:
    return isinstance(statement, Append) and statement.array == name


def _mentions(statement: Stmt, name: str) -> bool:
    for inner in statements((statement,)):
        if isinstance(inner, Append | Store | NewList) and inner.array == name:
            return True
        if any(_reads(e, name) for e in expressions(inner)):
            return True
    return False


def _reads(expr: Expr, name: str) -> bool:
    return any(isinstance(p, Load | Len | Dim) and p.array == name for p in walk(expr))


# --------------------------------------------------------------------- lengths
def _handed_on(name: str, root: For) -> Expr:
    """How long the list is that the name is given in every iteration. Raises NotVectorisable."""
    loops = [s for s in root.body if isinstance(s, For) and _copies(s, name)]
    if len(loops) != 1:
        raise NotVectorisable(f"the loop makes or grows the list {name}")
    return loops[0].stop


def _copies(loop: For, name: str) -> bool:
    """``for k in range(len(row)): name[k] = row[k]``."""
    match loop.body:
        case (Store(array=array, index=(Var(name=place),), value=Load()),):
            return array == name and place == loop.index and affine(loop.start) == constant(0)
    return False


def _resolved(name: str, lengths: dict[str, Expr], nest: Nest) -> Expr:
    """The length without those of other rows; ``row = [0] * len(previous)`` has that of before."""
    length, seen = lengths[name], [name]
    while isinstance(length, Len) and length.array in lengths:
        if length.array in seen:
            first = min(nest.replaced & {*seen})
            return Dim(PY_INT, length.line, first, 0)
        seen.append(length.array)
        length = lengths[length.array]
    return length


def _with_lengths(lengths: dict[str, Expr]) -> Callable[[Expr], Expr]:
    """Numbers in place of the lengths of lists."""

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Len) and expr.array in lengths:
            return lengths[expr.array]
        return map_children(expr, change)

    return change


def _refuse_changing(root: For, lengths: dict[str, Expr], nest: Nest) -> None:
    """Lengths are the same in every iteration. Raises NotVectorisable."""
    for name, length in lengths.items():
        form = affine(length)
        if form is None or form.symbols & nest.privates.keys():
            raise NotVectorisable(f"the length of {name} changes in the loop", root.line)


# ---------------------------------------------------------------------- arrays
def _before(name: str, nest: Nest, region: Region) -> ArrayInput:
    """The list as it was seen in front of the loop. Raises NotVectorisable."""
    seen = region.observation.values.get(name) if region.observation is not None else None
    info = nest.arrays[name]
    if seen is None or seen.element is None or seen.shape is None:
        raise NotVectorisable(f"{name} was not seen in front of the loop")
    if seen.element.kind != info.element.kind.value:
        raise NotVectorisable(f"{name} holds {seen.element.kind} values before the loop")
    known = Interval(seen.element.minimum, seen.element.maximum)
    return replace(info, shape=seen.shape, interval=known, has_nan=True, written=True, read=True)


def _at_work(name: str, length: Expr, nest: Nest, region: Region) -> ArrayInput:
    """A list as long as the row, as if it were made in front of the loop."""
    info, line = nest.arrays[name], region.loop.lineno
    fill = _FILLS[info.element.kind]
    (made,) = ast.parse(f"{name} = [{fill}] * 1").body
    before = RowAtWork("list", line, made, fill)
    return replace(info, allocation=before, extents=(length,), read=True, written=True)
