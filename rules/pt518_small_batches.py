"""Hand the GPU larger batches, where its kernels are shorter than their launches.

Why it is slow: a step launches the same kernels for 32 samples as for 128; where the GPU waits for
launches, the larger batch takes hardly longer, and there are fewer of them.
Why it may differ: training takes fewer and other steps, so all results change. That is never
offered: under ``--unsafe`` the script runs once with batches of twice and four times the size, and
the report says what it would take.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Exactness,
    Ignores,
    Match,
    Mistake,
    Purpose,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import torch as values
from gpuadvise.gpucode.cupy_traced import example
from gpuadvise.gpucode.torch_text import scope_of
from gpuadvise.gpucode.torch_traced import imports_torch, launch_bound
from gpuadvise.report import words

LOOP = """\
import torch
from torch.utils.data import DataLoader, TensorDataset


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = ((model(x.to("cuda")) - y.to("cuda")) ** 2).mean()
        loss.backward()
        optimizer.step()


def main():
    data = TensorDataset(torch.randn(40000, 16), torch.randn(40000, 1))
    loader = DataLoader(data, batch_size=32)
    model = torch.nn.Linear(16, 1).to("cuda")
    train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
"""
STEPS = {8: example(0.1, kernels={"gemm": (2000, 0.006), "relu": (2000, 0.004)})}
NAMED = LOOP.replace("batch_size=32", "size").replace("    data =", "    size = 50\n    data =")
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=LOOP,
        line=6,
        function="train",
        gpu=STEPS,
        after=LOOP.replace("batch_size=32", "batch_size=64"),
    ),
    Spots(
        before=NAMED,
        line=6,
        function="train",
        gpu=STEPS,
        after=NAMED.replace("size = 50", "size = 100"),
    ),
    Ignores(
        before=LOOP,
        because="the kernels are long: the GPU is busy with batches of this size",
        function="train",
        static=True,
        gpu={8: example(0.9, kernels={"gemm": (4000, 0.8)})},
    ),
    Ignores(
        before=LOOP.replace("batch_size=32", "batch_size=len(data)"),
        because="all samples are one batch",
        function="train",
        static=True,
        gpu=STEPS,
    ),
)
LARGER = (2, 4)


@rule(cases=CASES)
def small_batches(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's batches are so small that the GPU waits for launches."""
    source = region.source
    bound = launch_bound(region) if imports_torch(source) else None
    loops = (node for node in ast.walk(region.loop) if isinstance(node, ast.For))
    sizes = ((loop, _batch_size(source, loop.iter)) for loop in loops)
    loop, number = next(((one, n) for one, n in sizes if n is not None), (None, None))
    if bound is None or loop is None or number is None:
        return None
    size = number.value
    assert isinstance(size, int)
    trains = any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in ast.walk(loop))
    other = "training takes fewer and other steps then" if trains else "rounded otherwise, maybe"
    return tuple(
        Mistake(
            line=loop.lineno,
            what=f"batches of {size} leave the GPU without work most of the time",
            remedy=f"larger batches: {other}",
            evidence=(
                f"median kernel {words.seconds(bound.median)}; the GPU worked "
                f"{words.seconds(bound.busy)} of the {words.seconds(bound.host)} that the main "
                "thread spent in this loop's lines"
            ),
            measured=True,
            cost=bound.host - bound.busy,
            match=_timed(source, number, size * factor),
        )
        for factor in LARGER
    )


def _timed(source: Source, number: ast.Constant, size: int) -> Match:
    return Match(
        edits=(Edit(*source.span(number), str(size)),),
        why="",
        change=f"batches of {size}: as many samples an epoch in fewer steps, so that the loop's "
        "gain is one in samples per second",
        ledger=(
            Condition(
                "other results of larger batches are wanted", Basis.ASSUMED, f"line {number.lineno}"
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
        purpose=Purpose.FIGURES,
    )


def _batch_size(source: Source, iterable: ast.expr) -> ast.Constant | None:
    """The number that a loader's batch size is written as, at the loader or at its name."""
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate" | "tqdm"), args=[inner, *_]):
            return _batch_size(source, inner)
    known = values.kind(source, iterable)
    if known.what != "loader" or known.node is None:
        return None
    given = next((k.value for k in known.node.keywords if k.arg == "batch_size"), None)
    if given is None and len(known.node.args) > 1:
        given = known.node.args[1]
    found = given if isinstance(given, ast.Constant) else next(_constants(source, given), None)
    whole = found is not None and type(found.value) is int and found.value > 0
    return found if whole else None


def _constants(source: Source, node: ast.expr | None) -> Iterator[ast.Constant]:
    """The one number that a name is bound to."""
    if not isinstance(node, ast.Name):
        return
    scope = scope_of(source, node)
    stores = [] if scope is None else tools.stores(scope, node.id)
    if not stores and tools.bound_names(source).get(node.id) == 1:
        stores = tools.stores(source.tree, node.id)
    if len(stores) == 1:
        holder = tools.parents(source)[stores[0]]
        if isinstance(holder, ast.Assign) and isinstance(holder.value, ast.Constant):
            yield holder.value
