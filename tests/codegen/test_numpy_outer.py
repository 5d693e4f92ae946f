"""Several outer products in one value, as one product of two narrow matrices: up to rounding."""

from __future__ import annotations

import numpy as np
import pytest
from harness import region_for
from numpy_cases import check_products

from gpuadvise.codegen.numpy_backend import emit_products
from gpuadvise.model import Refusal

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

HEAD = "import numpy as np\n\n\n"
rng = np.random.default_rng(24)
A = rng.random((40, 30))
U, W = rng.random(40), rng.random(40)
V, Z = rng.random(30), rng.random(30)

TWO = """\
def k(A, u, v, w, z):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            A[i, j] = A[i, j] + u[i] * v[j] + w[i] * z[j]
    return A
"""
SCALED = """\
def k(out, old, a, b, c, d):
    for row in range(out.shape[0]):
        for col in range(out.shape[1]):
            out[row, col] = old[row, col] + 0.5 * a[row] * b[col] + c[row] * d[col] * 2.0
    return out
"""
THREE = """\
def k(grid, x, y):
    rows, cols = grid.shape
    for r in range(rows):
        for c in range(cols):
            grid[r, c] += x[r] * y[c] + x[rows - 1 - r] * y[c] + y[cols - 1 - c] * x[r]
    return grid
"""
RANK_TWO = """\
def k(S, x, y, alpha):
    n = len(x)
    for i in range(n):
        for j in range(n):
            S[i, j] += alpha * x[i] * y[j] + alpha * y[i] * x[j]
    return S
"""


@pytest.mark.parametrize(
    ("text", "observed", "line"),
    [
        (TWO, (A, U, V, W, Z), "A += np.stack((u, w), axis=1) @ np.stack((v, z))"),
        (
            SCALED,
            (A, A + 1.0, U, V, W, Z),
            "out[:] = old + np.stack((0.5 * a, c * 2.0), axis=1) @ np.stack((b, d))",
        ),
        (THREE, (A, U, V), "np.stack((x, x[::-1], x), axis=1) @ np.stack((y, y, y[::-1]))"),
        (
            RANK_TWO,
            (rng.random((40, 40)), U, W, 1.5),
            "S += np.stack((alpha * x, alpha * y), axis=1) @ np.stack((y, x))",
        ),
    ],
    ids=["two", "scaled", "three", "rank two"],
)
def test_one_product(text: str, observed: tuple[object, ...], line: str) -> None:
    after = check_products(HEAD + text, observed)
    assert line in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+ w[i] * z[j]", ""),  # one alone is an outer product as it is
        ("+ w[i] * z[j]", "- w[i] * z[j]"),
        ("+ w[i] * z[j]", "+ w[i] * w[i]"),  # no outer product
        ("A[i, j] + u[i]", "u[i]"),  # nothing that they are added to
        ("w[i] * z[j]", "A[i, j] * z[j]"),
    ],
)
def test_other_sums_are_left_to_exact_statements(old: str, new: str) -> None:
    text = HEAD + TWO.replace(old, new)
    assert text != HEAD + TWO
    assert emit_products(region_for(text, "k", (A, U, V, W, Z))) is None


def test_a_vector_that_changes_meanwhile() -> None:
    """The first column is written before the other elements of its row are computed."""
    text = HEAD + TWO.replace("w[i] * z[j]", "A[i, 0] * z[j]")
    assert isinstance(emit_products(region_for(text, "k", (A, U, V, W, Z))), Refusal)
