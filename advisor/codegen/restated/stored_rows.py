"""Tables that are made row by row, as arrays of two dimensions that are stored to.

``row = []``, ``row.append(..)`` in an inner loop, then ``image.append(row)``: where all rows are
equally long, that is ``image_new[y, x] = ..``. Behind the loop the list gets the rows.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ...loopnest.ir import Nest
from ...loopnest.liveness import live_after
from ...model import Edit, ValueInfo
from ...names import import_edit
from .appends import EMPTY
from .bounds import added, linear, spelled
from .draft import Draft
from .stored import (
    DTYPES,
    Stored,
    appended_once,
    array_info,
    counter_of,
    element_of,
    grown_list,
    leaves_early,
    tests_of,
)


@dataclass(frozen=True)
class _Row:
    """A list that an iteration makes, fills in one loop, and appends to a table."""

    name: str
    table: str
    made: ast.Assign
    inner: ast.For
    calls: list[ast.Call]
    """The appends to the row, one of them an iteration of the inner loop."""
    handed: ast.Expr


@dataclass(frozen=True)
class _Width:
    """The place in a row, how long the row is, and the inner loop's new head."""

    position: str
    count: str
    edits: tuple[Edit, ...] = ()


def with_stored_rows(draft: Draft) -> Stored | None:
    """The draft with an array for each table that gets a row in every iteration; None without."""
    rows = _rows(draft)
    counter = counter_of(draft) if rows else None
    nest = draft.restated().nest if counter else None
    if counter is None or not isinstance(nest, Nest) or not _dead(draft, rows):
        return None
    tables = [row.table for row in rows]
    widths = [_width(draft, row.inner) for row in rows]
    types = [element_of(nest, row.name) for row in rows]
    if nest.grown - set(tables) or len(set(tables)) < len(tables):
        return None
    numpy, import_ = import_edit(draft.source, "numpy", "np")
    lines: list[str] = []
    values: dict[str, ValueInfo] = {}
    edits, behind = list(counter.edits), []
    for row, width, type_ in zip(rows, widths, types, strict=True):
        if width is None or type_ is None:
            return None
        new = draft.free(f"{row.table}_new", *values)
        dtype = DTYPES[type_.kind]
        given = "" if dtype == "float64" else f", dtype={dtype if dtype == 'bool' else 'int'}"
        lines.append(f"{new} = {numpy}.empty(({counter.count}, {width.count}){given})")
        values[new] = array_info(dtype, 2)
        behind.append(f"{row.table}.extend({new}.tolist())")
        edits += [edit for edit in width.edits if edit not in edits]
        edits += _stores(draft, row, f"{new}[{counter.position}, {width.position}]")
    gone = (*tables, *(row.name for row in rows))
    last = draft.advanced([*draft.above(draft.loop, lines), *edits], values, gone=gone)
    last = replace(last, names=last.names | values.keys()).importing(import_)
    tests = tuple(tests_of(draft, tables))
    return Stored(last, tests, tuple(lines), tuple(behind), frozenset(values))


def _stores(draft: Draft, row: _Row, target: str) -> list[Edit]:
    """The element that is appended, stored; and nothing where the row was made and handed on."""
    edits = [*draft.instead(row.made, ["pass"]), *draft.instead(row.handed, ["pass"])]
    for call in row.calls:
        text = f"{target} = {draft.source.text(call.args[0])}"
        edits.append(Edit(*draft.source.span(call), text))
    return edits


# ----------------------------------------------------------------------- rows
def _rows(draft: Draft) -> list[_Row]:
    """The rows of an iteration; none where a list is used in any other way."""
    loop = draft.loop
    if not isinstance(loop, ast.For) or leaves_early(loop):
        return []
    aliases = draft.region.observation.aliases if draft.region.observation else ()
    found = []
    for statement in loop.body:
        table = grown_list(statement)
        if table is None:
            continue
        row = _row(loop, statement, table)
        seen = draft.values.get(table)
        plain = seen is None or seen.type_name == EMPTY.type_name
        if row is None or not plain or any(table in pair for pair in aliases):
            return []
        found.append(row)
    return found


def _row(loop: ast.For, handed: ast.stmt, table: str) -> _Row | None:
    match handed:
        case ast.Expr(value=ast.Call(args=[ast.Name(id=name)])):
            pass
        case _:
            return None
    above = loop.body[: loop.body.index(handed)]
    made = [s for s in above if isinstance(s, ast.Assign) and _is_new(s, name)]
    inner = [s for s in above if isinstance(s, ast.For) and _mentions(s, name)]
    if len(made) != 1 or len(inner) != 1 or above.index(made[0]) > above.index(inner[0]):
        return None
    calls = appended_once(inner[0].body, name)
    uses = sum(_count(loop, one) for one in (name, table))
    if calls is None or leaves_early(inner[0]) or uses != len(calls) + 3:
        return None
    assert isinstance(handed, ast.Expr)
    return _Row(name, table, made[0], inner[0], calls, handed)


def _is_new(statement: ast.Assign, name: str) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=found)], value=ast.List(elts=[])):
            return found == name
    return False


def _mentions(node: ast.AST, name: str) -> bool:
    return _count(node, name) > 0


def _count(node: ast.AST, name: str) -> int:
    return sum(1 for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)


def _dead(draft: Draft, rows: list[_Row]) -> bool:
    """Whether nobody reads the last row under its own name behind the loop."""
    region = draft.region
    live = live_after(region.source, region.function, region.loop)
    return live is not None and not any(row.name in live for row in rows)


# ---------------------------------------------------------------------- width
def _width(draft: Draft, inner: ast.For) -> _Width | None:
    """Where an element is in its row; None where rows may not be equally long."""
    names = (n for n in ast.walk(draft.loop) if isinstance(n, ast.Name))
    lengths = _Lengths(draft, frozenset(n.id for n in names if isinstance(n.ctx, ast.Store)))
    match inner.target, inner.iter:
        case ast.Name(id=name), ast.Call(
            func=ast.Name(id="range"), args=[_] | [_, _] as args, keywords=[]
        ):
            ends = [lengths.form(a) for a in args]
            if None in ends or _stored_again(inner, name):
                return None
            low = ends[0] if len(ends) > 1 and ends[0] is not None else {}
            high = ends[-1]
            assert high is not None
            return _Width(spelled(added({name: 1}, low, -1)), _spelled(added(high, low, -1)))
        case ast.Tuple(elts=[ast.Name(id=name), _]), ast.Call(
            func=ast.Name(id="enumerate"), args=[over], keywords=[]
        ):
            length = lengths.of(over)
            if length is None or _stored_again(inner, name):
                return None
            return _Width(name, length)
        case target, ast.Name() | ast.Subscript() as over:
            length = lengths.of(over)
            if length is None:
                return None
            column, shown = draft.free("column"), draft.source.text(target)
            if isinstance(target, ast.Tuple) and shown[0] != "(":
                shown = f"({shown})"
            edits = (
                Edit(*draft.source.span(target), f"{column}, {shown}"),
                Edit(*draft.source.span(over), f"enumerate({draft.source.text(over)})"),
            )
            return _Width(column, length, edits)
    return None


def _spelled(count: dict[str, int]) -> str:
    """The number of trips; no length is below zero."""
    is_length = [*count.values()] == [1] and next(iter(count)).startswith("len(")
    return spelled(count) if is_length else f"max({spelled(count)}, 0)"


def _stored_again(inner: ast.For, name: str) -> bool:
    stores = (n for n in ast.walk(inner) if isinstance(n, ast.Name) and n.id == name)
    return sum(1 for n in stores if isinstance(n.ctx, ast.Store)) != 1


class _Lengths:
    """Numbers that are known before the loop: of a row of a table, the length of the first one."""

    def __init__(self, draft: Draft, changing: frozenset[str]) -> None:
        self.draft = draft
        self.loop = draft.loop
        self.changing = changing

    def of(self, rows: ast.expr) -> str | None:
        """``len(..)`` of a list that stays the same, or of a row of one."""
        match rows:
            case ast.Name(id=name) if name not in self.changing:
                return f"len({name})"
            case ast.Name(id=name):
                return self._first(self._walked(name))
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0)):
                return self._first(name if name not in self.changing else None)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=place)):
                counted = isinstance(self.loop, ast.For) and place in _counted(self.loop)
                return self._first(name if counted and name not in self.changing else None)
        return None

    def _first(self, table: str | None) -> str | None:
        seen = self.draft.values.get(table) if table is not None else None
        if seen is None or seen.ndim != 2:
            return None
        # a list of rows that are equally long has a first one
        return f"len({table}[0])" if seen.kind == "list" else f"{table}.shape[1]"

    def _walked(self, name: str) -> str | None:
        """The table whose rows the loop goes through under this name."""
        if not isinstance(self.loop, ast.For) or _stored_again(self.loop, name):
            return None
        match self.loop.target, self.loop.iter:
            case ast.Name(id=row), ast.Name(id=table):
                pass
            case ast.Tuple(elts=[_, ast.Name(id=row)]), ast.Call(
                func=ast.Name(id="enumerate"), args=[ast.Name(id=table)], keywords=[]
            ):
                pass
            case _:
                return None
        return table if row == name and table not in self.changing else None

    def form(self, node: ast.expr) -> dict[str, int] | None:
        """A sum of such numbers; None for anything else."""
        match node:
            case ast.Constant(value=value):
                return linear(node) if type(value) is int else None
            case ast.Name(id=name):
                return {name: 1} if name not in self.changing else None
            case ast.Call(func=ast.Name(id="len"), args=[rows], keywords=[]):
                length = self.of(rows)
                return None if length is None else {length: 1}
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                one, other = self.form(left), self.form(right)
                if one is None or other is None:
                    return None
                return added(one, other, 1 if isinstance(op, ast.Add) else -1)
        return None


def _counted(loop: ast.For) -> set[str]:
    """The name that counts the iterations of a loop, which nothing else sets."""
    match loop.target, loop.iter:
        case ast.Name(id=name), ast.Call(func=ast.Name(id="range")):
            pass
        case ast.Tuple(elts=[ast.Name(id=name), _]), ast.Call(func=ast.Name(id="enumerate")):
            pass
        case _:
            return set()
    return set() if _stored_again(loop, name) else {name}
