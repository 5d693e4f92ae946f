"""Whether the arrays of a loop's kernels can stay on the device for the whole loop."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..codegen import list_uses
from ..model import Region, Source
from ..names import free_name
from . import basics
from .numba import Loop, made_here, moves, prefix


@dataclass(frozen=True)
class Plan:
    """What the new text is made of."""

    cuda: str
    names: Mapping[str, str]
    """Host array, or the temporary of an exchange -> its name on the device."""
    arrays: Mapping[str, bool]
    moves: list[ast.Assign]
    foreign: tuple[str, ...]
    """Arrays that are not proved to be plain and alone: they are tested before the loop."""


def plan(
    region: Region, launches: tuple[basics.Launch, ...], arrays: Mapping[str, bool]
) -> Plan | None:
    """What the new text is made of; None if the arrays have to come back in the loop."""
    source, loop = region.source, region.loop
    scope = region.function or source.tree
    cuda = prefix(source, launches[0].kernel)
    exchanges = moves(source, loop, arrays)
    if cuda is None or exchanges is None or loop.orelse or not tools.stands_alone(source, loop):
        return None
    if tools.handlers_around(source, scope, loop) is not None:
        return None  # an exception caught there would find the host arrays as they were
    if any(tools.deferred_uses(source, scope, n) is not None for n in arrays):
        return None  # def show(): print(x[0]), called from anywhere
    if not all(_once_each(launch, arrays) for launch in launches):
        return None
    if not _only_launches_look(source, loop, launches, arrays, exchanges):
        return None
    names: dict[str, str] = {}
    mentioned = {n.id for m in exchanges for n in ast.walk(m) if isinstance(n, ast.Name)}
    for name in (*arrays, *sorted(mentioned - set(arrays))):
        names[name] = free_name(source, f"{name}_device", names.values())
    made = {name: made_here(source, loop, name) for name in arrays}
    foreign = tuple(name for name, statement in made.items() if statement is None)
    return Plan(cuda, names, arrays, exchanges, foreign)


def _once_each(launch: basics.Launch, arrays: Mapping[str, bool]) -> bool:
    # double[b, t](x, x): numba copies x twice, the kernel sees two arrays, the last one wins.
    # double[b, t, stream](x): copies on another stream than ours.
    names = [a.id for a in launch.arguments if isinstance(a, ast.Name) and a.id in arrays]
    call = launch.statement.value
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript)
    config = call.func.slice
    plain = isinstance(config, ast.Tuple) and len(config.elts) == 2
    return len(set(names)) == len(names) and plain


def _only_launches_look(
    source: Source,
    loop: Loop,
    launches: tuple[basics.Launch, ...],
    arrays: Mapping[str, bool],
    exchanges: list[ast.Assign],
) -> bool:
    """Nothing else in the loop can look at one of the arrays, under whatever name.

    ``if view[0] > 3: break`` reads an array through a view, ``watch()`` through a global, and
    ``total += field`` a whole one: so all there may be is launches, exchanges, and arithmetic on
    names that are numbers.
    """
    allowed: set[ast.AST] = {argument for launch in launches for argument in launch.arguments}
    allowed |= {inner for move in exchanges for inner in ast.walk(move)}
    for launch in launches:
        call = launch.statement.value
        assert isinstance(call, ast.Call)
        allowed |= set(ast.walk(call.func))  # double[blocks, threads]
        allowed |= {n for a in launch.arguments for n in ast.walk(a) if not _is_array(n, arrays)}
    for node in ast.walk(loop):
        if node is loop or node in allowed:
            continue
        if isinstance(node, _REFUSED) or _is_array(node, arrays):
            return False
        if isinstance(node, ast.Call) and not _harmless(source, node, launches):
            return False
        if isinstance(node, ast.Name) and not _is_number(source, loop, node):
            return False
    return True


_REFUSED = (
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Raise, ast.Try, ast.With, ast.Global),
    *(ast.Nonlocal, ast.Subscript, ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.Delete),
    *(ast.NamedExpr, ast.ListComp, ast.GeneratorExp, ast.JoinedStr, ast.Starred, ast.Import),
)


def _is_array(node: ast.AST, arrays: Mapping[str, bool]) -> bool:
    return isinstance(node, ast.Name) and node.id in arrays


def _harmless(source: Source, call: ast.Call, launches: tuple[basics.Launch, ...]) -> bool:
    if any(launch.statement.value is call for launch in launches):
        return True
    if isinstance(call.func, ast.Name) and call.func.id in ("range", "int", "float"):
        return tools.is_builtin(source, call.func.id)
    return basics.meaning(source, call.func) == "numba.cuda.synchronize"


def _is_number(source: Source, loop: Loop, name: ast.Name) -> bool:
    """Whether a name outside the launches cannot be a second name of an array."""
    if basics.meaning(source, name) is not None or tools.is_builtin(source, name.id):
        return True  # cuda, range
    holder = tools.parents(source)[name]
    if isinstance(holder, ast.Call) and name in holder.args:
        return True  # range(steps), int(x): an array of one element gives its value at once
    if isinstance(loop, ast.For) and name is loop.target:
        return isinstance(loop.iter, ast.Call)  # for _ in range(..)
    top = tools.enclosing_statement(source, name)
    above: ast.AST = top
    while not isinstance(above, ast.Module | ast.FunctionDef):
        above = tools.parents(source)[above]
    values = list_uses.values_bound(source, above, name.id)
    return bool(values) and all(
        isinstance(v, ast.Constant) or (isinstance(v, ast.Call) and _counts(source, v))
        for v in values
    )


def _counts(source: Source, call: ast.Call) -> bool:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return name in ("int", "float", "len") and tools.is_builtin(source, name)
