"""Tables made just before a loop: made again as arrays, not looked through and copied."""

from __future__ import annotations

import random

import pytest
from harness import assert_same, region_for, run
from test_numba_cpu import _private_cache

from gpuadvise.cases import chain_for, chains_for
from gpuadvise.codegen.made_lists import MadeTable, made_table
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

__all__ = ["_private_cache"]

KNAPSACK = """
def f(values, weights, capacity):
    n = len(values)
    table = [[0] * (capacity + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            table[i][w] = table[i - 1][w]
            if weights[i - 1] <= w:
                table[i][w] = max(table[i][w], values[i - 1] + table[i - 1][w - weights[i - 1]])
    return table
"""
WARP = """
INF = float("inf")


def f(x, y, window):
    n, m = len(x), len(y)
    D = [[INF for _ in range(m + 1)] for _ in range(n + 1)]
    D[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(max(1, i - window), min(m, i + window) + 1):
            D[i][j] = abs(x[i - 1] - y[j - 1]) + min(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1])
    return D
"""
COMMON = """
def f(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        table[i][0] = i
    for j in range(len(b) + 1):
        table[0][j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = 0 if a[i - 1] == b[j - 1] else 1
            table[i][j] = min(table[i - 1][j], table[i][j - 1], table[i - 1][j - 1] + same - 1) + 1
    return table
"""


def floats(number, seed=1):
    rng = random.Random(seed)
    return [rng.uniform(-2.0, 2.0) for _ in range(number)]


EQUAL = {
    "knapsack": (
        KNAPSACK,
        ([5, 4, 3, 9], [4, 3, 2, 6], 10),
        [
            ([], [], 4),
            ([1], [1], 0),
            ([1, 2], [3, 1], -1),
            ([2**80, 3], [1, 2], 3),
            ([7, 8], [-1, 2], 5),
            ([1.5, 2.5], [1, 2], 4),
            ([1, 2], [9], 3),
        ],
        ("np.full(", "table[-1][-1]"),
    ),
    "an element stored since": (
        WARP,
        (floats(6), floats(8, 2), 4),
        [
            ([], [], 1),
            ([1.0], [], 1),
            ([float("nan"), 1.0], [0.5, 2.0], 3),
            ([1, 2, 3], [3, 2, 1], 3),
            (floats(3), floats(9), 1),
        ],
        ("np.full(", "D_array[0] = D[0]"),
    ),
    "two edges": (
        COMMON,
        ([1, 2, 3, 4], [2, 3, 9]),
        [([], []), ([1], []), ([], [1]), ([2**70], [2**70, 1]), ([1.0, 2.0], [2.0])],
        ("table_array[0] = table[0]", "table_array[:, 0] = [row[0] for row in table]"),
    ),
}


@pytest.mark.parametrize(("text", "seen", "others", "wanted"), EQUAL.values(), ids=EQUAL)
def test_equal(text, seen, others, wanted):
    region = main_loop(text, seen)
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "_is_matrix" not in after
    for part in wanted:
        assert part in after, after
    for args in (seen, *others):
        assert_same(run(text, "f", args), run(after, "f", args))


def main_loop(text, args):
    """The region of the last loop of the function that is not inside another one."""
    chains = chains_for(text, "f", args)
    return max((chain[0] for chain in chains), key=lambda region: region.loop.lineno)


BODY = """
    for i in range(1, n):
        for j in range(1, m):
            t[i][j] = t[i - 1][j] + t[i][j - 1] + 1
    return t
"""
MADE = {
    "a literal": ("t = [[0] * m for _ in range(n)]", MadeTable(False, False)),
    "negative": ("t = [[-1] * m for _ in range(n)]", MadeTable(False, False)),
    "a global": ("t = [[START] * m for _ in range(n)]", MadeTable(False, False)),
    "nested": ("t = [[0 for _ in range(m)] for _ in range(n)]", MadeTable(False, False)),
    "read since": (
        "t = [[0] * m for _ in range(n)]\n    k = len(t[0]) + t[0][0]",
        MadeTable(False, False),
    ),
    "a row": ("t = [[0] * m for _ in range(n)]\n    t[0][2] = 1", MadeTable(True, False)),
    "a column": (
        "t = [[0] * m for _ in range(n)]\n    for i in range(n): t[i][0] += i",
        MadeTable(False, True),
    ),
}
NOT_MADE = {
    "one row many times": "t = [[0] * m] * n",
    "an inner element": "t = [[0] * m for _ in range(n)]\n    t[1][1] = 2.5",
    "another name for a row": "t = [[0] * m for _ in range(n)]\n    top = t[0]",
    "handed on": "t = [[0] * m for _ in range(n)]\n    print(t)",
    "two names": "t = u = [[0] * m for _ in range(n)]",
    "different elements": "t = [[i for i in range(m)] for _ in range(n)]",
    "different rows": "t = [[i] * m for i in range(n)]",
    "some left out": "t = [[0 for k in range(m) if k] for _ in range(n)]",
    "a call": "t = [[abs(n)] * m for _ in range(n)]",
    "made in some cases": (
        "t = [[0] * m for _ in range(n)]\n    if n > 99:\n        t = [[0.5] * m for _ in range(n)]"
    ),
    "seen inside a function": (
        "def peek():\n        t[1][1] = 0.5\n    t = [[0] * m for _ in range(n)]\n    peek()"
    ),
    "a row taken out": "t = [[0] * m for _ in range(n)]\n    del t[0]",
}


def table_of(statements):
    text = f"START = 3\n\n\ndef f(n, m):\n    {statements}{BODY}"
    return made_table(main_loop(text, (5, 6)), "t")


@pytest.mark.parametrize(("statements", "wanted"), MADE.values(), ids=MADE)
def test_made(statements, wanted):
    assert table_of(statements) == wanted


@pytest.mark.parametrize("statements", NOT_MADE.values(), ids=NOT_MADE)
def test_not_made(statements):
    assert table_of(statements) is None


def test_of_another_trip():
    """The table keeps what the trips before have stored."""
    text = """
def f(n, m):
    t = [[0] * m for _ in range(n)]
    for step in range(3):
        for i in range(1, n):
            for j in range(1, m):
                t[i][j] = t[i - 1][j] + t[i][j - 1] + step
    return t
"""
    region = region_for(text, "f", (4, 5))
    assert made_table(region, "t") is not None
    assert made_table(chain_for(text, "f", (4, 5))[1], "t") is None
