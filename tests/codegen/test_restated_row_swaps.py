"""Rows of a table that change places in a compiled loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

SINGULAR = "([[1.0, 2.0], [2.0, 4.0]],)"
CASES = (
    Case(
        name="det",
        text="""\
def det(M):
    A = [row[:] for row in M]
    n = len(A)
    found = 1.0
    for col in range(n):
        pivot = col
        for r in range(col + 1, n):
            if abs(A[r][col]) > abs(A[pivot][col]):
                pivot = r
        if A[pivot][col] == 0:
            return 0.0
        if pivot != col:
            A[col], A[pivot] = A[pivot], A[col]
            found = -found
        found *= A[col][col]
        for r in range(col + 1, n):
            factor = A[r][col] / A[col][col]
            for c in range(col, n):
                A[r][c] -= factor * A[col][c]
    return found
""",
        seen="([[random.random() for _ in range(12)] for _ in range(12)],)",
        others=(
            SINGULAR,
            "([],)",
            "([[]],)",
            "([[1, 2], [3, 4]],)",
            "([[1.0, 2.0], [3.0]],)",
            "([[float('nan'), 2.0], [3.0, float('inf')]],)",
            "([[0.0, 2.0], [-0.0, 3.0]],)",
        ),
        contains=("for k in range(len(A[col])):",),
    ),
    Case(
        name="solve",
        text="""\
def solve(A, b):
    n = len(A)
    for i in range(n):
        best = max(range(i, n), key=lambda r: abs(A[r][i]))
        A[i], A[best] = A[best], A[i]
        b[i], b[best] = b[best], b[i]
        for r in range(i + 1, n):
            factor = A[r][i] / A[i][i]
            for c in range(i, n):
                A[r][c] -= factor * A[i][c]
            b[r] -= factor * b[i]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        total = b[i]
        for c in range(i + 1, n):
            total -= A[i][c] * x[c]
        x[i] = total / A[i][i]
    return x
""",
        seen="([[random.random() for _ in range(12)] for _ in range(12)], [1.0] * 12)",
        others=(
            "([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0])",
            "([[1.0, 2.0], [2.0, 4.0]], [1.0])",
            "([[1.0, 2.0], [2.0]], [1.0, 2.0])",
            "([], [])",
            "([[0.5, 2.0, 1.0], [2.5, 4.0, 3.0], [1.5, 0.25, 8.0]], [1.0, 2, 3.5])",
        ),
        contains=("places[i], places[best] = places[best], places[i]",),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_whoever_has_a_row_finds_the_same_list(tmp_path: Path) -> None:
    """The lists themselves change places, also where an exception ends the loop."""
    text = """\
def order(A, stop):
    rows = list(A)
    n = len(A)
    try:
        for i in range(n - 1):
            for k in range(n - 1 - i):
                if A[k][0] > A[k + 1][0]:
                    A[k], A[k + 1] = A[k + 1], A[k]
            A[i][1] = 1.0 / (stop - i)
    except ZeroDivisionError:
        pass
    return [[row is other for other in rows] for row in A], A, rows
"""
    table = "[[random.random(), 2.0] for _ in range(40)]"
    case = Case("order", text, f"({table}, 100.0)", (f"({table}, 7.0)", "([[1.0, 2.0]] * 3, 9.0)"))
    assert "A[:] = [A[k_2] for k_2 in places]" in check(case, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "top = A[k]; A[k], A[k + 1] = A[k + 1], A[k]; top[0] = 0.5",
        "A[k], A[k + 1] = A[k + 1], A[k][:]",
        "A[k], A[int(A[k][0])] = A[int(A[k][0])], A[k]",
    ],
)
def test_left_alone(line: str, tmp_path: Path) -> None:
    """A row that is known by a name, copied, or found by its elements."""
    text = f"def k(A, n):\n    for k in range(n):\n        {line}\n    return A\n"
    case = Case("k", text, "([[0.0, 2.0] for _ in range(40)], 30)")
    assert isinstance(answer(case, tmp_path), Refusal)
