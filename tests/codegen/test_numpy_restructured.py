"""Nests whose iterations change their order: column sweeps, distribution, coupled subscripts.

Every case is compared bit for bit on the observed arguments and on empty, tiny, strided, shared and
special ones; the expected line shows that the new order was taken, not some other form.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Refusal
from gpuadvise.patch import apply_edits

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import assert_same, region_for, run
from numpy_cases import Case, check

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

HEAD = "import math\nimport numpy as np\n\n\n"
N = 64
rng = np.random.default_rng(4)
A = rng.random((N, N)) + N * np.eye(N)
B = rng.random((N, N))
X, Y = rng.random(N), rng.random(N) + 0.5
EMPTY, ONE = np.zeros((0, 0)), np.full((1, 1), 2.0)

LU = """\
def k(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i][j] -= A[i][k] * A[k][j]
            A[i][j] /= A[j][j]
        for j in range(i, n):
            for k in range(i):
                A[i][j] -= A[i][k] * A[k][j]
"""
SUBSTITUTION = """\
def k(L, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]
    return x
"""
DIAGONAL = """\
def k(L, b, d, x):
    for i in range(len(b)):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / d[i]
"""
TWO_PRODUCTS = """\
def k(M, p, r, s, q):
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            s[j] = s[j] + M[i, j] * r[i]
            q[i] = q[i] + M[i, j] * p[j]
"""
SYMMETRIC = """\
def k(d, c):
    rows, cols = d.shape
    for a in range(cols):
        for b in range(a, cols):
            for r in range(rows):
                c[a, b] += d[r, a] * d[r, b]
            c[b, a] = c[a, b]
"""
CHOLESKY = """\
def k(A):
    n = len(A)
    for row in range(n):
        for col in range(row):
            acc = A[row, col]
            for t in range(col):
                acc -= A[row, t] * A[col, t]
            A[row, col] = acc / A[col, col]
        for t in range(row):
            A[row, row] -= A[row, t] ** 2
        A[row, row] = math.sqrt(A[row, row])
"""


@pytest.mark.parametrize(
    ("text", "observed", "others", "line"),
    [
        (LU, (A,), [(EMPTY,), (ONE,), (A[:3, :3].copy(),), (A[:5].copy(),), (A[:, :5].copy(),)],
         "A[i, k + 1:i] -= A[i, k] * A[k, k + 1:i]"),
        (SUBSTITUTION, (A, X), [(EMPTY, X[:0]), (ONE, X[:1]), (A * 0.0, X), (A[:, :9], X)],
         "x[j + 1:] -= L[j + 1:, j] * x[j]"),
        # d ends early: IndexError with the rest of x untouched
        (DIAGONAL, (A, X, Y, np.zeros(N)), [(A, X, Y[:9], np.zeros(N)), (A, X, Y, X)],
         "x[j] /= d[j]"),
        (TWO_PRODUCTS, (A, X, Y, Y.copy(), X.copy()), [(A, X, Y, Y, Y), (A, X, X, Y, X)],
         "q += M[:, j] * p[j]"),
        (SYMMETRIC, (A, B), [(EMPTY, EMPTY), (ONE, ONE.copy()), (A[:3], B), (A, A)],
         "c[a, a:] += d[r, a] * d[r, a:]"),
    ],
    ids=["lu", "substitution", "diagonal", "two products", "symmetric"],
)  # fmt: skip
def test_new_orders_give_the_same_bits(
    text: str, observed: tuple[object, ...], others: list[tuple[object, ...]], line: str
) -> None:
    after = check(Case(HEAD + text, observed, others))
    assert line in after, after


def test_an_exception_leaves_the_factor_half_done_as_before() -> None:
    """The root of a negative number is taken between rows, and raises after the same stores."""
    good = B @ B.T + np.eye(N)
    bad = good.copy()
    bad[9, 9] = -1.0
    # x ** 2 of single elements stays as the user wrote it
    after = check(
        Case(HEAD + CHOLESKY.replace("[row, t] ** 2", "[row, t] * A[row, t]"), (good,), [(bad,)])
    )
    assert "A[row, t + 1:row] -= A[row, t] * A[t + 1:row, t]" in after


def outcome(text: str, *args: object) -> str:
    """The new text, if there is one; it must do the same in any case."""
    region = region_for(HEAD + text, "k", args)
    match = emit(region)
    if isinstance(match, Refusal):
        return ""
    after = apply_edits(region.source, match.edits).decode()
    assert_same(run(HEAD + text, "k", args), run(after, "k", args), compare_warnings=False)
    return after


def test_updates_of_one_element_keep_their_order() -> None:
    """From the last row upwards the sweep would subtract the columns from right to left."""
    after = outcome(
        "def k(U, b):\n    n = len(b)\n    x = np.zeros(n)\n    for i in range(n - 1, -1, -1):\n"
        "        s = b[i]\n        for j in range(i + 1, n):\n            s -= U[i, j] * x[j]\n"
        "        x[i] = s / U[i, i]\n    return x\n",
        A, X,
    )  # fmt: skip
    assert "x[:" not in after


def test_a_sum_over_nothing_is_what_it_started_from() -> None:
    """The last row has no columns to its right; a Python 0.0 must stay one."""
    upwards = (
        "def k(U, b):\n    n = len(b)\n    x = np.zeros(n)\n    for i in range(n - 1, -1, -1):\n"
        "        s = {start}\n        for j in range(i + 1, n):\n            s -= U[i, j] * x[j]\n"
        "        x[i] = s / U[i, i]\n    return x, s\n"
    )
    others = [(ONE, X[:1]), (-A, -X * 0.0), (A[:, :9], X)]
    after = check(Case(HEAD + upwards.format(start="b[i]"), (A, X), others))
    assert "accumulate" in after
    assert "np.append(s, U[i, i + 1:]" in after
    outcome(upwards.format(start="0.0").replace("x[i] = s / U[i, i]", "x[i] = s"), A, X)


def test_a_sweep_needs_every_value_as_it_was() -> None:
    """Row i reads y from its other end: partly what is there, partly what rows before wrote."""
    after = outcome(
        "def k(L, b, x, y):\n    n = len(b)\n    for i in range(n):\n        x[i] = b[i]\n"
        "        for j in range(i):\n            x[i] -= L[i, j] * y[n - 1 - j]\n"
        "        y[i] = x[i] / 2.0\n",
        A, X, np.zeros(N), Y.copy(),
    )  # fmt: skip
    assert "x[j + 1:]" not in after


def test_an_element_read_besides_its_scalar_is_no_accumulator() -> None:
    """s / x[i] divides by what was in x before."""
    after = outcome(
        "def k(L, b, x):\n    for i in range(len(b)):\n        s = b[i]\n"
        "        for j in range(i):\n            s -= L[i, j] * x[j]\n        x[i] = s / x[i]\n",
        A, X, Y.copy(),
    )  # fmt: skip
    assert "x[j + 1:]" not in after


def test_a_narrower_element_is_no_accumulator() -> None:
    """A float32 element would round every partial sum; the scalar is a double."""
    after = outcome(
        "def k(L, b, x):\n    for i in range(len(b)):\n        s = b[i]\n"
        "        for j in range(i):\n            s -= L[i, j] * x[j]\n        x[i] = s\n",
        A, X, Y.astype(np.float32),
    )  # fmt: skip
    assert "x[j + 1:]" not in after


def test_a_scalar_that_lives_on_stays() -> None:
    after = outcome(
        "def k(L, b):\n    n = len(b)\n    x = np.zeros(n)\n    s = 0.0\n"
        "    for i in range(n):\n        s = b[i]\n        for j in range(i):\n"
        "            s -= L[i, j] * x[j]\n        x[i] = s\n    return x, s\n",
        A, X,
    )  # fmt: skip
    assert "x[j + 1:]" not in after


def test_statements_that_feed_each_other_stay_together() -> None:
    """Row i of q is what row i + 1 of s starts from."""
    after = outcome(
        "def k(M, s, q):\n    n = len(s)\n    for i in range(1, n):\n        for j in range(n):\n"
        "            s[j] += M[i, j] * q[i - 1]\n            q[i] += M[i, j] * s[j]\n",
        A, X.copy(), Y.copy(),
    )  # fmt: skip
    assert "q[1:] +=" not in after


def test_random_nests_of_triangles_keep_their_meaning() -> None:
    rewritten = 0
    for seed in range(40):
        text = nest(random.Random(seed))
        region = region_for(text, "k", arguments(32, seed))
        match = emit(region)
        if isinstance(match, Refusal):
            assert "could not be written" not in match.reason, text
            continue
        after = apply_edits(region.source, match.edits).decode()
        rewritten += 1
        for n, more in ((32, 0), (7, 2), (0, 0), (1, 0), (2, 1), (5, -1)):
            args = arguments(n, seed, more)
            try:
                assert_same(run(text, "k", args), run(after, "k", args), compare_warnings=False)
            except AssertionError as problem:
                pytest.fail(f"seed {seed}, n = {n}: {problem}\n{after}")
    assert rewritten > 12


def arguments(n: int, seed: int, more: int = 0) -> tuple[object, ...]:
    """Two matrices, two vectors and the size, ``more`` elements longer than that."""
    made = np.random.default_rng(seed)
    size = n + more
    matrices = (made.random((size, size)) + 0.5 for _ in range(2))
    return (*matrices, made.random(size) + 0.5, made.random(size) + 0.5, n)


def nest(chance: random.Random) -> str:
    """A loop over triangles, with accumulators in elements or in a scalar."""
    pick = chance.choice
    inner = pick(("j", "j", "i", "n"))
    rows = pick(("i", "i", "n"))
    target = pick(("A[i, j]", "A[i, j]", "A[j, i]", "x[i]", "x[j]"))
    other = pick(("A[i, t]", "A[t, j]", "B[i, t]", "x[t]", "x[j]"))
    third = pick(("A[t, j]", "A[j, t]", "B[t, j]", "y[t]", "A[i, j]"))
    last = pick((f"{target} /= {pick(('A[j, j]', 'B[i, j]', 'y[j]'))}", "y[j] += A[i, j]", "", ""))
    lines = [f"for i in range({pick(('n', '1, n'))}):", f"    for j in range({rows}):"]
    if chance.random() < 0.4:
        start, end = pick((target, "y[j]", "0.0")), pick(("w", "w / B[j, j]"))
        lines += [f"        w = {start}", f"        for t in range({inner}):"]
        lines += [f"            w {pick('+-')}= {other} * {third}", f"        {target} = {end}"]
    else:
        lines += [f"        for t in range({inner}):"]
        lines += [
            f"            {target} {pick('+-')}= {other} * {third}",
            f"        {last}".rstrip(),
        ]
    body = "".join(f"    {line}\n" for line in lines if line)
    return f"{HEAD}def k(A, B, x, y, n):\n{body}"
