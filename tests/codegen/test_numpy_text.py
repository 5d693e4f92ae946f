"""Strings as arrays of code points in whole-array statements."""

from __future__ import annotations

import random

import pytest
from harness import region_for
from numpy_cases import Cases, check
from text_corpus import ODD

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Refusal

LONG = "".join(random.Random(3).choices("ACGTacgt 0123456789", k=3000))
cases = Cases()

cases.add(
    "hamming",
    """
def k(s, t):
    n = 0
    for i in range(len(s)):
        if s[i] == t[i]:
            n += 1
    return n
""",
    (LONG, LONG[::-1]),
    [(LONG, LONG[1:]), *((odd, odd) for odd in ODD)],
)
cases.add(
    "marks",
    """
def k(s, mark):
    n = total = 0
    for ch in s:
        if ch == mark or ch in "AC":
            n += 1
        elif ch.isdigit():
            total += ord(ch) - ord("0")
    return n, total
""",
    (LONG, "G"),
    [(LONG, ""), (LONG, "xy"), (LONG, 3), *((odd, "x") for odd in ODD)],
)
cases.add(
    "upper case letters",
    """
def k(s, out):
    for i, ch in enumerate(s):
        out[i] = ord(ch.upper()) - 32
    return out
""",
    (LONG, [0] * 3000),
    [(LONG, [0] * 10), ("\u00df", [0]), *((odd, [0] * 40) for odd in ODD)],
)
cases.add(
    "neighbours",
    """
def k(text):
    doubles = 0
    for a, b in zip(text, text[1:]):
        if a == b:
            doubles += 1
    return doubles
""",
    (LONG,),
    [(odd,) for odd in ODD],
)
cases.add(
    "bytes",
    """
def k(data, out):
    for i in range(len(data)):
        out[i] = (data[i] * 255 + 7) % 256
    return out
""",
    (LONG.encode(), [0] * 3000),
    [(bytearray(b"ab"), [0, 0]), (b"", []), (b"\xff\x80", [0, 0]), (b"abc", [0])],
)


@pytest.mark.parametrize("name", cases)
def test_as_in_python(name: str) -> None:
    assert ".frombuffer(" in check(cases[name])


def test_text_behind_the_loop_is_refused() -> None:
    text = (
        "def k(s, out):\n    for i in range(len(s)):\n        ch = s[i]\n        out[i] = ord(ch)\n"
        "    return ch\n"
    )
    found = emit(region_for(text, "k", (LONG, [0] * 3000)))
    assert isinstance(found, Refusal) and "leaves text in ch" in found.reason
