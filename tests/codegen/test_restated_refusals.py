"""Loops that no plainer text does the same as, and the reasons given."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer

from gpuadvise.model import Refusal

CELL = """\
class Cell:
    def __init__(self, q):
        self.q = q


"""
REFUSED = (
    (
        Case(
            name="last_number",
            text="""\
def last_number(xs):
    last = None
    total = 0
    for x in xs:
        if x > 3:
            last = x
        total += last
    return total
""",
            seen="([5, 1, 2],)",
        ),
        "last may be None where it is read",
    ),
    (
        Case(
            name="keeps",
            text=CELL
            + """\
def keeps(cells):
    for t in range(5):
        for c in cells:
            c.q += 0.5
    return c.q
""",
            seen="([Cell(0.5), Cell(1.5)],)",
        ),
        "c, a record, is read outside the loop",
    ),
    (
        Case(
            name="two_lists",
            text=CELL
            + """\
def two_lists(cells, others):
    for t in range(5):
        for i in range(len(cells)):
            cells[i].q += others[i].q
""",
            seen="([Cell(0.5)], [Cell(1.5)])",
        ),
        "may be an attribute of a record of cells",
    ),
    (
        Case(
            name="observed",
            text="""\
class Cell:
    def __init__(self, q):
        self.q = q

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        print(name)


def observed(cells):
    for t in range(5):
        for c in cells:
            c.q += 0.5
""",
            seen="([Cell(0.5)],)",
        ),
        "nothing to restate",
    ),
    (
        Case(
            name="from_the_end",
            text=CELL
            + """\
def from_the_end(cells, k):
    total = 0.0
    for i in range(len(cells)):
        for c in cells[:k]:
            total += c.q * i
    return total
""",
            seen="([Cell(0.5), Cell(1.5), Cell(2.5)], -1)",
        ),
        "a slice of cells to k",
    ),
    (
        Case(
            name="seen_later",
            text="""\
def seen_later(n):
    stack = [(0, 0)]
    total = 0
    while stack:
        i, j = stack.pop()
        total += i * j
        if i < n and j < n:
            stack.append((i + 1, j + 1))
    return total, stack
""",
            seen="(5,)",
        ),
        "stack may be seen behind the loop",
    ),
    (
        Case(
            name="rows_written",
            text="""\
def rows_written(rows, table):
    for i in range(len(rows)):
        table[i][0] = 7
        for v in rows[i]:
            table[i][1] += v
""",
            seen="([[1], [2, 3]], [[0, 0], [0, 0]])",
        ),
        "",
    ),
)


@pytest.mark.parametrize(("case", "reason"), REFUSED, ids=lambda value: str(value))
def test_refused(case: Case, reason: str, tmp_path: Path) -> None:
    found = answer(case, tmp_path)
    if case.name == "rows_written":
        # what is written may be a row of the list that is read: only tuples are copied then
        assert not isinstance(found, Refusal)
        assert "set(map(type, rows)) <= {tuple}" in found[0]
        return
    assert isinstance(found, Refusal), found[0]
    assert reason in found.reason
