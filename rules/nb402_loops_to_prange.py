"""Compile a loop nest with ``numba.njit(parallel=True)`` and run independent iterations in threads.

Why it is slow: every iteration runs Python bytecode on one core, though no iteration needs what
another one computed.
Why it may differ: threads run the iterations in any order; the rule asks the dependence analysis
for a proof that they are independent, and leaves sums alone, which would add in another order.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.numba_cpu import emit

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def smooth(u):
    n, m = u.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return out
""",
        inputs="args = (rng.random((12, 9)),)",
        function="smooth",
        contains=("prange",),
    ),
    Ignores(
        before="""\
def prefix(a):
    for i in range(1, len(a)):
        a[i] = a[i] + a[i - 1]
""",
        because="iteration i reads what iteration i - 1 wrote",
        inputs="args = (rng.random(20),)",
        function="prefix",
    ),
)


@rule(needs={"numba"}, cases=CASES)
def loops_to_prange(region: Region) -> Match | Refusal | None:
    """Outline the loop nest and run its outermost loop in threads."""
    return emit(region, parallel=True)
