"""Calls behind ``and``, ``or`` and ``elif``: written out in front, under what comes before."""

from __future__ import annotations

import random

import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen import numpy_backend
from gpuadvise.codegen.lanes import emit_lanes
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.codegen.restated.restate import emit_restated
from gpuadvise.model import Match
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
DATA = [([1, 0, 3, 0, 0, 5, 1, 2, 0, 7], 2), ([], 1), ([4, 0], 0), ([0, 0, 0], 0)]

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
    "a count as the truth": """
for i in range(len(cells)):
    if i % 2 == 0 and near(cells, i, 0):
        born += 1
""",
}


def region_of(body):
    text = HEAD + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")) + TAIL
    return text, region_for(text, "k", ([1, 0, 3, 0, 2, 0, 1, 4, 0, 6] * 3, 1))


@pytest.mark.parametrize("body", CONDITIONS.values(), ids=CONDITIONS)
def test_compiled(body):
    text, region = region_of(body)
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "njit" in after
    for cells, reach in DATA:
        pair = (list(cells), reach), (list(cells), reach)
        assert_same(run(text, "k", pair[0]), run(after, "k", pair[1]))


LATE = {
    "first": "if near(cells, i, reach) < 3 and cells[i] > 2:\n    born += 1",
    "and": "if cells[i] > 2 and near(cells, i, reach) < 3:\n    born += 1",
    "or": "if cells[i] > 2 or not near(cells, i, reach) < 3:\n    born += 1",
    "not": "if not (cells[i] > 2 and near(cells, i, reach) < 3):\n    born += 1",
}


@pytest.mark.parametrize("test", LATE.values(), ids=LATE)
def test_values_of_lanes_are_taken_where_the_call_was_evaluated(test):
    """There is none for other iterations: `next` would hand out another one's."""
    body = "for i in range(len(cells)):\n" + "".join(f"    {x}\n" for x in test.split("\n"))
    cells = random.Random(3).choices(range(6), k=400)
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + TAIL
    region = region_for(text, "k", (cells, 2))
    match = emit_lanes(region)
    assert isinstance(match, Match) == test.startswith("if near"), match
    if isinstance(match, Match):
        after = apply_edits(region.source, match.edits).decode()
        assert_same(run(text, "k", (cells, 2)), run(after, "k", (cells, 2)))


GENERATOR = """
for i in range(len(cells)):
    if cells[i] > 0 and sum(1 for d in range(3) if cells[(i + d) % len(cells)] == 0) == 1:
        born += 1
"""


def test_a_sum_of_a_generator_is_written_out_under_what_comes_before():
    text, region = region_of(GENERATOR)
    match = numpy_backend.emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    for cells, reach in DATA:
        pair = (list(cells), reach), (list(cells), reach)
        assert_same(run(text, "k", pair[0]), run(after, "k", pair[1]))


def test_restated_for_another_reason():
    """An early return: the conditions in the restated loop need nothing of their own."""
    body = """
for i in range(len(cells)):
    if cells[i] == 0 and near(cells, i, reach) > 1:
        born += 1
    if born > 5:
        return born, died, cells
"""
    text, region = region_of(body)
    match = emit_restated(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    for cells, reach in [*DATA, ([0, 1] * 20, 3)]:
        pair = (list(cells), reach), (list(cells), reach)
        assert_same(run(text, "k", pair[0]), run(after, "k", pair[1]))


GRID = """
OFF, ON, DYING = 0, 1, 2


class Brain:
    def __init__(self, cells):
        self.cells = cells
        self.rows, self.columns = len(cells), len(cells[0])

    def around(self, row, column):
        count = 0
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                if dr == 0 and dc == 0:
                    continue
                if self.cells[(row + dr) % self.rows][(column + dc) % self.columns] == ON:
                    count += 1
        return count

    def step(self):
        fresh = [[OFF] * self.columns for _ in range(self.rows)]
        for row in range(self.rows):
            for column in range(self.columns):
                cell = self.cells[row][column]
                if cell == ON:
                    fresh[row][column] = DYING
                elif cell == OFF and self.around(row, column) == 2:
                    fresh[row][column] = ON
        self.cells = fresh


def steps(cells, number):
    brain = Brain(cells)
    for _ in range(number):
        brain.step()
    return brain.cells
"""


def cells_of(rows, columns, most=1, seed=5):
    rng = random.Random(seed)
    return [[rng.randint(0, most) for _ in range(columns)] for _ in range(rows)]


def test_a_count_under_a_condition_is_made_ahead_of_it():
    names: dict[str, object] = {"__name__": "grid"}
    exec(GRID, names)
    brain = names["Brain"](cells_of(30, 40, 2))  # type: ignore[operator]
    region = region_for(GRID, "Brain.step", (brain,))
    match = numpy_backend.emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert after.count(" += padded") >= 6, "one addition for each neighbour"
    assert "np.zeros(" in after or "np.array(fresh" in after
    for cells in (
        cells_of(9, 7),
        cells_of(6, 6, 3),
        cells_of(1, 4),
        [[True, False, True], [1, 0, 1]],
        [[1.0, 0.0], [0.0, 1.0]],
        [[2**70, 1], [0, 1]],
    ):
        assert_same(run(GRID, "steps", (cells, 4)), run(after, "steps", (cells, 4)))
