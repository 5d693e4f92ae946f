"""Launch blocks of at least a warp.

Why it is slow: the GPU runs threads in groups of 32 (a warp); a block of one thread occupies a
whole warp, and 31 of its lanes do nothing.
Why it may differ: index arithmetic that relies on the block's size has to follow it. So this is
advice.
"""

from __future__ import annotations

import ast

from gpuadvise.api import Ignores, Mistake, Region, Source, Spots, rule
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.codegen import list_uses
from gpuadvise.gpucode import basics
from gpuadvise.gpucode import numba as kernels

KERNEL = """\
from numba import cuda


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2 * x[i]


"""
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    for _ in range(steps):
        double[x.size, 1](x)
    return x.copy_to_host()
""",
        line=14,
        function="run",
    ),
    Spots(
        before=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    threads = (4, 4)
    for _ in range(steps):
        double[x.size // 16, threads](x)
    return x.copy_to_host()
""",
        line=15,
        function="run",
    ),
    Ignores(
        before=KERNEL
        + """\
def run(host, steps, threads):
    x = cuda.to_device(host)
    for _ in range(steps):
        double[64, 128](x)
        double[64, threads](x)
    return x.copy_to_host()
""",
        because="blocks are large, or their size is not written here",
        function="run",
        static=True,
    ),
    Ignores(
        before=KERNEL
        + """\
def run(host, steps):
    x = cuda.to_device(host)
    for _ in range(steps):
        double[1, 1](x)
    return x.copy_to_host()
""",
        because="a single thread that does what has to be done in order",
        function="run",
        static=True,
    ),
)
WARP = 32
"""Threads that run together: CUDA programming guide, all devices so far."""


@rule(needs=("numba",), cases=CASES)
def tiny_blocks(region: Region) -> tuple[Mistake, ...] | None:
    """Kernels are launched with blocks smaller than a warp."""
    source = region.source
    found: list[Mistake] = []
    for launch in basics.launches(source, region.loop):
        call = launch.statement.value
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript)
        config = call.func.slice
        if not isinstance(config, ast.Tuple) or len(config.elts) < 2:
            continue
        threads = _count(source, region, config.elts[1])
        # kernel[1, 1]: one thread on purpose, to put things in order
        if threads is None or threads >= WARP or _count(source, region, config.elts[0]) == 1:
            continue
        line = launch.statement.lineno
        seen = basics.evidence(region, [line], ["kernel"])
        if seen.measured and not seen.cost:
            continue
        size = "one thread" if threads == 1 else f"{threads} threads"
        found.append(
            Mistake(
                line=line,
                what=f"{launch.kernel.name} is launched with blocks of {size}: "
                f"{WARP - threads} of {WARP} lanes of a warp do nothing",
                remedy="launch blocks of 128 or 256 threads, and accordingly fewer of them",
                evidence=seen.text,
                measured=seen.measured,
                cost=kernels.kernel_seconds(region, line),
            )
        )
    return tuple(sorted(found, key=lambda m: m.line)) or None


def _count(source: Source, region: Region, node: ast.expr) -> int | None:
    """How many an expression says, if the text says it: ``1``, ``(4, 4)``, ``threads``."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Tuple(elts=parts):
            total = 1
            for part in parts:
                inner = _count(source, region, part)
                if inner is None:
                    return None
                total *= inner
            return total
        case ast.Name(id=name):
            scope: tools.Scope = region.function or source.tree
            if not tools.stores(scope, name) and tools.bound_names(source).get(name, 0) == 1:
                scope = source.tree
            given = list_uses.values_bound(source, scope, name)
            if len(given) == 1 and given[0] is not None and not isinstance(given[0], ast.Name):
                return _count(source, region, given[0])
    return None
