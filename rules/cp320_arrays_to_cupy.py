"""Compute a loop's array statements on the GPU, with the arrays there from first pass to last.

Why it is slow: NumPy runs each operation on one core, and each moves whole arrays through the
CPU's memory, at a hundredth of a GPU's bandwidth.
Why it may differ: ``+ - * /`` and square roots are rounded as in NumPy. ``exp``, ``sin`` and ``**``
come from another library and may differ in the last digit; sums over arrays are added in another
order.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.cupy_backend import arrays_on_gpu

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def diffuse(u, k, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u[0] = u[1]
        u[:, -1] = 0.0
    return u
""",
        inputs="args = (rng.random((145, 146)), 0.1, 5)",
        function="diffuse",
        contains=("gpu_u = cp.asarray(u)", "cp.ElementwiseKernel(", "gpu_u.get(out=u)"),
    ),
    Rewrites(
        before="""\
import numpy as np


def step(u, c):
    un = u.copy()
    un[1:] = u[1:] - c * (u[1:] - u[:-1])
    return un


def advect(u, c, steps):
    for n in range(steps):
        u = step(u, c)
    return u
""",
        inputs="args = (rng.random(21000), 0.4, 6)",
        function="advect",
        contains=("gpu_un = gpu_u.copy()", "u = gpu_u.get()"),
    ),
    Rewrites(
        before="""\
import numpy as np


def wave(u, before, c2, steps):
    energies, frames = [], []
    for n in range(steps):
        after = 2 * u - before
        after[1:-1] += c2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u = u, after
        energies.append(float((u**2).sum()))
        if n % 2 == 0:
            frames.append(u.copy())
    return u, before, energies, frames
""",
        inputs="args = (rng.random(21000), rng.random(21000), 0.3, 7)",
        function="wave",
        contains=("frames.append(gpu_u.get())", "float(cp.square(gpu_u).sum())"),
    ),
    Rewrites(
        before="""\
import numpy as np


class Reaction:
    def __init__(self, u, v):
        self.u, self.v = u, v

    def run(self, steps):
        for _ in range(steps):
            rate = self.u * self.v * self.v
            self.u += 0.1 * (np.roll(self.u, 1) + np.roll(self.u, -1) - 2 * self.u) - rate
            self.v += 0.1 * rate
        return self.u


def react(u, v, steps):
    return Reaction(u, v).run(steps)
""",
        inputs="args = (Reaction(rng.random(21000), rng.random(21000)), 5)",
        function="Reaction.run",
        contains=("gpu_wrapped[:-2] + gpu_wrapped[2:]", "gpu_self_u.get(out=self.u)"),
    ),
    Ignores(
        before="""\
import numpy as np


def record(u, k, steps):
    frames = []
    for _ in range(steps):
        u[1:] = u[1:] * k
        frames.append(u)
    return frames
""",
        because="the list holds the array itself, which goes on changing",
        inputs="args = (rng.random(21000), 0.9, 6)",
        function="record",
        reason="is kept",
    ),
    Ignores(
        before="""\
import numpy as np


def smooth(u, k, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u
""",
        because="launching an operation takes longer than NumPy needs for 500 elements",
        inputs="args = (rng.random(500), 0.1, 6)",
        function="smooth",
    ),
    Ignores(
        before="""\
import numpy as np


def settle(u, k, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        np.clip(u, 0.0, 1.0, out=u)
    return u
""",
        because="of clip() it is not known here that CuPy's is the same",
        inputs="args = (rng.random(21000), 0.1, 6)",
        function="settle",
        reason="np.clip",
    ),
    Ignores(
        before="""\
import numpy as np


def relax(u, steps):
    for n in range(steps):
        if n % 2 == 0:
            saved = u.copy()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
    return u, saved
""",
        because="without a pass there is no array of that name, which is an error",
        inputs="args = (rng.random(21000), 6)",
        function="relax",
        reason="used after it",
    ),
)


@rule(needs={"numpy", "cupy"}, cases=CASES)
def arrays_to_cupy(region: Region) -> Match | Refusal | None:
    """The loop with its arrays on the device, if all its statements have the same sense there."""
    return arrays_on_gpu(region)
