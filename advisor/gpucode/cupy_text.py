"""Where CuPy rules may put new lines, and what they share in saying so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from ..codegen import ast_tools as tools
from ..model import Match, Mistake, Refusal, Region, Source
from .basics import Evidence, evidence, meaning
from .cupy import Types, types_in

SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)
"""Statements that run once, from top to bottom, wherever they stand."""


@lru_cache(maxsize=32)
def _types(source: Source, scope: ast.Module | ast.FunctionDef) -> Types:
    return types_in(source, scope)


def types_of(region: Region) -> Types:
    """The values of the scope that a region is in."""
    return _types(region.source, region.function or region.source.tree)


def statement_of(source: Source, node: ast.expr) -> ast.stmt | None:
    """The simple statement that runs an expression exactly once, and stands on lines of its own.

    None for what may be skipped or repeated within it: ``ready and cp.asarray(x)``, a
    comprehension, a lambda.
    """
    for above in tools.ancestors(source, node):
        if isinstance(above, SIMPLE):
            return above if tools.stands_alone(source, above) else None
        if isinstance(above, ast.stmt | ast.IfExp | ast.BoolOp | ast.Lambda | ast.NamedExpr):
            return None
        if isinstance(above, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return None
        if isinstance(above, ast.Compare) and len(above.comparators) > 1:
            return None
    return None


def loops_above(source: Source, region: Region) -> Iterator[ast.For | ast.While]:
    """The loops around the region's, in the same function, innermost first."""
    for above in tools.ancestors(source, region.loop):
        if above is region.function:
            return
        if isinstance(above, ast.For | ast.While):
            yield above


def objection(region: Region, *names: str) -> Refusal | None:
    """Why lines cannot be put around the loop, or why ``names`` are not the function's own."""
    source, loop = region.source, region.loop
    scope = region.function or source.tree
    if not tools.stands_alone(source, loop):
        return Refusal("the loop shares its line", loop.lineno)
    if isinstance(tools.parents(source).get(loop), ast.If) and not _in_block(source, loop):
        return Refusal("the loop is an elif", loop.lineno)
    if (reader := tools.reads_frames(source.tree)) is not None:
        return Refusal(f"{reader.id} sees every variable", reader.lineno)
    if any(isinstance(n, ast.Import | ast.ImportFrom) and _threads(n) for n in source.nodes):
        # another thread may change an array while the loop runs
        return Refusal("the program runs threads", loop.lineno)
    if (queue := _queues(source)) is not None:
        # what is sent to one stream does not wait for another
        return Refusal("the program uses several streams or devices", queue.lineno)
    for name in names:
        node = tools.deferred_uses(source, scope, name)
        if node is not None:
            return Refusal(f"{name} is used in another function", getattr(node, "lineno", 0))
        local = isinstance(scope, ast.Module) or bool(tools.stores(scope, name))
        parameter = region.function is not None and name in _arguments(region.function)
        if not local and not parameter and tools.bound_names(source).get(name, 0) != 1:
            return Refusal(f"{name} is a global that is bound more than once", loop.lineno)
    return None


def mistake(
    region: Region,
    node: ast.AST,
    what: str,
    remedy: str,
    seen: Evidence,
    answer: Match | Refusal | None,
) -> Mistake:
    """A mistake at a node, with its rewrite or the reason why there is none."""
    if isinstance(answer, Refusal):
        where = f" (line {answer.line})" if answer.line else ""
        remedy = f"{remedy}; not rewritten here: {answer.reason}{where}"
    return Mistake(
        line=getattr(node, "lineno", region.loop.lineno),
        what=what,
        remedy=remedy,
        evidence=seen.text,
        measured=seen.measured,
        cost=seen.cost,
        match=answer if isinstance(answer, Match) else None,
    )


def seen_at(region: Region, nodes: list[ast.AST], *kinds: str) -> Evidence | None:
    """What was traced at some nodes' lines; None where the trace shows that nothing was."""
    lines = [getattr(node, "lineno", 0) for node in nodes]
    found = evidence(region, lines, kinds)
    return None if found.measured and not found.cost else found


def _queues(source: Source) -> ast.expr | None:
    """Where the file makes a stream or chooses a device, beyond waiting for the current one."""
    for node in source.nodes:
        if not isinstance(node, ast.Attribute | ast.Name):
            continue
        called = meaning(source, node) or ""
        if called.endswith((".ExternalStream", ".cuda.stream", ".PerThread")):
            return node
        if called in ("cupy.cuda.Stream", "cupy.cuda.Device", "cupy.cuda.stream.Stream"):
            above = tools.parents(source)[node]
            if isinstance(above, ast.Attribute) and above.attr == "null":
                continue
            call = tools.parents(source).get(above)
            waits = (
                isinstance(above, ast.Call) and not above.args and isinstance(call, ast.Attribute)
            )
            if not waits or not isinstance(call, ast.Attribute) or call.attr != "synchronize":
                return node
    return None


def _in_block(source: Source, loop: ast.stmt) -> bool:
    return loop in tools.block_of(source, loop)


def _threads(node: ast.Import | ast.ImportFrom) -> bool:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{name}" for name in names]
    risky = ("threading", "_thread", "concurrent", "multiprocessing", "asyncio", "signal")
    return any(name.partition(".")[0] in risky for name in names)


def _arguments(function: ast.FunctionDef) -> set[str]:
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def imports_cupy(source: Source) -> bool:
    """Whether the file works with CuPy."""
    for node in source.nodes:
        if isinstance(node, ast.Import) and any(a.name.startswith("cupy") for a in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cupy"):
            return True
    return False
