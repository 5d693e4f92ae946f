"""Counts that are needed under a condition only, computed for all elements ahead of it.

``if free and near(i, j) == 2`` counts neighbours where ``free`` holds. Under a condition each step
of the count is a choice between two values, and eight of them one inside the other would be a
tower of 256; ahead of it they are eight additions. Nothing can tell: the count is integers that
nobody else reads, and what might raise is tested for all elements, as everything outside a
condition is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ...loopnest.fold import reads
from ...loopnest.ir import (
    Assign,
    Binary,
    Call,
    Expr,
    For,
    If,
    Kind,
    Load,
    Stmt,
    Var,
    children,
    expressions,
    statements,
    walk,
)
from .normal import exposed

_CALM_CALLS = frozenset(("min", "max", "abs", "bool"))


def counted_ahead(root: For, live_out: frozenset[str]) -> For:
    """The nest with such counts in front of the conditions."""
    (result,) = _body((root,), root, live_out)
    assert isinstance(result, For)
    return result


def _body(body: tuple[Stmt, ...], root: For, live_out: frozenset[str]) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for statement in body:
        match statement:
            case For(body=inner):
                result.append(replace(statement, body=_body(inner, root, live_out)))
            case If(then=then, orelse=orelse):
                changed = replace(
                    statement,
                    then=_body(then, root, live_out),
                    orelse=_body(orelse, root, live_out),
                )
                result += _split(changed, root, live_out)
            case _:
                result.append(statement)
    return tuple(result)


def _split(statement: If, root: For, live_out: frozenset[str]) -> tuple[Stmt, ...]:
    """What can be computed ahead of the condition, and what stays below it."""
    looks = any(isinstance(part, Load) for part in walk(statement.test))
    if not looks and not reads(statement.test) & _names_of((root,)):
        return (statement,)  # a condition on indices narrows slices
    then, ahead = _leading(statement.then, root, live_out)
    orelse, more = _leading(statement.orelse, root, live_out)
    return (*ahead, *more, replace(statement, then=then, orelse=orelse))


def _leading(
    branch: tuple[Stmt, ...], root: For, live_out: frozenset[str]
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The branch without its leading counts, and these."""
    here, everywhere = _mentions(branch), _mentions((root,))
    alone = {name for name in _names_of(branch) if here[name] == everywhere[name]}
    own = frozenset(alone) - exposed(branch) - live_out
    count = 0
    while count < len(branch) and _is_calm(branch[count], own):
        count += 1
    ahead = branch[:count]
    if not any(isinstance(s, If) and _names_of((s,)) & exposed((s,)) for s in ahead):
        return branch, ()
    return branch[count:], ahead


def _names_of(body: tuple[Stmt, ...]) -> frozenset[str]:
    return frozenset(s.name for s in statements(body) if isinstance(s, Assign))


def _mentions(body: tuple[Stmt, ...]) -> Counter[str]:
    """How often each scalar is read or assigned."""
    found: Counter[str] = Counter()
    for statement in statements(body):
        if isinstance(statement, Assign):
            found[statement.name] += 1
        for expr in expressions(statement):
            found.update(part.name for part in walk(expr) if isinstance(part, Var))
    return found


def _is_calm(statement: Stmt, own: frozenset[str]) -> bool:
    match statement:
        case Assign(name=name, value=value):
            return name in own and _is_exact(value)
        case If(test=test, then=then, orelse=orelse):
            return _is_exact(test) and all(_is_calm(s, own) for s in (*then, *orelse))
    return False


def _is_exact(expr: Expr) -> bool:
    """Integers and truth values, in operations that neither raise nor warn; subscripts aside."""
    if expr.type.kind not in (Kind.INT, Kind.BOOL):
        return False
    match expr:
        case Load():
            return True  # where it may leave the array, a test in front says so
        case Binary(op=op) if op not in ("+", "-", "*", "&", "|", "^"):
            return False
        case Call(function=function) if function not in _CALM_CALLS:
            return False
    return all(_is_exact(child) for child in children(expr))
