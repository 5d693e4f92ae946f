"""Let tensor cores multiply matrices, where their precision will do.

Why it is slow: products of float32 matrices run on the ordinary cores unless TF32 is allowed; on
an H200 at 51 instead of 390 TFLOP/s.
Why it may differ: TF32 keeps 10 bits of each factor's mantissa instead of 23 (sums stay float32),
so results differ from the third or fourth digit on. The change is tried under ``--unsafe`` only.
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
from gpuadvise.gpucode.torch_text import uses
from gpuadvise.gpucode.torch_traced import FULL, TENSOR, weighty
from gpuadvise.report import words

LOOP = """\
import torch


def powers(x, steps):
    for _ in range(steps):
        x = x @ x / x.norm()
    return x
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP,
        line=5,
        function="powers",
        gpu={6: example(1.0, kernels={"ampere_sgemm_128x64_nn": (50, 0.8), "norm": (50, 0.1)})},
        after="""\
import torch


torch.set_float32_matmul_precision("high")


def powers(x, steps):
    for _ in range(steps):
        x = x @ x / x.norm()
    return x
""",
    ),
    Ignores(
        before=LOOP,
        because="tensor cores are at work already",
        function="powers",
        static=True,
        gpu={6: example(1.0, kernels={"cutlass_80_tensorop_s1688gemm_tf32_nn": (50, 0.9)})},
    ),
    Ignores(
        before=LOOP,
        because="products are a small part of what the GPU does",
        function="powers",
        static=True,
        gpu={6: example(1.0, kernels={"ampere_sgemm_128x64_nn": (50, 0.1), "norm": (50, 0.8)})},
    ),
    Ignores(
        before=LOOP,
        because="the GPU waits most of the time: faster kernels change nothing",
        function="powers",
        static=True,
        gpu={6: example(1.0, kernels={"ampere_sgemm_128x64_nn": (50, 0.1)})},
    ),
    Ignores(
        before=LOOP.replace("\n\n", "\n\ntorch.backends.cuda.matmul.allow_tf32 = False\n\n", 1),
        because="the program says which precision it wants",
        function="powers",
        static=True,
        gpu={8: example(1.0, kernels={"ampere_sgemm_128x64_nn": (50, 0.9)})},
    ),
)
_CHOSEN = ("set_float32_matmul_precision", "allow_tf32", "fp32_precision", "autocast", "half")


@rule(cases=CASES)
def products_in_full_precision(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's time goes into products of float32 matrices."""
    torch = torch_name(region.source)
    found = weighty(region, FULL, but=TENSOR)
    if torch is None or found is None or any(uses(region.source, *_CHOSEN)):
        return None
    spent, busy = found
    return (
        Mistake(
            line=region.loop.lineno,
            what="most of the GPU's time goes into float32 products without tensor cores",
            remedy=f'{torch}.set_float32_matmul_precision("high"), or autocast to bfloat16: other '
            "digits, from the third on",
            evidence=f"{words.seconds(spent)} of {words.seconds(busy)} on the GPU",
            measured=True,
            cost=spent,
            match=_match(region, torch),
        ),
    )


def _match(region: Region, torch: str) -> Match | None:
    text = [f'{torch}.set_float32_matmul_precision("high")']
    edit = tools.below_imports(region.source, "torch", text)
    if edit is None:
        return None
    return Match(
        edits=(edit,),
        why="",
        change="float32 matrices are multiplied by tensor cores (TF32)",
        ledger=(
            Condition(
                "three digits of each factor are enough",
                Basis.ASSUMED,
                f"line {region.loop.lineno}",
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )
