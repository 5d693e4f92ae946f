"""Products with a symmetric matrix of which a triangle is stored, in several people's words.

Every case is compared up to rounding on the observed arguments and on other sizes, layouts, types
and values; the expected line shows that one product was written where there are two sums.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness import region_for
from numpy_cases import check_products

from gpuadvise.codegen.numpy_backend import emit_products
from gpuadvise.model import Match

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

HEAD = "import numpy as np\n\n\n"
rng = np.random.default_rng(22)
A = rng.random((40, 40))
WIDE = rng.random((40, 30))
X, Y = rng.random(40), rng.random(40)

MATRICES = """\
def k(C, A, B, alpha, beta):
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            t = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                t += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * t
    return C
"""
UPPER_HALF = """\
def k(y, S, x):
    n = len(y)
    for r in range(n):
        for c in range(r + 1, n):
            y[c] += S[r, c] * x[r]
        for c in range(r, n):
            y[r] += S[r, c] * x[c]
    return y
"""
FRESH = """\
def k(K, u):
    size = len(u)
    force = np.zeros(size)
    for row in range(size):
        total = K[row, row] * u[row]
        for col in range(row):
            total += K[row, col] * u[col]
            force[col] += K[row, col] * u[row]
        force[row] += total
    return force
"""
TAKEN_AWAY = """\
def k(residual, a, x):
    n = len(x)
    for i in range(n):
        s = x[i] * a[i, i]
        for j in range(i + 1, n):
            s += a[i, j] * x[j]
            residual[j] -= a[i, j] * x[i]
        residual[i] -= s
    return residual
"""
ROW_BY_ROW = """\
def k(out, a, b):
    n, m = b.shape
    for i in range(n):
        for c in range(m):
            s = 0.0
            for p in range(i):
                s += a[i, p] * b[p, c]
            for p in range(i + 1, n):
                s += b[p, c] * a[p, i]
            out[i, c] = 0.5 * out[i, c] + 3.0 * (s + a[i, i] * b[i, c])
    return out
"""


@pytest.mark.parametrize(
    ("text", "observed", "line"),
    [
        (
            MATRICES,
            (WIDE, A, WIDE + 1.0, 1.5, 1.2),
            "C += alpha * np.where(np.tri(m, dtype=bool), A, A.T) @ B",
        ),
        (UPPER_HALF, (X, A, Y), "y += x @ np.where(np.tri(n, dtype=bool).T, S, S.T)"),
        (FRESH, (A, X), "force[:] = np.where(np.tri(size, dtype=bool), K, K.T) @ u"),
        (TAKEN_AWAY, (X, A, Y), "residual -= x @ np.where(np.tri(n, dtype=bool).T, a, a.T)"),
        (ROW_BY_ROW, (WIDE, A, WIDE + 1.0), "3.0 * (np.where(np.tri(n, dtype=bool), a, a.T) @ b)"),
    ],
    ids=["matrices", "upper half", "fresh", "taken away", "row by row"],
)
def test_one_product(text: str, observed: tuple[object, ...], line: str) -> None:
    def first(rows: int) -> tuple[object, ...]:
        cut = (a[:rows].copy() if isinstance(a, np.ndarray) else a for a in observed)
        return tuple(a[:, :rows].copy() if np.shape(a)[1:] == (40,) else a for a in cut)

    after = check_products(HEAD + text, observed, first(0), first(1), first(2), first(9))
    assert line in after
    assert "isfinite" not in after  # no zeros are multiplied with what may be infinite


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("residual[j] -=", "residual[j] +="),  # skew-symmetric
        ("residual[j] -= a[i, j]", "residual[j] -= a[j, i]"),  # the one triangle twice
        ("s = x[i] * a[i, i]", "s = x[i] * a[0, i]"),  # no term of the diagonal
        ("range(i + 1, n)", "range(i, n)"),  # the diagonal twice
        ("range(i + 1, n)", "range(i + 1, n - 1)"),  # the last column apart
    ],
)
def test_two_sums_that_are_no_mirror_images(old: str, new: str) -> None:
    text = TAKEN_AWAY.replace(old, new)
    assert text != TAKEN_AWAY
    after = check_products(HEAD + text, (X, A, Y), (X[:3], A[:3, :3].copy(), Y[:3]))
    assert "np.where" not in after


def test_a_scalar_that_is_read_afterwards_is_kept() -> None:
    text = TAKEN_AWAY.replace("return residual", "return residual, s")
    match = emit_products(region_for(HEAD + text, "k", (X, A, Y)))
    if isinstance(match, Match):
        check_products(HEAD + text, (X, A, Y))


@pytest.mark.parametrize("first", ["1", "0"])
def test_a_first_column_that_only_the_diagonal_has(first: str) -> None:
    text = f"""\
def k(out, a, x):
    n = len(x)
    for i in range(n):
        s = a[i, i] * x[i]
        for j in range({first}, i):
            s += a[i, j] * x[j]
        for j in range(i + 1, n):
            s += a[j, i] * x[j]
        out[i] = s
    return out
"""
    after = check_products(HEAD + text, (X, A, Y), (X[:3], A[:3, :3].copy(), Y[:3]))
    assert ("np.where" in after) is (first == "0")


def test_rows_that_were_scaled_before() -> None:
    """One statement adds to the rows above, which the other one scales first."""
    text = HEAD + MATRICES.replace("C[k, j] +=", "C[k, j] -=")
    after = check_products(text, (WIDE.copy(), A, WIDE + 1.0, 1.5, 1.2))
    assert "C += alpha * (np.tril(A, -1) @ B)" in after
    assert "C[:-1, :] -= np.triu(alpha * A[1:, :-1].T) @ B[1:, :]" in after


def test_a_sum_of_half_a_row_is_no_product() -> None:
    """What the second sum adds is not known before the first one has come as far."""
    text = FRESH.replace("K[row, col] * u[row]", "K[row, col] * total")
    assert text != FRESH
    assert emit_products(region_for(HEAD + text, "k", (A, X))) is None
