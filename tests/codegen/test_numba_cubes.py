"""Lists of lists of lists: compiled on a cube, in Python on all that only looks like one.

The first arguments of a case were observed. What is written goes into the lists that were there.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same
from test_numba_cpu import Loaded, _private_cache, rewritten

__all__ = ["_private_cache"]


def cube(*shape: int, start: float = 0.0) -> list[list[list[float]]]:
    """Numbers that all differ."""
    n, m, k = shape
    return [[[start + (i * m + j) * k + h for h in range(k)] for j in range(m)] for i in range(n)]


def ints(*shape: int) -> list[list[list[int]]]:
    """The same, of whole numbers."""
    return [[[int(v) for v in row] for row in plane] for plane in cube(*shape)]


def shared_row() -> list[list[list[float]]]:
    """Two planes of which one row is one object."""
    found = cube(2, 2, 3)
    found[1][0] = found[0][1]
    return found


def shared_plane() -> list[list[list[float]]]:
    """One plane twice."""
    found = cube(2, 2, 3)
    return [found[0], found[0]]


def changed(value: Any, *place: int) -> list[list[list[Any]]]:
    """One element, row or plane replaced."""
    found: Any = cube(2, 2, 3)
    holder = found
    for index in place[:-1]:
        holder = holder[index]
    holder[place[-1]] = value
    return found  # type: ignore[no-any-return]


SMOOTH = """
def f(a):
    for i in range(1, len(a)):
        for j in range(len(a[0])):
            for k in range(len(a[0][0])):
                a[i][j][k] = 0.5 * (a[i - 1][j][k] + a[i][j][k])
    return a
"""
ODD: tuple[Any, ...] = (
    shared_row(),
    shared_plane(),
    changed([1.0], 1, 1),
    changed([[1.0, 2.0, 3.0]], 1),
    changed(7, 1, 1, 2),
    changed(True, 0, 0, 0),
    changed("x", 1, 1, 1),
    changed((1.0, 2.0, 3.0), 0, 0),
    changed(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), 0),
    changed([], 1),
    [],
    [[], []],
    [[[], []], [[], []]],
    cube(1, 4, 2),
    [[[float("nan"), float("inf")]], [[-0.0, 1e308]]],
)
ALIASED = cube(2, 3, 4)
FLAT = [1.0, 2.0, 3.0, 4.0]

CASES: dict[str, tuple[str, tuple[tuple[Any, ...], ...]]] = {
    "written in place": (SMOOTH, ((cube(2, 2, 3),), *((a,) for a in ODD))),
    "a colour image": (
        """
def f(img, out, weights):
    for y in range(len(img)):
        for x in range(len(img[0])):
            pixel = img[y][x]
            grey = 0
            for c in range(3):
                grey += pixel[c] * weights[c]
            for c in range(3):
                out[y][x][c] = grey // 4
    return out
""",
        (
            (ints(2, 4, 3), ints(2, 4, 3), [1, 2, 1]),
            (ints(2, 4, 3), ints(2, 4, 3), [1, 2]),
            (ints(2, 4, 2), ints(2, 4, 3), [1, 2, 1]),
            (ints(2, 4, 3), ints(1, 4, 3), [1, 2, 1]),
            (ints(2, 4, 3), ints(2, 4, 3), [2**50, 2**70, 1]),
        ),
    ),
    "walked plane by plane": (
        """
def f(voxels, limit):
    total = 0.0
    count = 0
    for plane in voxels:
        for row in plane:
            for v in row:
                if v > limit:
                    total += v
                    count += 1
    return total, count
""",
        ((cube(2, 3, 4), 5.0), *((a, 2.0) for a in ODD)),
    ),
    "three levels, two and one": (
        """
def f(a, c, s):
    for r in range(len(a)):
        for q in range(len(a[0])):
            for p in range(len(c[0])):
                s[p] = 0.0
                for k in range(len(c)):
                    s[p] += a[r][q][k] * c[k][p]
            for p in range(len(c[0])):
                a[r][q][p] = s[p]
    return a, s
""",
        (
            (cube(2, 3, 4), cube(1, 4, 4, start=3.0)[0], [0.0] * 4),
            (ALIASED, ALIASED[0], [0.0] * 4),
            (ALIASED, cube(1, 4, 4)[0], ALIASED[1][2]),
            (cube(2, 3, 4), [FLAT, [5.0] * 4, [6.0] * 4, [7.0] * 4], FLAT),
        ),
    ),
    "two cubes, one written": (
        """
def f(a, b):
    for i in range(len(a)):
        for j in range(len(a[0])):
            for k in range(1, len(a[0][0])):
                b[i][j][k] = a[i][j][k - 1] + b[i][j][k]
    return b
""",
        (
            (cube(2, 2, 3), cube(2, 2, 3, start=9.0)),
            (ALIASED, ALIASED),
            (ALIASED, [ALIASED[1], ALIASED[0]]),
            (ALIASED, [list(plane) for plane in ALIASED]),
            (ALIASED, [[[1.0] * 4, ALIASED[0][0], [2.0] * 4], cube(1, 3, 4)[0]]),
            (cube(2, 2, 3), cube(2, 2, 2)),
        ),
    ),
    "names that the wrapper might take": (
        """
def f(row, values, plane, table, row_array):
    for i in range(len(row)):
        for j in range(len(row[0])):
            for k in range(len(row[0][0])):
                row[i][j][k] += row_array
                table[i][j][k] += row[i][j][k]
                plane[i][j] += 1.5
                values[i][j] += plane[i][j]
    return row, values, plane, table
""",
        (
            (
                cube(2, 3, 4),
                cube(1, 2, 3)[0],
                cube(1, 2, 3)[0],
                cube(2, 3, 4),
                0.25,
            ),
        ),
    ),
    "a result with the name of another's new value": (
        """
def f(a, worst, new_worst, new_a):
    for i in range(len(a)):
        worst = max(worst, a[i])
        new_worst += a[i]
        new_a[i] = a[i]
    return worst, new_worst, new_a
""",
        (
            (np.array([1.0, 3.0]), 2.5, 0.5, np.zeros(2)),
            (np.array([1.0, 2.0]), 2.5, 0.5, np.zeros(2)),
            (np.zeros(0), 2.5, 0.5, np.zeros(0)),
        ),
    ),
    "the last index is read": (
        """
def f(row, values):
    last = 0
    for row_ in range(len(row)):
        for j in range(len(row[0])):
            row[row_][j] += 1.0
            values[row_][j] += row[row_][j]
            last = j
    return row, values, last
""",
        ((cube(1, 2, 3)[0], cube(1, 2, 3)[0]), (cube(1, 2, 3)[0], cube(1, 3, 3)[0])),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_same_numbers(name: str, tmp_path: Path) -> None:
    text, argument_sets = CASES[name]
    text = text.lstrip("\n")
    after = Loaded(rewritten(text, "f", argument_sets[0]), tmp_path / "after.py")
    before = Loaded(text, tmp_path / "before.py")
    for number, args in enumerate(argument_sets):
        expected, found = before.call("f", args), after.call("f", args)
        if number == 0:
            assert after.compilations == 1, "the guard turned down what was observed"
        assert_same(expected, found)
    assert after.compilations == 1, "compiled again for other types"


def test_the_lists_that_were_there_are_written(tmp_path: Path) -> None:
    first = cube(2, 2, 3)
    after = Loaded(rewritten(SMOOTH.lstrip("\n"), "f", (first,)), tmp_path / "after.py")
    given = copy.deepcopy(first)
    inside = [given, *given, *(row for plane in given for row in plane)]
    returned = after.names["f"](given)
    outside = [returned, *returned, *(row for plane in returned for row in plane)]
    assert all(a is b for a, b in zip(inside, outside, strict=True))
    assert {type(v) for plane in given for row in plane for v in row} == {float}
    assert given != first
