"""Make a kernel object once, not in every step.

Why it is slow: a new object reads its parameter list and has to find its compiled code again, by
the whole text, at its first launch.
Why it may differ: it cannot, as long as the text and the options are constants.
"""

from __future__ import annotations

import ast
import re

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
from gpuadvise.gpucode.basics import calls, evidence, meaning
from gpuadvise.gpucode.cupy_text import loops_above, mistake, objection

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp


def run(x, steps):
    for _ in range(steps):
        damp = cp.ElementwiseKernel("T x, T k", "T y", "y = x * k", "damp")
        x = damp(x, 0.5)
    return x.get()
""",
        line=6,
        function="run",
        inputs="args = (cp.arange(1000.0), 10)",
        after="""\
import cupy as cp


def run(x, steps):
    damp = cp.ElementwiseKernel("T x, T k", "T y", "y = x * k", "damp")
    for _ in range(steps):
        x = damp(x, 0.5)
    return x.get()
""",
    ),
    Spots(
        before='''\
import cupy as cp

CODE = r"""
extern "C" __global__ void twice(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0 * x[i];
}
"""


def run(n, steps):
    x = cp.ones(n)
    for _ in range(steps):
        twice = cp.RawKernel(CODE, "twice", options=("--std=c++17",))
        twice(((n + 127) // 128,), (128,), (x, cp.int32(n)))
    return x.get()
''',
        line=14,
        function="run",
        inputs="args = (1000, 10)",
        after='''\
import cupy as cp

CODE = r"""
extern "C" __global__ void twice(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0 * x[i];
}
"""


def run(n, steps):
    x = cp.ones(n)
    twice = cp.RawKernel(CODE, "twice", options=("--std=c++17",))
    for _ in range(steps):
        twice(((n + 127) // 128,), (128,), (x, cp.int32(n)))
    return x.get()
''',
    ),
    Ignores(
        before="""\
import cupy as cp


def run(x, powers):
    for p in powers:
        power = cp.ElementwiseKernel("T x", "T y", f"y = pow(x, (T){p})", "power")
        x = power(x)
    return x.get()
""",
        because="each step makes another kernel",
        function="run",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def run(x, sizes):
    kernel = None
    for n in sizes:
        if kernel is None:
            kernel = cp.RawKernel("...", "f")
        kernel((n,), (128,), (x,))
""",
        because="it is made once already",
        function="run",
        static=True,
    ),
)
KERNELS = ("cupy.RawKernel", "cupy.ElementwiseKernel", "cupy.ReductionKernel")
PARAMETERS = re.compile(r"\s*(raw\s+)?\w+\s+\w+\s*(,\s*(raw\s+)?\w+\s+\w+\s*)*")
"""Parameter lists that are surely well formed: ``"raw T x, float64 k"``."""


@rule(cases=CASES)
def kernel_made_each_step(region: Region) -> tuple[Mistake, ...] | None:
    """The loop makes the same kernel object in every step."""
    found = []
    for call in calls(region.source, region.loop, *KERNELS):
        statement = tools.parents(region.source)[call]
        if statement not in region.loop.body or not _constant(region, call):
            continue  # made under a condition, or another one in each step
        if any(_constant_in(region, call, outer) for outer in loops_above(region.source, region)):
            continue
        seen = evidence(region, [call.lineno])
        kind = (meaning(region.source, call.func) or "").removeprefix("cupy.")
        answer = _rewrite(region, call)
        remedy = "make it before the loop"
        what = f"the same {kind} is made in every step"
        found.append(mistake(region, call, what, remedy, seen, answer))
    return tuple(found) or None


def _constant(region: Region, call: ast.Call) -> bool:
    return _constant_in(region, call, region.loop)


def _constant_in(region: Region, call: ast.Call, loop: ast.For | ast.While) -> bool:
    """Whether every step of the loop makes the kernel from the same constants."""
    parts = [*call.args, *(keyword.value for keyword in call.keywords)]
    return all(_is_constant(region, loop, part) for part in parts)


def _is_constant(region: Region, loop: ast.For | ast.While, node: ast.expr) -> bool:
    source = region.source
    match node:
        case ast.Constant():
            return True
        case ast.Tuple(elts=parts):
            return all(_is_constant(region, loop, part) for part in parts)
        case ast.Name(id=name):
            # bound once in the file, to text: nobody can change that
            return (
                any(
                    isinstance(part, ast.Assign)
                    and isinstance(part.value, ast.Constant)
                    and any(isinstance(t, ast.Name) and t.id == name for t in part.targets)
                    for part in source.tree.body
                )
                and tools.bound_names(source).get(name, 0) == 1
            )
    return False


def _rewrite(region: Region, call: ast.Call) -> Match | Refusal:
    source, loop = region.source, region.loop
    statement = tools.parents(source)[call]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return Refusal("it has no name of its own", call.lineno)
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not tools.stands_alone(source, statement):
        return Refusal("it has no name of its own", call.lineno)
    scope = region.function or source.tree
    first = min((n.lineno for n in tools.loads(loop, target.id)), default=0)
    if len(tools.stores(scope, target.id)) != 1 or first < statement.lineno:
        return Refusal(f"{target.id} is bound elsewhere as well", call.lineno)
    loads = tools.loads(scope, target.id)
    assert loop.end_lineno is not None
    launched = all(_launches(region, n) and n.lineno <= loop.end_lineno for n in loads)
    # after a loop of no steps the name would not exist; kept elsewhere, it could be told apart
    if not launched or len(loop.body) == 1:
        return Refusal(f"{target.id} is used for more than launches in the loop", call.lineno)
    if not _well_formed(region, call):
        return Refusal("a loop of no steps would not find the fault in its text", call.lineno)
    refusal = objection(region, target.id)
    if refusal is not None:
        return refusal
    assert statement.end_lineno is not None
    start = source.line_starts[statement.lineno - 1]
    end = min(source.line_starts[statement.end_lineno], len(source.data))
    above = source.line_starts[loop.lineno - 1]  # as it is: it may hold text of several lines
    return Match(
        edits=(
            Edit(start, end, ""),
            Edit(above, above, f"{tools.indent_of(source, loop)}{source.text(statement)}\n"),
        ),
        why="",
        change=f"{target.id} is made once, before the loop",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition("the kernel is made from constants", Basis.PROVED, f"line {call.lineno}"),
        ),
    )


def _launches(region: Region, node: ast.Name) -> bool:
    above = tools.parents(region.source)[node]
    return isinstance(above, ast.Call) and above.func is node


def _well_formed(region: Region, call: ast.Call) -> bool:
    """A ``RawKernel`` is not looked at before its launch; the others read their parameters."""
    if meaning(region.source, call.func) == "cupy.RawKernel":
        return len(call.args) >= 2
    texts = [n.value for n in call.args[:2] if isinstance(n, ast.Constant)]
    return len(texts) == 2 and all(PARAMETERS.fullmatch(str(text)) for text in texts)
