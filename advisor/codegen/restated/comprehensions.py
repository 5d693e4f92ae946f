"""``rows.append([f(x) for x in xs])`` as a loop that appends to a row."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace

from ...loopnest.scope import own_nodes
from ...model import Edit
from .draft import Draft

_MOST = 10
"""Comprehensions of one loop that are written out."""
_SCOPES = (ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.GeneratorExp)


def without_comprehensions(draft: Draft) -> Draft:
    """Each list comprehension that is appended, as a loop in front of the statement."""
    for _ in range(_MOST):
        found = next(_appended(draft), None)
        if found is None:
            break
        draft = _written_out(draft, *found)
    return draft


def _appended(draft: Draft) -> Iterator[tuple[ast.stmt, ast.ListComp]]:
    for statement in own_nodes(draft.loop):
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(), attr="append"),
                    args=[ast.ListComp() as listed],
                    keywords=[],
                )
            ) if _is_plain(listed):
                yield statement, listed


def _is_plain(listed: ast.ListComp) -> bool:
    """One ``for`` over names of its own, and nothing inside that has a scope of its own."""
    if len(listed.generators) != 1 or listed.generators[0].is_async:
        return False
    odd = (*_SCOPES, ast.ListComp, ast.SetComp, ast.DictComp)
    inside = (n for child in ast.iter_child_nodes(listed) for n in ast.walk(child))
    if any(isinstance(n, odd) for n in inside):
        return False
    target = listed.generators[0].target
    return all(isinstance(n, ast.Name | ast.Tuple | ast.expr_context) for n in ast.walk(target))


def _written_out(draft: Draft, statement: ast.stmt, listed: ast.ListComp) -> Draft:
    """The draft with the loop. Its variables are names that nobody else has."""
    (generator,) = listed.generators
    row = draft.free("row")
    names = {row}
    given: dict[str, str] = {}
    for node in ast.walk(generator.target):
        if isinstance(node, ast.Name):
            given[node.id] = node.id
            if draft.function is None or _is_used(draft, node.id, listed):
                given[node.id] = draft.free(node.id, *names)
                names.add(given[node.id])
    head = f"for {_renamed(generator.target, given)} in {ast.unparse(generator.iter)}:"
    lines, pad = [f"{row} = []", head], "    "
    for test in generator.ifs:
        lines.append(f"{pad}if {_renamed(test, given)}:")
        pad += "    "
    lines.append(f"{pad}{row}.append({_renamed(listed.elt, given)})")
    edit = Edit(*draft.source.span(listed), row)
    new = draft.advanced([*draft.above(statement, lines), edit])
    return replace(new, names=new.names | names)


def _is_used(draft: Draft, name: str, listed: ast.ListComp) -> bool:
    """The name means something outside of the comprehension, which has its own."""
    own = {id(node) for node in ast.walk(listed)}
    assert draft.function is not None
    return any(
        (isinstance(node, ast.Name) and node.id == name and id(node) not in own)
        or (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Global | ast.Nonlocal) and name in node.names)
        for node in ast.walk(draft.function)
    )


def _renamed(node: ast.expr, given: dict[str, str]) -> str:
    new = copy.deepcopy(node)
    for part in ast.walk(new):
        if isinstance(part, ast.Name) and part.id in given:
            part.id = given[part.id]
    return ast.unparse(new)
