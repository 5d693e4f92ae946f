"""Short lists that a loop makes and sorts: ``sorted(xs[i - 2 : i + 3])[2]``, ``window.sort()``.

Compiled code sorts them by insertion, which is stable as Python's way is. Where a NaN turns up,
which has no place in an order, the user's own loop runs in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...loopnest.scope import own_nodes
from ...model import Edit
from ..nb_text import functions_block, top_level_statement
from ..nb_values import Unsupported
from .draft import Draft
from .generators import evaluated_first, unconditional
from .own_loop import own_loop

_MOST = 10
"""Sorted lists in one loop."""
_OF_INTS = frozenset({"range", "len", "abs", "min", "max", "sorted", "sum", "int", "enumerate"})
_PLACE = '''\
def {name}(value, place):
    """The place, for a value that can be sorted."""
    if value != value:
        return place // 0  # NaN: compiled code leaves it alone
    return place
'''


@dataclass(frozen=True)
class _Sort:
    """A list that is sorted."""

    statement: ast.stmt
    node: ast.Call
    name: str = ""
    """The variable, where a statement sorts it or gives it the sorted list."""
    items: ast.expr | None = None
    """What ``sorted`` is given; None for ``window.sort()``."""


def with_sorts(draft: Draft) -> Draft:
    """The draft in which loops sort; the same one where nothing is. Raises Unsupported."""
    if not draft.is_builtin("sorted"):
        return draft
    place = draft.free("_sortable") if _may_be_nan(draft) else ""
    start = draft
    for _ in range(_MOST):
        found = next(_sorts(draft), None)
        if found is None:
            break
        draft = _written(draft, found, place)
    else:
        raise Unsupported("too many lists are sorted in one loop", draft.loop.lineno)
    if draft is start:
        return draft
    draft = replace(draft, in_python=tuple(own_loop(draft)))
    return _with_function(draft, place) if place else draft


def _may_be_nan(draft: Draft) -> bool:
    """Whether the loop has anything to do with floats, or may make some of ints."""
    for node in own_nodes(draft.loop):
        match node:
            case ast.Div() | ast.Pow() | ast.Attribute(attr="nan") | ast.Constant(value=float()):
                return True
            case ast.Call(func=ast.Name(id=name)) if name not in _OF_INTS:
                return True
            case ast.Call(func=ast.Attribute(attr=attr)) if attr not in ("append", "sort"):
                return True
    names = {n.id for n in own_nodes(draft.loop) if isinstance(n, ast.Name)}
    seen = [info for name, info in draft.values.items() if name.partition(".")[0] in names]
    kinds = {info.element.kind if info.element is not None else info.kind for info in seen}
    dtypes = {info.dtype or "" for info in seen}
    return not (
        kinds <= {"bool", "int", "ndarray", "module", "function"}
        and all(d.startswith(("int", "uint", "bool")) or not d for d in dtypes)
    )


# --------------------------------------------------------------------- search
def _sorts(draft: Draft) -> Iterator[_Sort]:
    """What is sorted in the loop, statement by statement."""
    for statement in own_nodes(draft.loop):
        if not isinstance(statement, ast.stmt):
            continue
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="sort"), args=[], keywords=[]
                ) as call
            ) if _is_made(draft, name):
                yield _Sort(statement, call, name)
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if (
                items := _sorted_items(call)
            ) is not None:
                yield _Sort(statement, call, name, items)
                continue
        root = evaluated_first(draft, statement)
        for node in unconditional(root) if root is not None else ():
            if isinstance(node, ast.Call) and (items := _sorted_items(node)) is not None:
                yield _Sort(statement, node, "", items)


def _sorted_items(node: ast.Call) -> ast.expr | None:
    """``items`` of ``sorted(items)``."""
    match node:
        case ast.Call(func=ast.Name(id="sorted"), args=[items], keywords=[]) if not isinstance(
            items, ast.Starred
        ):
            return items
    return None


def _is_made(draft: Draft, name: str) -> bool:
    """Whether each list of that name is made in the loop."""
    stores = [
        n
        for n in own_nodes(draft.loop)
        if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
    ]
    makers = [
        n
        for n in own_nodes(draft.loop)
        if isinstance(n, ast.Assign)
        and isinstance(n.value, ast.List | ast.ListComp | ast.BinOp | ast.Subscript | ast.Call)
        and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
    ]
    return bool(makers) and len(makers) == len(stores)


# ----------------------------------------------------------------------- text
def _written(draft: Draft, found: _Sort, place: str) -> Draft:
    """The draft with one list sorted by a loop."""
    new: list[str] = []

    def free(wanted: str) -> str:
        new.append(draft.free(wanted, *new))
        return new[-1]

    name = found.name or free("ordered")
    lines = [] if found.items is None else [f"{name} = {_listed(draft, found.items, free)}"]
    lines += _insertion(name, place, free)
    if found.name:
        edits = draft.instead(found.statement, lines)
    else:
        use = Edit(*draft.source.span(found.node), name)
        edits = [*draft.above(found.statement, lines), use]
    draft = draft.advanced(edits)
    return replace(draft, names=draft.names | frozenset(new))


def _listed(draft: Draft, items: ast.expr, free: Callable[[str], str]) -> str:
    """The items as a list of its own."""
    match items:
        case ast.ListComp():
            return ast.unparse(items)
        case ast.GeneratorExp(elt=element, generators=generators):
            return ast.unparse(ast.ListComp(element, generators))
        case ast.Subscript(value=ast.Name(id=whole), slice=ast.Slice()):
            seen = draft.values.get(whole)
            if seen is not None and seen.kind == "list":
                return ast.unparse(items)
    item = free("item")
    return f"[{item} for {item} in {ast.unparse(items)}]"


def _insertion(name: str, place: str, free: Callable[[str], str]) -> list[str]:
    """Each item moved in front of those that are larger."""
    k, value, at = free("k"), free("value"), free("place")
    start = f"{place}({value}, {k})" if place else k
    return [
        f"for {k} in range({0 if place else 1}, len({name})):",
        f"    {value} = {name}[{k}]",
        f"    {at} = {start}",
        f"    while {at} > 0 and {value} < {name}[{at} - 1]:",
        f"        {name}[{at}] = {name}[{at} - 1]",
        f"        {at} -= 1",
        f"    {name}[{at}] = {value}",
    ]


def _with_function(draft: Draft, place: str) -> Draft:
    """The function that asks for NaN, above the loop; Python has no use for it."""
    top = top_level_statement(draft.source, draft.loop)
    offset, block = functions_block(draft.source, top, [_PLACE.format(name=place)])
    draft = draft.elsewhere([Edit(offset, offset, block)])
    plain = {**draft.plain, place: "pass"}
    return replace(draft, plain=plain, names=draft.names | {place})
