"""Tables of which only known rows are read behind a loop: ``return table[n][m]``.

Nobody sees the other elements again, so only those rows need to be made lists of numbers again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..loopnest.liveness import live_after
from ..model import Region, Source
from . import ast_tools as tools

_CALM = frozenset(("len", "range", "min", "max", "abs", "int", "float", "round", "print", "str"))
"""Built-ins that change no list."""


def rows_read(region: Region, name: str) -> tuple[ast.expr, ...] | None:
    """The rows of a function's table that are read behind the region's loop, as written there.

    The rows belong to nobody else. None where the table may be looked at in other ways, or where a
    row's number might be another one by then.
    """
    source, scope = region.source, region.function
    stored = [] if scope is None else tools.stores(scope, name)
    if scope is None or len(stored) != 1:
        return None
    block, made = tools.block_of(source, region.loop), tools.enclosing_statement(source, stored[0])
    if made not in block or not block.index(made) < block.index(region.loop):
        return None
    if live_after(source, region.function, region.loop) is None:
        return None  # locals(), exec
    if tools.deferred_uses(source, scope, name) is not None:
        return None
    before = {id(n) for one in _between(block, made, region.loop) for n in ast.walk(one)}
    behind = block[block.index(region.loop) + 1 :]
    later = {id(n) for one in behind for n in ast.walk(one)}
    found: dict[str, ast.expr] = {}
    for use in tools.loads(scope, name):
        if id(use) in before or (id(use) in later and _is_measured(source, use)):
            continue
        row = _row_of(source, use) if id(use) in later else None
        if row is None or not _is_steady(region, row, name, [region.loop, *behind]):
            return None
        found.setdefault(ast.unparse(row), row)
    return tuple(found.values())


def _between(block: list[ast.stmt], first: ast.stmt, last: ast.stmt) -> list[ast.stmt]:
    return block[block.index(first) : block.index(last) + 1]


def _is_measured(source: Source, use: ast.Name) -> bool:
    """``len(table)``."""
    match tools.parents(source)[use]:
        case ast.Call(func=ast.Name(id="len"), args=[argument]):
            return argument is use and tools.is_builtin(source, "len")
    return False


def _row_of(source: Source, use: ast.Name) -> ast.expr | None:
    """The ``r`` of ``table[r][c]``, read; None for any other use of the table."""
    above = tools.parents(source)
    row = above[use]
    element = above[row]
    match row, element:
        case (
            ast.Subscript(value=value, slice=number),
            ast.Subscript(value=inner, slice=place, ctx=ast.Load()),
        ) if value is use and inner is row and not isinstance(number, ast.Slice):
            return None if isinstance(place, ast.Slice | ast.Tuple) else number
    return None


def _is_steady(region: Region, row: ast.expr, name: str, later: Sequence[ast.stmt]) -> bool:
    """Whether the number is the same right behind the loop as where it is read."""
    for node in ast.walk(row):
        match node:
            case ast.Name(id="len") if tools.is_builtin(region.source, "len"):
                continue
            case ast.Name(id=used):
                if any(tools.stores(one, used) for one in later) or not _is_own(region, used):
                    return False
            case ast.Call(args=[ast.Name(id=measured)]):
                if measured != name and not _keeps_length(region, measured, later):
                    return False
    return True


def _is_own(region: Region, name: str) -> bool:
    """The function's own variable, and no other's: no call gives it another value."""
    scope = region.function
    assert scope is not None
    given = scope.args
    parameters = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    bound = name in parameters or tools.stores(scope, name)
    return bool(bound) and tools.deferred_uses(region.source, scope, name) is None


def _keeps_length(region: Region, name: str, later: Sequence[ast.stmt]) -> bool:
    """Nothing behind the loop can make the list longer or shorter."""
    source = region.source
    above = tools.parents(source)
    for one in later:
        for call in _calls(one):
            called = call.func.id if isinstance(call.func, ast.Name) else ""
            if called not in _CALM or not tools.is_builtin(source, called):
                return False
        for use in tools.loads(one, name):
            match above[use]:
                case ast.Call(func=ast.Name(id="len")):
                    pass
                case ast.Subscript(value=value, ctx=ast.Load()) if value is use:
                    pass
                case _:
                    return False
    return True


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in ast.walk(statement) if isinstance(node, ast.Call))
