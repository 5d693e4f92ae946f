"""Rows that change hands: ``previous = current`` and copies."""

import pytest
from nests import compare, good, nest_of

from gpuadvise.model import Refusal

ROWS = """
def f(s, t):
    previous = list(range(len(t) + 1))
    for i, a in enumerate(s):
        current = [i + 1]
        for j, b in enumerate(t):
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + (a != b)))
        previous = current
    return previous
"""
COPIES = """
def f(a, b):
    before = [float("inf")] * (len(b) + 1)
    before[0] = 0.0
    row = [0.0] * (len(b) + 1)
    for x in a:
        row[0] = float("inf")
        for j in range(len(b)):
            row[j + 1] = abs(x - b[j]) + min(before[j], before[j + 1], row[j])
        before = {copy}
    return before, row
"""


def test_a_row_is_handed_on() -> None:
    nest = compare(ROWS, "kitten", "sitting")
    assert nest.replaced == {"previous"} and "previous" in nest.grown


@pytest.mark.parametrize("copy", ["row[:]", "list(row)", "row.copy()"])
def test_a_row_is_copied(copy: str) -> None:
    nest = compare(COPIES.format(copy=copy), [1.0, 2.5, 4.0], [1.5, 3.0])
    assert nest.replaced == {"before"}


def test_none_is_replaced_where_none_is() -> None:
    assert good(COPIES.format(copy="row[:]"), [1.0], [2.0]).replaced == {"before"}
    assert isinstance(nest_of(COPIES.format(copy="row"), [1.0], [2.0]), Refusal)


REFUSED = {
    "the caller has it": (
        "def f(s, row):\n    for x in s:\n        new = [3]\n        row = new\n    return row\n",
        "another name",
    ),
    "it has another name": (
        "def f(s, row):\n    row = [0]\n    other = row\n    for x in s:\n"
        "        new = [row[0] + 3]\n        row = new\n    return row, other\n",
        "another name",
    ),
    "used under its old name": (
        "def f(s, row):\n    row = [0]\n    for x in s:\n        new = [3 * row[0]]\n"
        "        row = new\n        new.append(1)\n    return row\n",
        "",
    ),
    "another type": (
        "def f(s, row):\n    row = [0]\n    for x in s:\n        new = [x + 0.5 * row[0]]\n"
        "        row = new\n    return row\n",
        "",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, words = REFUSED[name]
    found = nest_of(text, [1, 2, 3], [0])
    assert isinstance(found, Refusal) and words in found.reason, found
