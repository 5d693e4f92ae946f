"""Drop old gradients instead of filling them with zeros.

Why it is slow: ``zero_grad(set_to_none=False)`` launches a kernel that writes zeros, and
``backward()`` then has to read them and add; without them it only writes.
Why it may differ: a gradient that is -0.0 becomes 0.0 when it is added to zero. It would differ
more for a parameter that takes no part in a step, so all have to.
"""

from __future__ import annotations

import ast

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
from gpuadvise.gpucode import torch_text as torchtext

HEAD = """\
import torch
from torch import nn


def made():
    torch.manual_seed(1)
    x = torch.randn(64, 8)
    return nn.Sequential(nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 1)), x


"""
CALL = """\


model, x = made()
print(train(model, x, 4))
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()
"""
        + CALL,
        line=14,
        function="train",
        inputs="args = (*made(), 7)",
        after=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()
"""
        + CALL,
    ),
    Spots(
        before=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=False)
        part = model[0] if step % 2 else model
        loss = (part(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()
"""
        + CALL,
        line=14,
        function="train",
        after=None,  # momentum moves the last layer on in steps that leave it out
    ),
    Ignores(
        before=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
"""
        + CALL,
        because="gradients are dropped already",
        function="train",
        static=True,
    ),
)


@rule(cases=CASES)
def gradients_set_to_zero(region: Region) -> tuple[Mistake, ...] | None:
    """The loop fills gradients with zeros in every step."""
    source, loop = region.source, region.loop
    for call in tools.own_nodes(loop):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr != "zero_grad" or not _says_false(call):
            continue
        # The inner loop of a nest answers for what it holds.
        if loops.innermost(source, call) is not loop or loops.torch_name(source) is None:
            continue
        seen = basics.evidence(region, [call.lineno], ["kernel", "CUDA call"])
        if seen.measured and not seen.cost:
            continue
        return (
            Mistake(
                line=call.lineno,
                what="gradients are filled with zeros and added to in every step",
                remedy="drop them: zero_grad() sets them to None since PyTorch 2.0",
                evidence=seen.text,
                measured=seen.measured,
                cost=seen.cost,
                match=_match(region, call),
            ),
        )
    return None


def _says_false(call: ast.Call) -> bool:
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "set_to_none")]
    return len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value is False


def _match(region: Region, call: ast.Call) -> Match | None:
    source, loop = region.source, region.loop
    assert isinstance(call.func, ast.Attribute)
    statement = tools.enclosing_statement(source, call)
    optimizer = values.kind(source, call.func.value)
    # zero_grad() in the loop's own block: not under an if, where gradients add up over steps
    if statement not in loop.body or len(call.args) + len(call.keywords) != 1:
        return None
    model = _model_of(source, optimizer.node)
    if (
        model is None
        or models.models_changed(source) is not None
        or not models.every_parameter_used(source, model)
    ):
        return None
    # p.grad would be None where it was a tensor of zeros
    if any(torchtext.uses(source, "grad", "clip_grad_norm_", "register_hook")):
        return None
    if not _one_backward(source, loop, statement, model):
        return None
    return Match(
        edits=(Edit(*source.span(call), f"{source.text(call.func)}()"),),
        why="",
        change="gradients are dropped instead of filled with zeros",
        ledger=(
            Condition(
                "every parameter gets a gradient in every step",
                Basis.PROVED,
                "the model's definition and the loop in this file",
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )


def _model_of(source: Source, node: ast.Call | None) -> ast.expr | None:
    """``model`` of ``SGD(model.parameters(), ..)``."""
    match node:
        case ast.Call(
            args=[ast.Call(func=ast.Attribute(value=ast.Name() as model, attr="parameters")), *_]
        ):
            return model
    return None


def _one_backward(
    source: Source, loop: ast.For | ast.While, zeroed: ast.stmt, model: ast.expr
) -> bool:
    """``backward()`` of what this very model gave, once in every step that clears gradients."""
    assert isinstance(model, ast.Name)
    if any(isinstance(n, ast.Continue | ast.Break | ast.Return) for n in tools.own_nodes(loop)):
        return False
    carries: set[str] = set()
    backward = 0
    for statement in loop.body[loop.body.index(zeroed) + 1 :]:
        calls = [n for n in tools.own_nodes(statement) if isinstance(n, ast.Call)]
        direct = any(isinstance(c.func, ast.Name) and c.func.id == model.id for c in calls)
        derived = any(n.id in carries for n in tools.names_in(statement))
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            carries = carries | {name} if direct or derived else carries - {name}
        for call in calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                if not isinstance(statement, ast.Expr) or not (direct or derived):
                    return False
                backward += 1
            detached = ("detach", "no_grad", "item", "data", "inference_mode")
            if isinstance(call.func, ast.Attribute) and call.func.attr in detached[:2]:
                return False
    return backward == 1
