"""Grids of characters, lists of lists of them, as lists of lists of numbers.

``grid[r][c] == "#"`` reads a string each time. The loop gets the characters' numbers instead, in
lists made above it; ``chr(grid_codes[r][c])`` then is the number itself to compiled code. What it
stores is made text again behind it.

Lists of strings stay: a subscript of a string that leaves it raises an IndexError in other words.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...loopnest.scope import dotted, own_nodes, stored_names
from ...loopnest.text import LAST_ASCII, LETTERS
from ...model import Basis, Condition, Edit, ValueInfo
from .draft import Draft

_CALM = frozenset(("len", "range", "min", "max", "abs", "ord", "chr", "int", "enumerate", "zip"))
_METHODS = frozenset(("isalpha", "isdigit", "isupper", "islower", "isspace", "isalnum"))


@dataclass
class _Grid:
    """One grid: where the loop reads it, stores into it, and asks how large it is."""

    path: str
    loads: list[ast.Subscript] = field(default_factory=list)
    stores: list[ast.Assign] = field(default_factory=list)
    wholes: list[ast.expr] = field(default_factory=list)
    """The grid's name where it is measured."""


def without_letters(draft: Draft) -> Draft:
    """The draft with numbers in place of the characters of the grids in the loop."""
    if not draft.has_inner_loop or not _is_calm(draft):
        return draft
    found = [g for path, info in draft.values.items() if (g := _grid(draft, path, info))]
    grids = [grid for grid in found if grid.loads or grid.stores]
    if not grids:
        return draft
    names = {grid.path: draft.free(f"{_plain(grid.path)}_codes") for grid in grids}
    if len(set(names.values())) < len(names):
        return draft  # a.grid and b.grid
    edits = list(_edits(draft, grids, names))
    made = [line for grid in grids for line in _made(draft, grid, names[grid.path])]
    values = {names[grid.path]: _info(draft.values[grid.path]) for grid in grids}
    gone = [grid.path for grid in grids]
    new = draft.advanced([*draft.above(draft.loop, made), *edits], values, gone=gone)
    new = _asked(new, grids)
    behind = [line for g in grids if g.stores for line in _behind(new, g, names[g.path])]
    return new.finally_(behind) if behind else new


def _plain(path: str) -> str:
    return path.rpartition(".")[2].lstrip("_")


def _is_calm(draft: Draft) -> bool:
    """Nothing is called in the loop that could look at a grid, or change one."""
    for node in (draft.loop, *own_nodes(draft.loop)):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                if name not in _CALM or not draft.is_builtin(name):
                    return False
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append" | "popleft")
            ) if name in draft.values and draft.values[name].type_name == "collections.deque":
                pass  # no row of a grid; what it is given is looked at with the grid's uses
            case ast.Call(func=ast.Attribute(attr=attr)):
                if attr not in _METHODS:
                    return False
            case ast.Call() | ast.Yield() | ast.YieldFrom() | ast.Await():
                return False
    return True


def _grid(draft: Draft, path: str, info: ValueInfo) -> _Grid | None:
    """How the loop uses a list of lists of strings; None for anything else."""
    element = info.element
    if info.kind != "list" or element is None or element.type_name != "builtins.str":
        return None
    if path.partition(".")[0] in stored_names(draft.loop) or path in draft.names:
        return None
    uses = list(_uses(draft, path))
    if info.ndim != 2 or not uses or None in uses:
        return None
    grid = _Grid(path)
    for chain, holder in filter(None, uses):
        if isinstance(holder, ast.Call):
            grid.wholes.append(_base(chain, holder.args[0]))
        elif len(chain) != 2:
            return None  # a row as such
        elif isinstance(holder, ast.Assign):
            grid.stores.append(holder)
        else:
            grid.loads.append(chain[-1])
    return grid


def _base(chain: list[ast.Subscript], measured: ast.expr) -> ast.expr:
    return chain[0].value if chain else measured


_Use = tuple[list[ast.Subscript], ast.AST]


def _uses(draft: Draft, path: str) -> Iterator[_Use | None]:
    """Each use: the subscripts from the grid inwards, and what holds them; None for a slice."""
    above = {child: node for node in ast.walk(draft.loop) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(draft.loop):
        if not isinstance(node, ast.Name | ast.Attribute) or dotted(node) != path:
            continue
        chain: list[ast.Subscript] = []
        place: ast.expr = node
        holder = above[node]
        while isinstance(holder, ast.Subscript) and holder.value is place:
            chain.append(holder)
            place, holder = holder, above[holder]
        yield None if any(map(_is_slice, chain)) else _use(chain, holder, place)


def _is_slice(part: ast.Subscript) -> bool:
    return isinstance(part.slice, ast.Slice | ast.Tuple)


def _use(chain: list[ast.Subscript], holder: ast.AST, place: ast.expr) -> _Use | None:
    match holder:
        case ast.Call(func=ast.Name(id="len")) if len(chain) < 2:
            return chain, holder
        case ast.Assign(targets=[target]) if target is place:
            return chain, holder
    if chain and isinstance(chain[-1].ctx, ast.Load):
        # The element is a value here; a row would be more than that.
        return chain, place
    return None


# ------------------------------------------------------------------------- text
def _edits(draft: Draft, grids: list[_Grid], names: dict[str, str]) -> Iterator[Edit]:
    """The numbers in place of the characters; edits at one place are one edit."""
    source = draft.source
    opened: Counter[int] = Counter()
    closed: Counter[int] = Counter()
    bases: dict[tuple[int, int], str] = {}
    for grid in grids:
        name = names[grid.path]
        for whole in grid.wholes:
            bases[source.span(whole)] = name
        for load in grid.loads:
            assert isinstance(load.value, ast.Subscript)
            bases[source.span(load.value.value)] = f"chr({name}"
            closed[source.span(load)[1]] += 1
        for statement in grid.stores:
            target = statement.targets[0]
            assert isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript)
            bases[source.span(target.value.value)] = name
            start, end = source.span(statement.value)
            opened[start] += 1
            closed[end] += 1
    for (start, end), text in bases.items():
        yield Edit(start, end, "ord(" * opened.pop(start, 0) + text)
    yield from (Edit(start, start, "ord(" * count) for start, count in opened.items())
    yield from (Edit(end, end, ")" * count) for end, count in closed.items())


def _made(draft: Draft, grid: _Grid, name: str) -> list[str]:
    row = draft.free("row")
    return [f"{name} = [list(map(ord, {row})) for {row} in {grid.path}]"]


def _behind(draft: Draft, grid: _Grid, name: str) -> list[str]:
    row, codes = draft.free("row"), draft.free("codes")
    return [f"for {row}, {codes} in zip({grid.path}, {name}):", f"    {row}[:] = map(chr, {codes})"]


def _info(info: ValueInfo) -> ValueInfo:
    """Numbers of characters, in as many lists as there are rows."""
    number = ValueInfo("int", "builtins.int", target=LETTERS)
    shape = info.shape if info.shape is not None and len(info.shape) == 2 else (None, None)
    known = tuple(n or 0 for n in shape)
    return ValueInfo(
        "list",
        "builtins.list",
        ndim=2,
        shape=shape,
        min_shape=known,
        max_shape=known,
        minimum=0,
        maximum=LAST_ASCII,  # so that isdigit() and int() are known
        element=number,
    )


def _asked(draft: Draft, grids: list[_Grid]) -> Draft:
    """The draft on what the numbers rest on.

    Other lists that the loop stores into hold numbers, which is asked for them as it is asked here
    for strings: no list is both.
    """
    tests: list[str] = []
    for grid in grids:
        path = grid.path
        tests += [
            f"type({path}) is list",
            f"set(map(type, {path})) <= {{list}}",
            f"all(set(map(type, row)) <= {{str}} for row in {path})",
            f"all(set(map(len, row)) <= {{1}} for row in {path})",
            f'all("".join(row).isascii() for row in {path})',
        ]
        if grid.stores:
            tests.append(f"len(set(map(id, {path}))) == len({path})")
            tests += [
                f"{{*map(id, {path})}}.isdisjoint(map(id, {other.path}))"
                for other in grids
                if other is not grid
            ]
    for test in dict.fromkeys(tests):
        draft = draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
    return draft
