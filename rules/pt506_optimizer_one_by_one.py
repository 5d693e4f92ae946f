"""Let the optimizer update all parameters together.

Why it is slow: with ``foreach=False`` the optimizer launches a dozen small kernels for every
parameter tensor; launching them takes longer than running them.
Why it may differ: the fused kernel rounds otherwise, as do the multi-tensor kernels that PyTorch
takes by itself, and training carries that on far beyond the last digit. So the change is offered
under ``--unsafe`` only.
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
from gpuadvise.gpucode import torch_text as torchtext

HEAD = """\
import torch
from torch import nn


def made():
    torch.manual_seed(1)
    x = torch.randn(64, 8)
    return nn.Sequential(nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 1)), x


"""
LOOP = """\
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, foreach=False)
"""
        + LOOP,
        line=17,
        function="train",
        inputs="args = (*made(), 7)",
        after=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
"""
        + LOOP,
    ),
    Spots(
        before=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.Adam(model.parameters(), foreach=False, capturable=True)
"""
        + LOOP,
        line=17,
        function="train",
        after=None,  # what else was chosen may not go with it
    ),
    Ignores(
        before=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
"""
        + LOOP,
        because="it is fused already",
        function="train",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def train(model, x, steps):
    optimizer = torch.optim.LBFGS(model.parameters())
    for _ in range(steps):
        optimizer.step(lambda: (model(x) ** 2).mean())
"""
        + "",
        because="this optimizer has no fused kernel",
        function="train",
        static=True,
    ),
)
FUSED = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})
"""Optimizers with a fused kernel for CUDA: documentation of ``torch.optim``."""
_PLAIN = frozenset(
    {
        *("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "momentum", "dampening"),
        *("nesterov", "foreach", "lr_decay", "initial_accumulator_value", "params"),
    }
)


@rule(cases=CASES)
def optimizer_one_by_one(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's optimizer treats its parameters one by one."""
    source, loop = region.source, region.loop
    for call in tools.own_nodes(loop):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr != "step" or loops.innermost(source, call) is not loop:
            continue
        made = values.kind(source, call.func.value).node
        if made is None or _name(source, made) not in FUSED or _foreach(made) is None:
            continue
        seen = basics.evidence(region, [call.lineno], ["kernel", "CUDA call"])
        if seen.measured and not seen.cost:
            continue
        mistake = Mistake(
            line=call.lineno,
            what=f"the optimizer made in line {made.lineno} launches its kernels for every "
            "parameter tensor on its own",
            remedy="fused=True there, or no foreach=False: faster, and rounded otherwise",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=_fused(source, made),
        )
        return (mistake,)
    return None


def _name(source: Source, made: ast.Call) -> str:
    return (basics.meaning(source, made.func) or "").removeprefix("torch.optim.")


def _foreach(made: ast.Call) -> ast.keyword | None:
    """``foreach=False``. Without it PyTorch takes its multi-tensor kernels on CUDA by itself."""
    for keyword in made.keywords:
        if keyword.arg == "foreach" and isinstance(keyword.value, ast.Constant):
            return keyword if keyword.value.value is False else None
    return None


def _fused(source: Source, made: ast.Call) -> Match | None:
    """With ``fused=True`` instead: the multi-tensor kernels round otherwise too."""
    keyword = _foreach(made)
    # state_dict() of a fused optimizer holds its step count on the device; a scaler works otherwise
    stateful = ("state_dict", "load_state_dict", "save", "load", "GradScaler", "state")
    if keyword is None or not _is_plain(source, made) or any(torchtext.uses(source, *stateful)):
        return None
    first = source.offset(keyword.lineno, keyword.col_offset)
    return Match(
        edits=(Edit(first, source.span(keyword.value)[1], "fused=True"),),
        why="",
        change="one fused kernel updates all parameters",
        ledger=(
            Condition(
                "a last digit that is rounded otherwise in each step does not matter to training",
                Basis.ASSUMED,
                f"line {made.lineno}",
            ),
        ),
        exactness=Exactness.LAST_DIGIT,
    )


def _is_plain(source: Source, made: ast.Call) -> bool:
    return len(made.args) == 1 and all(k.arg in _PLAIN for k in made.keywords)
