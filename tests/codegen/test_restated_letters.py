"""Grids of characters: numbers inside the compiled loop, the same text everywhere else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from harness import assert_same, region_for, run
from restating import Case, answer, check

from gpuadvise.codegen.restated.restate import emit_restated
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

MAKE = "[[random.choice('#.') for _ in range(9)] for _ in range(7)]"

LIFE = """
def f(grid):
    h, w = len(grid), len(grid[0])
    new = [["."] * w for _ in range(h)]
    for y in range(h):
        for x in range(w):
            n = 0
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    if (dy or dx) and grid[(y + dy) % h][(x + dx) % w] == "#":
                        n += 1
            if n == 3 or (n == 2 and grid[y][x] == "#"):
                new[y][x] = "#"
    return new, grid
"""
SAND = """
def f(cave, grains):
    rows = len(cave)
    rest = 0
    for _ in range(grains):
        r, c = 0, len(cave[0]) // 2
        while r + 1 < rows:
            if cave[r + 1][c] == ".":
                r += 1
            elif c > 0 and cave[r + 1][c - 1] == ".":
                r, c = r + 1, c - 1
            elif c + 1 < len(cave[0]) and cave[r + 1][c + 1] == ".":
                r, c = r + 1, c + 1
            else:
                break
        mark = "o" if cave[r][c] == "." else cave[r][c]
        cave[r][c] = mark
        rest += mark == "o"
    return cave, rest
"""
SHIFT = """
class Cucumbers:
    def __init__(self, field):
        self.field = field

    def east(self):
        moved = 0
        n, m = len(self.field), len(self.field[0])
        for r in range(n):
            c = 0
            while c < m:
                if self.field[r][c] == ">" and self.field[r][(c + 1) % m] == ".":
                    self.field[r][c] = "."
                    self.field[r][(c + 1) % m] = ">"
                    moved += 1
                    c += 2
                else:
                    c += 1
        return moved


def f(field):
    return Cucumbers(field).east(), field
"""

CASES: Sequence[Case] = (
    Case(
        "f",
        LIFE,
        f"({MAKE},)",
        (
            "([['#']],)",
            "([['#', '.'], ['.']],)",
            "([['#', ''], ['.', '#']],)",
            "([['##', '.'], ['.', '#']],)",
            "([['#', 1], ['.', '#']],)",
            "(['#..', '.#.', '..#'],)",
            "([['\U0001f600', '#'], ['#', '#']],)",
            "([['#', '.', '#']] * 3,)",
        ),
        ("chr(grid_codes[", "new_codes[y][x] = ord("),
    ),
    Case(
        "f",
        SAND,
        "([list('.' * 9) for _ in range(6)], 12)",
        (
            "([list('.#.') for _ in range(3)], 9)",
            "([list('.#.')] * 3, 9)",
            "([], 0)",
            "([], 1)",
        ),
        ("[:] = map(chr, ",),
    ),
    Case(
        name="reached",
        text="""\
from collections import deque


def reached(grid, y, x):
    steps = [[-1] * len(grid[0]) for _ in grid]
    steps[y][x] = 0
    queue = deque()
    queue.append((y, x))
    while queue:
        y, x = queue.popleft()
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            ny, nx = y + dy, x + dx
            if 0 <= ny < len(grid) and 0 <= nx < len(grid[0]):
                if grid[ny][nx] == "." and steps[ny][nx] == -1:
                    steps[ny][nx] = steps[y][x] + 1
                    queue.append((ny, nx))
    return steps
""",
        seen="([list('..#.'), list('.#..'), list('....'), list('##..')], 0, 0)",
        others=(
            "([list('#')], 0, 0)",
            "([list('.#'), list('#.')], 1, 1)",
            "([list('.\u00e9'), list('..')], 0, 0)",
            "([['.', 'ab'], ['.', '.']], 0, 0)",
            "([list('..'), list('..')], 5, 0)",
        ),
        contains=("queue_head < len(queue_0)", "grid_codes"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=("life", "sand", "queue"))
def test_equal(case, tmp_path):
    check(case, tmp_path)


LEFT_ALONE = {
    "a row as such": "row = grid[r]\n            total += row[c] == '#'",
    "another function sees it": "total += peek(grid, r, c)",
    "a walrus": "total += (cell := grid[r][c]) == '#'",
    "a method of a whole row": "total += grid[r].count('#')",
}


@pytest.mark.parametrize("inner", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(inner, tmp_path):
    text = f"""
def peek(grid, r, c):
    grid[0][0] = "."
    return grid[r][c] == "#"


def f(grid):
    total = 0
    for r in range(len(grid)):
        for c in range(len(grid[0])):
            {inner}
    return total
"""
    found = answer(Case("f", text, f"({MAKE},)"), tmp_path)
    assert isinstance(found, Refusal)


def test_lists_of_strings_stay(tmp_path):
    """Beyond the end of a string another IndexError is raised than of a list."""
    text = """
def f(lines, n):
    total = 0
    for r in range(n):
        for c in range(n):
            total += lines[r][c] == "#"
    return total
"""
    assert isinstance(answer(Case("f", text, "(['#.#.'] * 4, 4)"), tmp_path), Refusal)


def test_of_an_object():
    names: dict[str, Any] = {"__name__": "cucumbers"}
    exec(SHIFT, names)
    rng = random.Random(4)
    field = [[rng.choice(">.") for _ in range(9)] for _ in range(5)]
    region = region_for(SHIFT, "Cucumbers.east", (names["Cucumbers"](field),))
    match = emit_restated(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    for one in (field, [[">"]], [[">", "."], ["."]], [], [[">>", "."]], [[">", "."]] * 2):
        assert_same(run(SHIFT, "f", (one,)), run(after, "f", (one,)))


CHR = """
def f(codes):
    found = 0
    for code in codes:
        if chr(code) == "a":
            found += 1
    return found
"""


def test_a_number_that_may_be_no_character_stays():
    """``chr(-5)`` raises; compiled code compares the number itself."""
    region = region_for(CHR, "f", ([97, 98, 97] * 30,))
    assert isinstance(region.nest, Refusal) and "no character" in region.nest.reason
