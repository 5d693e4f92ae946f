"""Write loops that multiply matrices as NumPy's products, and let a GPU make them.

Why it is slow: every iteration runs Python bytecode for one product and one sum, of which a GPU
does trillions a second.
Why it may differ: cuBLAS adds in an order of its own, so the last digits can change.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.cupy_backend import products_on_gpu

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def multiply(a, b):
    n, m = a.shape[0], b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c
""",
        inputs="args = (rng.random((26, 27)), rng.random((27, 25)))",
        function="multiply",
        contains=("gpu_c[:] = gpu_a @ gpu_b", "gpu_c.get(out=c)"),
    ),
    Rewrites(
        before="""\
def update(alpha, A, C):
    n, m = A.shape
    for i in range(n):
        for j in range(n):
            for k in range(m):
                C[i, j] += alpha * A[i, k] * A[j, k]
""",
        inputs="args = (1.5, rng.random((26, 29)), rng.random((26, 26)))",
        function="update",
        contains=("gpu_C += alpha * (gpu_A @ gpu_A.T)",),
    ),
    Ignores(
        before="""\
def product(a, x, y):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            y[i] += a[i, j] * x[j]
""",
        inputs="args = (rng.random((80, 90)), rng.random(90), rng.random(80))",
        function="product",
        because="a matrix times a vector reads each number once: copying it takes longer",
    ),
    Ignores(
        before="""\
def product(a, b, c):
    n, m = a.shape
    for i in range(n):
        for j in range(n):
            for k in range(m):
                c[i, j] += a[i, k] * b[k, j]
""",
        inputs="args = (rng.random((15, 15)), rng.random((15, 15)), rng.random((15, 15)))",
        function="product",
        because="15 rows are copied no sooner than multiplied",
        reason="take longer than the product",
    ),
)


@rule(needs={"numpy", "cupy"}, cases=CASES)
def products_to_cupy(region: Region) -> Match | Refusal | None:
    """The NumPy form of the region's sums, with its products on the device."""
    if isinstance(region.nest, Refusal) or region.observation is None:
        return None
    return products_on_gpu(region)
