"""Write loops that add up products as products of matrices and vectors.

Why it is slow: every term of the sum is computed by the interpreter, on boxed numbers; ``@`` calls
a library that multiplies whole blocks with all the processor's arithmetic units. A Cholesky or LU
factorisation is such a sum for every element, and is recognised as a whole.
Why it may differ: the terms are added in another order, so the last digits can change. Results are
compared within the rounding errors of both sums; what the script prints must stay the same.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.numpy_backend import emit_products

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def multiply(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(b.shape[0]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
""",
        inputs="args = (rng.random((31, 23)), rng.random((23, 29)), np.zeros((31, 29)))",
        function="multiply",
        contains=(" @ ",),
    ),
    Rewrites(
        before="""\
def weighted(values, weights):
    total = 0.0
    for v, w in zip(values, weights):
        total += v * w
    return total
""",
        inputs="args = (rng.random(301), rng.random(301))",
        function="weighted",
        contains=("values @ weights",),
    ),
    Rewrites(
        before="""\
def energy(x, y, n):
    out = [0.0] * n
    for i in range(n):
        for k in range(len(x[0])):
            d = x[i][k] - y[i][k]
            out[i] += d * d
    return out
""",
        inputs="args = (rng.random((40, 25)).tolist(), rng.random((40, 25)).tolist(), 40)",
        function="energy",
        contains=("**2).sum(axis=1)",),
    ),
    Rewrites(
        before="""\
import numpy as np


def cholesky(a):
    n = len(a)
    low = np.zeros((n, n))
    for j in range(n):
        t = a[j, j]
        for k in range(j):
            t -= low[j, k] ** 2
        low[j, j] = np.sqrt(t)
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= low[i, k] * low[j, k]
            low[i, j] = t / low[j, j]
    return low
""",
        inputs="half = rng.random((24, 24))\nargs = (half @ half.T + 9.0 * np.eye(24),)",
        function="cholesky",
        contains=("np.linalg.cholesky", "np.copyto(low, lower"),
    ),
    Rewrites(
        before="""\
def matmul(a, b):
    n, m = len(a), len(b[0])
    c = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for k in range(len(b)):
                c[i][j] += a[i][k] * b[k][j]
    return c
""",
        inputs="args = (rng.random((20, 30)).tolist(), rng.random((30, 20)).tolist())",
        function="matmul",
        contains=("a_array @ b_array",),
    ),
    Ignores(
        before="""\
def prefix(x, out):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        out[i] = total
""",
        inputs="args = (rng.random(300), np.zeros(300))",
        function="prefix",
        because="every partial sum is stored",
    ),
    Ignores(
        before="""\
def growth(rates):
    total = 1.0
    for i in range(len(rates)):
        total *= rates[i]
    return total
""",
        inputs="args = (rng.random(300) + 0.5,)",
        function="growth",
        because="a product of all elements is no sum of products",
    ),
    Ignores(
        before="""\
def smooth(x):
    for i in range(1, len(x)):
        for k in range(3):
            x[i] += 0.1 * x[i - 1]
""",
        inputs="args = (rng.random(300),)",
        function="smooth",
        because="x[i - 1] has been changed by the iteration before",
    ),
    Ignores(
        before="""\
def scores(a, b):
    c = [[0] * len(b[0]) for _ in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                if a[i][k] > b[k][j]:
                    c[i][j] += a[i][k] * b[k][j]
    return c
""",
        inputs="args = (rng.random((20, 30)).tolist(), rng.random((30, 20)).tolist())",
        function="scores",
        because="an element that gets no term stays the int 0",
    ),
    Ignores(
        before="""\
def count(x):
    total = 0
    for i in range(len(x)):
        total += x[i]
    return total
""",
        inputs="args = (rng.integers(0, 9, 300),)",
        function="count",
        because="integers add up exactly in any order: NP201 does that",
    ),
)


@rule(needs={"numpy"}, cases=CASES)
def products_to_matmul(region: Region) -> Match | Refusal | None:
    """Hand the region's nest to the NumPy back end, which may reassociate."""
    answer = emit_products(region)
    if isinstance(region.nest, Refusal) and not isinstance(answer, Match):
        return None
    return answer
