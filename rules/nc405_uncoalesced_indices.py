"""Let neighbouring threads work on neighbouring elements.

Why it is slow: the threads of a warp differ in ``threadIdx.x``, the first of ``cuda.grid(2)``. If
that is the index of rows, each of the 32 reads another part of memory, and most of what is fetched
is not used.
Why it may differ: grid and block sizes have to change places with the indices. So this is advice.
"""

from __future__ import annotations

import ast

from gpuadvise.api import Ignores, Mistake, Region, Spots, rule
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import numba as kernels

HEAD = """\
from numba import cuda


@cuda.jit
def double(x):
    {0} = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] = 2 * x[i, j]


def run(host, steps):
    x = cuda.to_device(host)
    for _ in range(steps):
        double[(8, 8), (16, 16)](x)
    return x.copy_to_host()
"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(before=HEAD.format("i, j"), line=14, function="run"),
    Ignores(
        before=HEAD.format("j, i"),
        because="the last index follows threadIdx.x",
        function="run",
        static=True,
    ),
)


@rule(needs=("numba",), cases=CASES)
def uncoalesced_indices(region: Region) -> tuple[Mistake, ...] | None:
    """Neighbouring threads of a kernel work on different rows."""
    found: list[Mistake] = []
    for launch in basics.launches(region.source, region.loop):
        rows = _rows_by_thread(region, launch.kernel)
        if rows is None:
            continue
        line = launch.statement.lineno
        seen = basics.evidence(region, [line], ["kernel"])
        if seen.measured and not seen.cost:
            continue
        found.append(
            Mistake(
                line=line,
                what=f"neighbouring threads of {launch.kernel.name} work on different rows "
                f"(lines {launch.kernel.lineno}-{launch.kernel.end_lineno}): {rows}",
                remedy="exchange the two names that cuda.grid(2) gives, and the launch's two sizes",
                evidence=seen.text,
                measured=seen.measured,
                cost=kernels.kernel_seconds(region, line),
            )
        )
    return tuple(sorted(found, key=lambda m: m.line)) or None


def _rows_by_thread(region: Region, kernel: ast.FunctionDef) -> str | None:
    """An element whose row is ``threadIdx.x``'s, if most of the kernel's elements are such."""
    for node in tools.own_nodes(kernel):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)])],
                value=ast.Call(func=func, args=[ast.Constant(value=2)]),
            ) if basics.meaning(region.source, func) == "numba.cuda.grid":
                return _element(region, kernel, first, second)
    return None


def _element(region: Region, kernel: ast.FunctionDef, first: str, second: str) -> str | None:
    wrong: list[ast.Subscript] = []
    right = 0
    for node in ast.walk(kernel):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
            continue
        if len(node.slice.elts) != 2:
            continue
        row, column = ({n.id for n in tools.names_in(part)} for part in node.slice.elts)
        if first in row and second in column:
            wrong.append(node)
        elif second in row and first in column:
            right += 1
    return region.source.text(wrong[0]) if len(wrong) > right else None
