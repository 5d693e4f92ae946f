"""Print tensors, or copy them to the host, now and then instead of in every step.

Why it is slow: to print a tensor, or for ``.cpu()``, ``.numpy()`` and ``.tolist()``, the CPU waits
until the GPU has done all that was asked of it; the GPU idles until Python has asked for more.
Why it may differ: less is printed. So this is advice, and the decision the user's.
"""

from __future__ import annotations

import ast

from gpuadvise.api import Ignores, Mistake, Region, Source, Spots, rule
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import torch as values
from gpuadvise.gpucode import torch_loops as loops

HEAD = """\
import torch


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD
        + """\
def run(n):
    x = torch.ones(n, device="cuda")
    for step in range(n):
        x = x / 2
        print(step, x)
    return x
""",
        line=8,
        function="run",
    ),
    Spots(
        before=HEAD
        + """\
def run(n):
    x, kept = torch.ones(n, device="cuda"), []
    for _ in range(n):
        x = x / 2
        kept.append(x.cpu().numpy())
    return kept
""",
        line=8,
        function="run",
    ),
    Ignores(
        before=HEAD
        + """\
def run(n):
    x = torch.ones(n, device="cuda")
    for step in range(n):
        x = x / 2
        if step % 100 == 0:
            print(step, x)
    return x
""",
        because="it is shown in some of the steps only",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def run(n):
    x = torch.ones(n)
    for step in range(n):
        print(x, x.numpy())
""",
        because="the tensor is on the CPU",
        function="run",
        static=True,
    ),
)


@rule(cases=CASES)
def tensors_shown_each_step(region: Region) -> tuple[Mistake, ...] | None:
    """Tensors are printed or copied to the host in every step."""
    source, loop = region.source, region.loop
    if loops.torch_name(source) is None or loops.times(source, loop):
        return None
    found: dict[int, Mistake] = {}
    for node in tools.own_nodes(loop):
        what = _shown(source, node)
        if what is None or not isinstance(node, ast.Call) or node.lineno in found:
            continue
        if loops.innermost(source, node) is not loop or loops.now_and_then(source, node, loop):
            continue
        seen = basics.evidence(region, [node.lineno], ["device to host", "sync"])
        if seen.measured and not seen.cost:
            continue
        found[node.lineno] = Mistake(
            line=node.lineno,
            what=f"{what} makes the CPU wait for the GPU in every step",
            remedy="do it every so many steps, or keep results on the device until after the loop",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
        )
    return tuple(found[line] for line in sorted(found)) or None


def _shown(source: Source, node: ast.AST) -> str | None:
    """``print(loss)``, ``x.cpu()``, ``x.tolist()`` of what may be on the GPU, in words."""
    match node:
        case ast.Call(func=ast.Name(id="print"), args=arguments):
            parts = [p for a in arguments for p in _printed(a)]
            if tools.is_builtin(source, "print") and any(_elsewhere(source, p) for p in parts):
                return "printing a tensor"
        case ast.Call(func=ast.Attribute(value=value, attr="cpu" | "tolist" as name)):
            return f".{name}()" if _elsewhere(source, value) else None
    return None


def _printed(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    return [node]


def _elsewhere(source: Source, node: ast.expr) -> bool:
    known = values.kind(source, node)
    return known.what == "tensor" and known.place != "cpu"
