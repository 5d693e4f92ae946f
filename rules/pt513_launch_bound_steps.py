"""Give the GPU more work at a time: its kernels are shorter than their launches.

Why it is slow: Python and PyTorch take five to ten microseconds to launch a kernel. Where most
kernels run shorter than that, the GPU waits for the next one most of the time.
Why it may differ: advice only. A larger batch changes training, a compiled model rounds otherwise,
and a CUDA graph repeats one step with buffers of its own.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Mistake, Region, Spots, rule
from gpuadvise.gpucode.cupy_traced import example, median_kernel
from gpuadvise.gpucode.torch_traced import imports_torch, traced_lines
from gpuadvise.report import words

LOOP = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 32)

    def forward(self, x):
        return torch.relu(self.layer(x))


def train(net, batches, optimizer):
    for x in batches:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP,
        line=15,
        function="train",
        gpu={
            11: example(0.1, kernels={"gemm": (2000, 0.006), "relu": (2000, 0.004)}),
            17: example(0.2, kernels={"gemm": (4000, 0.012), "add": (4000, 0.008)}),
        },
    ),
    Ignores(
        before=LOOP,
        because="the kernels are short, but the GPU is busy all the time",
        function="train",
        static=True,
        gpu={17: example(0.02, kernels={"gemm": (4000, 0.012), "add": (4000, 0.004)})},
    ),
    Ignores(
        before=LOOP,
        because="the kernels are long: the GPU waits for data, not for launches",
        function="train",
        static=True,
        gpu={17: example(0.9, kernels={"gemm": (4000, 0.2)})},
    ),
    Ignores(
        before=LOOP,
        because="nothing was traced",
        function="train",
        static=True,
    ),
)
MANY, SHORT, BUSY, LAUNCH = 1000, 10e-6, 0.5, 60e-6
"""Kernels, seconds of the median one, share of the time that the GPU works, host seconds a kernel:
as for CP312."""


@rule(cases=CASES)
def launch_bound_steps(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's kernels are shorter than their launches."""
    if not imports_torch(region.source):
        return None
    lines = traced_lines(region)
    kernels, median = sum(work.kernels for work in lines), median_kernel(lines)
    host, busy = sum(work.host for work in lines), sum(work.gpu for work in lines)
    if kernels < MANY or median >= SHORT or busy >= BUSY * host:
        return None
    calls = sum(work.calls for work in lines)
    if host > LAUNCH * kernels or 0 < 2 * calls < kernels:
        return None
    return (
        Mistake(
            line=region.loop.lineno,
            what=f"{kernels} short kernels leave the GPU without work most of the time",
            remedy="larger batches, torch.compile(model, mode='reduce-overhead'), or a CUDA graph "
            "of one step (torch.cuda.make_graphed_callables)",
            evidence=(
                f"median kernel {words.seconds(median)}; the GPU worked {words.seconds(busy)} of "
                f"the {words.seconds(host)} that the main thread spent in this loop's lines"
            ),
            measured=True,
            cost=host - busy,
        ),
    )
