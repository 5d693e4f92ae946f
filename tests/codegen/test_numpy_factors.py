"""Triangular factorisations by name: other authors' loops, and matrices without a factor."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from numpy_cases import check_products

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

HEAD = "import math\nimport numpy as np\n\n\n"
N = 70
rng = np.random.default_rng(8)
SQUARE = rng.random((N, N))
DEFINITE = SQUARE @ SQUARE.T + N * np.eye(N)
DOMINANT = SQUARE + N * np.eye(N)

BY_ROWS = """\
def k(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])
    return A
"""
IN_ANOTHER_ARRAY = """\
def k(A):
    n = len(A)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j):
                s += L[i, k] * L[j, k]
            if i == j:
                L[i, j] = math.sqrt(A[i, i] - s)
            else:
                L[i, j] = 1.0 / L[j, j] * (A[i, j] - s)
    return L
"""
BY_COLUMNS = """\
def k(M):
    n = M.shape[0]
    for c in range(n):
        for q in range(c):
            M[c, c] -= M[c, q] ** 2
        M[c, c] = np.sqrt(M[c, c])
        inv = 1.0 / M[c, c]
        for r in range(c + 1, n):
            t = M[r, c]
            for q in range(c):
                t -= M[c, q] * M[r, q]
            M[r, c] = t * inv
    return M
"""
LU_BY_ROWS = """\
def k(a):
    n = len(a)
    for r in range(n):
        for c in range(r):
            dot = 0.0
            for t in range(c):
                dot += a[r, t] * a[t, c]
            a[r, c] = (a[r, c] - dot) / a[c, c]
        for c in range(r, n):
            for t in range(r):
                a[r, c] -= a[r, t] * a[t, c]
    return a
"""
LU_BY_COLUMNS = """\
def k(a):
    n = len(a)
    for j in range(n):
        for i in range(j + 1):
            s = a[i, j]
            for t in range(i):
                s -= a[i, t] * a[t, j]
            a[i, j] = s
        for i in range(j + 1, n):
            s = a[i, j]
            for t in range(j):
                s -= a[t, j] * a[i, t]
            a[i, j] = s / a[j, j]
    return a
"""


def others(matrix: np.ndarray) -> list[tuple[np.ndarray]]:
    """Matrices with no factor, with parts that no loop reads, and of other shapes."""
    bad, nan, above = (matrix.copy() for _ in range(3))
    bad[5, 5] = -3.0
    nan[7, 2] = np.nan
    above[2, 7] = np.inf
    near = np.ones_like(matrix)
    shapes = matrix[:3, :3].copy(), matrix[:1, :1].copy(), matrix[:0, :0].copy()
    return [(m,) for m in (bad, nan, above, near, matrix * 0.0, matrix[:, :30].copy(), *shapes)]


@pytest.mark.parametrize("text", [BY_ROWS, IN_ANOTHER_ARRAY, BY_COLUMNS])
def test_cholesky(text: str) -> None:
    after = check_products(HEAD + text, (DEFINITE,), *others(DEFINITE))
    assert "(lower := _cholesky_factor(" in after
    assert "where=np.tri(n, dtype=bool))" in after


@pytest.mark.parametrize("text", [LU_BY_ROWS, LU_BY_COLUMNS])
def test_lu_without_exchanges(text: str) -> None:
    after = check_products(HEAD + text, (DOMINANT,), *others(DOMINANT))
    assert "(factors := _lu_factors(a)) is not None" in after


def test_where_rounding_may_decide_the_loops_run() -> None:
    """A pivot that is all rounding error: there is a factor in one order, and none in another."""
    thin = rng.random((N, 3))
    flat = thin @ thin.T + 1e-13 * np.eye(N)
    late = DOMINANT.copy()
    late[:2, :2] = [[1e-14, 1.0], [1.0, 1.0]]
    odd = DOMINANT.copy()
    odd[3, 4] = np.inf
    for text, good, bad in ((BY_ROWS, DEFINITE, [flat]), (LU_BY_ROWS, DOMINANT, [late, odd])):
        after = check_products(HEAD + text, (good,))
        names: dict[str, object] = {}
        exec(compile(after, "after", "exec"), names)
        helper = names.get("_cholesky_factor") or names.get("_lu_factors")
        assert callable(helper)
        assert helper(good.copy()) is not None
        assert [helper(matrix) for matrix in bad] == [None] * len(bad)


def test_a_leading_part() -> None:
    text = LU_BY_ROWS.replace("def k(a):\n    n = len(a)\n", "def k(a, n):\n")
    after = check_products(HEAD + text, (DOMINANT, 50), (DOMINANT, 70), (DOMINANT, 71))
    assert "a[:n, :n] = factors" in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A[j, k]\n", "A[k, j]\n"),  # no factor of a symmetric matrix
        ("A[i, j] /= A[j, j]", "A[i, j] /= A[i, i]"),
        ("for k in range(i):", "for k in range(i + 1):"),
        ("for j in range(i):", "for j in range(1, i):"),
        ("math.sqrt(A[i, i])", "math.sqrt(A[i, i] + 1.0)"),
        ("        A[i, i] = math", "        A[0, 0] = 1.0\n        A[i, i] = math"),
    ],
)
def test_what_only_looks_like_it(old: str, new: str) -> None:
    changed = BY_ROWS.replace(old, new)
    assert changed != BY_ROWS
    assert "_cholesky_factor" not in check_products(HEAD + changed, (DEFINITE,))


def test_a_sum_of_what_was_there_before() -> None:
    """The squares of the row before it is divided are other numbers."""
    text = """\
def k(A):
    n = len(A)
    for i in range(n):
        s = 0.0
        for k in range(i):
            s += A[i, k] * A[i, k]
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        A[i, i] = math.sqrt(A[i, i] - s)
    return A
"""
    diagonal = np.diag(rng.random(N) + 1.0)
    assert "_cholesky_factor" not in check_products(HEAD + text, (diagonal,))
