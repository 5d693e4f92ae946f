"""Leave freed memory in CuPy's pool instead of giving it back in every step.

Why it is slow: ``free_all_blocks`` waits for the device and returns all free memory to the driver,
and the next step has to ask the driver for the same memory again.
Why it may differ: no result can; free blocks stay with the program, where another program on the
same GPU does not get them. When memory runs out, CuPy empties its pool by itself and tries again.
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
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import meaning
from gpuadvise.gpucode.cupy_text import mistake, seen_at, types_of

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp

pool = cp.get_default_memory_pool()


def run(steps):
    x = cp.ones(100_000)
    for _ in range(steps):
        x = cp.sqrt(x + 1.0)
        pool.free_all_blocks()
        cp.get_default_pinned_memory_pool().free_all_blocks()  # tidy
    return x.get()
""",
        line=10,
        function="run",
        inputs="args = (20,)",
        after="""\
import cupy as cp

pool = cp.get_default_memory_pool()


def run(steps):
    x = cp.ones(100_000)
    for _ in range(steps):
        x = cp.sqrt(x + 1.0)
    return x.get()
""",
    ),
    Ignores(
        before="""\
import cupy as cp


def run(batches):
    pool = cp.get_default_memory_pool()
    for batch in batches:
        try:
            cp.asarray(batch).sum()
        except cp.cuda.memory.OutOfMemoryError:
            pool.free_all_blocks()
""",
        because="memory is given back only when it has run out",
        function="run",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def run(batches):
    pool = cp.get_default_memory_pool()
    for batch in batches:
        cp.asarray(batch).sum()
        print(pool.total_bytes())
        pool.free_all_blocks()
""",
        because="the program reports what the pool holds",
        function="run",
        static=True,
    ),
)
_REPORTS = frozenset(
    {"total_bytes", "free_bytes", "used_bytes", "n_free_blocks", "memGetInfo", "mem_info"}
)


@rule(cases=CASES)
def free_all_blocks(region: Region) -> tuple[Mistake, ...] | None:
    """The loop empties CuPy's memory pool in every step."""
    source = region.source
    found = list(_calls(region))
    if not found:
        return None
    reports = [n for n in source.nodes if isinstance(n, ast.Attribute)]
    if any(node.attr in _REPORTS for node in reports):
        return None  # what it prints would change; and it has its reasons
    seen = seen_at(region, list(found))
    if seen is None:
        return None
    return (
        mistake(
            region,
            found[0],
            "the memory pool is emptied in every step",
            "leave the memory in the pool: CuPy empties it when memory runs out",
            seen,
            _rewrite(region, found),
        ),
    )


def _calls(region: Region) -> Iterator[ast.Expr]:
    """``pool.free_all_blocks()`` as statements that each step of the loop reaches."""
    source = region.source
    for statement in region.loop.body:
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=pool, attr="free_all_blocks"), args=[], keywords=[]
                )
            ) if tools.stands_alone(source, statement) and _is_pool(region, pool):
                yield statement


def _is_pool(region: Region, node: ast.expr) -> bool:
    types = types_of(region)
    if isinstance(node, ast.Call):
        return (meaning(region.source, node.func) or "").startswith("cupy.get_default_")
    return types.of(node).what == "pool"


def _other_library(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    others = ("torch", "tensorflow", "jax", "cudf", "rmm", "pycuda", "cuda")
    return any(name.partition(".")[0] in others for name in names)


def _rewrite(region: Region, found: list[ast.Expr]) -> Match | Refusal:
    source, loop = region.source, region.loop
    for node in source.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and _other_library(node):
            # what the pool keeps is not there for PyTorch's own pool
            return Refusal("another library uses the device's memory as well", node.lineno)
    if len(found) == len(loop.body):
        return Refusal("the loop does nothing else", loop.lineno)
    edits = []
    for statement in found:
        assert statement.end_lineno is not None
        start = source.line_starts[statement.lineno - 1]
        edits.append(
            Edit(start, min(source.line_starts[statement.end_lineno], len(source.data)), "")
        )
    return Match(
        edits=tuple(edits),
        why="",
        change="memory that is free stays in the pool",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                "what the pool holds decides no result: when memory runs out, CuPy empties it",
                Basis.PROVED,
                f"line {found[0].lineno}",
            ),
        ),
        differences=("free device memory stays with the program until it ends",),
    )
