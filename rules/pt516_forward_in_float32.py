"""Compute a model's products in bfloat16, where its precision will do.

Why it is slow: a float32 product moves twice the bytes, and tensor cores multiply bfloat16 at twice
the rate of TF32, and at fifteen times that of ordinary float32.
Why it may differ: bfloat16 keeps 8 bits of each factor's mantissa (sums stay float32), so results
differ from the second or third digit on. The change is tried under ``--unsafe`` only.
"""

from __future__ import annotations

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
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
from gpuadvise.gpucode.torch_models import forward_pass
from gpuadvise.gpucode.torch_text import uses
from gpuadvise.gpucode.torch_traced import FULL, weighty
from gpuadvise.report import words

LOOP = """\
import torch
from torch import nn


def train(x, y, steps):
    model = nn.Sequential(nn.Linear(4096, 4096), nn.GELU(), nn.Linear(4096, 10)).to("cuda")
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        scores = model(x)
        loss = loss_function(scores, y)
        loss.backward()
        optimizer.step()
"""
PRODUCTS = {
    11: example(0.3, kernels={"cutlass_80_tensorop_s1688gemm_tf32_nn": (200, 0.2)}),
    13: example(0.7, kernels={"ampere_sgemm_128x64_nn": (400, 0.6)}),
}
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP,
        line=11,
        function="train",
        gpu=PRODUCTS,
        after=LOOP.replace(
            "        scores = model(x)\n        loss = loss_function(scores, y)\n",
            '        with torch.autocast("cuda", dtype=torch.bfloat16):\n'
            "            scores = model(x)\n            loss = loss_function(scores, y)\n",
        ),
    ),
    Spots(
        before="""\
import torch
from torch import nn


def scores_of(model: nn.Module, batches):
    found = []
    for x in batches:
        found.append(model(x).sum())
    return torch.stack(found)


scores_of(nn.Linear(4096, 4096).to("cuda"), torch.randn(9, 64, 4096, device="cuda"))
""",
        line=8,
        function="scores_of",
        gpu={8: example(1.0, kernels={"ampere_sgemm_128x64_nn": (400, 0.9)})},
        after="""\
import torch
from torch import nn


def scores_of(model: nn.Module, batches):
    found = []
    for x in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found.append(model(x).sum())
    return torch.stack(found)


scores_of(nn.Linear(4096, 4096).to("cuda"), torch.randn(9, 64, 4096, device="cuda"))
""",
    ),
    Ignores(
        before=LOOP,
        because="most of the work is in bfloat16 already",
        function="train",
        static=True,
        gpu={11: example(1.0, kernels={"nvjet_bf16_gemm": (200, 0.9)})},
    ),
    Ignores(
        before=LOOP,
        because="the GPU waits most of the time: faster kernels change nothing",
        function="train",
        static=True,
        gpu={11: example(9.0, kernels={"ampere_sgemm_128x64_nn": (200, 0.9)})},
    ),
    Ignores(
        before=LOOP.replace("import torch\n", "import torch\nfrom torch import autocast\n", 1),
        because="the program says itself where it wants which precision",
        function="train",
        static=True,
        gpu={12: example(1.0, kernels={"ampere_sgemm_128x64_nn": (200, 0.9)})},
    ),
)
SINGLE = (*FULL, "tf32", "s1688", "implicit_convolve_s", "f32f32")
"""Words in names of kernels that multiply or convolve float32 numbers."""
HALF = ("bf16", "f16", "hgemm", "s16816", "half")
_CHOSEN = (
    *("autocast", "half", "bfloat16", "float16", "GradScaler", "double", "float64", "amp"),
    *("set_float32_matmul_precision", "allow_tf32", "fp32_precision"),
)


@rule(cases=CASES)
def forward_in_float32(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's time goes into a model's products and convolutions of float32 numbers."""
    torch, found = torch_name(region.source), weighty(region, SINGLE, but=HALF)
    if torch is None or found is None or any(uses(region.source, *_CHOSEN)):
        return None
    run = forward_pass(region.source, region.loop)
    if not run:
        return None
    spent, busy = found
    return (
        Mistake(
            line=run[0].lineno,
            what="the model multiplies float32 numbers",
            remedy="torch.autocast to bfloat16 around the forward pass and the loss: other digits, "
            "from the second or third on",
            evidence=f"{words.seconds(spent)} of {words.seconds(busy)} on the GPU in such kernels",
            measured=True,
            cost=spent / 2.0,
            match=_match(region, torch),
        ),
    )


def _match(region: Region, torch: str) -> Match | None:
    source = region.source
    run = forward_pass(source, region.loop)
    body = tools.shifted(source, run, tools.indent_unit(source))
    if body is None:
        return None
    head = f'with {torch}.autocast("cuda", dtype={torch}.bfloat16):'
    indent = tools.indent_of(source, run[0])
    text = "\n".join([head, *(indent + line if line else "" for line in body)])
    start, end = source.span(run[0])[0], source.span(run[-1])[1]
    return Match(
        edits=(Edit(start, end, text),),
        why="",
        change="the forward pass and the loss compute in bfloat16 where PyTorch calls that sound",
        ledger=(
            Condition(
                "two digits of each factor are enough", Basis.ASSUMED, f"line {run[0].lineno}"
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )
