"""Calls behind ``and``, ``or`` and ``elif``: made in front, only where they were made before."""

from __future__ import annotations

import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.restated.restate import emit_restated
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

HEAD = """
def near(cells, i, reach):
    count = 0
    for k in range(i - reach, i + reach + 1):
        if cells[k % len(cells)] > 0:
            count += 1
    return count


def inverse(cells, i):
    total = 0.0
    for k in range(2):
        total += 1.0 / cells[i + k]
    return total


def k(cells, reach):
    born = 0
    died = 0
"""
TAIL = """
    return born, died, cells
"""
DATA = [([1, 0, 3, 0, 0, 5, 1, 2, 0, 7], 2), ([], 1), ([4, 0], 0)]


def answer(body):
    text = HEAD + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")) + TAIL
    region = region_for(text, "k", ([1, 0, 3, 0, 2, 0, 1, 4, 0, 6] * 3, 1))
    return text, region, emit_restated(region)


CONDITIONS = {
    "elif": """
for i in range(len(cells)):
    if cells[i] > 3:
        died += 1
    elif i % 3 < 2 and near(cells, i, reach) == 2:
        born += 1  # a comment that stays
    else:
        died += 2
""",
    "and": """
for i in range(len(cells)):
    if cells[i] == 0 and near(cells, i, reach) > 1:
        born += 1
""",
    "or": """
for i in range(len(cells)):
    if cells[i] > 2 or i > 5 or not near(cells, i, reach) < 2 or died > 9:
        died += 1
    else:
        born += 1
""",
    "one that would raise": """
for i in range(len(cells) - 1):
    if cells[i] != 0 and cells[i + 1] != 0 and inverse(cells, i) < 1.0:
        born += 1
""",
    "two in one chain": """
for i in range(len(cells)):
    if cells[i] > 3 and near(cells, i, 1) == 1:
        died += 1
    elif cells[i] == 0 and near(cells, i, reach) == 2:
        born += 1
""",
}


@pytest.mark.parametrize("body", CONDITIONS.values(), ids=CONDITIONS)
def test_equal(body):
    text, region, match = answer(body)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "njit" in after
    for cells, reach in DATA:
        pair = (list(cells), reach), (list(cells), reach)
        assert_same(run(text, "k", pair[0]), run(after, "k", pair[1]))


def test_what_may_be_no_truth_value_stays():
    """``flag = near(..)`` would be a count where the condition was never evaluated as a truth."""
    body = (
        "for i in range(len(cells)):\n    if reach == 0 and near(cells, i, 1):\n        born += 1"
    )
    _, _, found = answer(body)
    assert isinstance(found, Refusal)
