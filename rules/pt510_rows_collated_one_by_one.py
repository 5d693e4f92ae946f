"""Take batches out of tensors with one index each, instead of sample by sample.

Why it is slow: a ``DataLoader`` over a ``TensorDataset`` takes every sample on its own, in Python,
and puts them together again; the GPU idles meanwhile.
Why it may differ: it does not: the loader's own sampler says which rows, in which order, and
draws the same random numbers; a batch holds the same values in memory of its own.
"""

from __future__ import annotations

import ast

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
from gpuadvise.names import free_name

HEAD = """\
import torch
from torch.utils.data import DataLoader, TensorDataset


"""
HELPER = """\
def tensor_batches(loader):
    \"\"\"The batches of a DataLoader over a TensorDataset, each taken with one index.\"\"\"
    iter(loader)  # draws the seed that every pass over a loader draws
    for rows in loader.batch_sampler:
        index = torch.tensor(rows, device="cpu")
        batch = [t.index_select(0, index.to(t.device)) for t in loader.dataset.tensors]
        pinned = loader.pin_memory and torch.cuda.is_available()
        yield [tensor.pin_memory() for tensor in batch] if pinned else batch


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def run(n):
    torch.manual_seed(3)
    data = TensorDataset(torch.randn(n, 3), torch.arange(n))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    found = []
    for x, y in loader:
        found.append((x.sum().item(), y.tolist()))
    return found, torch.rand(3)
""",
        line=10,
        function="run",
        inputs="args = (300,)",
        after=HEAD
        + HELPER
        + """\
def run(n):
    torch.manual_seed(3)
    data = TensorDataset(torch.randn(n, 3), torch.arange(n))
    loader = DataLoader(data, batch_size=8, shuffle=True)
    found = []
    for x, y in tensor_batches(loader):
        found.append((x.sum().item(), y.tolist()))
    return found, torch.rand(3)
""",
    ),
    Ignores(
        before=HEAD
        + """\
def run(n, join):
    data = TensorDataset(torch.randn(n, 3))
    loader = DataLoader(data, batch_size=8, collate_fn=join)
    for (x,) in loader:
        print(x)
""",
        because="somebody else puts the samples together",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
class Pictures(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return torch.full((3,), i)

    def __len__(self):
        return 9


def run():
    for x in DataLoader(Pictures(), batch_size=8):
        print(x)
""",
        because="a dataset of its own has to be asked for every sample",
        function="run",
        static=True,
    ),
)
_PLAIN = frozenset({"batch_size", "shuffle", "drop_last", "pin_memory", "generator", "num_workers"})


@rule(cases=CASES)
def rows_collated_one_by_one(region: Region) -> tuple[Mistake, ...] | None:
    """The loop walks a DataLoader over tensors that are in memory already."""
    source, loop = region.source, region.loop
    if not isinstance(loop, ast.For):
        return None
    walked = _walked(source, loop)
    known = values.kind(source, walked)
    if known.what != "loader" or known.node is None or not known.parts:
        return None
    # Batches of a device's tensors, a sampler that knows of batches already: one index each.
    if any(k.arg in ("sampler", "batch_sampler") for k in known.node.keywords):
        return None
    match = _match(source, walked, known.node)
    if match is None:
        return None
    traced = region.gpu is not None
    waited = region.gpu.get(loop.lineno) if region.gpu is not None else None
    share = f"the loop takes {region.share:.0%} of the run, its waiting for batches included"
    return (
        Mistake(
            line=loop.lineno,
            what=f"the DataLoader in line {known.node.lineno} takes its samples out of tensors one "
            "by one",
            remedy="take a batch's rows with one index: tensor[rows]",
            evidence=share if traced else basics.NOT_MEASURED,
            measured=traced,
            cost=None if waited is None else waited.host,
            match=match,
        ),
    )


def _walked(source: Source, loop: ast.For) -> ast.expr:
    match loop.iter:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return inner if tools.is_builtin(source, "enumerate") else loop.iter
    return loop.iter


def _match(source: Source, walked: ast.expr, made: ast.Call) -> Match | None:
    torch = loops.torch_name(source)
    if torch is None or not isinstance(walked, ast.Name) or len(made.args) != 1:
        return None
    if any(k.arg not in _PLAIN or not _is_usual(k) for k in made.keywords):
        return None
    # loader.dataset.tensors = ..: what is walked has to be what the text says
    changed = ("tensors", "batch_sampler", "sampler", "collate_fn", "__getitem__", "__iter__")
    if any(torchtext.uses(source, *changed)):
        return None
    name = free_name(source, "tensor_batches")
    text = HELPER.replace("tensor_batches", name).replace("torch.", f"{torch}.").rstrip("\n")
    helper = tools.below_imports(source, "torch", text.split("\n"))
    if helper is None:
        return None
    start, end = source.span(walked)
    return Match(
        # one piece: what goes around it belongs to others
        edits=(helper, Edit(start, end, f"{name}({walked.id})")),
        why="",
        change="each batch is taken out of the tensors with one index",
        ledger=(
            Condition(
                "the loader walks tensors, with its own sampler and its own way to join samples",
                Basis.PROVED,
                f"line {made.lineno}",
            ),
        ),
    )


def _is_usual(keyword: ast.keyword) -> bool:
    """Whether an argument keeps the loader one that draws batches in this process."""
    if keyword.arg == "num_workers":
        return isinstance(keyword.value, ast.Constant) and keyword.value.value == 0
    if keyword.arg == "batch_size":
        # None: no batches at all
        return not isinstance(keyword.value, ast.Constant) or isinstance(keyword.value.value, int)
    return True
