"""Make one kernel of a chain of element-wise operations, with ``cupy.fuse``.

Why it is slow: each operation on arrays is a kernel of its own, which reads its operands from
memory, writes a temporary array, and costs the CPU ten microseconds to launch.
Why it may differ: in one kernel a product and a sum can be rounded together (fused multiply-add),
so results of floating-point arithmetic can differ in the last digit.
"""

from __future__ import annotations

import ast

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Exactness,
    Ignores,
    Match,
    Mistake,
    Refusal,
    Region,
    Spots,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.cupy_fuse import Chain, chains
from gpuadvise.gpucode.cupy_text import mistake, objection, seen_at, types_of
from gpuadvise.names import free_name

CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before="""\
import cupy as cp


def run(host, steps):
    y = cp.asarray(host)
    for _ in range(steps):
        z = cp.sqrt(y * y + 1.0) * 0.5 + cp.abs(y) * 0.25
        y = z - cp.mean(z)  # centred
    return y.get()
""",
        line=7,
        function="run",
        inputs="args = (np.linspace(-1, 1, 100_000, dtype=np.float32), 10)",
        after="""\
import cupy as cp


@cp.fuse()
def run_z_fused(y):
    return cp.sqrt(y * y + 1.0) * 0.5 + cp.abs(y) * 0.25


def run(host, steps):
    y = cp.asarray(host)
    for _ in range(steps):
        if y.flags.c_contiguous:
            z = run_z_fused(y)
        else:
            z = cp.sqrt(y * y + 1.0) * 0.5 + cp.abs(y) * 0.25
        y = z - cp.mean(z)  # centred
    return y.get()
""",
    ),
    Spots(
        before="""\
import cupy as cp


def step(grid):
    count = cp.roll(grid, 1) + cp.roll(grid, -1)
    born = (grid == 0) & (count == 1)
    # who stays
    stays = (grid == 1) & ((count == 1) | (count == 2))
    return (born | stays).astype(grid.dtype)


def run(host, steps):
    grid = cp.asarray(host, dtype=cp.uint8)
    for _ in range(steps):
        grid = step(grid)
    return grid.get()
""",
        line=6,
        function="run",
        inputs="args = (rng.integers(0, 2, 10_000), 10)",
        after="""\
import cupy as cp


@cp.fuse()
def step_fused(grid, count):
    born = (grid == 0) & (count == 1)
    stays = (grid == 1) & ((count == 1) | (count == 2))
    return (born | stays).astype(grid.dtype)


def step(grid):
    count = cp.roll(grid, 1) + cp.roll(grid, -1)
    if (
        type(grid) is cp.ndarray
        and type(count) is cp.ndarray
        and grid.flags.c_contiguous
        and count.flags.c_contiguous
    ):
        return step_fused(grid, count)
    born = (grid == 0) & (count == 1)
    # who stays
    stays = (grid == 1) & ((count == 1) | (count == 2))
    return (born | stays).astype(grid.dtype)


def run(host, steps):
    grid = cp.asarray(host, dtype=cp.uint8)
    for _ in range(steps):
        grid = step(grid)
    return grid.get()
""",
    ),
    Ignores(
        before="""\
import cupy as cp


def run(host, steps):
    y = cp.asarray(host)
    for _ in range(steps):
        y = cp.where(y * 0.3 + 0.1 * y > 0.2, y * 0.5, y + 1.0)
    return y.get()
""",
        because="a last digit decides between two values",
        function="run",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def run(host, steps):
    y = cp.asarray(host)
    v = cp.zeros_like(y)
    for _ in range(steps):
        v = v * 0.9
        y = y + v
    return y.get()
""",
        because="the speed is needed in the next step as well: two results, one kernel each",
        function="run",
        static=True,
    ),
    Ignores(
        before="""\
import cupy as cp


def run(host, steps):
    y = cp.asarray(host)
    for _ in range(steps):
        y = cp.exp(y) + 1.0
    return y.get()
""",
        because="too few kernels to gain anything but a compilation",
        function="run",
        static=True,
    ),
)


@rule(cases=CASES)
def fused_chains(region: Region) -> tuple[Mistake, ...] | None:
    """The loop does element-wise work in many small kernels."""
    found = []
    names: list[str] = []
    for chain in chains(types_of(region), region.loop):
        if any(_fused_already(region, part) for part in chain.statements):
            continue
        seen = seen_at(region, list(chain.statements), "kernel")
        if seen is None:
            continue
        answer = _rewrite(region, chain, names)
        what = f"{chain.kernels} element-wise operations are as many kernels"
        remedy = "make one kernel of them with cupy.fuse"
        found.append(mistake(region, chain.statements[0], what, remedy, seen, answer))
    return tuple(found) or None


def _fused_already(region: Region, statement: ast.stmt) -> bool:
    """The other branch of a guard for a fused kernel."""
    above = tools.parents(region.source)[statement]
    here = tools.block_of(region.source, statement)
    index = here.index(statement)
    tests = [above] if isinstance(above, ast.If) else []
    tests += [part for part in here[:index] if isinstance(part, ast.If)]
    return any("c_contiguous" in ast.unparse(test.test) for test in tests)


def _rewrite(region: Region, chain: Chain, names: list[str]) -> Match | Refusal:
    source = region.source
    cupy = tools.module_alias(source, "cupy")
    refusal = objection(region)
    if refusal is not None:
        return refusal
    if cupy is None or not tools.is_builtin(source, "type"):
        return Refusal("the file has no import cupy at its top", 1)
    last = chain.statements[-1]
    owner = chain.scope.name if isinstance(chain.scope, ast.FunctionDef) else ""
    target = last.targets[0] if isinstance(last, ast.Assign) else None
    result = target.id if isinstance(target, ast.Name) else ""
    words = [word for word in (owner, result, "fused") if word]
    name = free_name(source, "_".join(words), names)
    names.append(name)
    helper = tools.below_imports(source, "cupy", _helper(region, cupy, name, chain))
    if helper is None:
        return Refusal("there is no place for a function below the imports", 1)
    tests = _tests(cupy, chain)
    edit = _guarded(region, chain, tests, f"{name}({_arguments(chain)})", result)
    if edit is None:
        return Refusal("the statements hold text of several lines", last.lineno)
    lines = f"lines {chain.statements[0].lineno}-{last.end_lineno}"
    return Match(
        edits=(helper, edit),
        why="",
        change=f"{chain.kernels} element-wise operations become one kernel, {name}",
        needs=frozenset({"cupy"}),
        ledger=(
            Condition(
                "the chain is element-wise, decides nothing on rounded values, and nothing else "
                "uses what it computes on the way",
                Basis.PROVED,
                lines,
            ),
            *(Condition(test, Basis.OBSERVED, lines, guarded=True) for test in tests),
        ),
        exactness=Exactness.BITS if chain.exact else Exactness.LAST_DIGIT,
    )


def _arguments(chain: Chain) -> str:
    return ", ".join((*chain.arrays, *chain.numbers))


def _helper(region: Region, cupy: str, name: str, chain: Chain) -> list[str]:
    """The fused function; its body is the chain as it stands."""
    step = tools.indent_unit(region.source)
    lines = [f"@{cupy}.fuse()", f"def {name}({_arguments(chain)}):"]
    for statement in chain.statements[:-1]:
        lines.append(f"{step}{ast.unparse(statement)}")
    value = chain.statements[-1].value
    assert value is not None
    return [*lines, f"{step}return {ast.unparse(value)}"]


def _tests(cupy: str, chain: Chain) -> list[str]:
    """What must hold at run time: known types, and the layout that a fused result has."""
    tests = []
    if chain.inner:
        tests += [f"type({name}) is {cupy}.ndarray" for name in chain.arrays]
        tests += [f"type({name}) is float" for name in chain.numbers]
    return [*tests, *(f"{name}.flags.c_contiguous" for name in chain.arrays)]


def _guarded(region: Region, chain: Chain, tests: list[str], call: str, result: str) -> Edit | None:
    source = region.source
    first, last = chain.statements[0], chain.statements[-1]
    step = tools.indent_unit(source)
    kept = tools.shifted(source, chain.statements, step if result else "")
    if kept is None:
        return None
    indent = tools.indent_of(source, first)
    test = " and ".join(tests)
    head = [f"if {test}:"]
    if len(indent) + len(head[0]) > 100:
        head = ["if (", step + tests[0], *(f"{step}and {part}" for part in tests[1:]), "):"]
    new = (
        [*head, f"{step}{result} = {call}", "else:"] if result else [*head, f"{step}return {call}"]
    )
    assert last.end_lineno is not None
    start = source.line_starts[first.lineno - 1]
    end = min(source.line_starts[last.end_lineno], len(source.data))
    text = "\n".join(indent + line if line else "" for line in (*new, *kept))
    return Edit(start, end, text + ("\n" if source.data[start:end].endswith(b"\n") else ""))
