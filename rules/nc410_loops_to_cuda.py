"""Run independent iterations as threads of a CUDA kernel, with the arrays on the device meanwhile.

Why it is slow: every iteration runs Python bytecode on one core, though no iteration needs what
another one computed, and a GPU runs tens of thousands at a time.
Why it may differ: products are kept from being fused with additions, so that ``+ - * /`` and square
roots are rounded as in Python; ``exp``, ``sin``, ``**`` and their like come from another library
and may differ in the last digit.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.cuda_backend import loops_on_gpu

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def relax(a, b, steps):
    n, m = a.shape
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = b[i, j]
""",
        inputs="args = (rng.random((12, 9)), rng.random((12, 9)), 3)",
        function="relax",
        contains=("j, i = cuda.grid(2)", "cuda.to_device(a)", "for t in range(steps):"),
    ),
    Rewrites(
        before="""\
def product(a, b, c):
    n, m = c.shape
    p = a.shape[1]
    for i in range(n):
        for j in range(m):
            c[i, j] = 0.0
        for k in range(p):
            for j in range(m):
                c[i, j] += a[i, k] * b[k, j]
""",
        inputs="args = (rng.random((17, 25)), rng.random((25, 19)), rng.random((17, 19)))",
        function="product",
        contains=("dmul_rn(a[i, k], b[k, j])", "for k in range(p):"),
    ),
    Rewrites(
        before="""\
import numpy as np


def step(u, r):
    new = np.zeros_like(u)
    for i in range(1, len(u) - 1):
        new[i] = u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return new


def simulate(u, r, steps):
    for _ in range(steps):
        u = step(u, r)
    return u
""",
        inputs="args = (rng.random(40), 0.2, 4)",
        function="simulate",
        contains=("gpu_u, gpu_new = gpu_new, gpu_u", "u = gpu_u.copy_to_host()"),
    ),
    Ignores(
        before="""\
def keep(u, steps):
    frames = []
    for t in range(steps):
        for i in range(len(u)):
            u[i] = 0.5 * u[i]
        frames.append(u)
    return frames
""",
        because="every frame is the one array, which the next step changes",
        inputs="args = (rng.random(40), 4)",
        function="keep",
        reason="u is kept in every step",
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
        reason="which an earlier iteration wrote",
    ),
    Ignores(
        before="""\
def smooth(a, b):
    last = 0.0
    for i in range(len(a)):
        b[i] = 0.5 * (a[i] + last)
        last = a[i]
""",
        because="last goes from one iteration to the next",
        inputs="args = (rng.random(20), rng.random(20))",
        function="smooth",
        reason="last carries a value",
    ),
)


@rule(needs={"numba", "cuda"}, cases=CASES)
def loops_to_cuda(region: Region) -> Match | Refusal | None:
    """Kernels for the parallel loops of the nest, launched from the loops around them."""
    return loops_on_gpu(region)
