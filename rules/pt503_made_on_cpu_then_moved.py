"""Make a tensor where it is needed, instead of making it on the CPU and copying it.

Why it is slow: the CPU fills the memory, and the copy from ordinary memory makes it wait.
Why it may differ: constants are the same wherever they are made. Random numbers of the GPU are
others than those of the CPU, so for these the change is offered under ``--unsafe`` only.
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

HEAD = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def run(n, steps):
    total = torch.zeros(n).to(device)
    for _ in range(steps):
        total += torch.ones(n, dtype=torch.float32).to(device)
    return total.tolist()
""",
        line=9,
        function="run",
        inputs="args = (30, 4)",
        after=HEAD
        + """\
def run(n, steps):
    total = torch.zeros(n).to(device)
    for _ in range(steps):
        total += torch.ones(n, dtype=torch.float32, device=device)
    return total.tolist()
""",
    ),
    Spots(
        before=HEAD
        + """\
def run(n, steps):
    for _ in range(steps):
        total = torch.full((n, n), 7).cuda()
    return total.tolist()
""",
        line=8,
        function="run",
        after=HEAD
        + """\
def run(n, steps):
    for _ in range(steps):
        total = torch.full((n, n), 7, device="cuda")
    return total.tolist()
""",
    ),
    Spots(
        before=HEAD
        + """\
def run(n, steps):
    for _ in range(steps):
        leaf = torch.zeros(n, requires_grad=True).to(device)
    return leaf.is_leaf
""",
        line=8,
        function="run",
        after=None,  # what comes out of .to() is no leaf, and its source keeps the gradient
    ),
    Ignores(
        before=HEAD
        + """\
def run(n, kind):
    for _ in range(3):
        total = torch.zeros(n).to(kind)
    return total
""",
        because="kind may be a dtype, or another tensor",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def run(n):
    for _ in range(3):
        total = torch.zeros(n, device=device).to(device)
    return total
""",
        because="it is made on the device already",
        function="run",
        static=True,
    ),
)
EQUAL = frozenset({"zeros", "ones", "full", "eye"})
"""The same numbers on every device. ``linspace`` rounds otherwise; ``empty`` has no numbers."""
RANDOM = frozenset({"rand", "randn", "randint", "randperm"})


@rule(cases=CASES)
def made_on_cpu_then_moved(region: Region) -> tuple[Mistake, ...] | None:
    """The loop fills tensors on the CPU and copies them to the device."""
    source = region.source
    found: list[Mistake] = []
    for call in tools.own_nodes(region.loop):
        made = _made(source, call)
        if made is None or not isinstance(call, ast.Call):
            continue
        seen = basics.evidence(region, [call.lineno], ["copies host", "copy host", "CUDA call"])
        if seen.measured and not seen.cost:
            continue
        name = (basics.meaning(source, made.func) or "").removeprefix("torch.")
        found.append(
            Mistake(
                line=call.lineno,
                what=f"torch.{name}() fills memory of the CPU, and the result is copied to the GPU",
                remedy=f"make it there: torch.{name}(.., device=..)",
                evidence=seen.text,
                measured=seen.measured,
                cost=seen.cost,
                match=_match(source, call, made, name),
            )
        )
    return tuple(sorted(found, key=lambda m: m.line)) or None


def _made(source: Source, node: ast.AST) -> ast.Call | None:
    """The constructor in ``torch.zeros(n).to(device)``, ``torch.zeros(n).cuda()``."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr="to"), args=[place]):
            if node.keywords or values.kind(source, place).what != "device":
                return None
        case ast.Call(func=ast.Attribute(value=ast.Call() as made, attr="cuda"), args=[]):
            if node.keywords:
                return None
        case _:
            return None
    name = (basics.meaning(source, made.func) or "").removeprefix("torch.")
    return made if name in EQUAL | RANDOM and not _has(made, "device", None) else None


def _has(made: ast.Call, *names: str | None) -> bool:
    return any(keyword.arg in names for keyword in made.keywords)


def _match(source: Source, call: ast.Call, made: ast.Call, name: str) -> Match | None:
    if not made.args or any(k.arg != "dtype" for k in made.keywords):
        return None  # requires_grad, pin_memory, out, generator, layout
    place = source.text(call.args[0]) if call.args else '"cuda"'
    # torch.zeros(n).to(place()): the call would come before the arguments; a name cannot tell.
    if call.args and not isinstance(call.args[0], ast.Name | ast.Constant | ast.Attribute):
        return None
    last = max([*made.args, *(k.value for k in made.keywords)], key=lambda a: source.span(a)[1])
    end = source.span(last)[1]
    random = name in RANDOM
    basis = Basis.ASSUMED if random else Basis.PROVED
    text = (
        "other random numbers serve as well"
        if random
        else f"torch.{name} makes the same numbers on every device"
    )
    return Match(
        edits=(
            Edit(end, end, f", device={place}"),
            Edit(source.span(made)[1], source.span(call)[1], ""),
        ),
        why="",
        change="the tensor is made on the device",
        ledger=(Condition(text, basis, f"line {call.lineno}"),),
    )
