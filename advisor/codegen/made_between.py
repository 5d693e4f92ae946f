"""Lists made between two loops that are to be rewritten together: they can be made before both.

``norms = [0.0] * n`` needs nothing of the loop above it, and does nothing but make a list. It may
raise, though, where ``n`` is no int: that is asked first, or plain from the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..loopnest.provenance import Provenance
from ..loopnest.scope import stored_names
from ..model import Region
from . import ast_tools as tools
from .nb_values import Unsupported


@dataclass(frozen=True)
class Moved:
    """Statements that may stand before the first loop, and what must be asked before them."""

    statements: tuple[ast.stmt, ...]
    tests: tuple[str, ...]


def moved_up(region: Region, nodes: Sequence[ast.stmt]) -> Moved:
    """The statements among ``nodes`` that make lists. Raises Unsupported if one cannot move.

    ``nodes``: from the region's loop to the last one that is rewritten with it.
    """
    found, tests = list[ast.stmt](), list[str]()
    for number, statement in enumerate(nodes):
        value = _value(statement)
        if value is None or not isinstance(value, ast.List | ast.ListComp | ast.BinOp):
            continue
        if isinstance(value, ast.BinOp) and not _makes_list(value):
            continue  # a number
        counts = list(_counts(region, value))
        _refuse_if_seen(region, statement)
        if not _is_independent(statement, nodes[:number]):
            text = "a list is made between the loops of what they compute"
            raise Unsupported(text, statement.lineno)
        found.append(statement)
        for name, measured in counts:
            if measured and not _keeps_its_length(region, name, nodes[:number]):
                raise Unsupported(f"the length of {name} may change", statement.lineno)
            tests += _asked(region, name, "list" if measured else "int")
    return Moved(tuple(found), tuple(dict.fromkeys(tests)))


def _asked(region: Region, name: str, kind: str) -> list[str]:
    """The test that a name is of a type; none where the text proves it. Raises Unsupported."""
    if kind == "int" and _is_int(region, name):
        return []
    info = region.observation.values.get(name) if region.observation else None
    if info is None or info.kind != kind:
        raise Unsupported(f"{name} was not seen to be of type {kind}", region.loop.lineno)
    return [f"type({name}) is {kind}"]


def _keeps_its_length(region: Region, name: str, nodes: Sequence[ast.stmt]) -> bool:
    """The statements only read elements of the list, or go along it."""
    above = tools.parents(region.source)
    for use in (n for one in nodes for n in tools.names_in(one) if n.id == name):
        match above[use]:
            case ast.Subscript(value=value, slice=place):
                if value is not use or isinstance(place, ast.Slice):
                    return False
            case ast.For(iter=value) if value is use:
                pass
            case ast.Call(func=ast.Name(id="len" | "enumerate" | "zip")):
                pass
            case _:
                return False
    return True


def _value(statement: ast.stmt) -> ast.expr | None:
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            return value
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value
    return None


def _makes_list(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.left, ast.List)


def _refuse_if_seen(region: Region, statement: ast.stmt) -> None:
    """Raise Unsupported where something can see that the list is there before the first loop."""
    assert region.function is not None
    scope, source = region.function, region.source
    around = tools.handlers_around(source, scope, region.loop) or tools.reads_frames(scope)
    if around is not None or tools.deferred_uses(source, scope, _target(statement)) is not None:
        text = "a list is made between the loops, and other code may see when"
        raise Unsupported(text, statement.lineno)


def _is_independent(statement: ast.stmt, before: Sequence[ast.stmt]) -> bool:
    """No statement before it mentions its name, or sets what it is made of."""
    bound = {node.id for node in tools.names_in(statement) if isinstance(node.ctx, ast.Store)}
    used = {node.id for node in tools.names_in(statement)} - bound
    mentioned = {node.id for one in before for node in tools.names_in(one)}
    stored = {name for one in before for name in stored_names(one)}
    return _target(statement) not in mentioned and not used & stored


def _target(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.AnnAssign):
        target = statement.target
    assert isinstance(target, ast.Name)
    return target.id


def _counts(region: Region, value: ast.expr) -> Iterator[tuple[str, bool]]:
    """Names that say how many elements a list gets, and whether it is by their length.

    Raises Unsupported for other lists.
    """
    match value:
        case ast.List(elts=elts) if all(isinstance(e, ast.Constant) for e in elts):
            return
        case ast.BinOp(left=ast.List(elts=[fill]), op=ast.Mult(), right=count):
            _check_fill(fill)
            yield from _names(count)
            return
        case ast.ListComp(
            elt=element,
            generators=[
                ast.comprehension(
                    target=ast.Name(),
                    iter=ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]),
                    ifs=[],
                    is_async=0,
                )
            ],
        ) if tools.is_builtin(region.source, "range"):
            yield from _names(count)
            if isinstance(element, ast.List | ast.ListComp | ast.BinOp):
                yield from _counts(region, element)
            else:
                _check_fill(element)
            return
    text = "a list is made between the loops in a way that may do more than that"
    raise Unsupported(text, value.lineno)


def _check_fill(node: ast.expr) -> None:
    constant = node.operand if isinstance(node, ast.UnaryOp) else node
    if not isinstance(constant, ast.Constant):
        text = "a list is made between the loops of what may change in them"
        raise Unsupported(text, node.lineno)


def _names(count: ast.expr) -> Iterator[tuple[str, bool]]:
    """The names in ``n``, ``len(xs) + 1``, ``2 * n``: sums and products of ints raise nothing."""
    match count:
        case ast.Name(id=name):
            yield name, False
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            yield name, True
        case ast.Constant(value=int()):
            pass
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            yield from _names(left)
            yield from _names(right)
        case _:
            text = "a list is made between the loops in a length that is no sum of ints"
            raise Unsupported(text, count.lineno)


def _is_int(region: Region, name: str) -> bool:
    """The text proves it: ``n = len(rows)``, ``n = 100``."""
    assert region.observation is not None
    given = Provenance(region.source, region.function, region.loop, region.observation)
    found = given.definition(name)
    match found.value if found is not None and found.position is None else None:
        case ast.Call(func=ast.Name(id="len")):
            return tools.is_builtin(region.source, "len")
        case ast.Constant(value=int()):
            return True
    return False
