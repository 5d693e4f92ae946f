"""Wait for the GPU before the clock is read, or time with events.

Why it is slow: it is not; but PyTorch's operations return when they are asked for, so that a clock
read behind them shows the time of launching, not of the work.
Why it may differ: the times that the script takes become those of the work; all else stays.
"""

from __future__ import annotations

import ast

from gpuadvise.api import (
    Basis,
    Condition,
    Ignores,
    Match,
    Mistake,
    Purpose,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode.cupy_timing import around, intervals
from gpuadvise.gpucode.torch_loops import orders_by_hand, torch_name
from gpuadvise.gpucode.torch_timing import launches, never_waits

BENCH = """\
import time

import torch


def bench(n, repeats):
    x = torch.ones(n, n, device="cuda")
    start = time.perf_counter()
    for _ in range(repeats):
        y = x @ x
    took = time.perf_counter() - start
    return took / repeats, y.sum().item()
"""
STEPS = """\
import time

import torch
from torch import nn


def steps(model, xs, ys, count):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion, times = nn.MSELoss(), []
    for _ in range(count):
        before = time.time()
        optimizer.zero_grad()
        loss = criterion(model(xs), ys)
        loss.backward()
        optimizer.step()
        after = time.time()
        times.append(after - before)
    return times


net = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).to("cuda")
data = torch.ones(512, 64, device="cuda")
print(sum(steps(net, data, data, 100)) / 100)
"""
WAIT = "torch.cuda.synchronize()\n"
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=BENCH,
        line=11,
        function="bench",
        after=BENCH.replace("    start =", f"    {WAIT}    start =").replace(
            "    took =", f"    {WAIT}    took ="
        ),
    ),
    Spots(
        before=STEPS,
        line=16,
        function="steps",
        after=STEPS.replace("        before =", f"        {WAIT}        before =").replace(
            "        after =", f"        {WAIT}        after ="
        ),
    ),
    Ignores(
        before=BENCH.replace("    took =", f"    {WAIT}    took ="),
        because="it waits for the GPU first",
        function="bench",
        static=True,
    ),
    Ignores(
        before=BENCH.replace("x @ x\n", "x @ x\n        y[0, 0].item()\n"),
        because="a number is fetched in each step, which waits for it",
        function="bench",
        static=True,
    ),
    Ignores(
        before=BENCH.replace(', device="cuda"', ""),
        because="all of it runs on the CPU",
        function="bench",
        static=True,
    ),
)


@rule(cases=CASES)
def clock_read_too_early(region: Region) -> tuple[Mistake, ...] | None:
    """The clock is read while the GPU is still at work."""
    source, torch = region.source, torch_name(region.source)
    if torch is None or orders_by_hand(source) is not None:
        return None
    found = []
    for start, between, read in (*intervals(region), *around(region)):
        started = [node for part in between for node in launches(source, part)]
        if not started or not all(never_waits(source, part) for part in between):
            continue
        seen = basics.evidence(region, [node.lineno for node in started], ["kernel"])
        if seen.measured and not seen.cost:
            continue  # on the CPU after all
        found.append(
            Mistake(
                line=read.lineno,
                what="the clock is read before the GPU has done the work",
                remedy=f"call {torch}.cuda.synchronize() before it, or use "
                "torch.utils.benchmark.Timer",
                evidence=seen.text,
                measured=seen.measured,
                cost=seen.cost,
                match=_waiting(region, torch, start, read),
            )
        )
    return tuple(found) or None


def _waiting(region: Region, torch: str, start: ast.stmt, read: ast.Call) -> Match | None:
    """A wait before both readings of the clock: what was asked for before is no part of it."""
    source = region.source
    stop = tools.enclosing_statement(source, read)
    if not all(tools.stands_alone(source, statement) for statement in (start, stop)):
        return None
    line = f"{torch}.cuda.synchronize()"
    return Match(
        edits=tuple(tools.insert_before(source, statement, [line]) for statement in (start, stop)),
        why="",
        change="the clock is read when the GPU has done its work",
        ledger=(
            Condition(
                "the new lines only wait: nothing is computed in another way or order",
                Basis.PROVED,
                f"lines {start.lineno}-{stop.lineno}",
            ),
        ),
        differences=("the times that the script takes of itself are those of the work",),
        purpose=Purpose.CORRECTION,
    )
