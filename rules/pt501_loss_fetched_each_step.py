"""Add the loss up, or collect it, on the device and fetch it once after the loop.

Why it is slow: ``.item()`` waits until the GPU has done all that was asked of it, and only then
can Python prepare the next step; the GPU idles meanwhile.
Why it may differ: it does not: the sum is taken on the device in double precision, number by
number in the same order as Python's, and collected values keep their type.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from gpuadvise.api import (
    Ignores,
    Mistake,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import torch_fetch as fetched
from gpuadvise.gpucode import torch_loops as loops

TRAIN = """\
import torch
from torch import nn


def made():
    torch.manual_seed(1)
    x = torch.randn(64, 8)
    return nn.Linear(8, 1), x, x.sum(dim=1, keepdim=True)


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=TRAIN
        + """\
def train(model, x, y, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total = 0.0
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / steps
""",
        line=19,
        function="train",
        inputs="args = (*made(), 7)",
        after=TRAIN
        + """\
def train(model, x, y, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total = 0.0
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        total = total + loss.detach().double() * len(x)
    total = float(total)
    return total / steps
""",
    ),
    Spots(
        before=TRAIN
        + """\
def count(parts, limit):
    scores = torch.randn(parts, 5)
    hits, labels = 0, []
    for i in range(limit):
        hits += (scores[i] > 0).sum().item()
        labels.append(scores[i].argmax().item())
    return hits, labels
""",
        line=15,
        function="count",
        inputs="args = (20, 20)",
        after=TRAIN
        + """\
def count(parts, limit):
    scores = torch.randn(parts, 5)
    hits, labels = 0, []
    for i in range(limit):
        hits = hits + (scores[i] > 0).sum().long()
        labels.append(scores[i].argmax().item())
    hits = int(hits)
    return hits, labels
""",
    ),
    Spots(
        before=TRAIN
        + """\
def label(parts):
    scores = torch.randn(parts, 5)
    labels = []
    for i in range(parts):
        labels.append(scores[i].argmax().item())
    return labels
""",
        line=15,
        function="label",
        inputs="args = (20,)",
        after=TRAIN
        + """\
def label(parts):
    scores = torch.randn(parts, 5)
    labels = []
    for i in range(parts):
        labels.append(scores[i].argmax())
    labels = torch.stack(labels).tolist() if labels else labels
    return labels
""",
    ),
    Spots(
        before=TRAIN
        + """\
def fit(model, x, y, steps):
    total = 0.0
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        total += loss.item()
        print(total)
    return total
""",
        line=16,
        function="fit",
        after=None,  # every partial sum is printed
    ),
    Ignores(
        before=TRAIN
        + """\
def fit(model, x, y, steps):
    total = torch.zeros(())
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        total += loss.detach()
    return total.item()
""",
        because="the sum is on the device already",
        function="fit",
        static=True,
    ),
    Ignores(
        before="""\
import numpy as np


def mean(rows):
    total = 0.0
    for row in rows:
        total += row.max().item()
    return total
""",
        because="no tensor is near",
        function="mean",
        static=True,
    ),
    Ignores(
        before=TRAIN
        + """\
import time


def bench(model, x, y, steps):
    times = 0.0
    for _ in range(steps):
        start = time.perf_counter()
        loss = ((model(x) - y) ** 2).mean()
        loss.item()
        times += time.perf_counter() - start
    return times
""",
        because="the loop takes times, for which the CPU has to wait",
        function="bench",
        static=True,
    ),
)


@rule(cases=CASES)
def loss_fetched_each_step(region: Region) -> tuple[Mistake, ...] | None:
    """A number is fetched from a tensor in every step of the loop."""
    source, loop = region.source, region.loop
    if loops.torch_name(source) is None or loops.times(source, loop):
        return None
    found: list[Mistake] = []
    for fetch in sorted(fetched.fetches(source, loop), key=lambda f: f.call.lineno):
        line = fetch.call.lineno
        seen = basics.evidence(region, [line], ["sync", "cop"])
        if seen.measured and not seen.cost:
            continue  # a tensor on the CPU
        match = fetched.rewrite(region, fetch)
        if match is None and not _is_mine(region, fetch):
            continue
        found.append(
            Mistake(
                line=line,
                what=f"{source.text(fetch.call)} makes the CPU wait for the GPU in every step",
                remedy="keep the number on the device and fetch it after the loop",
                evidence=seen.text,
                measured=seen.measured,
                cost=seen.cost,
                match=match,
            )
        )
    return tuple(found) or None


def _is_printed(source: Source, node: ast.AST) -> bool:
    """``print(loss.item())``: PT509 names the line."""
    match tools.enclosing_statement(source, node):
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return tools.is_builtin(source, "print")
    return False


def _is_mine(region: Region, fetch: fetched.Fetch) -> bool:
    """Whether a fetch that stays as it is is this loop's to name, and worth it.

    The loop inside answers for its own, a loop around it where the sum goes on there.
    """
    source, loop = region.source, region.loop
    if loops.innermost(source, fetch.call) is not loop or _is_printed(source, fetch.call):
        return False
    if loops.now_and_then(source, fetch.call, loop):
        return False
    around = loops.enclosing(source, loop)
    return all(fetched.rewrite(replace(region, loop=outer), fetch) is None for outer in around)
