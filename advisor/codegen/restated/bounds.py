"""What the heads of loops say about an index expression: whether it can be negative or too large.

Sums and differences of names, ``len(..)`` and whole numbers, with the indices of ``range`` loops
replaced by their smallest or largest value. Everything else is a number of which nothing is known.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Form = Mapping[str, int]
"""Text of a term -> how often it is taken; ``""`` is the number one."""


def linear(node: ast.expr) -> dict[str, int]:
    """The expression as a sum of terms."""
    match node:
        case ast.Constant(value=int() as value) if type(value) is int:
            return {"": value}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _scaled(linear(operand), -1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return added(linear(left), linear(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return added(linear(left), _scaled(linear(right), -1))
        case ast.BinOp(left=ast.Constant(value=int() as times), op=ast.Mult(), right=other):
            return _scaled(linear(other), times)
        case ast.BinOp(left=other, op=ast.Mult(), right=ast.Constant(value=int() as times)):
            return _scaled(linear(other), times)
    return {ast.unparse(node): 1}


def _scaled(form: Form, times: int) -> dict[str, int]:
    return {term: count * times for term, count in form.items() if count * times}


def added(left: Form, right: Form, times: int = 1) -> dict[str, int]:
    """The sum of two forms, the right one taken several times."""
    terms = dict.fromkeys((*left, *right))
    total = {term: left.get(term, 0) + times * right.get(term, 0) for term in terms}
    return {term: count for term, count in total.items() if count}


@dataclass(frozen=True)
class Known:
    """What holds at a statement."""

    loops: Sequence[ast.For]
    """Those around it, outermost first, whose indices nothing else assigns."""
    fixed: frozenset[str]
    """Names that no statement in them assigns."""
    natural: frozenset[str]
    """Those of them that were seen to be whole numbers, and never negative."""

    def never_negative(self, node: Form) -> frozenset[str] | None:
        """Names that must not be negative for the form to be at least zero; None if unknown."""
        form = self._lowest(node)
        if form is None:
            return None
        names = frozenset(term for term in form if term and not term.startswith("len("))
        steady = names <= self.natural and all(self._is_fixed(term) for term in form)
        return names if steady and all(count >= 0 for count in form.values()) else None

    def least(self, node: Form) -> Form | None:
        """The smallest value of a form, of what does not change in the loops; None if unknown."""
        form = self._lowest(node)
        return form if form is not None and all(map(self._is_fixed, form)) else None

    def _lowest(self, node: Form) -> dict[str, int] | None:
        form = dict(node)
        for loop in reversed(self.loops):
            if not isinstance(loop.target, ast.Name) or loop.target.id not in form:
                continue
            times = form.pop(loop.target.id)
            ends = _ends(loop)
            if ends is None:
                return None
            form = added(form, ends[0] if times > 0 else ends[1], times)
        return form

    def _is_fixed(self, term: str) -> bool:
        names = {n.id for n in ast.walk(ast.parse(term or "0")) if isinstance(n, ast.Name)}
        return names <= self.fixed | {"len"}


def _ends(loop: ast.For) -> tuple[dict[str, int], dict[str, int]] | None:
    """Smallest and largest index of a loop, if it runs."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            return {}, added(linear(stop), {"": -1})
        case ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]):
            return linear(start), added(linear(stop), {"": -1})
        case ast.Call(
            func=ast.Name(id="range"), args=[start, stop, ast.Constant(value=int() as step)]
        ) if step > 0:
            return linear(start), added(linear(stop), {"": -1})
    return None


def spelled(form: Form) -> str:
    """``len(xs) - window + 1``."""
    terms = sorted(form.items(), key=lambda item: (item[0] == "", item[1] < 0))
    text = ""
    for name, count in terms:
        sign = "-" if count < 0 else "+"
        size = (
            str(abs(count)) if not name else name if abs(count) == 1 else f"{abs(count)} * {name}"
        )
        text += f" {sign} {size}" if text else f"{'-' if count < 0 else ''}{size}"
    return text or "0"
