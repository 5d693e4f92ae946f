"""Reports as the tool makes them, for the tests of every renderer.

The rule codes are invented, so that the texts do not depend on the rules of the day.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from gpuadvise.model import (
    Basis,
    Candidate,
    Condition,
    Crashed,
    Edit,
    ErrorSize,
    Exactness,
    Exited,
    Finding,
    FunctionTime,
    Inconclusive,
    LineTime,
    Machine,
    Match,
    Mismatch,
    NotFaster,
    Outcome,
    Profile,
    Ratio,
    Refusal,
    Refused,
    Region,
    Report,
    RunResult,
    Site,
    SiteObservation,
    Source,
    StageCost,
    Target,
    TimedOut,
    Trial,
    Unavailable,
    ValueInfo,
    Verified,
)
from gpuadvise.patch import apply_edits, import_edit, reindent, replace_statement

ROOT = Path("/work/project")
LIFE = ROOT / "life.py"
TOOLS = ROOT / "tools" / "smooth.py"

LIFE_TEXT = '''"""Conway's Game of Life."""

import numpy as np

from tools.smooth import smooth


def step(state):
    rows, cols = state.shape
    new = np.zeros((rows, cols), dtype=int)
    for i in range(rows):  # every cell
        for j in range(cols):
            count = sum_neighbours(state, i, j) if state[i, j] in (0, 1) else other_cell(state, i)
            new[i, j] = count == 3 or (count == 2 and state[i, j])
    return new


def simulate(state, steps):
    history = [state]
    for _ in range(steps):
        state = step(state)
        history.append(state)
    return history
'''

TOOLS_TEXT = """def smooth(xs):
    last = 0.0
    for k in range(1, len(xs)):
        last = 0.9 * last + 0.1 * xs[k]
        xs[k] = last
    return xs
"""


def ratio(value: float, original: float = 6.44, n: int = 5) -> Ratio:
    spread = [1 + 0.01 * (k - n // 2) for k in range(n)]
    return Ratio(
        value=value,
        low=value * 0.88,
        high=value * 1.11,
        original=tuple(original * s for s in spread),
        candidate=tuple(original / value * s for s in spread),
    )


LIFE_SOURCE = Source(LIFE, LIFE_TEXT.encode())
TOOLS_SOURCE = Source(TOOLS, TOOLS_TEXT.encode())


def _loops(source: Source) -> list[ast.For]:
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.For)]


def _function(source: Source, name: str) -> ast.FunctionDef:
    return next(
        n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef) and n.name == name
    )


def _region(source: Source, loop: ast.For, name: str, share: float, depth: int = 0) -> Region:
    return Region(
        site=Site(source.path, loop.lineno, name),
        source=source,
        loop=loop,
        function=_function(source, name),
        class_name=None,
        share=share,
        depth=depth,
        observation=SiteObservation(
            entries=100,
            observed=7,
            values={
                "state": ValueInfo(
                    "ndarray",
                    "numpy.ndarray",
                    dtype="int64",
                    ndim=2,
                    shape=(200, 200),
                    min_shape=(200, 200),
                    max_shape=(200, 200),
                    c_contiguous=True,
                    minimum=0,
                    maximum=1,
                ),
                "scale": ValueInfo("float", "builtins.float", minimum=float("-inf"), has_nan=True),
                "big": ValueInfo("int", "builtins.int", minimum=-(2**70), maximum=2**70),
                "rows": ValueInfo(
                    "list",
                    "builtins.list",
                    shape=(None, 3),
                    element=ValueInfo("float", "builtins.float", minimum=0.5, maximum=1.0),
                ),
                "helper": ValueInfo("function", "function", target="m.h", target_file=TOOLS),
            },
            aliases=(("state", "new"),),
        ),
        nest=Refusal("calls sum_neighbours, whose source is not known", 13),
        functions={},
    )


def _life_edits() -> tuple[Edit, ...]:
    loop = step_loop()
    _, numpy_edit = import_edit(LIFE_SOURCE, "numpy", "np")
    assert numpy_edit is None
    lines = [
        "if 0 <= state.min() and state.max() <= 1:",
        "    cells = np.empty((rows + 2, cols + 2), dtype=np.uint8)",
        "    cells[1:-1, 1:-1] = state",
        "    wrap(cells)",
        "    new[...] = next_cells(cells)",
        "else:",
        reindent(LIFE_SOURCE, loop),
    ]
    return (replace_statement(LIFE_SOURCE, loop, lines),)


def step_loop() -> ast.For:
    return next(n for n in _loops(LIFE_SOURCE) if n.lineno == 11)


LEDGER = (
    Condition("rows and cols are the extents of state", Basis.PROVED, "line 9"),
    Condition("new shares no memory with state", Basis.PROVED, "allocated in line 10"),
    Condition("every cell is 0 or 1", Basis.OBSERVED, guarded=True, seen=100, entries=100),
    Condition("state is not subclassed", Basis.OBSERVED, "line 11", seen=20, entries=1000),
    Condition("no sum passes 64 bits", Basis.PROVED, "line 13", given="fewer than 2**46 steps"),
    Condition("no thread changes state meanwhile", Basis.ASSUMED),
)
EXACT = Verified(
    ratio(210.4, 0.0644),
    ErrorSize(),
    states=3,
    compared="return value, arguments and module globals",
    first_call=0.0021,
)
SCRIPT = Verified(ratio(47.2), ErrorSize(), 0, "standard output, exit code and 2 files written")


def full_report() -> Report:
    """Advice on one region, others tried, refused and noted; every verdict occurs once."""
    step = _region(LIFE_SOURCE, step_loop(), "step", 0.985)
    inner = _region(LIFE_SOURCE, _loops_in(step)[1], "step", 0.9, 1)
    smooth = _region(TOOLS_SOURCE, _loops(TOOLS_SOURCE)[0], "smooth", 0.041)
    match = Match(
        edits=_life_edits(),
        why="Every cell costs nine indexed reads with two modulo operations in Python.",
        change="whole-array sums over a uint8 copy with a halo",
        needs=frozenset({"numpy"}),
        ledger=LEDGER,
        exactness=Exactness.BITS,
        differences=("an overflow is not reported as a warning",),
    )
    other = replace(match, needs=frozenset({"numba"}), change="compiled loops", ledger=LEDGER[:3])
    summed = replace(other, exactness=Exactness.REASSOCIATED, reduction_length=40_000)
    trials = (
        Trial(
            Candidate("c2", "ZZ401", step, other),
            Verified(ratio(240.0, 0.0644), ErrorSize(1e-9, 2e-12, 3), 3, "return value", 0.65),
            Verified(ratio(6.4), ErrorSize(), 0, "standard output", 0.92, later=ratio(75.0)),
            0.9,
        ),
        Trial(Candidate("c3", "ZZ402", step, summed), Mismatch("new[3, 4] is 1 instead of 0")),
        Trial(Candidate("c4", "ZZ220", step, other), NotFaster(ratio(1.02), 1.1)),
        Trial(Candidate("c5", "ZZ221", step, other), Inconclusive("the times vary by 40 %")),
        Trial(Candidate("c6", "ZZ301", step, other), Crashed("IndexError: index 200 is out")),
        Trial(Candidate("c7", "ZZ110", step, other), TimedOut(20.0)),
        Trial(Candidate("c8", "ZZ501", step, match), Unavailable("no NVIDIA GPU was found")),
        Trial(Candidate("c9", "ZZ299", step, match), EXACT, None, 0.14),
    )
    return Report(
        target=Target(LIFE, ("200", "a b"), cwd=ROOT, python="/usr/bin/python3"),
        machine=Machine(
            node="bench1",
            system="Linux 6.8",
            cpu="Intel Xeon Platinum 8480+",
            cores=2,
            memory=16_500_000_000,
            python="3.11.7",
            packages={"numpy": "2.4.6", "numba": "0.68.1", "scalene": "2.4.1"},
        ),
        started="2026-11-20T21:07:15+00:00",
        outcome=Outcome.ADVICE,
        message="47x (42-52x, n=5) faster as a whole script, with the same output",
        profile=_profile(),
        sources={LIFE: LIFE_SOURCE, TOOLS: TOOLS_SOURCE},
        findings=(
            Finding(
                step, Trial(Candidate("c1", "ZZ201", step, match), EXACT, SCRIPT, 0.14), trials
            ),
            Finding(smooth, None, (Trial(Candidate("c10", "ZZ401", smooth, match), TimedOut(5)),)),
        ),
        refused=(
            Refused(inner, "ZZ201", Refusal("calls sum_neighbours, which it cannot see", 13)),
            Refused(
                smooth, "ZZ201", Refusal("iteration k reads last, which k-1 wrote (line 4)", 4)
            ),
            Refused(
                smooth,
                "ZZ402",
                Refusal("iteration k reads last, which k-1 wrote (line 4)", 4),
            ),
            Refused(smooth, None, Refusal("xs holds mixed types", 3, "make all of them float")),
        ),
        script_verdict=SCRIPT,
        patched={LIFE: apply_edits(LIFE_SOURCE, match.edits)},
        notes=("two bare runs gave the same output",),
        costs=(
            StageCost("bare run", 6.44),
            StageCost("scalene", 7.1),
            StageCost("line profile", 5.2),
            StageCost("trials", 9.75),
        ),
    )


def _loops_in(region: Region) -> list[ast.For]:
    return [node for node in ast.walk(region.loop) if isinstance(node, ast.For)]


def _profile() -> Profile:
    return Profile(
        bare=RunResult(Exited(0), 6.44, 6.41, 45_000_000, 1200, b"ok\xff\n", None, {"a.txt": "9f"}),
        functions=(
            FunctionTime(LIFE, "step", 8, 15, 0.9, 0.02, 0.01),
            FunctionTime(TOOLS, "smooth", 1, 6, 0.04, 0.001),
            FunctionTime(LIFE, "simulate", 18, 23, 0.01, 0.0),
        ),
        lines=(
            LineTime(LIFE, 11, 0.002, 0.0, 0.0, 20_100, 0.01, 0.002),
            LineTime(LIFE, 12, 0.1, 0.0, 0.0, 20_100, 0.1, 0.11),
            LineTime(LIFE, 13, 0.6, 0.015, 0.01, 20_000, 0.7, 0.64),
            LineTime(LIFE, 14, 0.2, 0.005, 0.0, 20_000, 0.2, 0.18),
            LineTime(TOOLS, 4, 0.0, 0.0, 0.0, 999, 0.01, 0.03),
            LineTime(TOOLS, 5, 0.004, 0.0, 0.0, 999, 0.01, 0.008),
        ),
        method="scalene 2.4 (CPU), spread over the lines by line_profiler",
        notes=("output of two runs differs in line 3: the time of day",),
    )


def nothing_report() -> Report:
    full = full_report()
    return replace(
        full,
        outcome=Outcome.NOTHING,
        message="nothing to gain: the hot loop carries a dependence",
        findings=(),
        script_verdict=None,
        patched={},
        partial=True,
    )


def failed_report() -> Report:
    full = full_report()
    return replace(
        full,
        outcome=Outcome.SCRIPT_FAILED,
        message="life.py ended with exit code 1; there is nothing to advise on",
        profile=None,
        sources={},
        findings=(),
        refused=(),
        script_verdict=None,
        patched={},
        notes=(),
        costs=(),
    )
