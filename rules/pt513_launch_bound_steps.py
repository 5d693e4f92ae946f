"""Give the GPU more work at a time: its kernels are shorter than their launches.

Why it is slow: Python and PyTorch take five to ten microseconds to launch a kernel. Where most
kernels run shorter than that, the GPU waits for the next one most of the time.
Why it may differ: a larger batch changes training, and is advice only. A compiled model rounds
otherwise, and compiling takes some seconds: that is tried, as CUDA graphs of what is compiled,
under ``--unsafe`` only.
"""

from __future__ import annotations

from gpuadvise.api import (
    Basis,
    Condition,
    Exactness,
    Ignores,
    Match,
    Mistake,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy_traced import example
from gpuadvise.gpucode.torch_models import completed, name_of
from gpuadvise.gpucode.torch_traced import imports_torch, launch_bound
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
MADE = """\


def main():
    net = Net()
    net = net.to("cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train(net, torch.randn(2000, 32, 32, device="cuda"), optimizer)
"""
STEPS = {
    11: example(0.1, kernels={"gemm": (2000, 0.006), "relu": (2000, 0.004)}),
    17: example(0.2, kernels={"gemm": (4000, 0.012), "add": (4000, 0.008)}),
}
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP + MADE,
        line=15,
        function="train",
        gpu=STEPS,
        after=LOOP
        + MADE.replace(
            '    net = net.to("cuda")\n',
            '    net = net.to("cuda")\n    net.compile(mode="reduce-overhead")\n',
        ),
    ),
    Spots(
        before=LOOP,
        line=15,
        function="train",
        gpu=STEPS,
        after=None,  # the model is made in another file
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
        because="its lines do something else for most of their time: they compile, say",
        function="train",
        static=True,
        gpu={17: example(0.9, kernels={"gemm": (4000, 0.012)})},
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


@rule(cases=CASES)
def launch_bound_steps(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's kernels are shorter than their launches."""
    bound = launch_bound(region) if imports_torch(region.source) else None
    if bound is None:
        return None
    return (
        Mistake(
            line=region.loop.lineno,
            what=f"{bound.kernels} short kernels leave the GPU without work most of the time",
            remedy="larger batches, model.compile(mode='reduce-overhead'), or a CUDA graph "
            "of one step (torch.cuda.make_graphed_callables)",
            evidence=(
                f"median kernel {words.seconds(bound.median)}; the GPU worked "
                f"{words.seconds(bound.busy)} of the {words.seconds(bound.host)} that the main "
                "thread spent in this loop's lines"
            ),
            measured=True,
            cost=bound.host - bound.busy,
            match=_compiled(region),
        ),
    )


def _compiled(region: Region) -> Match | None:
    """The model compiled in place, where it is complete: what holds it need not change."""
    model = completed(region.source)
    if model is None:
        return None
    line = f'{name_of(model)}.compile(mode="reduce-overhead")'
    return Match(
        edits=(tools.insert_after(region.source, model, [line]),),
        why="",
        change="the model's operations are compiled to fewer kernels and launched as CUDA graphs",
        ledger=(
            Condition(
                "a last digit that compiled kernels round otherwise does not matter, and no result "
                "of the model is kept beyond its next call",
                Basis.ASSUMED,
                f"line {region.loop.lineno}",
            ),
        ),
        differences=(
            "the first steps compile, for some seconds, and later runs find part of that on disk",
            "PyTorch warns once that float32 products could be faster with TF32",
        ),
        warns=("UserWarning: TensorFloat32 tensor cores",),
        exactness=Exactness.LAST_DIGIT,
    )
