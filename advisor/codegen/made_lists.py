"""Tables that the code makes just before the loop: nothing about their elements need be looked up.

``table = [[0] * (m + 1) for _ in range(n + 1)]`` holds one object in all places, in rows that
nobody else has. To look at each element, and to copy it into an array, would take longer than many
loops over the table do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..loopnest.liveness import live_after
from ..loopnest.provenance import Provenance
from ..model import Region
from . import ast_tools as tools

_HARMLESS = frozenset(("len", "range", "min", "max", "abs", "int", "float", "enumerate", "zip"))


@dataclass(frozen=True)
class MadeTable:
    """A list of distinct rows that all hold one object, but for places on two edges."""

    first_row: bool
    """Elements of the first row may have been stored since: ``d[0][j] = j``."""
    first_column: bool

    def tests(self, name: str, kind: str, vector: str, bits: int) -> list[str]:
        """Tests that the rows are equally long and hold numbers of this kind.

        ``vector`` is the name of the helper that asks it of one list of numbers. Without an
        element off the edges there is nothing to ask, and hardly anything to gain.
        """
        last = f"{name}[-1][-1]"
        tests = [f"len({name}) > 1", f"len(set(map(len, {name}))) == 1 and len({name}[0]) > 1"]
        bounded = f" and -(2**{bits}) <= {last} <= 2**{bits}" if kind == "int" else ""
        tests.append(f"type({last}) is {kind}{bounded}")
        if self.first_row:
            tests.append(f"{vector}({name}[0], {kind})")
        if self.first_column:
            tests.append(f"{vector}([row[0] for row in {name}], {kind})")
        return tests

    def plain_tests(self, name: str, kind: str, bits: int) -> list[str]:
        """The same without a helper, as conditions that are joined by ``and``."""
        edges = [f"{name}[0]"] if self.first_row else []
        edges += [f"[row[0] for row in {name}]"] if self.first_column else []
        tests = [f"len({name}) > 1", f"len(set(map(len, {name}))) == 1", f"len({name}[0]) > 1"]
        tests.append(f"type({name}[-1][-1]) is {kind}")
        tests += [f"set(map(type, {edge})) == {{{kind}}}" for edge in edges]
        if kind == "int":
            tests.append(f"abs({name}[-1][-1]) <= 2**{bits}")
            tests += [f"max(map(abs, {edge})) <= 2**{bits}" for edge in edges]
        return tests

    def array(self, name: str, new: str, numpy: str, dtype: str) -> list[str]:
        """Lines that make the array ``new`` of its elements."""
        shape = f"(len({name}), len({name}[0]))"
        lines = [f"{new} = {numpy}.full({shape}, {name}[-1][-1], dtype={dtype})"]
        if self.first_row:
            lines.append(f"{new}[0] = {name}[0]")
        if self.first_column:
            lines.append(f"{new}[:, 0] = [row[0] for row in {name}]")
        return lines


def made_table(region: Region, name: str) -> MadeTable | None:
    """How the table was made before the region's loop; None where that is not certain."""
    if region.observation is None or region.function is None or "." in name:
        return None
    given = Provenance(region.source, region.function, region.loop, region.observation)
    found = given.definition(name)
    if found is None or found.position is not None or not found.same_trip:
        return None
    if not _names_once(found.statement) or not _is_filled(region, found.value):
        return None
    stored = [place for one in found.between for place in _stores(region, one, name)]
    if None in stored or (_seen_inside(region.function, name) and _calls(region, found.between)):
        return None
    return MadeTable("row" in stored, "column" in stored)


def dead_after(region: Region, name: str) -> bool:
    """Whether nobody reads a list that the function made itself, behind the region's loop."""
    live = live_after(region.source, region.function, region.loop)
    return live is not None and name not in live


def _seen_inside(function: ast.FunctionDef, name: str) -> bool:
    """A nested function, class or lambda mentions the name, or it is declared to be another's."""
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            return True
        nested = isinstance(node, tools.SCOPES) and node is not function
        if nested and any(inner.id == name for inner in tools.names_in(node)):
            return True
    return False


def _calls(region: Region, between: tuple[ast.stmt, ...]) -> bool:
    """Something other than a harmless built-in is called: it may be a function that sees it."""
    calls = [n for one in between for n in ast.walk(one) if isinstance(n, ast.Call)]
    return not all(
        isinstance(call.func, ast.Name)
        and call.func.id in _HARMLESS
        and tools.is_builtin(region.source, call.func.id)
        for call in calls
    )


def _names_once(statement: ast.stmt) -> bool:
    """``a = b = [..]`` makes two names for one list."""
    return isinstance(statement, ast.AnnAssign) or (
        isinstance(statement, ast.Assign) and len(statement.targets) == 1
    )


def _is_filled(region: Region, value: ast.expr) -> bool:
    """``[[c] * m for _ in range(n)]`` or ``[[c for _ in range(m)] for _ in range(n)]``."""
    match value:
        case ast.ListComp(elt=row, generators=[ast.comprehension() as outer]) if _plain(outer):
            pass
        case _:
            return False
    bound = {outer.target.id} if isinstance(outer.target, ast.Name) else set()
    match row:
        # [[0] * m] * n is n times one row; the elements of a row are one object in any case
        case ast.BinOp(left=ast.List(elts=[element]), op=ast.Mult()):
            return _is_fixed(region, element, bound)
        case ast.ListComp(elt=element, generators=[ast.comprehension() as inner]) if _plain(inner):
            assert isinstance(inner.target, ast.Name)
            return _is_fixed(region, element, bound | {inner.target.id})
    return False


def _plain(generator: ast.comprehension) -> bool:
    return not generator.ifs and not generator.is_async and isinstance(generator.target, ast.Name)


def _is_fixed(region: Region, element: ast.expr, bound: set[str]) -> bool:
    """The same value each time: a number, a name, ``math.inf``, ``float("inf")``."""
    match element:
        case ast.Constant():
            return True
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return isinstance(operand, ast.Constant) or _is_fixed(region, operand, bound)
        case ast.Name(id=name):
            return name not in bound
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant()], keywords=[]):
            return tools.is_builtin(region.source, "float")
        case ast.Attribute(value=ast.Name(id=owner)):
            modules = [tools.module_alias(region.source, m) for m in ("math", "numpy")]
            return owner in modules and owner not in bound
    return False


def _stores(region: Region, statement: ast.stmt, name: str) -> Iterator[str | None]:
    """The edges that a statement stores at, ``""`` for reads; None for any other use."""
    above = tools.parents(region.source)
    for node in ast.walk(statement):
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        row = above[node]
        element = above[row]
        if _measures(region, row) or (_is_part(row, node) and _measures(region, element)):
            yield ""
        elif not _is_part(row, node) or not _is_part(element, row):
            yield None
        else:
            assert isinstance(row, ast.Subscript) and isinstance(element, ast.Subscript)
            yield _edge(row.slice, element)


def _is_part(node: ast.AST, of: ast.AST) -> bool:
    """``of[i]``."""
    return (
        isinstance(node, ast.Subscript)
        and node.value is of
        and not isinstance(node.slice, ast.Slice)
    )


def _measures(region: Region, node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and tools.is_builtin(region.source, "len")
    )


def _edge(row: ast.expr, element: ast.Subscript) -> str | None:
    """The edge that the element lies on; ``""`` if it is only read, None if it is on none."""
    if isinstance(element.ctx, ast.Load):
        return ""
    for index, edge in ((row, "row"), (element.slice, "column")):
        zero = isinstance(index, ast.Constant) and type(index.value) is int and index.value == 0
        if zero and isinstance(element.ctx, ast.Store):
            return edge
    return None
