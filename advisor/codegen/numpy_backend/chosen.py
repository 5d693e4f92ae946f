"""What a least or greatest value is chosen from, in its place: ``min(insert, delete, replace)``.

``insert = row[j - 1] + 1`` is often a variable of its own. In its place the choice shows that an
element comes from the one before, see `scan`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...loopnest.fold import reads, substitute
from ...loopnest.ir import (
    Assign,
    Call,
    Expr,
    For,
    Load,
    Nest,
    Stmt,
    Store,
    Var,
    expressions,
    statements,
    walk,
)


def with_choices(root: For, nest: Nest) -> For:
    """The nest with the variables that only one such choice reads put into it."""
    assigned = Counter(s.name for s in statements((root,)) if isinstance(s, Assign))
    parts = (p for s in statements((root,)) for e in expressions(s) for p in walk(e))
    used = Counter(part.name for part in parts if isinstance(part, Var))
    names = {n for n, count in assigned.items() if count == 1 and used[n] == 1}
    names -= nest.live_out | nest.scalars.keys() | nest.joined.keys()
    return _loop(root, frozenset(names), nest) if names else root


def _loop(loop: For, names: frozenset[str], nest: Nest) -> For:
    body: list[Stmt] = []
    for statement in loop.body:
        match statement:
            case For():
                body.append(_loop(statement, names, nest))
            case Store(value=value) if _is_choice(value):
                body = _into(statement, body, names, nest)
            case _:
                body.append(statement)
    return replace(loop, body=tuple(body))


def _is_choice(value: Expr) -> bool:
    return any(isinstance(p, Call) and p.function in ("min", "max") for p in walk(value))


def _into(store: Store, before: list[Stmt], names: frozenset[str], nest: Nest) -> list[Stmt]:
    """The statements up to the store, with what it chooses among in it."""
    kept: list[Stmt] = []
    changes: set[str] = set()
    touched: set[str] = set()
    for statement in reversed(before):
        value = statement.value if isinstance(statement, Assign) else None
        if (
            isinstance(statement, Assign)
            and value is not None
            and statement.name in names & reads(store.value)
            and not reads(value) & changes
            and not _loads(value) & touched
        ):
            store = replace(store, value=substitute(store.value, {statement.name: value}))
            continue
        kept.append(statement)
        for inner in statements((statement,)):
            match inner:
                case Assign(name=name) | For(index=name):
                    changes.add(name)
                case Store(array=array):
                    touched |= {array, *nest.arrays[array].aliases}
    return [*reversed(kept), store]


def _loads(value: Expr) -> frozenset[str]:
    return frozenset(part.array for part in walk(value) if isinstance(part, Load))
