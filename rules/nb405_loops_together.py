"""Compile the loops of a function that stand one after the other as one, with ``numba.njit``.

Why it is slow: every iteration runs Python bytecode; and compiled one by one, the loops turn the
lists that several of them work on into arrays and lists again each time.
Why it may differ: what holds of one loop (NB401, NB403) holds of all of them. Lists are asked about
and converted once, before the first loop; where a later loop would have found them otherwise, all
of the loops run as they were.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.together import converts_once, emit_together

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def product_and_norms(a, b, n):
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
    norms = [0.0] * n
    for i in range(n):
        for j in range(n):
            norms[i] += c[i][j] * c[i][j]
    return c, norms
""",
        inputs="args = (rng.random((9, 9)).tolist(), rng.random((9, 9)).tolist(), 9)",
        function="product_and_norms",
        contains=("_product_and_norms_kernel(",),
    ),
    Rewrites(
        before="""\
def centred(rows):
    n, m = len(rows), len(rows[0])
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += rows[i][j]
    mean = 0.001 * total
    for i in range(n):
        for j in range(m):
            rows[i][j] -= mean
    return mean
""",
        inputs="args = (rng.random((9, 11)).tolist(),)",
        function="centred",
        contains=("mean = 0.001 * total", "return mean"),
    ),
    Ignores(
        before="""\
def centred(rows):
    n, m = len(rows), len(rows[0])
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += rows[i][j]
    print(total)
    for i in range(n):
        for j in range(m):
            rows[i][j] -= total
""",
        because="what is printed comes between the loops",
        inputs="args = (rng.random((9, 11)).tolist(),)",
        function="centred",
    ),
    Ignores(
        before="""\
def scaled(a, b):
    n = len(a)
    for i in range(n):
        a[i] *= 2.0
    for i in range(n):
        b[i] += 1.0
""",
        because="they have no list in common: nothing is converted twice",
        inputs="args = (rng.random(9).tolist(), rng.random(9).tolist())",
        function="scaled",
    ),
)


@rule(needs={"numba"}, cases=CASES, several=True)
def loops_together(region: Region) -> Match | Refusal | None:
    """Outline all of the loops and compile them; not our business where they share no list."""
    return emit_together(region) if converts_once(region) else None
