"""Take ``cuda.synchronize()`` out of the loop that launches kernels.

Why it is slow: Python stops until the kernel has finished, and only then prepares the next launch;
the GPU idles meanwhile.
Why it may differ: it does not: kernels run one after the other anyway, and ``copy_to_host`` waits
by itself. Where the program takes times anywhere, one wait stays behind the loop.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from gpuadvise.api import Ignores, Match, Mistake, Region, Spots, rule
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import waits as waiting

KERNEL = """\
import numpy as np
from numba import cuda


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2 * x[i]


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    for _ in range(steps):
        double[4, 32](x)
        cuda.synchronize()
    return x.copy_to_host()
""",
        line=16,
        function="run",
        inputs="args = (np.arange(100.0), 5)",
        after=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    for _ in range(steps):
        double[4, 32](x)
    return x.copy_to_host()
""",
    ),
    Spots(
        before=KERNEL
        + """\
def run(host, steps):
    x = cuda.mapped_array(100)
    for _ in range(steps):
        double[4, 32](x)
        cuda.synchronize()
        host[:] = x
""",
        line=16,
        function="run",
        after=None,  # the host reads the very memory that the kernel writes
    ),
    Ignores(
        before=KERNEL
        + """\
def run(x, steps):
    for _ in range(steps):
        double[4, 32](x)
    cuda.synchronize()
""",
        because="it waits once, after the loop",
        function="run",
        static=True,
    ),
)


@rule(needs=("numba",), cases=CASES)
def synchronise_each_launch(region: Region) -> tuple[Mistake, ...] | None:
    """The loop waits for the whole device after its launches."""
    waits = waiting.waits_in(region, "numba.cuda.synchronize")
    if not waits:
        return None
    match = _match(region, waits)
    if match is None and waiting.inside_another(region):
        return None  # the loop around it answers
    seen = basics.evidence(region, [w.lineno for w in waits], ["sync"])
    if seen.measured and not seen.cost:
        return None
    return (
        Mistake(
            line=waits[0].lineno,
            what="the CPU waits for the whole GPU in every step of the loop",
            remedy="leave it out: kernels run in order, and copy_to_host() waits by itself",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=match,
        ),
    )


def _match(region: Region, waits: list[ast.Expr]) -> Match | None:
    found = waiting.without(region, waits)
    if found is None:
        return None
    return replace(found, needs=frozenset({"numba"}))
