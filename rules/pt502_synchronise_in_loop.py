"""Take ``torch.cuda.synchronize()`` out of the loop.

Why it is slow: Python stops until the GPU has finished, and only then prepares the next step; the
GPU idles meanwhile.
Why it may differ: it does not: PyTorch waits by itself wherever a value reaches the host. Where
the program takes times anywhere, one wait stays behind the loop, so that they cover its work.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Mistake, Region, Spots, rule
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import waits as waiting

HEAD = """\
import torch


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def run(n):
    x = torch.ones(n, n)
    for _ in range(5):
        x = x @ x / n
        torch.cuda.synchronize()  # be safe
    return x.sum().item()
""",
        line=8,
        function="run",
        inputs="args = (30,)",
        after=HEAD
        + """\
def run(n):
    x = torch.ones(n, n)
    for _ in range(5):
        x = x @ x / n
    return x.sum().item()
""",
    ),
    Spots(
        before="import time\n"
        + HEAD
        + """\
def run(x):
    for _ in range(5):
        if x.ndim:
            torch.cuda.synchronize()
        x = x @ x
    return x


start = time.time()
run(torch.ones(9, 9))
print(time.time() > start)
""",
        line=8,
        function="run",
        inputs="args = (torch.ones(9, 9),)",
        after="import time\n"
        + HEAD
        + """\
def run(x):
    for _ in range(5):
        if x.ndim:
            pass
        x = x @ x
    torch.cuda.synchronize()
    return x


start = time.time()
run(torch.ones(9, 9))
print(time.time() > start)
""",
    ),
    Spots(
        before=HEAD
        + """\
def run(x, y):
    for _ in range(5):
        y = x.to("cpu", non_blocking=True)
        torch.cuda.synchronize()
    return y.numpy()
""",
        line=7,
        function="run",
        after=None,  # the copy runs on while Python reads its target
    ),
    Ignores(
        before="import time\n"
        + HEAD
        + """\
def run(x):
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        x = x @ x
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return taken
""",
        because="the wait belongs to a measurement",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def run(x):
    for _ in range(5):
        x = x @ x
    torch.cuda.synchronize()
    return x
""",
        because="it waits once, after the loop",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def run(x, cuda):
    for _ in range(5):
        x = x @ x
        cuda.synchronize()
    return x
""",
        because="nobody knows what cuda is here",
        function="run",
        static=True,
    ),
)


@rule(cases=CASES)
def synchronise_in_loop(region: Region) -> tuple[Mistake, ...] | None:
    """The loop waits for the whole device in every step."""
    waits = waiting.waits_in(region, "torch.cuda.synchronize")
    if not waits:
        return None
    match = waiting.without(region, waits)
    if match is None and waiting.inside_another(region):
        return None  # the loop around it answers
    seen = basics.evidence(region, [w.lineno for w in waits], ["sync"])
    if seen.measured and not seen.cost:
        return None
    return (
        Mistake(
            line=waits[0].lineno,
            what="the CPU waits for the whole GPU in every step of the loop",
            remedy="leave it out: PyTorch waits by itself where a value reaches the host",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=match,
        ),
    )
