"""``ways[n] = count`` for a dictionary that the loop only fills: two lists, put in behind the loop.

Compiled code knows no dictionaries of the program. Keys are whole numbers, or tuples of them: a
float may be a NaN, which a dictionary finds again only as the same object.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ...loopnest.scope import own_nodes, parameters
from ...model import Basis, Condition, Edit
from .appends import EMPTY
from .draft import Draft

_CATCHING = (ast.Try, ast.TryStar, ast.With, ast.Global, ast.Nonlocal)
_WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True)
class _Store:
    """One ``name[keys] = value``."""

    statement: ast.Assign
    keys: tuple[ast.expr, ...]
    is_tuple: bool


def without_filled(draft: Draft) -> Draft:
    """The draft in which keys and values are kept in lists; unchanged where that cannot be."""
    found = _stores(draft)
    fitting = {name: stores for name, stores in found.items() if _fits(draft, name, stores)}
    if not fitting or fitting.keys() != found.keys():
        return draft
    if not all(map(draft.is_builtin, ("zip", "type", "dict"))):
        return draft
    for name, stores in fitting.items():
        draft = _kept(draft, name, len(stores[0].keys), stores[0].is_tuple)
    for one, other in combinations(fitting, 2):
        draft = _asked(draft, f"{one} is not {other}")
    return draft


def _asked(draft: Draft, test: str) -> Draft:
    return draft.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))


def _stores(draft: Draft) -> dict[str, list[_Store]]:
    """The stores into dictionaries by their names, in the order of the text."""
    found: dict[str, list[_Store]] = {}
    nodes = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Assign)]
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)]):
                seen = draft.values.get(name)
                if seen is not None and seen.type_name == "builtins.dict":
                    is_tuple = isinstance(key, ast.Tuple)
                    keys = tuple(key.elts) if isinstance(key, ast.Tuple) else (key,)
                    found.setdefault(name, []).append(_Store(node, keys, is_tuple))
            case _:
                pass
    return found


def _fits(draft: Draft, name: str, stores: Sequence[_Store]) -> bool:
    """Nothing else is done with the dictionary, and its keys are alike."""
    uses = [n for n in ast.walk(draft.loop) if isinstance(n, ast.Name) and n.id == name]
    called = (n for f in draft.region.functions.values() for n in ast.walk(f))
    elsewhere = any(isinstance(n, ast.Name) and n.id == name for n in called)
    alike = {(len(s.keys), s.is_tuple) for s in stores}
    keys = (key for store in stores for key in store.keys)
    return (
        len(uses) == len(stores)
        and not elsewhere
        and len(alike) == 1
        and all(_is_whole(draft, key) for key in keys)
    )


def _is_whole(draft: Draft, node: ast.expr) -> bool:
    """Whether an expression surely is an int, and no bool: that is another object as a key."""
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _WHOLE):
            return _is_whole(draft, left) and _is_whole(draft, right)
        case ast.Name(id=name):
            stores = [n for n in own_nodes(draft.loop) if _binds(n, name)]
            seen = draft.values.get(name)
            if not stores:
                return seen is not None and seen.kind == "int"
            counted = _counted(draft)
            return all(any(store is target for target in counted) for store in stores)
    return False


def _counted(draft: Draft) -> list[ast.expr]:
    """The variables of loops over ranges, and the numbers of ``enumerate``."""
    found: list[ast.expr] = []
    for node in (draft.loop, *own_nodes(draft.loop)):
        match node:
            case ast.For(target=ast.Name() as name, iter=ast.Call(func=ast.Name(id="range"))):
                found.append(name)
            case ast.For(
                target=ast.Tuple(elts=[ast.Name() as name, _]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[_], keywords=[]),
            ):
                found.append(name)
            case _:
                pass
    return found if draft.is_builtin("range") and draft.is_builtin("enumerate") else []


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _kept(draft: Draft, name: str, count: int, is_tuple: bool) -> Draft:
    """The change for one dictionary."""
    values = draft.free(f"{name}_values")
    keys: list[str] = []
    for _ in range(count):
        keys.append(draft.free(f"{name}_keys", values, *keys))
    edits: list[Edit] = []
    for store in _stores(draft)[name]:
        # in Python's order: the value is computed first
        lines = [f"{values}.append({draft.source.text(store.statement.value)})"]
        pairs = zip(keys, store.keys, strict=True)
        lines += [f"{kept}.append({draft.source.text(key)})" for kept, key in pairs]
        edits += draft.instead(store.statement, lines)
    lists = [*keys, values]
    above = draft.above(draft.loop, [f"{one} = []" for one in lists])
    private = _is_private(draft, name)
    new = draft.advanced([*above, *edits], dict.fromkeys(lists, EMPTY), gone=(name,))
    new = replace(new, names=new.names | frozenset(lists))
    found = f"zip({', '.join(keys)})" if is_tuple else keys[0]
    last = [f"{name}.update(zip({found}, {values}))"]
    if private:
        return new.advanced(new.below(new.loop, last))
    return _asked(new.finally_(last), f"type({name}) is dict")


def _is_private(draft: Draft, name: str) -> bool:
    """No one can see the dictionary where the loop raises: it is made here, and nothing catches."""
    function = draft.function
    if function is None or name in parameters(function):
        return False
    nodes = list(own_nodes(function))
    if any(isinstance(n, _CATCHING) for n in nodes):
        return False
    stores = [n for n in nodes if _binds(n, name)]
    made = [
        node
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Dict)
        and any(target in stores for target in node.targets)
    ]
    return bool(made) and len(made) == len(stores)
