"""Keep images with their channels last, as tensor cores want them.

Why it is slow: the fast convolutions read the channels of a pixel side by side. Where a model keeps
images by channel, each of them copies its operands into that order first, and its result back.
Why it may differ: another kernel adds up in another order, so results differ in their last digits.
The change is tried under ``--unsafe`` only.
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
from gpuadvise.gpucode.torch_loops import torch_name
from gpuadvise.gpucode.torch_models import completed, name_of
from gpuadvise.gpucode.torch_text import uses
from gpuadvise.gpucode.torch_traced import traced_lines, weighty
from gpuadvise.report import words

LOOP = """\
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3)).to("cuda")


def features(batches):
    with torch.no_grad():
        for x in batches:
            yield model(x).mean()
"""
COPIES = {
    10: example(
        1.0,
        kernels={
            "cudnn::ops::nchwToNhwcKernel<float, float, float>": (400, 0.2),
            "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_nhwckrsc_nhwc": (200, 0.5),
            "cudnn::ops::nhwcToNchwKernel<float, float, float>": (200, 0.1),
        },
    )
}
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP,
        line=9,
        function="features",
        gpu=COPIES,
        after=LOOP.replace(
            '.to("cuda")\n',
            '.to("cuda")\nmodel.to(memory_format=torch.channels_last)\n',
        ),
    ),
    Ignores(
        before=LOOP,
        because="nothing is copied into another layout",
        function="features",
        static=True,
        gpu={10: example(1.0, kernels={"sm80_xmma_fprop_implicit_gemm_nhwc": (200, 0.8)})},
    ),
    Ignores(
        before=LOOP.replace("batches):", "batches, layout=torch.channels_last):"),
        because="the program chooses a layout itself",
        function="features",
        static=True,
        gpu=COPIES,
    ),
)
LAYOUT = ("nchwToNhwc", "nhwcToNchw")
"""Words in names of cuDNN's kernels that copy from one layout to the other."""
SHARE = 0.05
"""Of the GPU's time that these take."""


@rule(cases=CASES)
def convolutions_change_layout(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's convolutions copy images into another layout and back."""
    torch, found = torch_name(region.source), weighty(region, LAYOUT, share=SHARE)
    if torch is None or found is None or any(uses(region.source, "channels_last")):
        return None
    spent, busy = found
    number = sum(
        count
        for work in traced_lines(region)
        for name, (count, _) in work.names.items()
        if any(word in name for word in LAYOUT)
    )
    return (
        Mistake(
            line=region.loop.lineno,
            what="convolutions copy images to channels-last layout and back",
            remedy=f"keep them so: model.to(memory_format={torch}.channels_last), and the same for "
            "the batches",
            evidence=f"{number} such copies, {words.seconds(spent)} of {words.seconds(busy)} on "
            "the GPU",
            measured=True,
            cost=spent,
            match=_match(region, torch),
        ),
    )


def _match(region: Region, torch: str) -> Match | None:
    """The model's weights alone: a convolution's result is laid out as they are."""
    model = completed(region.source)
    if model is None:
        return None
    line = f"{name_of(model)}.to(memory_format={torch}.channels_last)"
    return Match(
        edits=(tools.insert_after(region.source, model, [line]),),
        why="",
        change="the model's weights, and so the images between its layers, hold channels last",
        ledger=(
            Condition(
                "a last digit that another convolution rounds otherwise does not matter, and "
                "nothing reads a result's memory in its order",
                Basis.ASSUMED,
                f"line {region.loop.lineno}",
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )
