"""Two rows of a table that change places, ``A[i], A[p] = A[p], A[i]``, element by element.

Arrays know their rows by place alone. A list of lists also knows which list is where: unless the
rows were made right above the loop, so that nobody else has one, the places are exchanged beside
the elements, and behind the loop the lists are put where they belong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.scope import declared, own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from .draft import Draft, constant_info

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.GeneratorExp)


@dataclass(frozen=True)
class _Swap:
    """The statement, the table, and the text of the two subscripts."""

    statement: ast.Assign
    table: str
    one: str
    other: str


def without_row_swaps(draft: Draft) -> Draft:
    """The draft with exchanged elements; unchanged where a row is known by a name as well."""
    found = list(_swaps(draft))
    tables = dict.fromkeys(swap.table for swap in found)
    if not found or any(not _is_plain_table(draft, table, found) for table in tables):
        return draft
    for table in tables:
        draft = _exchanged(draft, table)
    return draft


# --------------------------------------------------------------------- search
def _swaps(draft: Draft) -> Iterator[_Swap]:
    for node in own_nodes(draft.loop):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[left, right])], value=ast.Tuple(elts=[first, second])
            ):
                texts = [ast.unparse(part) for part in (left, right, first, second)]
                if texts[0] == texts[3] and texts[1] == texts[2]:
                    swap = _swap_of(draft, node, left, right)
                    if swap is not None:
                        yield swap


def _swap_of(draft: Draft, node: ast.Assign, left: ast.expr, right: ast.expr) -> _Swap | None:
    match left, right:
        case (
            ast.Subscript(value=ast.Name(id=name), slice=one),
            ast.Subscript(value=ast.Name(id=other_name), slice=other),
        ) if name == other_name and _is_simple(one) and _is_simple(other):
            seen = draft.values.get(name)
            if seen is not None and seen.kind == "list" and seen.ndim == 2:
                return _Swap(node, name, ast.unparse(one), ast.unparse(other))
    return None


def _is_simple(index: ast.expr) -> bool:
    """Names, whole numbers and their sums: evaluated again it is the same."""
    match index:
        case ast.Name():
            return True
        case ast.Constant(value=value):
            return type(value) is int
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _is_simple(left) and _is_simple(right)
    return False


def _is_plain_table(draft: Draft, table: str, found: list[_Swap]) -> bool:
    """Whether the loop reads and writes elements of it, and no rows, but in the swaps."""
    inside = {id(n) for swap in found for n in ast.walk(swap.statement)}
    parents = {id(c): n for n in ast.walk(draft.loop) for c in ast.iter_child_nodes(n)}
    for node in ast.walk(draft.loop):
        if not (isinstance(node, ast.Name) and node.id == table) or id(node) in inside:
            continue
        above = parents.get(id(node))
        if _is_length(above):
            continue
        if not isinstance(above, ast.Subscript) or above.value is not node:
            return False
        around = parents.get(id(above))
        element = isinstance(around, ast.Subscript) and around.value is above
        if isinstance(above.slice, ast.Slice) or not (element or _is_length(around)):
            return False
        if isinstance(around, ast.Subscript) and isinstance(around.slice, ast.Slice):
            return False
    return True


def _is_length(node: ast.AST | None) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
    )


def _is_made_above(draft: Draft, table: str) -> bool:
    """``A = [row[:] for row in M]`` in the same block, and nothing looks at it before the loop."""
    scope = draft.function
    if scope is None:
        return False
    blocks = (getattr(n, f, None) for n in ast.walk(scope) for f in ("body", "orelse"))
    block = next((b for b in blocks if isinstance(b, list) and draft.loop in b), [])
    made = None
    for statement in block[: block.index(draft.loop)] if block else []:
        if not any(isinstance(n, ast.Name) and n.id == table for n in ast.walk(statement)):
            continue
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp(elt=row)) if (
                name == table and made is None and _is_new_list(row)
            ):
                made = statement
            case _:
                return False
    captured = any(isinstance(n, _SCOPES) for n in own_nodes(scope) if n is not scope)
    return made is not None and not captured and not declared(scope)


def _is_new_list(row: ast.expr) -> bool:
    match row:
        case ast.ListComp() | ast.List() | ast.Subscript(slice=ast.Slice(None, None, None)):
            return True
        case ast.BinOp(left=left, op=ast.Add()):
            return _is_new_list(left)  # a sum of lists is a new one
        case ast.Call(func=ast.Name(id="list"), args=[_], keywords=[]):
            return True
    return False


# ----------------------------------------------------------------------- text
def _exchanged(draft: Draft, table: str) -> Draft:
    """The draft in which one table's rows stay where they are."""
    k = draft.free("k")
    places = "" if _is_made_above(draft, table) else draft.free("places")
    edits = []
    for swap in [swap for swap in _swaps(draft) if swap.table == table]:
        one, other = f"{table}[{swap.one}]", f"{table}[{swap.other}]"
        lines = [
            f"for {k} in range(len({one})):",
            f"    {one}[{k}], {other}[{k}] = {other}[{k}], {one}[{k}]",
        ]
        if places:
            first, second = f"{places}[{swap.one}]", f"{places}[{swap.other}]"
            lines.append(f"{first}, {second} = {second}, {first}")
        edits += draft.instead(swap.statement, lines)
    if places:
        new = _put_back(draft, table, places, k, edits)
    else:
        new = draft.advanced(edits)
        new = replace(new, names=new.names | {k})
    for test in _tests(table, known=not places):
        new = new.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return new


def _put_back(draft: Draft, table: str, places: str, k: str, edits: list[Edit]) -> Draft:
    """The draft behind the edits, with lines that put the lists where they belong."""
    row, saved = draft.free("row"), draft.free("saved")
    above = draft.above(draft.loop, [f"{places} = list(range(len({table})))"])
    new = draft.advanced([*above, *edits], {places: _positions(draft.values[table])})
    behind = [
        f"{saved} = [{row}[:] for {row} in {table}]",
        f"{table}[:] = [{table}[{k}] for {k} in {places}]",
        f"for {k} in range(len({table})):",
        f"    {table}[{k}][:] = {saved}[{k}]",
    ]
    new = new.finally_(behind)
    return replace(new, names=new.names | {places, k, row, saved})


def _positions(table: ValueInfo) -> ValueInfo:
    last = (table.max_shape or table.shape or (None,))[0]
    return ValueInfo(
        "list",
        "builtins.list",
        ndim=1,
        shape=table.shape and table.shape[:1],
        min_shape=table.min_shape and table.min_shape[:1],
        max_shape=table.max_shape and table.max_shape[:1],
        minimum=0,
        maximum=None if last is None else last - 1,
        element=replace(constant_info(0), maximum=None, constant=False),
    )


def _tests(table: str, *, known: bool) -> Iterator[str]:
    """The rows are of one length, and not empty; else they are lists, and none of them twice."""
    if not known:
        yield f"type({table}) is list"
        yield f"set(map(type, {table})) == {{list}}"
    yield f"len(set(map(len, {table}))) == 1"
    yield f"len({table}[0]) > 0"
    if not known:
        yield f"len(set(map(id, {table}))) == len({table})"
