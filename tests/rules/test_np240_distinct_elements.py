"""Counting loops, once for each distinct element: counts, order of keys, exceptions."""

from __future__ import annotations

from typing import Any

import pytest
from harness import assert_same, run

from gpuadvise.api import Match, Refusal, Rewrites
from gpuadvise.cases import case_regions, first_match
from gpuadvise.edits import apply_edits
from gpuadvise.rules.np240_distinct_elements import distinct_elements

ODD: tuple[Any, ...] = ("", "a", "h\u00e9llo", list("abca"), "zyx zz", "a1b2?", "AAAA")

LOOPS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "dictionaries of all kinds": (
        """
from collections import Counter, defaultdict


def f(s):
    every = Counter()
    twice = defaultdict(int)
    some = {"a": 0, "t": 0}
    for ch in s:
        every[ch] += 1
        twice[ch.upper()] += 2
        if ch in some:
            some[ch] += 1
    return list(every.items()), list(twice.items()), list(some.items())
""",
        [("the quick brown fox",), *((odd,) for odd in ODD)],
    ),
    "a key that is not there": (
        """
def f(s):
    counts = {"A": 0, "C": 0, "G": 0, "T": 0}
    for base in s:
        counts[base] += 1
    return counts
""",
        [("GATTACA",), ("GATxTyA",), *((odd,) for odd in ODD)],
    ),
    "a dictionary from outside": (
        """
def f(s, counts):
    for base in s:
        if base not in counts:
            counts[base] = 0
        counts[base] += 1
    return list(counts.items())
""",
        [("GATTACA", {"T": 3}), ("GATT", {"T": 2.0**53}), ("G", {}), ("", {}), ("G", [])],
    ),
    "by condition": (
        """
VOWELS = set("aeiou")


def f(s, bonus):
    vowels = upper = at = 0
    for c in s:
        if not c.isalpha():
            continue
        low = c.lower()
        if low in VOWELS:
            vowels += bonus
        if low != c:
            upper += 1
        else:
            at -= ord(c) - 96
    return vowels, upper, at
""",
        [("The Quick brown fox", 3), ("Ox", 0.1), ("Ox", True), *((odd, 2) for odd in ODD)],
    ),
    "pairs": (
        """
def f(s):
    pairs = {}
    for i in range(len(s) - 1):
        p = s[i:i + 2]
        if p[0] == p[1]:
            pairs[p] = pairs.get(p, 0) + 1
    return list(pairs.items())
""",
        [("aabbccaabb",), ("ab",), *((odd,) for odd in ODD)],
    ),
    "substrings of any length": (
        """
def f(s, k):
    seen = {}
    for i in range(len(s) - k + 1):  # every window
        word = s[i:i + k]
        if word in seen:
            seen[word] += 1
        else:
            seen[word] = 1
    return list(seen.items())
""",
        [
            ("GATTACATTAGATTACA", 3),
            *(("GATTACATTAGATTACA", k) for k in (1, 2, 9, 17, 18, 40, 0, -1, 200, True, "x")),
            ("abcdefghij" * 3, 25),
            *((odd, 2) for odd in ODD),
        ],
    ),
    "bytes": (
        """
def f(data):
    used = set()
    ones = total = 0
    for b in data:
        ones += 1 if b & 1 else 0
        total += b * 2 + 1
        used.add(b >> 4)
    return ones, total, sorted(used)
""",
        [(bytes(range(0, 250, 7)) * 3,), (b"",), (bytearray(b"ab"),), ([300, -1],)],
    ),
}


def answer(text: str, args: tuple[Any, ...]) -> tuple[str, Match | Refusal | None]:
    """The text that the rule makes of it, or the original, and its answer."""
    inputs = f"args = {args!r}"
    regions = case_regions(Rewrites(before=text, function="f", inputs=inputs))
    found = first_match(distinct_elements, regions)
    last = found[-1]
    if not isinstance(last, Match):
        return text, last if isinstance(last, Refusal) else None
    return apply_edits(regions[0].source, last.edits).decode(), last


@pytest.mark.parametrize("name", LOOPS)
def test_the_same_is_left(name: str) -> None:
    text, calls = LOOPS[name]
    after, match = answer(text, calls[0])
    assert isinstance(match, Match), match
    assert match.safe
    for args in calls:
        assert_same(run(text, "f", args), run(after, "f", args), new_names=frozenset({"np"}))


def counting(body: str, before: str = "n = 0") -> str:
    """A function with a loop over characters."""
    indented = "\n".join(f"        {line}" for line in body.split("\n"))
    return f"def f(s, d):\n    {before}\n    for c in s:\n{indented}\n    return n, d\n"


REFUSED = {
    "the first time only": ("if c not in d:\n    d[c] = 1\n    n += 1", "d[c] = 1"),
    "starts again": ('n += 1\nif c == "a":\n    n = 0', "used otherwise"),
    "early end": ('if c == "a":\n    break\nn += 1', "more than counting"),
    "reads the sum": ("n += 1\nif n > 3:\n    d[c] = d.get(c, 0) + 1", "one iteration to the next"),
    "another key": ('d[c] = d.get("a", 0) + 1', "another key"),
    "hangs on what has been seen": ("if c in d:\n    n += 1\nd[c] = d.get(c, 0) + 1", "otherwise"),
    "a call of the user's": ("n += weight(c)", "may do anything"),
    "half of a dictionary is seen": ("d[c] += 1", "half way"),
    "a key that another statement puts in": (
        "if c in d:\n    d[c] += 1\nif c not in d:\n    d[c] = 0",
        "used otherwise",
    ),
    "the key is another one by then": (
        "k = c\nif k not in d:\n    d[k] = 0\nk = c.upper()\nd[k] += 1",
        "half way",
    ),
    "a float": ("n += 0.5", "may be no int"),
    "a product": ("n *= 2", "more than counting"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    body, words = REFUSED[name]
    text = counting(body) + "\n\ndef weight(c):\n    return 1\n"
    _, found = answer(text, ("abcab", {"a": 1, "b": 0, "c": 2}))
    assert isinstance(found, Refusal) and words in found.reason, found


def test_what_the_loop_leaves_in_its_variable_is_kept() -> None:
    text = "def f(s):\n    n = 0\n    for c in s:\n        n += 1\n    return n, c\n"
    _, found = answer(text, ("abc",))
    assert isinstance(found, Refusal) and "c is read after the loop" in found.reason
