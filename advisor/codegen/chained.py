"""The tests in front of new code, as the head of an ``if``.

Tests that ask the same of several names are one chain, which is shorter to read and asks less: ::

    if (
        type(a) is type(x) is np.ndarray
        and a.dtype == x.dtype == np.float64
        and ...

"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LIMIT = 72
"""Longest test or one-line condition."""
_PATTERNS = (
    (re.compile(r"(type\([\w.]+\)) is ([\w.]+)"), " is "),
    (re.compile(r"([\w.]+\.dtype) == ([\w.]+)"), " == "),
    (re.compile(r"([\w.]+\.ndim) == (\d+)"), " == "),
    (re.compile(r"([\w.]+\.shape) == (\(.+\))"), " == "),
)


def condition_lines(tests: Sequence[str]) -> list[str]:
    """The head of an ``if`` that asks all of the tests."""
    joined = chained(tests)
    text = " and ".join(joined)
    if len(text) <= LIMIT:
        return [f"if {text}:"]
    return ["if (", f"    {joined[0]}", *(f"    and {test}" for test in joined[1:]), "):"]


def chained(tests: Sequence[str]) -> list[str]:
    """The tests, where several ask the same as a chain in the place of the first of them.

    A test only moves in front of tests of other names, or of a later kind: the types of all arrays
    are asked before the first dtype.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for test in tests:
        asked, operator, wanted = _parts(test)
        alone = "" if operator else test
        groups.setdefault((operator, wanted, alone), []).append(asked)
    result: list[str] = []
    for (operator, wanted, alone), asked_of in groups.items():
        result += [alone] if alone else _chains(asked_of, operator, wanted)
    return result


def _parts(test: str) -> tuple[str, str, str]:
    """What is asked, the operator, and what is wanted; no operator if it takes part in no chain."""
    for pattern, operator in _PATTERNS:
        match = pattern.fullmatch(test)
        if match is not None:
            return match[1], operator, match[2]
    return test, "", ""


def _chains(asked: Sequence[str], operator: str, wanted: str) -> Iterator[str]:
    """As many as it takes to keep the lines short."""
    chain = ""
    for one in asked:
        longer = f"{chain}{operator}{one}" if chain else one
        if chain and len(longer + operator + wanted) > LIMIT:
            yield f"{chain}{operator}{wanted}"
            longer = one
        chain = longer
    yield f"{chain}{operator}{wanted}"
