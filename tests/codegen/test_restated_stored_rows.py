"""Tables made row by row: ``row = []``, ``row.append(..)``, ``table.append(row)`` (NP205)."""

from __future__ import annotations

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

rng = np.random.default_rng(41)


def rows(n, m):
    return rng.standard_normal((n, m)).tolist()


def rewritten(text, args):
    region = region_for(text, "k", args)
    match = emit_restated_arrays(region)
    assert isinstance(match, Match), match
    return apply_edits(region.source, match.edits).decode()


def check(text, observed, *others):
    after = rewritten(text, observed)
    for args in (observed, *others):
        before, now = run(text, "k", args), run(after, "k", args)
        assert_same(before, now, compare_warnings=False)
    return after


PICTURE = """
def k(image, gain):
    out = []
    for row in image:
        new = []
        for value in row:
            if value > 1.0:
                new.append(1.0)
            else:
                new.append(value * gain)
        out.append(new)
    return out
"""


def test_rows_of_a_picture():
    ragged = rows(3, 4)
    ragged[1].append(0.5)
    after = check(
        PICTURE,
        (rows(20, 30), 0.5),
        (rows(1, 1), 2.0),
        ([], 0.5),
        ([[], []], 0.5),
        (ragged, 0.5),
        ([[1, 0], [2, 3]], 0.5),
        (rows(3, 4), 2),
        (tuple(rows(2, 2)), 0.5),
    )
    assert "out.extend(out_new.tolist())" in after


def test_what_is_walked_once_is_not_measured():
    """A generator has no length: the test for a list comes first."""
    text = PICTURE.replace("(image, gain):", "(image, gain):\n    image = image()")
    image = rows(20, 30)
    after = rewritten(text, (lambda: image, 0.5))
    for source in (lambda: iter(image[:3]), list):
        assert_same(run(text, "k", (source, 0.5)), run(after, "k", (source, 0.5)))


def test_numbers_of_two_ranges():
    text = """
def k(h, w, first):
    table = []
    for y in range(h):
        line = []
        for x in range(first, w):
            line.append((x * 3 + y) % 7)
        table.append(line)
    return table
"""
    sizes = ((0, 0, 0), (3, 0, 0), (3, 2, 5), (-1, 4, 0), (2, 9, -4), (2.0, 3, 0))
    after = check(text, (30, 40, 1), *sizes)
    assert "max(" in after


def test_neighbours_at_the_border():
    text = """
def k(a):
    blurred = []
    for y in range(len(a)):
        line = []
        for x in range(len(a[y])):
            left = a[y][x - 1] if x > 0 else 0.0
            right = a[y][x + 1] if x < len(a[y]) - 1 else 0.0
            line.append(left + 2.0 * a[y][x] + right)
        blurred.append(line)
    return blurred
"""
    check(text, (rows(20, 30),), (rows(1, 1),), (rows(3, 1),), (rows(1, 3),), ([],))


def test_two_tables_at_once_and_a_list_from_before():
    text = """
def k(a, low, high):
    for y, row in enumerate(a):
        less = []
        more = []
        for x, value in enumerate(row):
            less.append(value - x)
        for x, value in enumerate(row):
            more.append(value + y)
        low.append(less)
        high.append(more)
    return low, high
"""
    check(text, (rows(20, 30), [], []), (rows(2, 3), [[9]], [1]), ([], [], []))
    after = rewritten(text, (rows(20, 30), [], []))
    one = []
    args = (rows(2, 2), one, one)
    assert_same(run(text, "k", args), run(after, "k", args))


@pytest.mark.parametrize(
    "line",
    [
        "table.append(tuple(row))",
        "table.append(row)\n        table.append(row)",  # one list, two places
        "table.append(row)\n        last = row",
        "if len(table) < 9:\n            table.append(row)",
        "row.append(0.5)\n        table.append(row)",
        "table.append(row)\n        if y > h - 3:\n            break",
    ],
)
def test_rows_that_are_used_otherwise_are_left(line):
    text = f"""
def k(h, w):
    table = []
    for y in range(h):
        row = []
        for x in range(w):
            row.append(x * 0.5 + y)
        {line}
    return table
"""
    assert not isinstance(emit_restated_arrays(region_for(text, "k", (30, 40))), Match)


def test_a_row_that_is_read_behind_the_loop_is_left():
    text = """
def k(h, w):
    table = []
    row = [1]
    for y in range(h):
        row = []
        for x in range(w):
            row.append(x * 0.5 + y)
        table.append(row)
    return table, row
"""
    assert not isinstance(emit_restated_arrays(region_for(text, "k", (30, 40))), Match)


def test_rows_that_grow_are_left():
    text = """
def k(h):
    table = []
    for y in range(h):
        row = []
        for x in range(y):
            row.append(x * 0.5)
        table.append(row)
    return table
"""
    assert not isinstance(emit_restated_arrays(region_for(text, "k", (40,))), Match)
