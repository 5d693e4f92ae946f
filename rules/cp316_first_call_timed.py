"""Run what is to be timed once before the clock starts.

Why it is slow: it is not; but the first call of a CuPy function compiles its kernels, or loads them
from disk, for up to a hundred milliseconds each, and a mean over the steps contains that.
Why it may differ: advice only. With a first call outside, the measured times become those of the
work.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gpuadvise.api import Ignores, Mistake, Region, Spots, rule
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.gpucode.basics import evidence, meaning
from gpuadvise.gpucode.cupy_text import mistake, types_of
from gpuadvise.gpucode.cupy_timing import intervals, launches, may_wait

HEAD = """\
import time

import cupy as cp


def measure(x, repeats):
    times = []
"""
LOOP = """\
    for _ in range(repeats):
        start = time.perf_counter()
        y = cp.sqrt(x)
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
"""
MEAN = "    return sum(times) / len(times)\n"
CASES: tuple[Spots | Ignores, ...] = (
    Spots(
        before=HEAD + LOOP + MEAN,
        line=10,
        function="measure",
        after=None,  # the printed times are the script's output: they change on purpose
    ),
    Ignores(
        before=HEAD + "    cp.sqrt(x)\n" + LOOP + MEAN,
        because="it has run once before",
        function="measure",
        static=True,
    ),
    Ignores(
        before=HEAD + LOOP + "    return min(times)\n",
        because="the least of them is none of the first call",
        function="measure",
        static=True,
    ),
    Ignores(
        before=HEAD + LOOP + "    return sum(times[1:]) / len(times[1:])\n",
        because="the first one is left out",
        function="measure",
        static=True,
    ),
    Ignores(
        before=HEAD + LOOP.replace("        cp.cuda.Device().synchronize()\n", "") + MEAN,
        because="it does not wait for the work: that is CP311's business",
        function="measure",
        static=True,
    ),
    Ignores(
        before=HEAD + LOOP.replace("cp.sqrt(x)", "x.get()") + MEAN,
        because="a copy has nothing to compile",
        function="measure",
        static=True,
    ),
)
_MEANS = frozenset({"numpy.mean", "numpy.average", "statistics.mean", "statistics.fmean"})


@rule(cases=CASES)
def first_call_timed(region: Region) -> tuple[Mistake, ...] | None:
    """The loop's mean time contains the compilation of the first call."""
    types, scope = types_of(region), region.function or region.source.tree
    found = []
    for _, between, read in intervals(region):
        started = [n for part in between for n in launches(types, part) if isinstance(n, ast.Call)]
        waits = any(may_wait(types, part, set()) for part in between)
        if not started or not waits or _ran_before(region, scope, started):
            continue
        gathered = _gathered(region, read)
        if gathered is None or not _averaged(region, scope, gathered):
            continue
        what = f"the mean of {gathered} contains what the first call compiles"
        remedy = "call it once before the loop, or use cupyx.profiler.benchmark"
        seen = evidence(region, [node.lineno for node in started])
        found.append(mistake(region, started[0], what, remedy, seen, None))
    return tuple(found) or None


def _ran_before(region: Region, scope: tools.Scope, started: list[ast.Call]) -> bool:
    """Whether one of the functions is called before the loop, or anywhere outside the scope."""
    wanted = {ast.dump(call.func) for call in started}
    inside = set(ast.walk(region.loop))
    calls = (n for n in ast.walk(region.source.tree) if isinstance(n, ast.Call) and n not in inside)
    own = set(ast.walk(scope))
    return any(
        ast.dump(call.func) in wanted and (call not in own or call.lineno < region.loop.lineno)
        for call in calls
    )


def _gathered(region: Region, read: ast.Call) -> str | None:
    """The list in ``times.append(clock() - start)``, a statement of the loop itself."""
    match tools.enclosing_statement(region.source, read):
        case (
            ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))
            ) as statement
        ) if statement in region.loop.body:
            return name
    return None


def _averaged(region: Region, scope: tools.Scope, name: str) -> bool:
    """Whether all that is asked of the times afterwards is their mean, or their sum."""
    assert region.loop.end_lineno is not None
    uses = [n for n in tools.loads(scope, name) if n.lineno > region.loop.end_lineno]
    kinds = list(_uses(region, uses))
    return "mean" in kinds and set(kinds) <= {"mean", "length"}


def _uses(region: Region, uses: list[ast.Name]) -> Iterator[str]:
    source = region.source
    for use in uses:
        match tools.parents(source)[use]:
            case ast.Call(func=ast.Name(id="len")):
                yield "length"
            case ast.Call(func=ast.Name(id="sum")) if tools.is_builtin(source, "sum"):
                yield "mean"
            case ast.Call(func=function) if meaning(source, function) in _MEANS:
                yield "mean"
            case _:
                yield "other"
