"""Characters and strings in expressions: comparisons, searches, ``ord``, ``chr``, ``isalpha()``.

A finished nest has numbers for them, see ``text``. That holds under conditions on what a text is
(one character, ASCII), which are noted here and checked when the ranges are known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from ..model import ValueInfo
from . import typing_rules as typing
from .bindings import Stop
from .ir import (
    CHAR,
    PY_BOOL,
    PY_INT,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Expr,
    Interval,
    Scalar,
    Select,
    Unary,
)
from .lower_arrays import ArrayLowering
from .text import (
    EMPTY,
    LAST_ASCII,
    PREDICATES,
    SHIFTS,
    KnownText,
    Options,
    Text,
    answering,
    characters,
    runs,
)

ONE = characters(ascii_only=False)
ASCII = Interval(EMPTY, LAST_ASCII)


@dataclass(frozen=True)
class Need:
    """A text must lie in a range of numbers for its expression to be right."""

    expr: Expr
    within: Interval
    why: str


class TextLowering(ArrayLowering):
    """Text in expressions."""

    known_text: KnownText
    needs: list[Need]
    """Emptied at the start of every round."""

    def compare(self, op: str, left: Expr, right: Expr, line: int) -> Expr:
        """One comparison."""
        raise NotImplementedError

    def scalar_type(self, path: str, info: ValueInfo) -> Scalar | None:
        """The type of a value seen at entry, None if it is neither a number nor a short text."""
        kind = typing.scalar_of(info)
        if kind is None and info.kind == "str" and self.known_text.literal(path) is not None:
            return CHAR
        return kind

    def need(self, expr: Expr, within: Interval, why: str) -> Expr:
        """The expression, under the condition that its number is in the range."""
        self.needs.append(Need(expr, within, why))
        return expr

    def tested(self, expr: Expr) -> Expr:
        """A value of which only the truth counts: of text, whether there is any."""
        if expr.type != CHAR:
            return expr
        raise Stop("the truth value of a str", expr.line, 'compare with ""')

    def ordered(self, op: str, left: Expr, right: Expr) -> None:
        """``<`` of words is not the order of their numbers."""
        if left.type == CHAR and op not in ("==", "!="):
            for side in (left, right):
                self.need(side, Interval(EMPTY, ONE.high), "the order of words")

    # ------------------------------------------------------------------ search
    def text_search(self, left: ast.expr, right: ast.expr, line: int) -> Expr | None:
        """``ch in "aeiou"``; None where the right side is no text that is known."""
        options = self.known_text.options(right, own=self.frame.is_root)
        names = {n.id for n in ast.walk(right) if isinstance(n, ast.Name)}
        shadowed = names & (set(self.frame.names) if not self.frame.is_root else self.assigned)
        if options is None or shadowed:
            return None
        value = self.settled(self.expr(left))
        if value.type != CHAR:
            raise Stop(f"search {ast.unparse(left)} in {ast.unparse(right)}", line)
        if options.substring:
            self.need(value, ONE, "a search for other than one character")
        return self.one_of(value, options, line)

    def one_of(self, value: Expr, options: Options, line: int) -> Expr:
        """Whether a text is one of several."""
        singles = frozenset(t for t in options.texts if len(t) == 1)
        parts = [self.between(value, *run, line) for run in runs(singles)]
        others = sorted({t for t in options.texts if len(t) != 1})
        parts += [self.compare("==", value, Text(CHAR, line, t), line) for t in others]
        return _any(parts, line)

    def between(self, value: Expr, first: str, last: str, line: int) -> Expr:
        """``"a" <= ch <= "z"``."""
        low, high = Text(CHAR, line, first), Text(CHAR, line, last)
        if first == last:
            return Compare(PY_BOOL, line, "==", value, low)
        bounds = (
            Compare(PY_BOOL, line, ">=", value, low),
            Compare(PY_BOOL, line, "<=", value, high),
        )
        if ord(last) == ord(first) + 1:
            pair = tuple(Compare(PY_BOOL, line, "==", value, end) for end in (low, high))
            return Bool(PY_BOOL, line, "or", pair)
        return Bool(PY_BOOL, line, "and", bounds)

    # ------------------------------------------------------------------- calls
    def text_call(self, name: str, args: list[Expr], line: int) -> Expr | None:
        """``ord(ch)``, ``chr(n)``, ``int(ch)``; None for another function, or of numbers."""
        if name not in ("ord", "chr", "int") or len(args) != 1:
            return None
        value = args[0]
        match name, value.type:
            case "ord", kind if kind == CHAR:
                return Call(PY_INT, line, "ord", (self.need(value, ONE, "ord() of no character"),))
            case "chr", kind if kind == PY_INT and self.types_of(value) == {PY_INT}:
                why = "chr() of a number that may be no character"
                return Call(CHAR, line, "chr", (self.need(value, ONE, why),))
            case "int", kind if kind == CHAR:
                self.need(value, ASCII, "int() of other digits than 0 to 9")
                return Call(PY_INT, line, "digit", (value,))
        return None

    def text_method(self, node: ast.Call) -> Expr | None:
        """``ch.isalpha()``, ``ch.upper()``; None for another method."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=[], keywords=[]):
                pass
            case _:
                return None
        if attr not in PREDICATES and attr not in SHIFTS:
            return None
        line = node.lineno
        value = self.settled(self.expr(owner))
        if value.type != CHAR:
            return None
        self.need(value, ASCII, f"{attr}() of a character beyond ASCII")
        if attr in PREDICATES:
            return _any([self.between(value, *run, line) for run in runs(answering(attr))], line)
        first, last, shift = SHIFTS[attr]
        code = Call(PY_INT, line, "ord", (value,))
        moved = Binary(PY_INT, line, "+", code, Const(PY_INT, line, shift))
        other = Call(CHAR, line, "chr", (moved,))
        return Select(CHAR, line, self.between(value, first, last, line), other, value)


def _any(parts: Iterable[Expr], line: int) -> Expr:
    found = tuple(parts)
    if not found:
        return Const(PY_BOOL, line, False)
    return Bool(PY_BOOL, line, "or", found) if len(found) > 1 else found[0]


def no_number(node: ast.Call) -> float | None:
    """The value of ``float("inf")`` and the like."""
    match node:
        case ast.Call(args=[ast.Constant(value=str() as text)], keywords=[]):
            return _NO_NUMBERS.get(text.lower())
    return None


_NO_NUMBERS = {text: float(text) for text in ("inf", "+inf", "-inf", "infinity", "nan")}


def negated(expr: Expr) -> Expr:
    """``not in``."""
    return Unary(PY_BOOL, expr.line, "not", expr)
