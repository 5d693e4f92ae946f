"""Loops that stand one after the other in a block, which one rewrite may take together.

Loop by loop, lists that several of them work on would become arrays and lists again for each, and a
matrix that one of them makes for another would come back from a GPU in between.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from ..loopnest.ir import Nest
from ..loopnest.sharing import hand_on_a_matrix, share_a_list
from ..model import Region

Loop = ast.For | ast.While
MOST = 12
"""Loops taken together at most: what is compiled as one function takes long enough."""
_MAKES_OBJECTS = (
    *(ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.GeneratorExp, ast.JoinedStr),
    *(ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr),
)


def neighbours(
    regions: Iterable[Region], cold: Callable[[Region, Loop], Region | None]
) -> dict[Loop, tuple[Region, ...]]:
    """Runs of at least two hot loops that share a list, or hand on a matrix, by their first loop.

    ``cold``: the region of a loop that is not hot itself and stands behind a hot one of the run.
    """
    hot = {region.loop: region for region in regions if region.function is not None}
    functions = dict.fromkeys(r.function for r in hot.values() if r.function is not None)
    blocks = [block for function in functions for block in _blocks(function)]
    runs = [run for block in blocks for run in _runs(block, hot, cold)]
    inner = {node for region in hot.values() for node in _inside(region)}
    return {r[0].loop: r for r in runs if r[0].loop not in inner and _belong_together(r)}


def _belong_together(run: tuple[Region, ...]) -> bool:
    nests = [region.nest for region in run if isinstance(region.nest, Nest)]
    return share_a_list(nests) or hand_on_a_matrix(nests)


def _inside(region: Region) -> Iterator[ast.AST]:
    """What is inside a loop that can be rewritten as a whole: there is nothing to be joined."""
    if isinstance(region.nest, Nest):
        yield from (node for node in ast.walk(region.loop) if node is not region.loop)


def _blocks(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                yield block


def _runs(
    block: list[ast.stmt],
    hot: dict[Loop, Region],
    cold: Callable[[Region, Loop], Region | None],
) -> Iterator[tuple[Region, ...]]:
    run: list[Region] = []
    for statement in (*block, None):
        if statement is not None and _sets_a_name(statement):
            continue
        region = None
        if isinstance(statement, Loop):
            region = hot.get(statement) or (cold(run[-1], statement) if run else None)
        if region is None or not isinstance(region.nest, Nest) or len(run) == MOST:
            yield from _finished(run, hot)
            run = []
        if region is not None and isinstance(region.nest, Nest) and (run or region.loop in hot):
            run.append(region)


def _finished(run: list[Region], hot: dict[Loop, Region]) -> Iterator[tuple[Region, ...]]:
    """The run up to its last hot loop, if it has several."""
    while run and run[-1].loop not in hot:
        run.pop()
    if sum(region.loop in hot for region in run) > 1:
        yield tuple(run)


def _sets_a_name(statement: ast.stmt) -> bool:
    """``mean = total / n``, ``norms = [0.0] * n``: what may go with the loops around it."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            pass
        case ast.AugAssign(target=ast.Name(), value=value):
            pass
        case ast.AnnAssign(target=ast.Name(), value=ast.expr() as value):
            pass
        case _:
            return False
    return not any(isinstance(node, _MAKES_OBJECTS) for node in ast.walk(value))
