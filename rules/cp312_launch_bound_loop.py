"""Launch fewer kernels, or all of a step at once: the GPU waits for the CPU.

Why it is slow: each launch costs the CPU five to twenty microseconds; kernels that are shorter
than that leave the GPU without work most of the time.
Why it may differ: advice only. A CUDA graph replays the same kernels; a fused kernel may round
products and sums together.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Mistake, Region, Spots, rule
from gpuadvise.gpucode.cupy_text import imports_cupy
from gpuadvise.gpucode.cupy_traced import example, median_kernel, traced_lines
from gpuadvise.report import words

LOOP = """\
import cupy as cp


def smooth(x):
    return (cp.roll(x, 1) + cp.roll(x, -1)) * 0.5


def run(x, steps):
    for _ in range(steps):
        x = smooth(x)
    return x.get()
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP,
        line=9,
        function="run",
        gpu={5: example(0.2, kernels={"add": (2000, 0.004), "roll": (4000, 0.012)})},
    ),
    Ignores(
        before=LOOP,
        because="the kernels are short, but the GPU is busy all the time",
        function="run",
        static=True,
        gpu={5: example(0.02, kernels={"add": (2000, 0.006), "roll": (4000, 0.012)})},
    ),
    Ignores(
        before=LOOP,
        because="a few launches cost nothing",
        function="run",
        static=True,
        gpu={5: example(0.2, kernels={"add": (20, 0.004), "roll": (40, 0.012)})},
    ),
)
MANY, SHORT, BUSY, LAUNCH = 1000, 10e-6, 0.5, 60e-6
"""Kernels, seconds of the median one, share of the time that the GPU works, host seconds a kernel.

Where the host spends more on a kernel than any launch takes, it does something else: it compiles,
or makes data. Where it makes far fewer calls than there are kernels, a CUDA graph launches them.

Many short kernels alone are no finding: a GPU can be busy with them all the time."""


@rule(cases=CASES)
def launch_bound_loop(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's kernels are shorter than their launches."""
    lines = traced_lines(region)
    if region.depth or not lines or not imports_cupy(region.source):
        return None
    kernels = sum(work.kernels for work in lines)
    median = median_kernel(lines)
    host = sum(work.host for work in lines)
    busy = sum(work.gpu for work in lines)
    if kernels < MANY or median >= SHORT or not host or busy >= BUSY * host:
        return None
    calls = sum(work.calls for work in lines)
    if host > LAUNCH * kernels or 0 < 2 * calls < kernels:
        return None
    return (
        Mistake(
            line=region.loop.lineno,
            what=f"{kernels} short kernels leave the GPU without work most of the time",
            remedy="fuse them (cupy.fuse, a RawKernel), or capture a step in a CUDA graph",
            evidence=(
                f"median kernel {words.seconds(median)}; the GPU worked {words.seconds(busy)} of "
                f"the {words.seconds(host)} that the main thread spent in this loop's lines"
            ),
            measured=True,
            cost=host - busy,
        ),
    )
