"""Let array statements of a hot loop write into arrays made once, before the loop.

Why it is slow: every operator of ``u[1:-1] + k * (u[2:] - u[:-2])`` makes a whole new array, in
every step; large ones are fetched from the operating system and handed back each time.
Why it may differ: it does not. The same operations run in the same order, with ``out=``. Types,
dtypes and shapes are tested in front of the loop, with the original as the other branch, and an
array that anything else may hold on to is made anew as before. Functions of the file that the loop
calls are written out in it, so that it owns their buffers too; rolled copies become slices of one
copy with a wrapped border.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.bf_plan import buffered

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def heat(u, k, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u
""",
        inputs="args = (rng.random((40, 37)), 0.1, 5)",
        function="heat",
        contains=("np.empty_like(u[1:-1, 1:-1])", "out="),
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
        inputs="args = (rng.random(1500), 0.4, 6)",
        function="advect",
        contains=("np.copyto(un_a, u)", "un_a, un_b = un_b, un_a"),
    ),
    Rewrites(
        before="""\
import numpy as np


def wave(u, before, c2, steps):
    energies = []
    for _ in range(steps):
        after = 2 * u - before
        after[1:-1] += c2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u = u, after
        energies.append((u**2).sum())
    return u, before, energies
""",
        inputs="args = (rng.random(1500), rng.random(1500), 0.3, 7)",
        function="wave",
        contains=("after_c",),
    ),
    Rewrites(
        before="""\
import numpy as np


def record(u, k, steps):
    frames = [u]
    for _ in range(steps):
        u = u + k * (u - u**2)
        frames.append(u)
    return frames
""",
        inputs="args = (rng.random(1500), 0.1, 6)",
        function="record",
        contains=("u = u + work",),
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
        inputs="args = (Reaction(rng.random(1500), rng.random(1500)), 5)",
        function="Reaction.run",
        contains=("wrapped[:-2]", "rate = np.multiply(work, self.v, out=rate_buffer)"),
    ),
    Ignores(
        before="""\
import numpy as np


def record(u, k, steps):
    frames = [u]
    for _ in range(steps):
        u = u * k
        frames.append(u)
    return frames
""",
        because="each of the arrays is kept, so each has to be a new one",
        inputs="args = (rng.random(1500), 0.9, 6)",
        function="record",
    ),
    Ignores(
        before="""\
import numpy as np


def blend(u, weights, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + weights * (u[2:] - u[:-2])
    return u
""",
        because="weights of one element is stretched over the array: the shapes are not equal",
        inputs="args = (rng.random(1500), rng.random(1), 6)",
        function="blend",
    ),
    Ignores(
        before="""\
import numpy as np


def grow(u, steps):
    for _ in range(steps):
        u = np.concatenate([u, u[:1]])
        u[1:-1] = u[1:-1] + 0.5 * (u[2:] - u[:-2])
    return u
""",
        because="the array has another shape in every step",
        inputs="args = (rng.random(1500), 6)",
        function="grow",
    ),
    Ignores(
        before="""\
import numpy as np


def relax(u, mask, steps):
    for _ in range(steps):
        u[mask] = u[mask] + 0.5 * (1 - u[mask])
    return u
""",
        because="how many elements the mask selects is known only when it is used",
        inputs="args = (rng.random(1500), rng.random(1500) > 0.5, 6)",
        function="relax",
    ),
    Ignores(
        before="""\
import numpy as np


def shrink(u, k, steps):
    for _ in range(steps):
        u = (u + k) * k
    return u
""",
        because="with a float32 array and a float64 number, the dtype is another in NumPy 2",
        inputs="args = (rng.random(1500).astype(np.float32), np.float64(0.5), 6)",
        function="shrink",
    ),
    Ignores(
        before="""\
import numpy as np


def settle(u, k, steps):
    for _ in range(steps):
        u.shape = u.shape[::-1]
        u[1:-1] = u[1:-1] + k * (u[2:] - u[:-2])
    return u
""",
        because="the array changes its shape in place",
        inputs="args = (rng.random((40, 40)), 0.1, 6)",
        function="settle",
    ),
)


@rule(needs={"numpy"}, cases=CASES)
def stencil_buffers(region: Region) -> Match | Refusal | None:
    """The loop with buffers, if any of its statements can use one."""
    made = buffered(region)
    if made is None or isinstance(made, Refusal):
        return made
    edit, ledger, count = made
    return Match(
        edits=(edit,),
        why="every operator makes a new array in every step",
        change=f"the same operations into {count} arrays made once, before the loop",
        needs=frozenset({"numpy"}),
        ledger=ledger,
    )
