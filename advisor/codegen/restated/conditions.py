"""Calls of the user's functions in conditions, as statements of their own in front of them.

``elif near(i) == 2:`` becomes an ``if`` below ``else``, and ``if free and near(i) == 2:`` a flag
that is set where ``free`` holds: what was not called before is not called then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...layout import reindent
from ...loopnest.scope import dotted, own_nodes
from ...model import Edit
from ..nb_values import Unsupported
from .draft import Draft, constant_info

_MOST = 40
"""Conditions of one loop that are taken apart."""


def without_called_conditions(draft: Draft) -> Draft:
    """Conditions that call a function of the user's in some cases only. Raises Unsupported."""
    if not draft.region.functions:
        return draft
    for _ in range(_MOST):
        found = next(_called(draft), None)
        if found is None:
            return draft
        is_elif = draft.source.text(found).startswith("elif")
        draft = draft.advanced(below_else(draft, found)) if is_elif else _by_flag(draft, found)
    raise Unsupported("too many conditions with calls in one loop", draft.loop.lineno)


def _called(draft: Draft) -> Iterator[ast.If]:
    """Statements that evaluate a call late: in an ``elif``, or behind ``and`` or ``or``."""
    for node in own_nodes(draft.loop):
        if not isinstance(node, ast.If) or not _calls(draft, node.test):
            continue
        # a flag holds truth: `ready and count(i)` keeps its call, which may return any number
        late = isinstance(node.test, ast.BoolOp) and any(
            _calls(draft, value) for value in node.test.values[1:]
        )
        truth = late and is_truth(_late_part(draft, node.test))
        if truth or draft.source.text(node).startswith("elif"):
            yield node


def _calls(draft: Draft, node: ast.expr) -> bool:
    known = draft.region.functions
    return any(isinstance(n, ast.Call) and dotted(n.func) in known for n in ast.walk(node))


def below_else(draft: Draft, node: ast.If) -> list[Edit]:
    """``elif`` as an ``if`` below ``else``."""
    inner = reindent(draft.source, node, 1).replace("elif", "if", 1)
    return draft.instead(node, ["else:", *inner.splitlines()])


def _by_flag(draft: Draft, node: ast.If) -> Draft:
    """``if a and f(b):`` as a flag that starts as False and becomes ``f(b)`` where ``a`` holds."""
    assert isinstance(node.test, ast.BoolOp)
    flag = draft.free("holds")
    edits = as_flag(draft, node, node.test, _place(draft, node.test), flag)
    return draft.advanced(edits, {flag: constant_info(False)})


def as_flag(draft: Draft, node: ast.If, test: ast.BoolOp, place: int, flag: str) -> list[Edit]:
    """The edits that compute the test in front of the statement, what is late under an ``if``.

    Raises Unsupported where the flag could hold other than the truth.
    """
    rest, front = _joined(test.op, test.values[place:]), _joined(test.op, test.values[:place])
    if not is_truth(rest):
        raise Unsupported("a call behind `and` or `or` that may give any number", node.lineno)
    is_and = isinstance(test.op, ast.And)
    above = [
        f"{flag} = {not is_and}",
        f"if {ast.unparse(front)}:" if is_and else f"if not ({ast.unparse(front)}):",
        f"    {flag} = {ast.unparse(rest)}",
    ]
    return [*draft.above(node, above), Edit(*draft.source.span(test), flag)]


def _place(draft: Draft, test: ast.BoolOp) -> int:
    """The first operand behind the first one that calls."""
    return next(k for k in range(1, len(test.values)) if _calls(draft, test.values[k]))


def _late_part(draft: Draft, test: ast.expr) -> ast.expr:
    """What is evaluated in some cases only, from the first call on."""
    assert isinstance(test, ast.BoolOp)
    return _joined(test.op, test.values[_place(draft, test) :])


def _joined(op: ast.boolop, values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op, values)


def is_truth(node: ast.expr) -> bool:
    """Whether the expression is True or False, whatever it reads."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(map(is_truth, values))
    return False
