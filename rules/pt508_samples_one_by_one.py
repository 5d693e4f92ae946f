"""Run a model on batches of samples instead of one sample after the other.

Why it is slow: a layer of one sample is a product of a matrix and a vector, and launching it takes
longer than running it; a batch is one product of two matrices for the same number of launches.
Why it may differ: products of matrices add up in another order, so scores differ in their last
digits, and of two scores that are nearly equal the other one may come out as the largest. So the
change is offered under ``--unsafe`` only.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Exactness,
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
from gpuadvise.gpucode import torch_model as models

MODEL = """\
import torch
from torch import nn


def made():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 5), nn.ReLU()), torch.randn(30, 8)


"""
CALL = """\


model, samples = made()
print(classify(model, samples))
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=MODEL
        + """\
def classify(model, samples):
    labels = []
    for i in range(len(samples)):
        scores = model(samples[i])
        labels.append(scores.argmax().item())
    return labels
"""
        + CALL,
        line=13,
        function="classify",
        inputs="args = made()",
        after=MODEL
        + """\
def classify(model, samples):
    labels = []
    for i in range(0, len(samples), 256):
        scores = model(samples[i : i + 256])
        labels.extend(scores.argmax(dim=-1).tolist())
    return labels
"""
        + CALL,
    ),
    Spots(
        before=MODEL
        + """\
def classify(model, samples):
    worst = 1.0
    for i in range(len(samples)):
        worst = min(worst, model(samples[i]).max().item())
    return worst
"""
        + CALL,
        line=13,
        function="classify",
        after=None,  # a loop that does something else with each
    ),
    Ignores(
        before=MODEL
        + """\
def classify(model, samples):
    labels = []
    for i in range(0, len(samples), 10):
        labels += model(samples[i : i + 10]).argmax(dim=1).tolist()
    return labels
"""
        + CALL,
        because="these are batches",
        function="classify",
        static=True,
    ),
    Ignores(
        before=MODEL
        + """\
def rollout(model, state):
    for i in range(9):
        state = state + model(state[0]).sum()
    return state
"""
        + CALL.replace("classify", "rollout"),
        because="each step needs the one before",
        function="rollout",
        static=True,
    ),
)
BATCH = 256
"""Samples at a time: from about there on launches no longer show, and memory hardly does."""


@rule(cases=CASES)
def samples_one_by_one(region: Region) -> tuple[Mistake, ...] | None:
    """The loop runs a model on one sample after the other."""
    source, loop = region.source, region.loop
    found = _single(source, loop)
    if found is None or loops.gradients(source, loop) is not None:
        return None
    seen = basics.evidence(region, [found.call.lineno], ["kernel", "CUDA call"])
    if seen.measured and not seen.cost:
        return None
    return (
        Mistake(
            line=found.call.lineno,
            what="the model runs on one sample at a time",
            remedy="hand it batches: model(samples[i : i + 256])",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=_match(region, found),
        ),
    )


@dataclass(frozen=True)
class Single:
    """``model(samples[i])``, for each ``i`` of ``range(len(samples))``."""

    call: ast.Call
    sample: ast.Subscript
    index: str
    counted: ast.Call
    """``range(len(samples))``."""


def _single(source: Source, loop: ast.For | ast.While) -> Single | None:
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(
                func=ast.Name(id="range"),
                args=[ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=samples)])],
            ) as counted,
        ):
            pass
        case _:
            return None
    if not tools.is_builtin(source, "range") or not tools.is_builtin(source, "len"):
        return None
    for call in tools.own_nodes(loop):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if values.kind(source, call.func).what != "module" or len(call.args) != 1:
            continue
        for node in ast.walk(call.args[0]):
            match node:
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=at)):
                    if name == samples and at == index and values.is_tensor(source, node.value):
                        return Single(call, node, index, counted)
    return None


def _match(region: Region, found: Single) -> Match | None:
    source, loop = region.source, region.loop
    samples = values.kind(source, found.sample.value)
    assert isinstance(found.call.func, ast.Name) and isinstance(loop, ast.For)
    # A sample is a vector, and each layer works along it: a matrix goes through as its rows do.
    if (
        samples.axes != 2
        or models.models_changed(source) is not None
        or not values.kind(source, found.call.func).pointwise
        or loop.orelse
    ):
        return None
    if len(tools.loads(loop, found.index)) != 1 or len(loop.body) > 2:
        return None
    taken = _taken(source, loop, found)
    scope = region.function or source.tree
    inside = set(ast.walk(loop))
    bound = {found.index, *(n.id for n in inside if isinstance(n, ast.Name) and _stored(n))}
    later = [n for n in tools.names_in(scope) if n.id in bound and n not in inside]
    if taken is None or later:
        return None
    assert isinstance(taken.func, ast.Attribute) and isinstance(taken.args[0], ast.Call)
    append = source.span(taken.func)[1]
    length = source.text(found.counted.args[0])
    step = found.index
    return Match(
        edits=(
            Edit(*source.span(found.counted), f"range(0, {length}, {BATCH})"),
            Edit(*source.span(found.sample.slice), f"{step} : {step} + {BATCH}"),
            Edit(append - len("append"), append, "extend"),
            _labels(source, taken.args[0]),
        ),
        why="",
        change=f"the model runs on {BATCH} samples at a time",
        ledger=(
            Condition(
                "no two scores of a sample are so close that their last digits decide",
                Basis.ASSUMED,
                f"line {found.call.lineno}",
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )


def _stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _taken(source: Source, loop: ast.For, found: Single) -> ast.Call | None:
    """``labels.append(<scores>.argmax().item())``, the last statement; before it ``scores = ..``"""
    last = loop.body[-1]
    match last:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(), attr="append"),
                args=[
                    ast.Call(
                        func=ast.Attribute(
                            value=ast.Call(
                                func=ast.Attribute(value=scores, attr="argmax"),
                                args=[],
                                keywords=[],
                            ),
                            attr="item",
                        ),
                        args=[],
                    )
                ],
            ) as taken
        ):
            pass
        case _:
            return None
    if len(loop.body) == 1:
        return taken if scores is found.call else None
    match loop.body[0], scores:
        case ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Name(id=used):
            return taken if name == used and value is found.call else None
    return None


def _labels(source: Source, item: ast.Call) -> Edit:
    """``.argmax().item()`` -> ``.argmax(dim=-1).tolist()``."""
    assert isinstance(item.func, ast.Attribute) and isinstance(item.func.value, ast.Call)
    start = source.span(item.func.value.func)[1]
    return Edit(start, source.span(item)[1], "(dim=-1).tolist()")
