"""Strings at the edge of new code: as arrays of code points on the way in, text on the way out.

Each form comes with the condition under which the numbers stand for the text.
"""

from __future__ import annotations

from ..loopnest.ir import Interval
from ..loopnest.text import FIRST_WORD, LAST_ASCII


def array_of(text: str, kind: str, room: Interval, numpy: str) -> str:
    """The string, or the bytes, as an array; ``room``: the numbers of its characters."""
    if kind == "bytes":
        return f"{numpy}.frombuffer({text}, dtype={numpy}.uint8)"
    if room.high == LAST_ASCII:
        return f"{numpy}.frombuffer({text}.encode(), dtype={numpy}.int8)"
    encoded = f'{text}.encode("utf-32-le", "surrogatepass")'
    return f"{numpy}.frombuffer({encoded}, dtype={numpy}.int32)"


def string_test(text: str, kind: str, room: Interval) -> str:
    """The condition under which the array stands for the string or the bytes."""
    test = f"type({text}) is {kind}"
    return f"{test} and {text}.isascii()" if kind == "str" and room.high == LAST_ASCII else test


def short_test(text: str, room: Interval) -> str:
    """The condition under which one number stands for a character, or for none."""
    length = "== 1" if room.low is not None and room.low >= 0 else "<= 1"
    return f"{string_test(text, 'str', room)} and len({text}) {length}"


def short_number(text: str, room: Interval) -> str:
    """The number of a character, or of none."""
    if room.low is not None and room.low >= 0:
        return f"ord({text})"
    return f"(ord({text}) if {text} else -1)"


def is_one_character(room: Interval) -> bool:
    """Numbers that all stand for one character."""
    low, high = room.low, room.high
    return low is not None and low >= 0 and high is not None and high < FIRST_WORD


def text_again(number: str, room: Interval, words: tuple[str, ...]) -> str:
    """The text of a number; it is named more than once unless that is one character."""
    if is_one_character(room):
        return f"chr({number})"
    short = f'chr({number}) if {number} >= 0 else ""'
    if not words:
        return short
    quoted = ", ".join(f'"{w}"' if w.isidentifier() else repr(w) for w in words)
    listed = f"({quoted},)" if len(words) == 1 else f"({quoted})"
    return f"{listed}[{number} - {FIRST_WORD}] if {number} >= {FIRST_WORD} else {short}"
