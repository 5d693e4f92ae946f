"""``found.append((i, x))`` as one list for each place of the tuples, put together at the end."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...loopnest.scope import own_nodes, parameters
from ...model import Edit, ValueInfo
from ..nb_values import Unsupported
from .draft import Draft

EMPTY = ValueInfo("list", "builtins.list", ndim=1, shape=(0,), min_shape=(0,), max_shape=(0,))


def with_split_appends(draft: Draft) -> Draft:
    """The draft in which lists that only get tuples of one length get columns instead."""
    found: dict[str, list[tuple[ast.Expr, ast.Tuple]]] = {}
    for node in own_nodes(draft.loop):
        match node:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                    args=[ast.Tuple() as row],
                )
            ):
                found.setdefault(name, []).append((node, row))
            case _:
                pass
    for name in found:
        if len({len(row.elts) for _, row in found[name]}) == 1:
            draft = _split(draft, name)
    return draft


def _split(draft: Draft, name: str) -> Draft:
    """The change for one list. Raises Unsupported where the loop does more with it."""
    _check(draft, name)
    edits: list[Edit] = []
    columns: tuple[str, ...] = ()
    for node in own_nodes(draft.loop):
        match node:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=found), attr="append"),
                    args=[ast.Tuple(elts=elts)],
                )
            ) if found == name:
                columns = columns or tuple(draft.free(f"{name}_{k}") for k in range(len(elts)))
                texts = [draft.source.text(e) for e in elts]
                lines = [f"{c}.append({t})" for c, t in zip(columns, texts, strict=True)]
                edits += draft.instead(node, lines)
    joined = f"{name}.extend(zip({', '.join(columns)}))"
    above = [f"{column} = []" for column in columns]
    new = draft.advanced(
        [*draft.above(draft.loop, above), *edits], dict.fromkeys(columns, EMPTY), gone=(name,)
    )
    new = replace(new, names=new.names | frozenset(columns))
    if _is_private(draft, name):
        return new.advanced(new.below(new.loop, [joined]))
    return new.finally_([joined])


def _check(draft: Draft, name: str) -> None:
    info = draft.values.get(name)
    uses = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name) and n.id == name]
    appends = [
        node
        for node in own_nodes(draft.loop)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "append"
        and isinstance(node.value.func.value, ast.Name)
        and node.value.func.value.id == name
        and isinstance(node.value.args[0], ast.Tuple)
    ]
    if info is None or info.type_name != "builtins.list" or len(uses) != len(appends):
        raise Unsupported(f"{name} is more than appended to", draft.loop.lineno)
    if any(name in pair for pair in (draft.region.observation or _NONE).aliases):
        raise Unsupported(f"{name} is known by another name", draft.loop.lineno)


class _Nothing:
    aliases: tuple[tuple[str, str], ...] = ()


_NONE = _Nothing()


def _is_private(draft: Draft, name: str) -> bool:
    """No one can see the list where the loop raises: it is made here, and nothing catches."""
    function = draft.function
    if function is None or name in parameters(function):
        return False
    made = [
        node
        for node in own_nodes(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    catching = any(isinstance(n, ast.Try | ast.With | ast.TryStar) for n in own_nodes(function))
    return bool(made) and not catching and all(_is_empty(node.value) for node in made)


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and not node.elts
