"""Evaluate a model without recording gradients.

Why it is slow: PyTorch keeps what ``backward()`` would need for every operation: intermediate
results, and a node of the graph; nobody asks for it here.
Why it may differ: it does not: the layers compute the same, and nothing but Python numbers leaves
the loop.
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
from gpuadvise.gpucode import torch_leaving as leaving
from gpuadvise.gpucode import torch_loops as loops
from gpuadvise.gpucode import torch_model as models
from gpuadvise.gpucode import torch_text as torchtext

MODEL = """\
import torch
from torch import nn


def made():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 5), nn.ReLU()), torch.randn(30, 8)


"""
CALL = """\


model, samples = made()
print({0}(model, samples))
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=MODEL
        + """\
def classify(model, samples):
    model.eval()
    labels = []
    for sample in samples:
        labels.append(model(sample).argmax().item())
    return labels
"""
        + CALL.format("classify"),
        line=14,
        function="classify",
        inputs="args = made()",
        after=MODEL
        + """\
@torch.no_grad()
def classify(model, samples):
    model.eval()
    labels = []
    for sample in samples:
        labels.append(model(sample).argmax().item())
    return labels
"""
        + CALL.format("classify"),
    ),
    Spots(
        before=MODEL
        + """\
def fit(model, samples):
    loss = model(samples).sum()
    loss.backward()
    worst = 0.0
    for sample in samples:
        # the largest of all
        score = model(sample).max().item()
        worst = max(worst, score)
    return worst
"""
        + CALL.format("fit"),
        line=16,
        function="fit",
        inputs="args = made()",
        after=MODEL
        + """\
def fit(model, samples):
    loss = model(samples).sum()
    loss.backward()
    worst = 0.0
    with torch.no_grad():
        for sample in samples:
            # the largest of all
            score = model(sample).max().item()
            worst = max(worst, score)
    return worst
"""
        + CALL.format("fit"),
    ),
    Spots(
        before=MODEL
        + """\
def scores(model, samples):
    found = []
    for sample in samples:
        found.append(model(sample))
    return found
"""
        + CALL.format("scores"),
        line=13,
        function="scores",
        after=None,  # the caller may call backward() on what comes out
    ),
    Ignores(
        before=MODEL
        + """\
def total(model, samples):
    loss = 0.0
    for sample in samples:
        loss = loss + model(sample).sum()
    loss.backward()
    return loss.item()
"""
        + CALL.format("total"),
        because="gradients of what the loop adds up are asked for after it",
        function="total",
        static=True,
    ),
    Ignores(
        before=MODEL
        + """\
def classify(model, samples):
    labels = []
    for sample in samples:
        labels.append(model(sample).argmax().item())
    return labels


model, samples = made()
with torch.inference_mode():
    print(classify(model, samples))
""",
        because="the caller has switched recording off",
        function="classify",
        static=True,
    ),
    Ignores(
        before=MODEL
        + """\
def train(model, samples):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for sample in samples:
        optimizer.zero_grad()
        model(sample).sum().backward()
        optimizer.step()


model, samples = made()
train(model, samples)
""",
        because="this is training",
        function="train",
        static=True,
    ),
)
_SWITCHES = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})


@rule(cases=CASES)
def gradients_not_used(region: Region) -> tuple[Mistake, ...] | None:
    """The loop runs a model, and nobody takes a gradient of what comes out."""
    source, loop = region.source, region.loop
    models = [call for call in tools.own_nodes(loop) if _is_model_call(source, call)]
    scope = region.function or source.tree
    if not models or loops.gradients(source, loop) is not None or _switched_off(source, region):
        return None
    # for p in model.parameters(): p.requires_grad = False: nothing is recorded then
    if any(torchtext.uses(source, "requires_grad", "requires_grad_")):
        return None
    # total = total + loss; total.backward() behind the loop
    tensors = list(leaving.tensors_leaving(source, scope, loop))
    if tensors and loops.gradients(source, scope) is not None:
        return None
    lines = sorted({call.lineno for call in models if isinstance(call, ast.Call)})
    seen = basics.evidence(region, lines, ["kernel"])
    if seen.measured and not seen.cost:
        return None
    return (
        Mistake(
            line=lines[0],
            what="gradients are recorded for a model whose results are only looked at",
            remedy="switch recording off around it: torch.no_grad() or torch.inference_mode()",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=None if tensors else _match(region),
        ),
    )


def _is_model_call(source: Source, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return values.kind(source, node.func).what == "module"


def _switched_off(source: Source, region: Region) -> bool:
    """Whether recording is off here, or may be, by a caller or for good."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is_switch(node):
            if isinstance(tools.parents(source)[node], ast.Expr):
                return True  # torch.set_grad_enabled(False), for all that follows
            holder = tools.parents(source)[node]
            if isinstance(holder, ast.FunctionDef) and holder is region.function:
                return True  # a decorator
            if isinstance(holder, ast.withitem):
                block = tools.parents(source)[holder]
                if region.loop in ast.walk(block) or _reaches(source, block, region.function):
                    return True
            if isinstance(holder, ast.FunctionDef) and _reaches(source, holder, region.function):
                return True
    return False


def _is_switch(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    name = node.func.id if isinstance(node.func, ast.Name) else name
    return name in _SWITCHES


def _reaches(source: Source, node: ast.AST, function: ast.FunctionDef | None) -> bool:
    """Whether code below ``node`` mentions the function, or one of the file's that does."""
    if function is None:
        return False
    known = {n.name: n for n in source.nodes if isinstance(n, ast.FunctionDef)}
    todo: list[ast.AST] = [node]
    done: set[str] = set()
    while todo:
        for inner in ast.walk(todo.pop()):
            name = inner.id if isinstance(inner, ast.Name) else getattr(inner, "attr", "")
            if name == function.name:
                return True
            if isinstance(name, str) and name in known and name not in done:
                done.add(name)
                todo.append(known[name])
    return False


# ------------------------------------------------------------------- rewriting
def _match(region: Region) -> Match | None:
    source, loop, function = region.source, region.loop, region.function
    torch = loops.torch_name(source)
    if (
        torch is None
        or models.models_changed(source) is not None
        or not leaving.only_known_calls(source, loop)
    ):
        return None
    whole = function is not None and _whole_function(source, function)
    edits: tuple[Edit, ...]
    if function is not None and whole:
        edits = (tools.insert_before(source, function, [f"@{torch}.no_grad()"]),)
        place = f"lines {function.lineno}-{function.end_lineno}"
    else:
        unit = tools.indent_unit(source)
        text = tools.shifted(source, [loop], unit)
        if text is None or not tools.stands_alone(source, loop):
            return None
        edits = (tools.replace_lines(source, loop, [f"with {torch}.no_grad():", *text]),)
        place = f"lines {loop.lineno}-{loop.end_lineno}"
    return Match(
        edits=edits,
        why="",
        change="no gradients are recorded while the model is evaluated",
        ledger=(
            Condition("no gradient is taken, and nothing but numbers leaves", Basis.PROVED, place),
            Condition(
                "the model's layers compute the same with and without gradients",
                Basis.PROVED,
                "its definition in this file",
            ),
        ),
    )


def _whole_function(source: Source, function: ast.FunctionDef) -> bool:
    """Whether the decorator does for all of the function, with nothing else around it."""
    return (
        not function.decorator_list
        and function in source.tree.body
        and tools.stands_alone(source, function)
        and loops.gradients(source, function) is None
        and leaving.only_known_calls(source, function)
        and not list(leaving.tensors_leaving(source, function, function))
    )
