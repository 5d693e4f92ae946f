"""Text as numbers: what characters, string literals and sets of characters are to the back ends.

A string of one character is its code point, the empty string is -1, and each longer literal of the
loop has a number above all code points. So equality of texts is equality of numbers, and the order
of characters is the order of numbers.
"""

from __future__ import annotations

import ast
import string
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise

from ..model import SiteObservation, Source
from .fold import map_children
from .ir import (
    CHAR,
    PY_INT,
    Append,
    Assign,
    Call,
    Const,
    Expr,
    For,
    If,
    Interval,
    NewList,
    Scalar,
    Stmt,
    Store,
    While,
)
from .provenance import Provenance
from .scope import dotted, literal, module_of


@dataclass(frozen=True)
class Text(Expr):
    """A string literal, while the loop is lowered; a finished nest has its number."""

    text: str


EMPTY = -1
"""The number of the empty string."""
FIRST_WORD = sys.maxunicode + 1
LAST_ASCII = 127

LETTERS = "builtins.ord"
"""``ValueInfo.target`` of the elements of lists that new code makes of characters' numbers."""
STRINGS = ("str", "bytes")
"""Containers of characters, and of bytes, that cannot change."""


def number_of(text: str, words: tuple[str, ...]) -> int:
    """The number a text stands for. Raises ValueError for a word that is not among ``words``."""
    if len(text) > 1:
        return FIRST_WORD + words.index(text)
    return ord(text) if text else EMPTY


def characters(ascii_only: bool) -> Interval:
    """The numbers of the characters of a string."""
    return Interval(0, LAST_ASCII if ascii_only else sys.maxunicode)


# ------------------------------------------------------------------ questions
PREDICATES = frozenset(
    {
        *("isalpha", "isdigit", "isalnum", "isupper", "islower", "isspace"),
        *("isdecimal", "isnumeric", "isidentifier"),
    }
)
"""Methods that the tables below answer for ASCII; false for the empty string."""
SHIFTS: Mapping[str, tuple[str, str, int]] = {
    "upper": ("a", "z", -32),
    "lower": ("A", "Z", 32),
}
"""Methods that move a range of ASCII letters: first, last, by how much."""


@cache
def runs(characters_: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Characters as ranges, first and last of each: ``"abcx"`` is a-c and x-x."""
    codes = sorted(map(ord, characters_))
    starts = [c for k, c in enumerate(codes) if k == 0 or codes[k - 1] != c - 1]
    ends = [a for a, b in pairwise(codes) if b != a + 1] + codes[-1:]
    return tuple((chr(a), chr(b)) for a, b in zip(starts, ends, strict=True))


@cache
def answering(method: str) -> frozenset[str]:
    """The ASCII characters for which ``isalpha()`` and the like are true."""
    return frozenset(c for c in map(chr, range(LAST_ASCII + 1)) if getattr(c, method)())


# --------------------------------------------------------------------- parts
@dataclass(frozen=True)
class TextPart:
    """``text[before:-behind]``."""

    text: ast.expr
    before: int
    behind: int


def part_of_text(node: ast.expr) -> TextPart | None:
    """A slice that leaves out so many characters at either end; None for anything else."""
    match node:
        case ast.Subscript(
            value=ast.Name() | ast.Attribute() as text,
            slice=ast.Slice(lower=lower, upper=upper, step=None),
        ):
            before = 0 if lower is None else literal(lower)
            last = 0 if upper is None else literal(upper)
            if type(before) is int and type(last) is int and before >= 0 >= last:
                return TextPart(text, before, -last) if upper is None or last else None
    return None


# ------------------------------------------------------------ known from the text
@dataclass(frozen=True)
class Options:
    """The right side of ``c in "aeiou"`` or ``c in ("yes", "no")``."""

    texts: tuple[str, ...]
    substring: bool
    """Of a string: the empty string and longer ones are in it too."""

    @property
    def single(self) -> bool:
        """Characters only."""
        return all(len(t) == 1 for t in self.texts)


class KnownText:
    """Names of one scope that always stand for one text."""

    def __init__(
        self,
        source: Source,
        function: ast.FunctionDef | None,
        loop: ast.For | ast.While,
        observation: SiteObservation,
    ) -> None:
        self.module = module_of(source)
        self.given = (source, function, loop, observation)

    @cached_property
    def provenance(self) -> Provenance:
        """Definitions that reach the loop."""
        return Provenance(*self.given)

    def literal(self, name: str) -> str | None:
        """The text that the code proves a name of the loop's scope to have before the loop."""
        found = self.provenance.definition(name)
        if found is None or found.position is not None:
            return None
        return _literal(found.value)

    def options(self, node: ast.expr, own: bool) -> Options | None:
        """What may be searched in; ``own``: names mean what they do in the loop's own scope."""
        match node:
            case ast.Constant(value=str() as text):
                return Options(tuple(text), True)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts) if elts:
                texts = [_literal(e) for e in elts]
                known = tuple(t for t in texts if t is not None)
                return Options(known, False) if len(known) == len(texts) else None
            case ast.Call(func=ast.Name(id="set" | "frozenset" as name), args=[inner], keywords=[]):
                found = None if self.module.bound(name) else self.options(inner, own)
                return found and Options(found.texts, False)
            case ast.Name(id=name):
                value = self.definition(name, own)
                return None if value is None else self.options(value, own)
            case ast.Attribute():
                return self._of_module(node)
        return None

    def definition(self, name: str, own: bool) -> ast.expr | None:
        """The expression that a name always stands for, if it is one that cannot change."""
        tree: ast.AST = self.module.source.tree
        value = self.module.definition(name)
        if own and value is None:
            found = self.provenance.definition(name)
            value = None if found is None or found.position is not None else found.value
        if value is None or _cannot_change(value) or only_searched(tree, name):
            return value
        return None

    def _of_module(self, node: ast.Attribute) -> Options | None:
        """``string.digits``."""
        path = dotted(node) or ""
        head, _, rest = path.partition(".")
        canonical = f"{self.module.imports.get(head, '')}.{rest}"
        text = _MODULE_TEXT.get(canonical)
        return None if text is None else Options(tuple(text), True)


_MODULE_TEXT = {
    f"string.{name}": value for name, value in vars(string).items() if type(value) is str
}


def _literal(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
    return None


def only_searched(tree: ast.AST, name: str) -> bool:
    """Whether every use of the name asks whether something is in it, so that no one changes it."""
    searched = {
        id(node.comparators[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
    }
    return all(
        id(node) in searched
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    )


def _cannot_change(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str()):
            return True
        case ast.Tuple(elts=elts):
            return all(map(_cannot_change, elts))
        case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Constant() | ast.Tuple()]):
            return True
    return False


# --------------------------------------------------------------------- numbers
def words_of(body: Iterable[Stmt]) -> tuple[str, ...]:
    """The literals of several characters, in order."""
    from .ir import expressions, statements, walk

    found = {
        part.text
        for statement in statements(tuple(body))
        for expr in expressions(statement)
        for part in walk(expr)
        if isinstance(part, Text) and len(part.text) > 1
    }
    return tuple(sorted(found))


def in_numbers(statement: Stmt, words: tuple[str, ...]) -> Stmt:
    """The statement with numbers in the place of text."""

    def visit(expr: Expr) -> Expr:
        return expr_in_numbers(expr, words)

    match statement:
        case Assign(value=value) | Append(value=value):
            return replace(statement, value=visit(value))
        case Store(index=index, value=value):
            return replace(statement, index=tuple(map(visit, index)), value=visit(value))
        case NewList(extents=extents, fill=fill):
            filled = None if fill is None else visit(fill)
            return replace(statement, extents=tuple(map(visit, extents)), fill=filled)
        case If(test=test, then=then, orelse=orelse):
            return replace(
                statement,
                test=visit(test),
                then=tuple(_all_in_numbers(then, words)),
                orelse=tuple(_all_in_numbers(orelse, words)),
            )
        case For(start=start, stop=stop, body=body):
            inner = tuple(_all_in_numbers(body, words))
            return replace(statement, start=visit(start), stop=visit(stop), body=inner)
        case While(test=test, body=body):
            return replace(statement, test=visit(test), body=tuple(_all_in_numbers(body, words)))
    return statement


def _all_in_numbers(body: tuple[Stmt, ...], words: tuple[str, ...]) -> Iterator[Stmt]:
    return (in_numbers(statement, words) for statement in body)


def expr_in_numbers(expr: Expr, words: tuple[str, ...]) -> Expr:
    """The expression with numbers in the place of text."""
    if isinstance(expr, Text):
        return _literal_number(expr, words)
    inner = map_children(expr, lambda part: expr_in_numbers(part, words))
    if isinstance(inner, Call) and inner.function in ("ord", "chr"):
        return inner.args[0]
    return replace(inner, type=numeric(inner.type))


def _literal_number(expr: Text, words: tuple[str, ...]) -> Const:
    value = number_of(expr.text, words)
    # printed as what it is; escapes and quotes would not make it clearer
    shown = f'ord("{expr.text}")' if len(expr.text) == 1 and _is_plain(expr.text) else None
    return Const(PY_INT, expr.line, value, shown)


def _is_plain(character: str) -> bool:
    return character.isprintable() and character not in '\\"'


def numeric(kind: Scalar) -> Scalar:
    """The type of the number that stands for a value."""
    return PY_INT if kind == CHAR else kind
