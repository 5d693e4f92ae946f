"""Copy an array to the host once, instead of element by element in a Python loop.

Why it is slow: ``float(x[i])`` of a CuPy array launches a copy and waits for it, about twenty
microseconds for each element.
Why it may differ: it does not, as long as nothing in the loop changes the array; its copy on the
host takes as much memory as the array does.
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
    Source,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy_effects import changes_arrays
from gpuadvise.gpucode.cupy_text import loops_above, mistake, objection, seen_at, types_of
from gpuadvise.names import free_name

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp


def crossings(host):
    x = cp.sin(cp.asarray(host))
    found = []
    for i in range(len(host) - 1):
        if x[i] < 0.0 and x[i + 1] >= 0.0:
            found.append(float(x[i]))
    return found
""",
        line=8,
        function="crossings",
        inputs="args = (np.linspace(0.0, 60.0, 500),)",
        after="""\
import cupy as cp


def crossings(host):
    x = cp.sin(cp.asarray(host))
    found = []
    x_host = x.get()
    for i in range(len(host) - 1):
        if x_host[i] < 0.0 and x_host[i + 1] >= 0.0:
            found.append(float(x_host[i]))
    return found
""",
    ),
    Spots(
        before="""\
import cupy as cp


def trace(n):
    a = cp.arange(n * n, dtype=cp.float32).reshape(n, n)
    total = 0.0
    for i in range(n):
        for j in range(i):
            total += a[i, j].item() * 0.5
    return total
""",
        line=9,
        function="trace",
        inputs="args = (20,)",
        after="""\
import cupy as cp


def trace(n):
    a = cp.arange(n * n, dtype=cp.float32).reshape(n, n)
    total = 0.0
    a_host = a.get()
    for i in range(n):
        for j in range(i):
            total += a_host[i, j].item() * 0.5
    return total
""",
    ),
    Ignores(
        before="""\
import cupy as cp


def relax(x, n):
    x = cp.asarray(x)
    for i in range(1, n):
        x[i] = 0.5 * x[i - 1]
        print(float(x[i]))
""",
        because="the loop changes the array",
        function="relax",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def rows(a, n):
    a = cp.asarray(a)
    best = []
    for i in range(n):
        best.append(float(a[i].max()))
    return best
""",
        because="each step works on a row, on the device",
        function="rows",
        static=True,
    ),
)


@rule(cases=CASES)
def elements_one_by_one(region: Region) -> tuple[Mistake, ...] | None:
    """The loop reads single elements of a CuPy array."""
    found = []
    for name in dict.fromkeys(element.id for element, _ in _elements(region)):
        reads = [whole for element, whole in _elements(region) if element.id == name]
        outer = list(loops_above(region.source, region))
        if any(not tools.stores(loop, name) for loop in outer):
            continue  # named at the loop outside
        seen = seen_at(region, list(reads), "cop", "synchronisation")
        answer = _rewrite(region, name, reads)
        if seen is None or answer is None:
            continue
        what = f"single elements of {name} are fetched from the device"
        remedy = "copy the array to the host before the loop, or work on it as a whole"
        found.append(mistake(region, reads[0], what, remedy, seen, answer))
    return tuple(found) or None


def _elements(region: Region) -> Iterator[tuple[ast.Name, ast.Subscript]]:
    """``x[i]`` of a CuPy array, as a Python number or in a test, with a counter of the loop."""
    types = types_of(region)
    nodes = [n for n in tools.own_nodes(region.loop) if isinstance(n, ast.Subscript)]
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        array = node.value
        if not isinstance(array, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if types.on_device(array) and _counted(region, node.slice) and _is_number(region, node):
            yield array, node


def _counted(region: Region, index: ast.expr) -> bool:
    """Whether an index is made of integers, of which at least one changes with the steps."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    values = [types_of(region).of(part) for part in parts]
    whole = all(value.what == "number" and value.kind == "i" for value in values)
    used = {name.id for part in parts for name in tools.names_in(part)}
    return whole and any(tools.stores(region.loop, name) for name in used)


def _is_number(region: Region, node: ast.Subscript) -> bool:
    """Whether the value alone counts: ``float(x[i])``, ``x[i].item()``, ``if x[i] > 0``."""
    source = region.source
    above = tools.parents(source)[node]
    match above:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            number = name in ("float", "int", "bool") and tools.is_builtin(source, name)
            return number and argument is node
        case ast.Attribute(attr="item"):
            call = tools.parents(source)[above]
            return isinstance(call, ast.Call) and call.func is above and not call.args
        case ast.Compare():
            others = [part for part in (above.left, *above.comparators) if part is not node]
            return _is_test(source, above) and all(_exact(part) for part in others)
    return False


def _exact(node: ast.expr) -> bool:
    """A constant that every type of numbers holds exactly.

    Whether ``x[i] < 0.1`` compares in single or in double precision depends on NumPy's version.
    """
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return False
    if not isinstance(node.value, int | float) or not 0 <= node.value <= 127:
        return False
    return float(node.value * 8).is_integer()


def _is_test(source: Source, node: ast.expr) -> bool:
    above = tools.parents(source)[node]
    while isinstance(above, ast.BoolOp) or (
        isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not)
    ):
        node, above = above, tools.parents(source)[above]
    return isinstance(above, ast.If | ast.While) and above.test is node


# -------------------------------------------------------------------- the rewrite
def _rewrite(region: Region, name: str, reads: list[ast.Subscript]) -> Match | Refusal | None:
    source, loop = region.source, region.loop
    if tools.stores(loop, name):
        return None
    for statement in loop.body:
        # one element changes, and the next is made of it
        refusal = changes_arrays(types_of(region), statement, name)
        if refusal is not None:
            return None if _writes(loop, name) else refusal
    refusal = objection(region, name)
    if refusal is not None:
        return refusal
    host = free_name(source, f"{name}_host")
    return Match(
        edits=(
            tools.insert_before(source, loop, [f"{host} = {name}.get()"]),
            *(Edit(*source.span(read.value), host) for read in reads),
        ),
        why="",
        change=f"{name} is copied to the host once, before the loop",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                f"{name} is a CuPy array and nothing in the loop changes it",
                Basis.PROVED,
                f"lines {loop.lineno}-{loop.end_lineno}",
            ),
        ),
        differences=(f"the host holds a copy of {name}",),
    )


def _writes(loop: ast.AST, name: str) -> bool:
    """Whether the loop writes into the array: then it has to stay where it is."""
    return any(
        isinstance(node, ast.Subscript)
        and not isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        for node in ast.walk(loop)
    )
