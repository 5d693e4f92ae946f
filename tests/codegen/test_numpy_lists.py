"""Lists and lists of lists, in and out.

Each case is a function, the arguments it is observed on, and others it must be right for.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness import assert_same, region_for, run
from numpy_cases import Cases, check

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

rng = np.random.default_rng(5)
cases = Cases()
case = cases.add


def normal(*shape):
    return rng.standard_normal(shape)


def bits(*shape):
    return rng.integers(0, 2, shape)


case(
    "lifelists",
    """
def k(board):
    rows = len(board)
    cols = len(board[0])
    nxt = [[0] * cols for _ in range(rows)]
    for r in range(rows):
        for c in range(cols):
            total = 0
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    if dr != 0 or dc != 0:
                        total += board[(r + dr) % rows][(c + dc) % cols]
            if board[r][c] == 1 and total in (2, 3):
                nxt[r][c] = 1
            elif board[r][c] == 0 and total == 3:
                nxt[r][c] = 1
    return nxt
""",
    (bits(30, 40).tolist(),),
    [(bits(*s).tolist(),) for s in ((1, 1), (2, 1), (3, 3), (1, 6))] + [([[True, False], [0, 1]],)],
)
case(
    "listel",
    """
def k(x, y):
    out = [0.0] * len(x)
    for i in range(len(x)):
        out[i] = x[i] * 2.0 + y[i]
    return out
""",
    (normal(1000).tolist(), normal(1000).tolist()),
    [([], []), ([1.0], [2.0]), ([1], [2.0]), ([1.0, 2.0], [1.0])],
)
case(
    "maxlist",
    """
def k(x):
    best = -1e300
    for v in x:
        if v > best:
            best = v
    return best
""",
    (normal(1000).tolist(),),
    [([],), ([1.0, 2],), ([float("nan")],)],
)
case(
    "listdiv",
    """
def k(a, b):
    out = [0.0] * len(a)
    for i in range(len(a)):
        out[i] = a[i] / b[i]
    return out
""",
    (normal(1000).tolist(), (normal(1000) + 10).tolist()),
    [([1.0], [2.0])],
)
case(
    "matvec_list",
    """
def k(a, x):
    n = len(a)
    m = len(x)
    y = [0.0] * n
    for i in range(n):
        s = 0.0
        for j in range(m):
            s += a[i][j] * x[j]
        y[i] = s
    return y
""",
    (normal(40, 50).tolist(), normal(50).tolist()),
    [(normal(1, 1).tolist(), normal(1).tolist()), ([[1, 2.0]], [1.0, 2.0])],
)
case(
    "matmul_list",
    """
def k(a, b):
    n = len(a)
    p = len(b)
    m = len(b[0])
    c = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for q in range(p):
                c[i][j] += a[i][q] * b[q][j]
    return c
""",
    (normal(20, 30).tolist(), normal(30, 25).tolist()),
    [(normal(1, 1).tolist(), normal(1, 1).tolist())],
)


@pytest.mark.parametrize("name", cases)
def test_lists_stay_the_same(name):
    check(cases[name])


def test_rows_that_are_tuples_pass_the_guard() -> None:
    """A list of tuples is read as an array; the guard asked for lists, and the loop ran as it was.

    The original is made to fail, so that the branch that runs shows itself.
    """
    text = """
def k(points, out):
    for i in range(len(points)):
        out[i] = points[i][0] * points[i][1]
    return out
"""
    points = [(0.5 * j, 1.0 + j) for j in range(300)]
    region = region_for(text, "k", (points, [0.0] * 300))
    match = emit(region)
    assert isinstance(match, Match)
    after = apply_edits(region.source, match.edits).decode()
    broken = after.replace("out[i] = points[i][0] * points[i][1]", "raise AssertionError")
    assert broken != after
    for rows in (points, [list(row) for row in points]):
        before = run(text, "k", (rows, [0.0] * 300))
        assert_same(before, run(broken, "k", (rows, [0.0] * 300)))
    mixed = [*points[:5], [1.0, 2.0]]
    assert_same(run(text, "k", (mixed, [0.0] * 6)), run(after, "k", (mixed, [0.0] * 6)))
