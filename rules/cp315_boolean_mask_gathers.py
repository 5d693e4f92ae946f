"""Choose elements with ``cp.copyto(.., where=mask)`` instead of gathering them with a mask.

Why it is slow: ``y[mask]`` has to count the chosen elements first: several kernels, and the CPU
waits for the count, as it is the size of the result.
Why it may differ: it does not: each chosen element gets the value it got before. The new text
tests shapes, types and shared memory where it stands, and else does what the old one did.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gpuadvise.api import (
    Basis,
    Condition,
    Ignores,
    Match,
    Mistake,
    Refusal,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy import Types
from gpuadvise.gpucode.cupy_names import own_function
from gpuadvise.gpucode.cupy_text import mistake, seen_at, types_of
from gpuadvise.names import import_edit

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp


def settle(field, limit, steps):
    x = cp.asarray(field)
    for _ in range(steps):
        y = cp.sin(x) * 2.0
        wild = cp.abs(y) > limit
        x[wild] = y[wild]  # only there
    return x.get()
""",
        line=9,
        function="settle",
        inputs="args = (np.linspace(-3.0, 3.0, 1000).reshape(20, 50), 0.5, 4)",
        after="""\
import cupy as cp


def settle(field, limit, steps):
    x = cp.asarray(field)
    for _ in range(steps):
        y = cp.sin(x) * 2.0
        wild = cp.abs(y) > limit
        if (
            type(x) is type(y) is cp.ndarray
            and wild.shape == x.shape == y.shape
            and wild.dtype == bool
            and x.dtype == y.dtype != bool
            and not cp.may_share_memory(x, y)
        ):
            cp.copyto(x, y, where=wild)
        else:
            x[wild] = y[wild]  # only there
    return x.get()
""",
    ),
    Spots(
        before="""\
import cupy as cp


def bounce(p, v):
    outside = p > 1.0
    v[outside] *= -0.5
    return p + v * 0.01


def run(start, steps):
    p, v = cp.asarray(start), cp.ones(start.shape)
    for _ in range(steps):
        p = bounce(p, v)
    return p.get()
""",
        line=6,
        function="run",
        inputs="args = (np.linspace(0.0, 1.1, 999), 6)",
        after="""\
import cupy as cp


def bounce(p, v):
    outside = p > 1.0
    if (
        type(v) is cp.ndarray
        and outside.shape == v.shape
        and outside.dtype == bool
        and v.dtype.kind == "f"
    ):
        cp.copyto(v, v * -0.5, where=outside)
    else:
        v[outside] *= -0.5
    return p + v * 0.01


def run(start, steps):
    p, v = cp.asarray(start), cp.ones(start.shape)
    for _ in range(steps):
        p = bounce(p, v)
    return p.get()
""",
    ),
    Spots(
        before="""\
import cupy as cp


def tails(frames, limit):
    sums = []
    for frame in frames:
        x = cp.asarray(frame, dtype=cp.float32)
        sums.append(x[x > limit].mean())
    return cp.stack(sums).get()
""",
        line=8,
        function="tails",
        after=None,  # a mean over fewer elements is added up in another order
    ),
    Ignores(
        before="""\
import cupy as cp


def pick(x, order, steps):
    x, order = cp.asarray(x), cp.argsort(cp.asarray(order))
    for _ in range(steps):
        x[order] = cp.sin(x)[order]
    return x.get()
""",
        because="these are positions, not a mask",
        function="pick",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def settle(x, limit, steps):
    x = cp.asarray(x)
    for _ in range(steps):
        y = cp.sin(x)
        cp.copyto(x, y, where=y > limit)
        x[x < 0] = 0.0
    return x.get()
""",
        because="nothing is gathered: a number is written where the mask says",
        function="settle",
        static=True,
    ),
    Ignores(
        before="""\
import numpy as np


def settle(x, limit, steps):
    for _ in range(steps):
        y = np.sin(x)
        wild = y > limit
        x[wild] = y[wild]
    return x
""",
        because="these arrays are on the host",
        function="settle",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def select(x, limit):
    x = cp.asarray(x)
    parts = []
    for k in range(9):
        parts.append(x[x > limit + k])
    return parts
""",
        because="the chosen elements are wanted, in an array of their own",
        function="select",
        static=True,
    ),
)
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_TOTALS = frozenset({"sum", "mean", "max", "min", "any", "all", "std", "var"})


@dataclass(frozen=True)
class Masked:
    """``target[mask] = source[mask]``, ``target[mask] *= number``, or a total of ``x[mask]``."""

    node: ast.stmt | ast.expr
    mask: ast.expr
    target: str = ""
    value: str = ""
    """The name that is gathered; for ``*=`` the new values as an expression; empty: a total."""
    gathers: bool = True


@rule(cases=CASES)
def boolean_mask_gathers(region: Region) -> tuple[Mistake, ...] | None:
    """The loop gathers elements with a mask only to put them back, or to add them up."""
    found = []
    for types, scope in _scopes(region):
        for masked in _masked(types, scope):
            seen = seen_at(region, [masked.node], "cop", "kernel", "synchronisation")
            if seen is None:
                continue
            what = f"{ast.unparse(masked.mask)} is a mask: the CPU waits for the number of elements"
            remedy = "choose without gathering: cp.copyto(.., where=mask) or cp.where(mask, x, 0)"
            answer = _rewrite(region.source, types, masked) if masked.value else None
            found.append(mistake(region, masked.node, what, remedy, seen, answer))
    return tuple(found) or None


def _scopes(region: Region) -> Iterator[tuple[Types, ast.AST]]:
    """The loop, and the file's functions that it calls, with what their names are there."""
    types = types_of(region)
    yield types, region.loop
    for node in tools.own_nodes(region.loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = own_function(region.source, node.func.id)
            inside = types.inside(node, function) if function is not None else None
            if function is not None and inside is not None:
                yield inside, function


def _masked(types: Types, scope: ast.AST) -> Iterator[Masked]:
    for node in tools.own_nodes(scope):
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=target) as array, slice=mask)],
                value=ast.Subscript(value=ast.Name(id=name) as other, slice=ast.expr() as again),
            ):
                same = ast.dump(mask) == ast.dump(again) and name != target
                both = types.on_device(array) and types.on_device(other)
                if same and both and _is_mask(types, mask) and not _falls_back(types.source, node):
                    yield Masked(node, mask, target, name)
            case ast.AugAssign(
                target=ast.Subscript(value=ast.Name(id=target) as array, slice=mask), op=op
            ) if type(op) in _SIGNS:
                chosen = types.on_device(array) and _is_mask(types, mask)
                if chosen and _is_number(types, node.value) and not _falls_back(types.source, node):
                    new = f"{target} {_SIGNS[type(op)]} {types.source.text(node.value)}"
                    yield Masked(node, mask, target, new, gathers=False)
            case ast.Call(
                func=ast.Attribute(value=ast.Subscript(value=array, slice=mask), attr=attr)
            ) if attr in _TOTALS:
                if types.on_device(array) and _is_mask(types, mask):
                    yield Masked(node, mask)


def _is_number(types: Types, node: ast.expr) -> bool:
    value = types.of(node)
    plain = isinstance(node, ast.Constant | ast.Name | ast.UnaryOp)
    return plain and value.what == "number" and value.kind in ("i", "f")


def _falls_back(source: Source, node: ast.stmt) -> bool:
    """Whether this is what is left for arrays that ``copyto`` does not fit."""
    above = tools.parents(source)[node]
    if not isinstance(above, ast.If) or node not in above.orelse:
        return False
    return any(isinstance(n, ast.Attribute) and n.attr == "copyto" for n in ast.walk(above))


def _is_mask(types: Types, node: ast.expr) -> bool:
    value = types.of(node)
    return value.what == "device" and value.kind == "b"


# -------------------------------------------------------------------- the rewrite
def _rewrite(source: Source, types: Types, masked: Masked) -> Match | Refusal:
    statement = masked.node
    assert isinstance(statement, ast.stmt)
    if not isinstance(masked.mask, ast.Name):
        return Refusal("the mask has no name", statement.lineno)
    if not tools.stands_alone(source, statement) or statement.lineno != statement.end_lineno:
        return Refusal("the statement shares its line, or has several", statement.lineno)
    if masked.mask.id in (masked.target, masked.value):
        return Refusal("the mask is what it chooses from", statement.lineno)
    if not (tools.is_builtin(source, "type") and tools.is_builtin(source, "bool")):
        return Refusal("type or bool is not the built-in", statement.lineno)
    cupy, edit = import_edit(source, "cupy", "cp")
    mask, step = masked.mask.id, tools.indent_unit(source)
    tests = _tests(cupy, masked, mask, types)
    lines = [
        "if (",
        *(f"{step}{'and ' if number else ''}{test}" for number, test in enumerate(tests)),
        "):",
        f"{step}{cupy}.copyto({masked.target}, {masked.value}, where={mask})",
        "else:",
        step + source.text(statement),
    ]
    place = f"line {statement.lineno}"
    return Match(
        edits=(tools.replace_lines(source, statement, lines), *((edit,) if edit else ())),
        why="",
        change=f"elements of {masked.target} are chosen by {mask} without gathering them",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition("each chosen element gets the same value", Basis.PROVED, place),
            *(Condition(test, Basis.OBSERVED, place, guarded=True) for test in tests),
        ),
    )


def _tests(cupy: str, masked: Masked, mask: str, types: Types) -> list[str]:
    target, value = masked.target, masked.value
    if masked.gathers:
        # a view of the same memory: elements would be read after others were written
        return [
            f"type({target}) is type({value}) is {cupy}.ndarray",
            f"{mask}.shape == {target}.shape == {value}.shape",
            f"{mask}.dtype == bool",
            f"{target}.dtype == {value}.dtype != bool",
            f"not {cupy}.may_share_memory({target}, {value})",
        ]
    assert isinstance(masked.node, ast.AugAssign)
    whole = types.of(masked.node.value).kind == "i" and not isinstance(masked.node.op, ast.Div)
    kinds = f'{target}.dtype.kind in "if"' if whole else f'{target}.dtype.kind == "f"'
    return [
        f"type({target}) is {cupy}.ndarray",
        f"{mask}.shape == {target}.shape",
        f"{mask}.dtype == bool",
        kinds,
    ]
