"""Write loops around products of matrices as NumPy statements, and let a GPU make them all.

Why it is slow: every iteration runs Python bytecode for one product and one sum; and made one by
one on a GPU, the matrices that feed others would come back and go there again.
Why it may differ: cuBLAS adds in an order of its own, so the last digits can change.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.cupy_backend import products_on_gpu_together

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def chain(a, b, c):
    n, m, p = a.shape[0], b.shape[1], c.shape[1]
    half = np.zeros((n, m))
    whole = np.zeros((n, p))
    for i in range(n):
        for j in range(m):
            for k in range(a.shape[1]):
                half[i, j] += a[i, k] * b[k, j]
    for i in range(n):
        for j in range(p):
            for k in range(m):
                whole[i, j] += half[i, k] * c[k, j]
    return whole
""",
        inputs="args = (rng.random((26, 27)), rng.random((27, 25)), rng.random((25, 28)))",
        function="chain",
        contains=("gpu_half[:] = gpu_a @ gpu_b", "gpu_whole[:] = gpu_half @ gpu_c"),
    ),
    Rewrites(
        before="""\
import numpy as np


def update(alpha, a, b, c, out):
    n, m = a.shape[0], b.shape[1]
    work = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(a.shape[1]):
                work[i, j] += alpha * a[i, k] * b[k, j]
    for i in range(n):
        for j in range(out.shape[1]):
            out[i, j] *= 0.25
            for k in range(m):
                out[i, j] += work[i, k] * c[k, j]
""",
        inputs="""\
args = (0.5, rng.random((25, 26)), rng.random((26, 27)), rng.random((27, 28)))
args += (rng.random((25, 28)),)
""",
        function="update",
        contains=("gpu_work[:] = alpha * gpu_a @ gpu_b", "gpu_out += gpu_work @ gpu_c"),
    ),
    Ignores(
        before="""\
def scaled(a, b, c):
    n, m = c.shape
    for i in range(n):
        for j in range(m):
            c[i, j] *= 2.0
    for i in range(n):
        for j in range(m):
            c[i, j] += a[i, 0] * b[0, j]
""",
        because="each number is used once: there is no product of matrices",
        inputs="args = (rng.random((26, 27)), rng.random((27, 25)), rng.random((26, 25)))",
        function="scaled",
    ),
    Ignores(
        before="""\
import numpy as np


def chain(a, b, c):
    half = np.zeros((a.shape[0], b.shape[1]))
    whole = np.zeros((a.shape[0], c.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                half[i, j] += a[i, k] * b[k, j]
    print(half.max())
    for i in range(a.shape[0]):
        for j in range(c.shape[1]):
            for k in range(half.shape[1]):
                whole[i, j] += half[i, k] * c[k, j]
    return whole
""",
        because="what is printed needs the first product on the host",
        inputs="args = (rng.random((26, 27)), rng.random((27, 25)), rng.random((25, 28)))",
        function="chain",
    ),
)


@rule(needs={"numpy", "cupy"}, cases=CASES, several=True)
def products_to_cupy_together(region: Region) -> Match | Refusal | None:
    """The NumPy form of all the loops on the device; not our business where one stands alone."""
    return products_on_gpu_together(region) if region.beside else None
