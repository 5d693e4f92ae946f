"""Collect pieces on the device in a list and concatenate once, instead of in every step.

Why it is slow: ``cp.concatenate([x, piece])`` copies all of ``x`` for every piece, so n pieces cost
about n * n / 2 copied elements, and a new allocation of another size each.
Why it may differ: it does not where all pieces have one dtype, which is tested; else the pieces are
joined one by one, as before.
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
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import meaning
from gpuadvise.gpucode.cupy_after import left_early, own_binding
from gpuadvise.gpucode.cupy_tables import CONSTRUCTORS, ELEMENTWISE, REDUCTIONS
from gpuadvise.gpucode.cupy_text import mistake, seen_at, types_of
from gpuadvise.names import free_name

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp


def track(steps):
    x = cp.linspace(0.0, 1.0, 50)
    path = cp.zeros((1, 50))
    for _ in range(steps):
        x = 3.7 * x * (1.0 - x)
        path = cp.concatenate([path, x[None, :]], axis=0)
    return path.get()
""",
        line=9,
        function="track",
        inputs="args = (40,)",
        after="""\
import cupy as cp


def track(steps):
    x = cp.linspace(0.0, 1.0, 50)
    path = cp.zeros((1, 50))
    path_parts = [path]
    for _ in range(steps):
        x = 3.7 * x * (1.0 - x)
        path_parts.append(x[None, :].copy())
    if len(path_parts) > 1 and len({part.dtype for part in path_parts}) == 1:
        path = cp.concatenate(path_parts, axis=0)
    else:
        for part in path_parts[1:]:
            path = cp.concatenate([path, part], axis=0)
    return path.get()
""",
    ),
    Ignores(
        before="""\
import cupy as cp


def fibonacci(steps):
    x = cp.ones(2)
    for _ in range(steps):
        x = cp.concatenate([x, x[-1:] + x[-2:-1]])
    return x.get()
""",
        because="each piece is made of what was joined so far",
        function="fibonacci",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def window(frames):
    x = cp.zeros((8, 8))
    for frame in frames:
        x = cp.concatenate([x[1:], frame])
    return x
""",
        because="the array does not grow: its oldest row is dropped",
        function="window",
        static=True,
    ),
)
_JOINING = ("cupy.concatenate", "cupy.vstack", "cupy.hstack")


@rule(cases=CASES)
def growing_concatenation(region: Region) -> tuple[Mistake, ...] | None:
    """The loop joins a growing array with a piece in every step."""
    source, types = region.source, types_of(region)
    found = []
    for statement in tools.own_nodes(region.loop):
        if not isinstance(statement, ast.Assign):
            continue
        parts = _joined(region, statement)
        if parts is None:
            continue
        name, piece = parts
        inside = {node for node in ast.walk(statement) if isinstance(node, ast.Name)}
        others = [n for n in tools.names_in(region.loop) if n.id == name and n not in inside]
        if others or tools.loads(piece, name) or not types.on_device(piece):
            continue  # it is looked at while it grows
        seen = seen_at(region, [statement])
        if seen is None or not tools.stands_alone(source, statement):
            continue
        answer = _rewrite(region, statement, name, piece)
        what = f"{name} is copied as a whole for each piece that is joined to it"
        remedy = "collect the pieces in a list and join them once"
        found.append(mistake(region, statement, what, remedy, seen, answer))
    return tuple(found) or None


def _joined(region: Region, statement: ast.Assign) -> tuple[str, ast.expr] | None:
    """Name and piece of ``x = cp.concatenate([x, piece])``."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                args=[ast.List(elts=[ast.Name(id=first), piece])]
                | [ast.Tuple(elts=[ast.Name(id=first), piece])]
            ) as call,
        ) if name == first and meaning(region.source, call.func) in _JOINING:
            fixed = all(
                keyword.arg == "axis" and isinstance(keyword.value, ast.Constant)
                for keyword in call.keywords
            )
            return (name, piece) if fixed else None
    return None


def _rewrite(region: Region, statement: ast.Assign, name: str, piece: ast.expr) -> Match | Refusal:
    source, loop = region.source, region.loop
    refusal = left_early(region, name)
    if refusal is not None:
        return refusal
    binding = own_binding(region, name, statement)
    if binding is None or not _new(region, binding):
        return Refusal(f"{name} may be known under another name too", statement.lineno)
    if any(isinstance(n, ast.For | ast.While) and statement in set(ast.walk(n)) for n in loop.body):
        return Refusal("it grows in a loop inside the loop", statement.lineno)
    parts, part = free_name(source, f"{name}_parts"), free_name(source, "part")
    call = statement.value
    assert isinstance(call, ast.Call)
    function = source.text(call.func)
    options = "".join(f", {keyword.arg}={source.text(keyword.value)}" for keyword in call.keywords)
    # a view of what changes in the next step would change with it
    text = source.text(piece) if _new(region, piece) else f"{_operand(region, piece)}.copy()"
    step = tools.indent_unit(source)
    after = [
        f"if len({parts}) > 1 and len({{{part}.dtype for {part} in {parts}}}) == 1:",
        f"{step}{name} = {function}({parts}{options})",
        "else:",
        f"{step}for {part} in {parts}[1:]:",
        f"{step}{step}{name} = {function}([{name}, {part}]{options})",
    ]
    return Match(
        edits=(
            tools.insert_before(source, loop, [f"{parts} = [{name}]"]),
            Edit(*source.span(statement), f"{parts}.append({text})"),
            tools.insert_after(source, loop, after),
        ),
        why="",
        change=f"{name} is joined once, after the loop",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                f"nothing in the loop looks at {name}, or changes a piece that was joined to it",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
            Condition(
                "all pieces have one dtype", Basis.OBSERVED, guarded=True, test=after[0][3:-1]
            ),
        ),
        differences=("pieces that do not fit raise after the loop",),
    )


def _operand(region: Region, node: ast.expr) -> str:
    text = region.source.text(node)
    return text if isinstance(node, ast.Name | ast.Subscript | ast.Call) else f"({text})"


def _new(region: Region, node: ast.expr) -> bool:
    """Whether the expression makes a new array that nothing else holds."""
    if isinstance(node, ast.BinOp):
        return types_of(region).on_device(node)
    if not isinstance(node, ast.Call) or any(k.arg in ("out", None) for k in node.keywords):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
        return types_of(region).on_device(node.func.value)
    called = meaning(region.source, node.func) or ""
    name = called.removeprefix("cupy.")
    if name == called:
        return False
    if name in ELEMENTWISE:
        return len(node.args) == ELEMENTWISE[name][0]
    return (
        name in CONSTRUCTORS or name in ("array",) or (name in REDUCTIONS and len(node.args) == 1)
    )
