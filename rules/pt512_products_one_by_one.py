"""Multiply all matrices of a batch with one call.

Why it is slow: each product of two small matrices is a kernel of its own, and launching it takes
longer than running it; ``torch.bmm`` launches one kernel for all of them.
Why it may differ: a product of a batch may add its terms in another order than a single one, so
that results differ in the last digit. The new text tests the shapes, and else runs the loop.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gpuadvise.api import (
    Basis,
    Condition,
    Exactness,
    Ignores,
    Match,
    Mistake,
    Region,
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.codegen import list_uses
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
def multiply(n, size):
    a = torch.ones(n, size, size)
    b = torch.arange(n * size * size).reshape(n, size, size) / 8
    out = torch.empty(n, size, size)
    for i in range(n):
        out[i] = a[i] @ b[i]  # one after the other
    return out
""",
        line=9,
        function="multiply",
        inputs="args = (64, 8)",
        after=HEAD
        + """\
def multiply(n, size):
    a = torch.ones(n, size, size)
    b = torch.arange(n * size * size).reshape(n, size, size) / 8
    out = torch.empty(n, size, size)
    if a.ndim == b.ndim == 3 and len(a) == len(b) == n and a.dtype == b.dtype:
        out[:n] = torch.bmm(a, b)
    else:
        for i in range(n):
            out[i] = a[i] @ b[i]  # one after the other
    return out
""",
    ),
    Spots(
        before=HEAD
        + """\
def multiply(x, y):
    parts = []
    for k in range(len(x)):
        parts.append(torch.matmul(x[k], y[k]))
    return parts


print(len(multiply(torch.ones(4, 2, 2), torch.ones(4, 2, 2))))
""",
        line=7,
        function="multiply",
        inputs="args = (torch.ones(40, 2, 2), torch.ones(40, 2, 2))",
        after=HEAD
        + """\
def multiply(x, y):
    parts = []
    if x.ndim == y.ndim == 3 and len(x) == len(y) and x.dtype == y.dtype:
        parts.extend(torch.bmm(x, y).unbind())
    else:
        for k in range(len(x)):
            parts.append(torch.matmul(x[k], y[k]))
    return parts


print(len(multiply(torch.ones(4, 2, 2), torch.ones(4, 2, 2))))
""",
    ),
    Spots(
        before=HEAD
        + """\
def chain(n, x):
    a = torch.ones(n, 4, 4)
    out = torch.ones(n, 4, 4)
    for i in range(1, n):
        out[i] = a[i] @ out[i]
    return out
""",
        line=8,
        function="chain",
        after=None,  # it writes what it reads
    ),
    Ignores(
        before=HEAD
        + """\
def recurrence(n):
    a = torch.ones(n, 4, 4)
    out = torch.ones(n, 4, 4)
    for i in range(1, n):
        out[i] = a[i] @ out[i - 1]
    return out
""",
        because="each product needs the one before",
        function="recurrence",
        static=True,
    ),
    Ignores(
        before=HEAD
        + """\
def multiply(n):
    a = torch.ones(n, 4, 4)
    b = torch.ones(n, 4, 4)
    return torch.bmm(a, b)


def run(n):
    for _ in range(3):
        multiply(n)
""",
        because="it is one product already",
        function="run",
        static=True,
    ),
    Ignores(
        before="""\
import numpy as np


def multiply(n):
    a = np.ones((n, 4, 4))
    out = np.empty((n, 4, 4))
    for i in range(n):
        out[i] = a[i] @ a[i]
    return out
""",
        because="these are arrays of NumPy",
        function="multiply",
        static=True,
    ),
)


@dataclass(frozen=True)
class Product:
    """``out[i] = a[i] @ b[i]``, or ``out.append(a[i] @ b[i])``, for each ``i``."""

    statement: ast.stmt
    index: str
    count: ast.expr
    """How many: ``n`` of ``range(n)``."""
    left: str
    right: str
    out: str
    appended: bool


@rule(cases=CASES)
def products_one_by_one(region: Region) -> tuple[Mistake, ...] | None:
    """The loop multiplies the matrices of two batches pair by pair."""
    source = region.source
    torch = loops.torch_name(source)
    found = _product(source, region.loop)
    if torch is None or found is None:
        return None
    seen = basics.evidence(region, [found.statement.lineno], ["kernel", "CUDA call"])
    if seen.measured and not seen.cost:
        return None
    return (
        Mistake(
            line=found.statement.lineno,
            what=f"the products of {found.left} and {found.right} are taken pair by pair",
            remedy=f"take them together: {torch}.bmm({found.left}, {found.right})",
            evidence=seen.text,
            measured=seen.measured,
            cost=seen.cost,
            match=_match(region, found, torch),
        ),
    )


def _product(source: Source, loop: ast.For | ast.While) -> Product | None:
    match loop:
        case ast.For(
            target=ast.Name(id=index),
            iter=ast.Call(func=ast.Name(id="range"), args=[*_, count], keywords=[]) as counted,
            body=[statement],
        ) if len(counted.args) <= 2:
            pass
        case _:
            return None
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Name(id=out), slice=ast.Name(id=at))], value=value
        ) if at == index:
            appended = False
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=out), attr="append"), args=[value], keywords=[]
            )
        ):
            appended = True
        case _:
            return None
    factors = _factors(source, value, index)
    if _falls_back(source, loop):
        return None
    if factors is None or not tools.is_builtin(source, "range"):
        return None
    return Product(statement, index, count, *factors, out, appended)


def _falls_back(source: Source, loop: ast.stmt) -> bool:
    """Whether this is what is left for shapes that the batched product does not fit."""
    above = tools.parents(source).get(loop)
    if not isinstance(above, ast.If) or loop not in above.orelse:
        return False
    return any(isinstance(n, ast.Attribute) and n.attr == "bmm" for n in ast.walk(above))


def _factors(source: Source, node: ast.expr, index: str) -> tuple[str, str] | None:
    """The names in ``a[i] @ b[i]``, both certainly tensors."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            pass
        case ast.Call(args=[left, right], keywords=[]):
            if basics.meaning(source, node.func) not in ("torch.matmul", "torch.mm"):
                return None
        case _:
            return None
    names = []
    for part in (left, right):
        match part:
            case ast.Subscript(value=ast.Name(id=name) as whole, slice=ast.Name(id=at)):
                if at != index or not values.is_tensor(source, whole):
                    return None
                names.append(name)
            case _:
                return None
    return names[0], names[1]


# -------------------------------------------------------------------- the rewrite
def _match(region: Region, found: Product, torch: str) -> Match | None:
    source, loop = region.source, region.loop
    scope = region.function or source.tree
    assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
    count = source.text(found.count)
    if len(loop.iter.args) != 1 or loop.orelse or found.out in (found.left, found.right):
        return None
    if not isinstance(found.count, ast.Name) and count != f"len({found.left})":
        return None
    later = [n for n in tools.names_in(scope) if n.id == found.index and n not in _inside(loop)]
    if later or not _own(source, scope, found) or not tools.stands_alone(source, loop):
        return None
    original = tools.shifted(source, [loop], tools.indent_unit(source))
    if original is None or not tools.is_builtin(source, "len"):
        return None
    a, b, unit = found.left, found.right, tools.indent_unit(source)
    # with the factors' own length as the count, there is one comparison less
    lengths = f"len({a}) == len({b})" + (f" == {count}" if count != f"len({a})" else "")
    test = f"{a}.ndim == {b}.ndim == 3 and {lengths} and {a}.dtype == {b}.dtype"
    new = f"{torch}.bmm({a}, {b})"
    new = (
        f"{found.out}.extend({new}.unbind())"
        if found.appended
        else f"{found.out}[:{count}] = {new}"
    )
    place = f"lines {loop.lineno}-{loop.end_lineno}"
    return Match(
        edits=(
            tools.replace_lines(source, loop, [f"if {test}:", f"{unit}{new}", "else:", *original]),
        ),
        why="",
        change=f"all products of {a} and {b} are one call",
        ledger=(
            Condition(f"no product reads what another one gives, {found.out}", Basis.PROVED, place),
            Condition(test, Basis.OBSERVED, f"line {loop.lineno}", guarded=True),
        ),
        exactness=Exactness.LAST_DIGIT,
        differences=("the factors' products are all in memory at once",),
    )


def _inside(loop: ast.For) -> set[ast.AST]:
    return set(ast.walk(loop))


def _own(source: Source, scope: tools.Scope, found: Product) -> bool:
    """Whether what is filled shares no memory with the factors: it is made in this scope, once."""
    bound = list_uses.values_bound(source, scope, found.out)
    if len(bound) != 1 or bound[0] is None:
        return False
    made = bound[0]
    if found.appended:
        return isinstance(made, ast.List) and not made.elts
    names = ("torch.empty", "torch.zeros", "torch.ones", "torch.full")
    return isinstance(made, ast.Call) and basics.meaning(source, made.func) in names
