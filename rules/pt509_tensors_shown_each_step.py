"""Print tensors, or copy them to the host, now and then instead of in every step.

Why it is slow: to print a tensor, or for ``.cpu()``, ``.numpy()`` and ``.tolist()``, the CPU waits
until the GPU has done all that was asked of it; the GPU idles until Python has asked for more.
Why it may differ: the lines are the same, but appear in blocks of a hundred, and so later. That is
tried under ``--unsafe`` only. Copies that are only collected do not differ: a hundred of them are
made at a time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.api import Ignores, Mistake, Refusal, Region, Source, Spots, rule
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import torch as values
from gpuadvise.gpucode import torch_loops as loops
from gpuadvise.gpucode.torch_collected import collected
from gpuadvise.gpucode.torch_collected import rewrite as in_blocks
from gpuadvise.gpucode.torch_fetch import goes_backward
from gpuadvise.gpucode.torch_shown import rewrite, shown_later

HEAD = """\
import torch


"""
HELPER = '''\
def in_blocks(steps, lines, show):
    """The steps of a loop; what they put into lines is shown 100 steps at a time."""
    try:
        for number, step in enumerate(steps, 1):
            yield step
            if number % 100 == 0:
                show(lines)
    finally:
        show(lines)


'''
COLLECTING = '''\
def fetched_in_blocks(steps, kept, fetch):
    """The steps of a loop; the tensors they keep are fetched 100 at a time, or 256 MB."""
    try:
        for step in steps:
            yield step
            if len(kept) >= 100 or (kept and kept[-1].nbytes * len(kept) >= 2**28):
                fetch(kept)
    finally:
        fetch(kept)


'''
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
        inputs="args = (250,)",
        after=HEAD
        + HELPER
        + """\
def run(n):
    x = torch.ones(n, device="cuda")
    lines = []

    def show(lines):
        for step, x in lines:
            print(step, x)
        lines.clear()

    for step in in_blocks(range(n), lines, show):
        x = x / 2
        lines.append((step, x.detach().clone()))
    return x
""",
    ),
    Spots(
        before=HEAD
        + """\
def fit(model, xs, ys, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(steps):
        optimizer.zero_grad()
        loss = ((model(xs) - ys) ** 2).mean()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}/{steps}: loss {loss.item():.4f}")


net = torch.nn.Linear(4, 1).to("cuda")
fit(net, torch.ones(9, 4, device="cuda"), torch.ones(9, 1, device="cuda"), 120)
""",
        line=11,
        function="fit",
        after=HEAD
        + HELPER
        + """\
def fit(model, xs, ys, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    lines = []

    def show(lines):
        for step, loss in lines:
            print(f"step {step + 1}/{steps}: loss {loss.item():.4f}")
        lines.clear()

    for step in in_blocks(range(steps), lines, show):
        optimizer.zero_grad()
        loss = ((model(xs) - ys) ** 2).mean()
        loss.backward()
        optimizer.step()
        lines.append((step, loss.detach().clone()))


net = torch.nn.Linear(4, 1).to("cuda")
fit(net, torch.ones(9, 4, device="cuda"), torch.ones(9, 1, device="cuda"), 120)
""",
    ),
    Spots(
        before=HEAD
        + """\
def run(n):
    x = torch.ones(n, device="cuda")
    for step in range(n):
        x = x / 2
        print(step, x)
        print("halved")
    return x
""",
        line=8,
        function="run",
        after=None,  # another line is printed between
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
        inputs="args = (230,)",
        after=HEAD
        + COLLECTING
        + """\
def run(n):
    x, kept = torch.ones(n, device="cuda"), []
    waiting = []

    def fetch(waiting):
        kept.extend(value.cpu().numpy() for value in waiting)
        waiting.clear()

    for _ in fetched_in_blocks(range(n), waiting, fetch):
        x = x / 2
        waiting.append(x)
    return kept
""",
    ),
    Spots(
        before=HEAD
        + """\
def run(n):
    x, kept = torch.ones(n, device="cuda"), []
    for _ in range(n):
        x.mul_(0.5)
        kept.append(x.cpu().numpy())
    return kept
""",
        line=8,
        function="run",
        after=None,  # the tensor has another value when it is fetched
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
    x = torch.ones(n, device="cuda")
    for epoch in range(9):
        for _ in range(n):
            x = x / 2
        print(f"epoch {epoch}: {x.sum().item():.3f}")
""",
        because="once an epoch costs nothing",
        function="run",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def run(n):
    rate = 1.0
    for step in range(n):
        rate = rate / 2
        print(f"step {step}: {rate:.3f}")
    return torch.tensor(rate)
""",
        because="a number that Python has is printed",
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
        if not isinstance(node, ast.Call) or node.lineno in found:
            continue
        what = _shown(source, loop, node)
        if what is None:
            continue
        if loops.innermost(source, node) is not loop or loops.now_and_then(source, node, loop):
            continue
        mistake = _mistake(region, node, what)
        if mistake is not None:
            found[node.lineno] = mistake
    return tuple(found[line] for line in sorted(found)) or None


def _mistake(region: Region, node: ast.Call, what: str) -> Mistake | None:
    seen = basics.evidence(region, [node.lineno], ["device to host", "sync"])
    if seen.measured and not seen.cost:
        return None
    remedy = "do it every so many steps, or keep results on the device until after the loop"
    match = None
    if isinstance(node.func, ast.Name):
        shown = shown_later(region, tools.enclosing_statement(region.source, node))
        if isinstance(shown, Refusal):
            remedy = f"{remedy}; the lines are not printed in blocks, as {shown.reason}"
        else:
            match = rewrite(region, shown)
    else:
        kept = collected(region, tools.enclosing_statement(region.source, node))
        match = None if kept is None else in_blocks(region, kept)
    return Mistake(
        line=node.lineno,
        what=f"{what} makes the CPU wait for the GPU in every step",
        remedy=remedy,
        evidence=seen.text,
        measured=seen.measured,
        cost=seen.cost,
        match=match,
    )


def _shown(source: Source, loop: ast.AST, node: ast.Call) -> str | None:
    """``print(loss)``, ``x.cpu()``, ``x.tolist()`` of what may be on the GPU, in words."""
    match node:
        case ast.Call(func=ast.Name(id="print"), args=arguments):
            parts = [part for a in arguments for part in _printed(source, a)]
            if tools.is_builtin(source, "print") and any(
                _elsewhere(source, loop, part) for part in parts
            ):
                return "printing a tensor"
        case ast.Call(func=ast.Attribute(value=value, attr="cpu" | "tolist" as name)):
            printed = any(map(_prints, tools.ancestors(source, node)))
            return None if printed or not _elsewhere(source, loop, value) else f".{name}()"
    return None


def _prints(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "print"


def _printed(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """What an argument shows, and of what it fetches numbers."""
    if isinstance(node, ast.JoinedStr):
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _printed(source, part.value)
        return
    yield node
    for inner in ast.walk(node):
        match inner:
            case ast.Call(func=ast.Attribute(value=value, attr="item" | "tolist" | "cpu")):
                yield value
            case ast.Call(func=ast.Name(id="float" | "int" as name), args=[value]):
                if tools.is_builtin(source, name):
                    yield value


def _elsewhere(source: Source, loop: ast.AST, node: ast.expr) -> bool:
    if isinstance(node, ast.Name) and goes_backward(loop, node.id):
        return True
    known = values.kind(source, node)
    return known.what == "tensor" and known.place != "cpu"
