"""Compile a loop nest with ``numba.njit`` and run several iterations of a loop at once.

Why it is slow: every iteration runs Python bytecode; and compiled as it is, each addition of a sum
waits for the one before, or a row is loaded and stored again for every term.
Why it may differ: only loops whose iterations are proved independent run side by side, and each
element gets its terms in the order it had, so that no bit changes. Compiling takes about twice as
long as for the plain loops (NB401): it pays for long runs, and for later runs.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.nb_steps import better_order
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.loopnest.ir import Nest

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def product(a, b, c):
    n, p = a.shape
    m = b.shape[1]
    for i in range(n):
        for j in range(m):
            for k in range(p):
                c[i, j] += a[i, k] * b[k, j]
    return c
""",
        inputs="args = (rng.random((9, 11)), rng.random((11, 10)), rng.random((9, 10)))",
        function="product",
        contains=("for k in range(0, k_tail, 4)", "+ a[i, k + 3] * b[k + 3, j]"),
    ),
    Rewrites(
        before="""\
def sums(a, x, y):
    n, m = a.shape
    for i in range(n):
        total = 0.0
        for j in range(m):
            total += a[i, j] * x[j]
        y[i] = total
    return y
""",
        inputs="args = (rng.random((13, 9)), rng.random(9), rng.random(13))",
        function="sums",
        contains=("total_3 += a[i + 3, j] * x[j]",),
    ),
    Ignores(
        before="""\
def running(a, x):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            x[0] += a[i, j] * x[0]
    return x
""",
        because="every term needs the sum so far",
        inputs="args = (rng.random((13, 9)), rng.random(9))",
        function="running",
    ),
    Ignores(
        before="""\
def scaled(a):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            a[i, j] *= 0.5
    return a
""",
        because="each element is computed once: there is nothing to gain",
        inputs="args = (rng.random((13, 9)),)",
        function="scaled",
    ),
)


@rule(needs={"numba"}, cases=CASES)
def loops_in_steps(region: Region) -> Match | Refusal | None:
    """Outline and compile the loop nest; not our business where one step at a time is as good."""
    if not isinstance(region.nest, Nest) or better_order(region.nest, steps=True) is None:
        return None
    return emit(region, parallel=False, steps=True)
