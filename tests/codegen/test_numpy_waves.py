"""Sweeps along lines of elements that need none of each other: tables, triangles, Gauss-Seidel.

Every case is compared bit for bit on the observed arguments and on empty, tiny, strided, shared and
special ones; the expected line shows that waves were taken, not some other form.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import assert_same, region_for, run
from numpy_cases import Case, Cases, check, reason

from gpuadvise.cases import chains_for
from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

HEAD = "import numpy as np\n\n\n"
N = 80
rng = np.random.default_rng(6)
S, T = rng.integers(0, 4, N), rng.integers(0, 4, N + 3)
X, Y = rng.random(N), rng.random(N + 3)
GRID, SOURCE = rng.random((N, N + 5)), rng.random((N, N + 5))
SIZES = (0, 1, 2, 3, 4, 7)

CASES = Cases()
CASES.add(
    "d[at:end:m] = np.minimum(",
    HEAD
    + """\
def k(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    d[:, 0] = np.arange(n + 1)
    d[0] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d
""",
    (S, T),
    [(S[:n], T[:m]) for n in SIZES for m in (0, 1, 5)],
)
CASES.add(
    "least = np.where(above_left < least, above_left, least)",
    HEAD
    + """\
def k(s, t):
    D = np.full((len(s) + 1, len(t) + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, len(s) + 1):
        for j in range(1, len(t) + 1):
            D[i, j] = abs(s[i - 1] - t[j - 1]) + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D
""",
    (X, Y),
    [(X[:n], Y[:m]) for n in SIZES for m in (0, 1, 5)] + [(X[::2], Y[::-1])],
)
CASES.add(
    "for diagonal in range(",
    """\
def k(grid):
    rows, columns = grid.shape
    for r in range(1, rows):
        for c in range(1, columns):
            if grid[r - 1, c] < grid[r, c - 1]:
                grid[r, c] += grid[r - 1, c]
            else:
                grid[r, c] += grid[r, c - 1]
""",
    (GRID,),
    [(GRID[:n, :m].copy(),) for n in SIZES for m in SIZES] + [(GRID[:, ::2],), (GRID.T,)],
)
CASES.add(
    "for wave in range(",
    """\
def k(u, f, sweeps):
    n, m = u.shape
    for s in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                around = u[i - 1, j + 1] + u[i + 1, j - 1] + u[i, j - 1] + u[i, j + 1]
                u[i, j] = 0.25 * (around - f[i, j])
    return u
""",
    (GRID, SOURCE, 2),
    [(GRID[:n, :m].copy(), SOURCE[:n, :m].copy(), 2) for n in SIZES for m in SIZES]
    + [(GRID, GRID, 2), (GRID, GRID[::-1], 1), (GRID, SOURCE[:, ::-1], 1)],
)
CASES.add(
    "best = np.maximum(best, (t_window + t_window_2).max(axis=1))",
    HEAD
    + """\
def k(seq):
    n = len(seq)
    t = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(t[i, j - 1], t[i + 1, j])
            if i < j - 1:
                best = max(best, t[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
            for k in range(i + 1, j):
                best = max(best, t[i, k] + t[k + 1, j])
            t[i, j] = best
    return t
""",
    (S,),
    [(S[:n],) for n in SIZES] + [(S[::-2],), (T,)],
)
CASES.add(
    "np.minimum(t_flat[at - columns",
    """\
def k(t, rows, columns):
    for i in range(1, rows):
        for j in range(i, columns):
            t[i, j] = 1 + min(t[i - 1, j], t[i, j - 1])
""",
    (rng.integers(0, 9, (N, N + 2)), N, N + 2),
    [(rng.integers(0, 9, (n, m)), n, m) for n in SIZES for m in SIZES]
    + [(rng.integers(0, 9, (9, 9)), n, m) for n in (5, 9, 10) for m in (0, 4, 9, 11)],
)
CASES.add(
    "best = np.minimum(1000000, cost_2.min(axis=1))",
    HEAD
    + """\
def k(p):
    n = len(p) - 1
    m = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = 1000000
            for k in range(i, j):
                cost = m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if cost < best:
                    best = cost
            m[i, j] = best
    return m
""",
    (S + 1,),
    [(S[:n] + 1,) for n in SIZES[1:]] + [(S[::-2] - 1,)],
)
CASES.add(
    "d[1:, 0] = np.arange(1, n + 1)",
    HEAD
    + """\
def k(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(1, n + 1):
        d[i, 0] = i
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                d[i, j] = d[i - 1, j - 1]
            else:
                d[i, j] = 1 + min(d[i - 1, j], d[i, j - 1])
    return d
""",
    (S, T),
    [(S[:n], T[:m]) for n in SIZES for m in (0, 1, 5)],
)
CASES.add(
    "u[n - 1] = u[n - 2]",
    """\
def k(u, f, sweeps):
    n, m = u.shape
    for s in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
        for j in range(m):
            u[0, j] = u[1, j]
            u[n - 1, j] = u[n - 2, j]
""",
    (GRID, SOURCE, 2),
    [(GRID[:n, :m].copy(), SOURCE[:n, :m].copy(), 2) for n in SIZES[1:] for m in SIZES],
)


@pytest.mark.parametrize("line", CASES)
def test_waves(line: str) -> None:
    after = check(CASES[line])
    assert line.replace("d[at", "d_flat[at") in after, after
    assert "# elements of one " in after


def test_a_table_of_lists() -> None:
    text = """\
def k(s, t):
    D = [[1e300] * (len(t) + 1) for _ in range(len(s) + 1)]
    D[0][0] = 0.0
    for i in range(1, len(s) + 1):
        for j in range(1, len(t) + 1):
            cost = abs(s[i - 1] - t[j - 1])
            D[i][j] = cost + min(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1])
    return D
"""
    x, y = X.tolist(), Y.tolist()
    others = [(x[:n], y[:m]) for n in SIZES for m in (0, 1, 5)] + [([0, 1.5], y), (x, [True] * 9)]
    assert "D_flat[at:end:" in check(Case(text, (x, y), others))


DISTANCE = """\
def k(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
    return d
"""
LETTERS = "".join("ACGT"[i] for i in S), "".join("ACGT"[i] for i in T)


def test_a_table_of_integers_grows_step_by_step() -> None:
    """By one in each step: no element leaves 64 bits."""
    x, y = LETTERS
    others = [(x[:n], y[:m]) for n in SIZES for m in (0, 1, 5)] + [("äöü", y), ([1, 2], [2, 2**70])]
    value = "min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1]) + cost"
    known = "min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)"
    after = check(Case(DISTANCE.replace(known, value), LETTERS, others))
    assert "d_flat[at:end:" in after
    # the same number more for each element on: row by row
    assert "np.minimum.accumulate(" in check(Case(DISTANCE, LETTERS, others))


WITH_EDGES = DISTANCE.replace("(a, b)", "(a, b, gap)").replace(
    """range(len(a) + 1)]
""",
    """range(len(a) + 1)]
    for i in range(len(a) + 1):
        d[i][0] = i * gap
    for j in range(len(b) + 1):
        d[0][j] = j * gap
""",
)


def test_a_table_made_just_before_is_not_looked_at_element_by_element() -> None:
    """One element off the edges and the edges tell; what is no int there stays with the loop."""
    x, y = LETTERS
    region = chains_for(WITH_EDGES, "k", (x, y, 1))[-1][0]
    match = emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "d_array = np.full((len(d), len(d[0])), d[-1][-1], dtype=np.int64)\n" in after
    for gap in (1, -3, True, 0.5, 2**40, 2**60, 2**62, 2**70):
        for n, m in ((0, 0), (0, 5), (1, 1), (2, 1), (7, 9)):
            args = (x[:n], y[:m], gap)
            assert_same(run(WITH_EDGES, "k", args), run(after, "k", args))


@pytest.mark.parametrize("value", ["d[i - 1][j] + d[i][j - 1]", "d[i - 1][j] * 2 + d[i][j - 1]"])
def test_a_table_that_doubles_may_leave_64_bits(value: str) -> None:
    text = DISTANCE.replace("min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)", value)
    assert reason(text, *LETTERS) == "an integer may not fit into 64 bits"


def test_the_size_of_a_step_is_asked_for() -> None:
    text = DISTANCE.replace("(a, b)", "(a, b, step)").replace("+ cost)", "+ cost + step)")
    others = [(*LETTERS, step) for step in (0, -1, 2**20, 2**40, 2**63, 2**70, 1.5)]
    assert "np.minimum.accumulate(" in check(Case(text, (*LETTERS, 1), others))


def test_a_fold_may_start_beyond_64_bits() -> None:
    """``np.minimum(10**30, array)`` raises OverflowError, ``min`` does not."""
    case = next(case for line, case in CASES.items() if "cost_2" in line)
    large = Case(case.text.replace("1000000", "10**30"), case.observed, case.others)
    assert "# elements of one " not in check(large)


def test_what_a_fold_computes_is_not_lost() -> None:
    """``cost`` of the last ``m`` is read behind the inner loop."""
    text = """\
def k(t):
    for i in range(len(t) - 1, -1, -1):
        for j in range(i + 2, len(t)):
            best = cost = 0
            for m in range(i + 1, j):
                cost = t[i, m] + t[m + 1, j]
                best = max(best, cost)
            t[i, j] = best + cost
"""
    assert "cost" in reason(text, rng.integers(0, 9, (40, 40)))


@pytest.mark.parametrize("seed", range(10))
def test_random_sweeps(seed: int) -> None:
    """Neighbours on all sides, ahead and behind; rectangles and triangles."""
    choose = np.random.default_rng(seed)
    terms = []
    for _ in range(4):
        down, on = choose.integers(-2, 3), choose.integers(-2, 3)
        terms.append(f"u[i + {down}, j + {on}]")
    low = choose.choice(["2", "i"])
    text = f"""\
def k(u, f):
    n, m = u.shape
    for i in range(2, n - 2):
        for j in range({low}, m - 2):
            if f[i, j] > 0.5:
                u[i, j] = 0.5 * {terms[0]} - 0.25 * ({terms[1]} + {terms[2]})
            else:
                u[i, j] = 0.5 * {terms[3]} + f[i, j]
"""
    sizes = [(n, m) for n in (0, 1, 4, 5, 6, 9) for m in (0, 4, 5, 8)]
    others = [(GRID[:n, :m].copy(), SOURCE[:n, :m].copy()) for n, m in sizes]
    region = region_for(text, "k", (GRID, SOURCE))
    if isinstance(emit(region), Match):
        check(Case(text, (GRID, SOURCE), others))


READS = "an iteration of j reads an element of u that another iteration writes"
NEEDS = "each iteration of j needs the last of the one before"
REFUSED = {
    "too far ahead": """\
def k(u):
    for i in range(1, len(u)):
        for j in range(4, u.shape[1] - 4):
            u[i, j] = u[i - 1, j + 4] + u[i, j - 1]
""",
    "a scalar is carried": """\
def k(u):
    last = 0.0
    for i in range(1, len(u)):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i - 1, j] + u[i, j - 1] + last
            last = u[i, j]
""",
    "across its edge": """\
def k(u):
    for i in range(len(u)):
        for j in range(u.shape[1]):
            u[i, j] = u[i - 1, j] + u[i, j - 1]
""",
    "one element for all": """\
def k(u):
    for i in range(1, len(u)):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i - 1, j] + u[i, j - 1] + u[2, 3]
""",
}


@pytest.mark.parametrize("why", REFUSED)
def test_no_waves(why: str) -> None:
    assert (NEEDS if "scalar" in why else READS) in reason(REFUSED[why], GRID)
