"""Let workers prepare the next batches while the GPU works on this one.

Why it is slow: without workers a DataLoader makes every sample in the program's own process, and
the GPU has nothing to do meanwhile.
Why it may differ: samples are made in other processes, from copies of the dataset. So making one
may change nothing and draw no random number, which is proved from its text; the order of samples
is drawn in the program itself, as before.
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
from gpuadvise.codegen import list_uses
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import torch as values
from gpuadvise.gpucode import torch_text as torchtext
from gpuadvise.gpucode.cupy_traced import example
from gpuadvise.report import words

DATASET = """\
import math

import torch
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __init__(self, count):
        self.phases = torch.linspace(0.0, 6.0, count)

    def __len__(self):
        return len(self.phases)

    def __getitem__(self, i):
        t = torch.arange(512) / 512
        return torch.sin(2 * math.pi * t + self.phases[i]), self.phases[i]


"""
RUN = """\
def run(count):
    loader = DataLoader(Waves(count), batch_size=8)
    total = torch.zeros(())
    for x, y in loader:
        total += (x.sum(dim=1) * y).sum()
    return total


if __name__ == "__main__":
    print(run(64))
"""
SLOW = {18: example(0.8), 22: example(0.1), 23: example(0.2, kernels={"sum": (9, 0.1)})}
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=DATASET + RUN,
        line=22,
        function="run",
        inputs="args = (64,)",
        gpu=SLOW,
        after=DATASET + RUN.replace("batch_size=8)", "batch_size=8, num_workers=4)"),
    ),
    Spots(
        before=DATASET.replace("2 * math.pi * t", "torch.rand(()) * t") + RUN,
        line=22,
        function="run",
        gpu=SLOW,
        after=None,  # each worker would draw numbers of its own
    ),
    Spots(
        before=DATASET.replace("        t =", "        self.phases[i] += 1.0\n        t =") + RUN,
        line=23,
        function="run",
        gpu={19: example(0.8), 23: example(0.1)},
        after=None,  # a worker would change its own copy
    ),
    Ignores(
        before=DATASET + RUN.replace("batch_size=8)", "batch_size=8, num_workers=2)"),
        because="there are workers",
        function="run",
        static=True,
        gpu=SLOW,
    ),
    Ignores(
        before=DATASET + RUN,
        because="nobody knows how long a sample takes: nothing was traced",
        function="run",
        static=True,
    ),
    Ignores(
        before=DATASET + RUN,
        because="the loop waits little for its batches",
        function="run",
        static=True,
        gpu={22: example(0.1), 23: example(0.9, kernels={"sum": (9, 0.8)})},
    ),
    Ignores(
        before=DATASET
        + RUN.replace("Waves(count)", "torch.utils.data.TensorDataset(torch.zeros(count))"),
        because="tensors in memory need no workers: that is PT510's business",
        function="run",
        static=True,
        gpu=SLOW,
    ),
)
WORKERS = 4
WAITING = 0.3
"""Part of the loop's time that its waiting for batches has to be."""
_PLAIN = frozenset(
    {"batch_size", "shuffle", "drop_last", "pin_memory", "generator", "num_workers", "timeout"}
)
_RANDOM = (
    *("rand", "normal", "bernoulli", "multinomial", "poisson", "seed", "dropout", "shuffle"),
    *("choice", "permutation", "cuda", "save", "set_", "default_rng", "exponential"),
)
_METHODS = frozenset(
    {
        *("float", "double", "long", "int", "half", "view", "reshape", "permute", "transpose"),
        *("mean", "std", "sum", "min", "max", "astype", "copy", "clone", "unsqueeze", "squeeze"),
        *("flatten", "contiguous", "numpy", "item", "tolist", "abs", "sqrt", "exp", "log", "t"),
        *("split", "strip", "lower", "upper", "encode", "decode", "join", "startswith", "endswith"),
        *("size", "dim", "flip", "roll", "clamp", "convert", "resize", "crop"),
    }
)
"""Methods of tensors, arrays, text and images that change nothing and draw no random number."""
_BUILTINS = frozenset(
    {
        *("len", "int", "float", "str", "bool", "range", "abs", "min", "max", "sum", "tuple"),
        *("list", "dict", "zip", "enumerate", "sorted", "round", "open", "bytes"),
    }
)


@rule(cases=CASES)
def samples_prepared_in_turn(region: Region) -> tuple[Mistake, ...] | None:
    """The loop waits for samples that its own process makes."""
    source, loop = region.source, region.loop
    if not isinstance(loop, ast.For):
        return None
    made = values.kind(source, _walked(source, loop)).node
    dataset = None if made is None else _dataset(source, made)
    if made is None or dataset is None or _has_workers(made):
        return None
    seen = _waiting(region, dataset)
    if seen is None:
        return None
    evidence, cost = seen
    return (
        Mistake(
            line=loop.lineno,
            what=f"the DataLoader in line {made.lineno} makes its samples while the GPU waits",
            remedy=f"let workers make the next ones meanwhile: num_workers={WORKERS}",
            evidence=evidence,
            measured=True,
            cost=cost,
            match=_match(source, made, dataset),
        ),
    )


def _walked(source: Source, loop: ast.For) -> ast.expr:
    match loop.iter:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return inner if tools.is_builtin(source, "enumerate") else loop.iter
    return loop.iter


def _dataset(source: Source, made: ast.Call) -> ast.ClassDef | None:
    """The file's own class whose instance a loader walks."""
    if not made.args or basics.meaning(source, made.func) != "torch.utils.data.DataLoader":
        return None
    value: ast.expr | None = made.args[0]
    if isinstance(value, ast.Name):
        scope = torchtext.scope_of(source, value)
        bound = [] if scope is None else list_uses.values_bound(source, scope, value.id)
        value = bound[0] if len(bound) == 1 else None
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return torchtext.own_class(source, name)
    return None


def _has_workers(made: ast.Call) -> bool:
    given = [k.value for k in made.keywords if k.arg == "num_workers"]
    return any(not (isinstance(v, ast.Constant) and v.value == 0) for v in given)


def _waiting(region: Region, dataset: ast.ClassDef) -> tuple[str, float] | None:
    """What was traced of the waiting for batches; None where that is little."""
    if region.gpu is None:
        return None  # the text does not tell how long a sample takes
    making = range(dataset.lineno, (dataset.end_lineno or dataset.lineno) + 1)
    first, last = region.lines
    waited = sum(
        work.host
        for line, work in region.gpu.items()
        if line == region.loop.lineno or line in making
    )
    whole = waited + sum(work.host for line, work in region.gpu.items() if first < line <= last)
    if waited < WAITING * whole or not waited:
        return None
    seconds = words.seconds(waited), words.seconds(whole)
    return f"{seconds[0]} of {seconds[1]} in this loop went into making batches", waited


# -------------------------------------------------------------------- the rewrite
def _match(source: Source, made: ast.Call, dataset: ast.ClassDef) -> Match | None:
    if any(k.arg not in _PLAIN for k in made.keywords) or len(made.args) != 1:
        return None
    # where processes are not forked, each worker runs the file once more
    if not any(_is_guard(node) for node in source.tree.body) or not _is_pure(source, dataset):
        return None
    given = next((k for k in made.keywords if k.arg == "num_workers"), None)
    if given is not None:
        edit = Edit(*source.span(given.value), str(WORKERS))
    else:
        last = max((*made.args, *(k.value for k in made.keywords)), key=lambda n: source.span(n)[1])
        end = source.span(last)[1]
        edit = Edit(end, end, f", num_workers={WORKERS}")
    return Match(
        edits=(edit,),
        why="",
        change=f"{WORKERS} processes prepare batches while the GPU works",
        ledger=(
            Condition(
                f"making a sample of {dataset.name} changes nothing and draws no random number",
                Basis.PROVED,
                f"lines {dataset.lineno}-{dataset.end_lineno}",
            ),
        ),
        differences=(
            f"{WORKERS} processes more run, and an error in a sample is raised through one of them",
        ),
    )


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in {
        n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)
    }


def _is_pure(source: Source, dataset: ast.ClassDef) -> bool:
    """Whether making a sample reads, and does nothing else."""
    methods = {n.name: n for n in dataset.body if isinstance(n, ast.FunctionDef)}
    known_base = [basics.meaning(source, base) for base in dataset.bases]
    if known_base != ["torch.utils.data.Dataset"] or "__getitems__" in methods:
        return False
    todo, done = ["__getitem__"], set[str]()
    while todo:
        name = todo.pop()
        function = methods.get(name) or torchtext.own_function(source, name)
        if function is None or function.decorator_list:
            return False
        if name in done:
            continue
        done.add(name)
        if any(_does_something(source, node) for node in ast.walk(function)):
            return False
        todo += _called(function)
    return True


def _called(function: ast.FunctionDef) -> Iterator[str]:
    """Methods of its own, and functions, that a method calls by name."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                yield name
            case ast.Call(func=ast.Name(id=name)) if name not in _BUILTINS:
                yield name


def _does_something(source: Source, node: ast.AST) -> bool:
    match node:
        case ast.Attribute() | ast.Subscript() if not isinstance(node.ctx, ast.Load):
            return True
        case ast.AugAssign() | ast.Global() | ast.Nonlocal() | ast.Yield() | ast.YieldFrom():
            return True  # x += 1 of what the dataset holds changes the dataset
        case ast.Await() | ast.Delete() | ast.Lambda():
            return True
        case ast.Call():
            return not _is_reading(source, node)
    return False


def _is_reading(source: Source, call: ast.Call) -> bool:
    if any(k.arg in ("out", None) for k in call.keywords):
        return False
    name = basics.meaning(source, call.func)
    if name is not None:
        package, _, rest = name.partition(".")
        known = package in ("torch", "numpy", "math", "PIL", "json", "pathlib", "os")
        return known and not any(word in rest for word in _RANDOM) and not rest.endswith("_")
    match call.func:
        case ast.Attribute(value=ast.Name(id="self")):
            return True  # followed
        case ast.Attribute(attr=attr):
            return attr in _METHODS
        case ast.Name(id=called):
            own = torchtext.own_function(source, called) is not None
            mode = called != "open" or len(call.args) == 1 or _reads(call.args[1])
            return own or (called in _BUILTINS and tools.is_builtin(source, called) and mode)
    return False


def _reads(mode: ast.expr) -> bool:
    return isinstance(mode, ast.Constant) and mode.value in ("r", "rb", "rt")
