"""Loops over the characters of a string, or over all its substrings of one length."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ..loopnest.scope import dotted
from ..model import Region, ValueInfo

CHARACTERS = '''\
def {name}(text):
    """The characters of an ASCII string by first occurrence, and how often each is there."""
    times = {np}.bincount({np}.frombuffer(text.encode(), dtype={np}.uint8)).tolist()
    found = [chr(code) for code, count in enumerate(times) if count]
    return [(ch, times[ord(ch)]) for ch in sorted(found, key=text.find)]
'''
BYTES = '''\
def {name}(data):
    """The byte values in the data by first occurrence, and how often each is there."""
    times = {np}.bincount({np}.frombuffer(data, dtype={np}.uint8)).tolist()
    found = [value for value, count in enumerate(times) if count]
    return [(value, times[value]) for value in sorted(found, key=data.find)]
'''
SUBSTRINGS = '''\
def {name}(text, length):
    """The substrings of a length by first occurrence, and how often each is there."""
    codes = {np}.frombuffer(text.encode(), dtype={np}.uint8)
    letters = {np}.flatnonzero({np}.bincount(codes))
    digits = {np}.zeros(128, dtype={np}.int64)
    digits[letters] = {np}.arange(len(letters))
    count = max(0, len(text) - length + 1)
    numbers = {np}.zeros(count, dtype={np}.int64)
    # each substring is a number, whose digits are its characters among those in the text
    for k in range(length if count else 0):
        numbers = numbers * len(letters) + digits[codes[k : k + count]]
    if len(letters) ** length > 4 * count:
        _, first, times = {np}.unique(numbers, return_index=True, return_counts=True)
    else:
        first = {np}.empty(len(letters) ** length, dtype={np}.int64)
        first[numbers[::-1]] = {np}.arange(count)[::-1]  # the last one stored is the first one
        times = {np}.bincount(numbers)
        first, times = first[{np}.flatnonzero(times)], times[{np}.flatnonzero(times)]
    places = sorted(zip(first.tolist(), times.tolist()))
    return [(text[start : start + length], count) for start, count in places]
'''

LONGEST = 63
"""Digits from which on a number of two different digits leaves 64 bits."""


@dataclass(frozen=True)
class Elements:
    """What a loop runs over, and the name that its body has for each."""

    string: str
    """The string or the bytes, as written."""
    element: str
    body: tuple[ast.stmt, ...]
    """The loop's body without the statement that takes the element."""
    unused: frozenset[str]
    """Other names that the loop binds, and the rest of the body does not read."""
    helper: str
    """Text of the function that gives the distinct elements."""
    stem: str
    """What the helper is called, names permitting."""
    length: ast.expr | None = None
    """Of the substrings."""
    tests: tuple[str, ...] = ()
    """Conditions under which the helper is right."""

    @property
    def call(self) -> str:
        """The arguments of the helper."""
        return self.string if self.length is None else f"{self.string}, {ast.unparse(self.length)}"


def elements_of(region: Region) -> Elements | None:
    """The elements that the region's loop runs over; None if it is another kind of loop."""
    loop = region.loop
    if not isinstance(loop, ast.For) or loop.orelse or region.observation is None:
        return None
    seen = region.observation.values
    match loop.target, loop.iter:
        case ast.Name(id=element), ast.Name() | ast.Attribute():
            return _plain(dotted(loop.iter), element, tuple(loop.body), seen)
        case ast.Name(id=index), ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            return _substrings(index, stop, loop.body, seen)
    return None


def _plain(
    string: str | None, element: str, body: tuple[ast.stmt, ...], seen: Mapping[str, ValueInfo]
) -> Elements | None:
    """``for ch in text``, ``for b in data``."""
    info = seen.get(string or "")
    if string is None or info is None:
        return None
    if info.kind == "bytes":
        test = f"type({string}) is bytes"
        return Elements(string, element, body, frozenset(), BYTES, "_byte_values", tests=(test,))
    if info.kind != "str" or (info.maximum or 0) > 127:
        return None
    return Elements(
        string, element, body, frozenset(), CHARACTERS, "_characters", tests=_ascii(string)
    )


def _ascii(string: str) -> tuple[str, ...]:
    return (f"type({string}) is str", f"{string}.isascii()")


def _substrings(
    index: str, stop: ast.expr, body: list[ast.stmt], seen: Mapping[str, ValueInfo]
) -> Elements | None:
    """``for i in range(len(text) - k + 1): word = text[i : i + k]``."""
    match body[0]:
        case ast.Assign(
            targets=[ast.Name(id=element)],
            value=ast.Subscript(
                value=(ast.Name() | ast.Attribute()) as owner,
                slice=ast.Slice(lower=ast.Name(id=lower), upper=ast.expr() as upper, step=None),
            ),
        ) if lower == index:
            pass
        case _:
            return None
    string = dotted(owner)
    info = seen.get(string or "")
    if string is None or info is None or info.kind != "str" or (info.maximum or 0) > 127:
        return None
    match upper:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=length) if left == index:
            pass
        case _:
            return None
    number = length.value if isinstance(length, ast.Constant) else None
    if not isinstance(length, ast.Name) and not (type(number) is int and 0 < number < LONGEST):
        return None
    if _sum_of(stop) != _added(_sum_of(length), -1, {f"len({string})": 1, "": 1}):
        return None
    text, tests = ast.unparse(length), _ascii(string)
    if number is None:
        tests += (f"type({text}) is int", f"0 < {text} < {LONGEST}")
    tests += (f"len(set({string})) ** {text} < 2**63",)
    return Elements(
        string,
        element,
        tuple(body[1:]),
        frozenset({index}),
        SUBSTRINGS,
        "_substrings",
        length,
        tests,
    )


def _sum_of(node: ast.expr) -> dict[str, int]:
    """A sum as text of the term -> how often; constants under ``""``."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            return _added(_sum_of(right), 1 if isinstance(op, ast.Add) else -1, _sum_of(left))
        case ast.Constant(value=int() as value):
            return {"": value} if value else {}
    return {ast.unparse(node): 1}


def _added(terms: Mapping[str, int], sign: int, to: Mapping[str, int]) -> dict[str, int]:
    names = {*terms, *to}
    total = {name: to.get(name, 0) + sign * terms.get(name, 0) for name in names}
    return {name: count for name, count in total.items() if count}
