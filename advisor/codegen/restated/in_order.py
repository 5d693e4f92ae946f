"""Calls taken out of a statement, into lines of their own in front of it, in Python's order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...loopnest.scope import own_nodes
from ...model import Edit
from .draft import Draft
from .generators import evaluated_parts, fold_of, is_calm


def roots(statement: ast.stmt) -> Sequence[ast.expr]:
    """What a statement evaluates, in order; without the statements inside it."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return (value, *targets)
        case ast.AugAssign(target=target, value=value):
            return (target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return (value, target)
        case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
            return (value,)
        case ast.If(test=test) | ast.While(test=test):
            return (test,)
        case ast.For(iter=iterable):
            return (iterable,)
    return ()


def before(statement: ast.stmt, wanted: ast.expr) -> list[ast.expr] | None:
    """What must have a name so that a call can be made in front of the statement, in order.

    None where the statement does not always come to the call.
    """
    earlier: list[ast.expr] = []
    for root in roots(statement):
        inner = _before(root, wanted)
        if inner is not None:
            return [*earlier, *inner]
        if _contains(root, wanted):
            return None
        if isinstance(root, ast.Subscript | ast.Attribute) and not isinstance(root.ctx, ast.Load):
            # xs[i] += random.random(): that xs[i] is there is found out before the draw
            return None
        if not is_calm(root):
            earlier.append(root)
    return None


def _before(node: ast.expr, wanted: ast.expr) -> list[ast.expr] | None:
    if node is wanted:
        return []
    earlier: list[ast.expr] = []
    for part in evaluated_parts(node):
        inner = _before(part, wanted)
        if inner is not None:
            return [*earlier, *inner]
        if not is_calm(part):
            earlier.append(part)
    return None


def _contains(root: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(root))


def calls_in(statement: ast.stmt) -> Iterator[ast.Call]:
    """Calls that a statement itself makes."""
    for root in roots(statement):
        for node in ast.walk(root):
            if isinstance(node, ast.Call):
                yield node


def with_named_operands(draft: Draft, more: Callable[[Draft, ast.expr], bool]) -> Draft:
    """What is in front of a fold in its statement as a variable: ``xs[0] + sum(xs[1:])``.

    ``more``: what else is to come first in its statement.
    """
    for statement in own_nodes(draft.loop):
        if not isinstance(statement, ast.stmt) or _shares_its_place(draft, statement):
            continue
        for root in roots(statement):
            for node in ast.walk(root):
                if isinstance(node, ast.expr) and (
                    fold_of(draft, statement, node) or more(draft, node)
                ):
                    named = before(statement, node)
                    if named:
                        return _named(draft, statement, named)
    return draft


def _shares_its_place(draft: Draft, statement: ast.stmt) -> bool:
    """Whether there is no place in front of it that is run each time: ``while``, ``elif``."""
    late = isinstance(statement, ast.If) and draft.source.text(statement).startswith("elif")
    return late or isinstance(statement, ast.While)


def _named(draft: Draft, statement: ast.stmt, parts: Sequence[ast.expr]) -> Draft:
    names: list[str] = []
    for _ in parts:
        names.append(draft.free("value", *names))
    lines = [f"{n} = {draft.source.text(p)}" for n, p in zip(names, parts, strict=True)]
    edits = [Edit(*draft.source.span(p), n) for n, p in zip(names, parts, strict=True)]
    new = draft.advanced([*draft.above(statement, lines), *edits])
    return replace(new, names=new.names | frozenset(names))
