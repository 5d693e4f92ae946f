"""Let the loader pin its batches, and copy them to the GPU while Python goes on.

Why it is slow: a copy from ordinary memory goes through a buffer of the driver's and makes Python
wait; from pinned memory it takes a fraction of that, beside everything else.
Why it may differ: it does not: the batches are the same, and the GPU works on them in order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Mistake,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import torch as values
from gpuadvise.gpucode import torch_loops as loops
from gpuadvise.gpucode import torch_text as torchtext

HEAD = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def run(n):
    data = TensorDataset(torch.ones(n, 3), torch.zeros(n))
    loader = DataLoader(data, batch_size=8)
    total = 0.0
    for x, y in loader:
        x = x.to(device)
        total += (x.sum() + y.to(device).sum()).item()
    return total
""",
        line=12,
        function="run",
        inputs="args = (30,)",
        after=HEAD
        + """\
def run(n):
    data = TensorDataset(torch.ones(n, 3), torch.zeros(n))
    loader = DataLoader(data, batch_size=8, pin_memory=True)
    total = 0.0
    for x, y in loader:
        x = x.to(device, non_blocking=True)
        total += (x.sum() + y.to(device, non_blocking=True).sum()).item()
    return total
""",
    ),
    Spots(
        before=HEAD
        + """\
def run(n, kept):
    loader = DataLoader(TensorDataset(torch.ones(n, 3)), batch_size=8)
    for (x,) in loader:
        y = x.to(device)
        x += 1
        kept.append((x, y))
    return kept
""",
        line=10,
        function="run",
        after=None,  # x changes while it is copied
    ),
    Ignores(
        before=HEAD
        + """\
def run(n):
    loader = DataLoader(TensorDataset(torch.ones(n, 3)), batch_size=8, pin_memory=True)
    for (x,) in loader:
        x = x.to(device, non_blocking=True)
    return x
""",
        because="the batches are pinned already",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def run(loader):
    for x, y in loader:
        x = x.to(device)
    return x
""",
        because="nobody knows what the loader is",
        function="run",
        static=True,
    ),
)


@rule(cases=CASES)
def batches_from_pageable_memory(region: Region) -> tuple[Mistake, ...] | None:
    """The loop copies batches of a DataLoader that are not pinned."""
    source, loop = region.source, region.loop
    if not isinstance(loop, ast.For):
        return None
    made = _loader(source, loop)
    if made is None or any(k.arg in ("pin_memory", None) for k in made.keywords):
        return None
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    copies = sorted(_copies(source, loop, names), key=lambda c: (c.lineno, c.col_offset))
    if not copies:
        return None
    seen = basics.evidence(region, [c.lineno for c in copies], ["host to device", "hidden"])
    if seen.measured and not seen.cost:
        return None
    return (
        Mistake(
            line=copies[0].lineno,
            what=f"the batches of the DataLoader in line {made.lineno} are copied from pageable "
            "memory",
            remedy="pin_memory=True there, and .to(device, non_blocking=True) here",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=_match(region, loop, made, copies, names),
        ),
    )


def _loader(source: Source, loop: ast.For) -> ast.Call | None:
    iterable: ast.expr = loop.iter
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            iterable = inner
    known = values.kind(source, iterable)
    return known.node if known.what == "loader" else None


def _copies(source: Source, loop: ast.For, names: set[str]) -> Iterator[ast.Call]:
    """``x.to(device)`` and ``x.cuda()`` of the names that the loop gives."""
    for node in tools.own_nodes(loop):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="to"), args=[place], keywords=[]
            ) if name in names and values.kind(source, place).what == "device":
                yield node
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="cuda"), args=[], keywords=[]
            ) if name in names:
                yield node


def _match(
    region: Region, loop: ast.For, made: ast.Call, copies: list[ast.Call], names: set[str]
) -> Match | None:
    source = region.source
    parts = values.kind(source, made.args[0]).parts if made.args else ()
    # pin_memory of a tensor that is on the GPU raises
    if not parts or any(part.what != "tensor" or part.place != "cpu" for part in parts):
        return None
    if any(torchtext.uses(source, "set_default_device", "set_default_tensor_type", "collate_fn")):
        return None
    if loops.orders_by_hand(source) is not None:
        return None
    if not all(_host_side_done(source, loop, copy) for copy in copies):
        return None
    last = max([*made.args, *(k.value for k in made.keywords)], key=lambda a: source.span(a)[1])
    end = source.span(last)[1]
    edits = [Edit(end, end, ", pin_memory=True")]
    for copy in copies:
        close = source.span(copy)[1] - 1
        edits.append(Edit(close, close, f"{', ' if copy.args else ''}non_blocking=True"))
    return Match(
        edits=tuple(edits),
        why="",
        change="batches are pinned and copied beside the computation",
        ledger=(
            Condition(
                "nothing changes a batch on the host after its copy has begun",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
            Condition(
                "what the loader gives are tensors on the CPU",
                Basis.PROVED,
                f"line {made.lineno} and the data it is given",
            ),
        ),
        differences=("pinned memory of the host: two or three batches",),
    )


def _host_side_done(source: Source, loop: ast.For, copy: ast.Call) -> bool:
    """Whether the batch's own memory is left alone once the copy is under way.

    ``y = x.to(device); x += 1`` changes what is being copied: so the copy takes the name over,
    or it is the only use of it.
    """
    assert isinstance(copy.func, ast.Attribute) and isinstance(copy.func.value, ast.Name)
    name = copy.func.value.id
    statement = tools.enclosing_statement(source, copy)
    if isinstance(statement, ast.Assign) and statement.value is copy:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and target.id == name and statement in loop.body:
            earlier = loop.body[: loop.body.index(statement)]
            return not any(n.id == name for part in earlier for n in tools.names_in(part))
    mentions = [n for n in tools.names_in(loop) if n.id == name]
    return len(mentions) == 2  # the loop's target and this
