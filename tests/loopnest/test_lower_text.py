"""Characters and strings: the nest has numbers for them, and must do what the Python loop does."""

from typing import Any

import pytest
from nests import compare, good, nest_of

from gpuadvise.loopnest.ir import Interval
from gpuadvise.loopnest.text import EMPTY, FIRST_WORD
from gpuadvise.model import Refusal

TEXT = "The quick (brown) fox, 12 jumps over 3 lazy dogs!\n"

LOOPS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "equal characters": (
        """
def f(s, t):
    n = 0
    for i in range(len(s)):
        if s[i] == t[-1 - i] or s[i] > "x":
            n += 1
    return n
""",
        (TEXT, TEXT),
    ),
    "edit distance": (
        """
def f(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            d[i][j] = d[i - 1][j - 1] if x == y else 1 + min(d[i - 1][j], d[i][j - 1])
    return d
""",
        ("kitten", "sitting"),
    ),
    "runs": (
        """
def f(s):
    previous = ""
    run = best = 0
    for ch in s:
        run = run + 1 if ch == previous else 1
        previous = ch
        best = max(best, run)
    return best, previous
""",
        ("aabbbbcdd",),
    ),
    "classes of characters": (
        """
import string
VOWELS = set("aeiou")

def f(s):
    marks = ("(", ")")
    counts = [0] * 9
    for ch in s:
        if ch.lower() in VOWELS:
            counts[0] += 1
        elif ch.isalpha():
            counts[1] += 1
        elif ch in string.digits:
            counts[2] += int(ch)
        elif ch in marks:
            counts[3] += 1
        elif ch not in ",.!":
            counts[4] += 1
        large = ch.upper()
        if large in "AEIOU":
            counts[7] += 1
        if ch.isspace() or not ch.isalnum():
            counts[5] += 1
        if ch.upper() == ch and "A" <= ch <= "Z":
            counts[6] += ord(ch) - ord("A")
    return counts
""",
        (TEXT,),
    ),
    "states with names": (
        """
def f(s):
    state = "outside"
    n = 0
    for ch in s:
        if state == "outside" and ch == "(":
            state = "inside"
        elif state == "inside":
            if ch == ")":
                state = "outside"
            else:
                n += 1
    return state, n
""",
        (TEXT,),
    ),
    "one character from before": (
        """
def f(s, wanted, other):
    first = last = -1
    for i, ch in enumerate(s):
        if ch == wanted:
            first = i if first < 0 else first
            last = i
        elif ch != other:
            last = 0
    return first, last
""",
        (TEXT, "o", ""),
    ),
    "characters out": (
        """
def f(s, shift):
    out = []
    line = ""
    for ch in s:
        if ch.islower():
            out.append(chr((ord(ch) - 97 + shift) % 26 + 97))
            line += ch.upper()
        else:
            out.append(ch)
            line += "-"
    return out, line
""",
        (TEXT, 3),
    ),
    "beyond ASCII": (
        """
def f(s, t):
    n = 0
    for x, y in zip(s, t):
        if x == y or x == "\u00e9":
            n += ord(x)
    return n
""",
        ("h\u00e9llo \U0001f600 \ud800", "hallo \U0001f600 \ud800"),
    ),
    "neighbours": (
        """
def f(text):
    runs, previous, doubles, last = [], text[0], 0, 0
    n = 1
    for c in text[1:]:
        if c == previous:
            n += 1
        else:
            runs.append(n)
            previous = c
            n = 1
    for a, b in zip(text, text[1:]):
        doubles += a == b
    for i, c in enumerate(text[2:-1], 2):
        if c == " ":
            last = i
    return runs, doubles, last
""",
        (TEXT,),
    ),
    "bytes": (
        """
def f(data, table):
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b ^ table[(a ^ byte) & 0xFF]) & 0xFFFFFFFF
    return a, b
""",
        (TEXT.encode(), list(range(256))),
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_as_in_python(name: str) -> None:
    text, args = LOOPS[name]
    compare(text, *args)


@pytest.mark.parametrize("text", ["", "x"])
def test_short_texts(text: str) -> None:
    compare(LOOPS["runs"][0], text)


REFUSED: dict[str, tuple[str, Any, str]] = {
    "number and character": ("n += s[i] == 3", "abc", "comparison == of str and int"),
    "longer text": ('n += (s[i] + "x") == "ax"', "abc", "operator + on str and str"),
    "repeated": ('n += (s[i] * 2) == "aa"', "abc", "operator * on str and int"),
    "truth": ("n += 1 if s[i] else 0", "abc", "truth value of a str"),
    "and": ('n += (s[i] and "x") == "x"', "abc", "truth value of a str"),
    "part of a word": ('n += "ab" in "abc"', "abc", "a search for other than one character"),
    "order of words": ('n += "ab" < s[i]', "abc", "the order of words"),
    "methods beyond ASCII": ("n += s[i].isalpha()", "ab\u00e9", "a character beyond ASCII"),
    "a stored character": ('s[i] = "x"', "abc", "s is a str"),
    "chr of anything": ("n += ord(chr(n - 1))", "abc", "may be no character"),
    "slices": ("n += s[i:i + 2] == 'ab'", "abc", "the slice"),
    "index": ("n += [1, 2][s[i]]", "abc", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    statement, value, words = REFUSED[name]
    text = f"def f(s):\n    n = 0\n    for i in range(len(s)):\n        {statement}\n    return n\n"
    found = nest_of(text, value)
    assert isinstance(found, Refusal) and words in found.reason, found


@pytest.mark.parametrize("part", ["s[-2:]", "s[1:3]", "s[::2]", "s[n:]"])
def test_other_parts_of_texts_are_refused(part: str) -> None:
    text = f"def f(s):\n    n = 0\n    for ch in {part}:\n        n += 1\n    return n\n"
    assert isinstance(nest_of(text, "abcd"), Refusal)


def test_nothing_of_a_text_that_may_be_empty() -> None:
    text = """
def f(s):
    n = 0
    previous = ""
    for ch in s:
        n += {}
        previous = ch
    return n
"""
    for expression, words in {
        "ord(previous)": "ord() of no character",
        'previous in "abc"': "a search for other than one character",
    }.items():
        found = nest_of(text.format(expression), "abc")
        assert isinstance(found, Refusal) and words in found.reason, found


def test_numbers_of_text() -> None:
    nest = good(LOOPS["states with names"][0], TEXT)
    assert nest.words == ("inside", "outside")
    assert nest.scalars["state"].literal == FIRST_WORD + 1
    assert nest.text == {"state", "ch"}
    assert nest.arrays["s"].interval == Interval(0, 127)
    nest = good(LOOPS["one character from before"][0], TEXT, "o", "")
    assert nest.scalars["wanted"].interval == Interval(0, 127)
    assert nest.scalars["other"].interval == Interval(EMPTY, 127)


def test_a_text_of_the_loop_may_not_be_a_name_that_changes() -> None:
    text = """
def f(s):
    n = 0
    marks = "ab"
    for ch in s:
        n += ch in marks
        marks = "cd"
    return n
"""
    assert isinstance(nest_of(text, "abc"), Refusal)
