"""Arrays gone through column by column: a copy in front of the loops has the columns as rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import assert_same, region_for, run
from numpy_cases import Case, check, check_products

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

rng = np.random.default_rng(9)
GRID, FIELD = rng.random((60, 64)), rng.random((60, 64))
SIZES = (0, 1, 2, 3, 9)

SWEEPS = """\
def k(u, f, steps):
    for t in range(steps):
        for i in range(len(u)):
            for j in range(1, u.shape[1]):
                u[i, j] = 0.5 * u[i, j - 1] + f[i, j] * u[i, j]
    return u
"""


def test_columns_one_after_the_other() -> None:
    small = [(GRID[:n, :m].copy(), FIELD[:n, :m].copy(), 2) for n in SIZES for m in SIZES]
    both = np.concatenate([GRID, FIELD])
    shared = [(both[:60], both[10:70], 3), (both[:60], both[:60], 3), (GRID, FIELD, 0)]
    after = check(Case(SWEEPS, (GRID, FIELD, 10), [*small, *shared]))
    assert "u_columns = u.T.copy()\n" in after and "f_columns = f.T.copy()\n" in after
    assert "u[:] = u_columns.T\n" in after and "f[:]" not in after


def test_few_sweeps_are_not_worth_a_copy() -> None:
    assert "_columns" not in check(Case(SWEEPS, (GRID, FIELD, 1), []))


def test_rows_stay_rows() -> None:
    text = """\
def k(u, f, steps):
    for t in range(steps):
        for i in range(u.shape[1]):
            for j in range(1, len(u)):
                u[j, i] = 0.5 * u[j - 1, i] + f[j, i] * u[j, i]
"""
    assert "_columns" not in check(Case(text, (GRID, FIELD, 10), []))


def test_what_nobody_reads_is_not_put_back() -> None:
    text = """\
import numpy as np

def k(f, steps):
    u = np.zeros((len(f), f.shape[1]))
    last = np.zeros(len(f))
    for t in range(steps):
        for i in range(len(f)):
            for j in range(1, f.shape[1]):
                u[i, j] = 0.5 * u[i, j - 1] + f[i, j] * u[i, j] + 1.0
        for i in range(len(f)):
            last[i] = u[i, 5]
    return last
"""
    after = check(Case(text, (GRID, 10), [(GRID[:n, :8].copy(), 3) for n in SIZES]))
    assert "u_columns = u.T.copy()\n" in after and "u[:]" not in after
    kept = text.replace("return last", "return last, u")
    assert "u[:] = u_columns.T\n" in check(Case(kept, (GRID, 10), []))


ORTHOGONAL = """\
import math
import numpy as np

def k(A):
    m, n = A.shape
    R = np.zeros((n, n))
    for k in range(n):
        norm = 0.0
        for i in range(m):
            norm += A[i, k] * A[i, k]
        R[k, k] = math.sqrt(norm)
        for i in range(m):
            A[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0.0
            for i in range(m):
                R[k, j] += A[i, k] * A[i, j]
            for i in range(m):
                A[i, j] = A[i, j] - A[i, k] * R[k, j]
    return R
"""


def test_shrinking_rows() -> None:
    tall = rng.random((60, 50)) + np.eye(60, 50)
    after = check_products(ORTHOGONAL, (tall,), (tall[:9, :4].copy(),), (tall[:1, :1].copy(),))
    assert "A_columns[k + 1:, :] @ A_columns[k]" in after
    assert "finally:\n            A[:] = A_columns.T\n" in after


def test_what_was_stored_before_an_exception_stays() -> None:
    """``math.sqrt`` raises in the seventh column: the six before it are changed."""
    text = """\
import math

def k(u, w, steps):
    for t in range(steps):
        for j in range(1, u.shape[1]):
            s = math.sqrt(w[j])
            for i in range(len(u)):
                u[i, j] = 0.5 * u[i, j - 1] + s * u[i, j]
"""
    weights = np.ones(64)
    region = region_for(text, "k", (GRID, weights, 10))
    match = emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "u_columns" in after and "finally:" in after
    broken = weights.copy()
    broken[6] = -1.0
    for args in ((GRID, weights, 2), (GRID, broken, 2), (GRID, weights[:9], 2)):
        assert_same(run(text, "k", args), run(after, "k", args), compare_warnings=False)
