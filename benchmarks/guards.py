"""What the guards of rewrites cost, on functions of the bundled programs and the corpus.

    python benchmarks/guards.py [NAME ...] [--output FILE]

Each function is called with data of the size that its program uses. The whole guard is timed where
it stands, beside the call it belongs to, which is warm: the compiler has run before. Guards that
take more than 5 % of the rewritten call are marked; what they save is in the column behind.
"""

from __future__ import annotations

import argparse
import ast
import copy
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuadvise.cases import call, chain_for, first_match
from gpuadvise.model import Match, Region
from gpuadvise.patch import apply_edits
from gpuadvise.registry import Rule, rules

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from guards import guard_tests  # noqa: E402

TOO_MUCH = 0.05
ROUNDS = 5

CALLS = {
    "targets/life_naive.py": ("life_step_naive", "args = (initial_state(200),)"),
    "targets/life_roll.py": ("count_neighbors", "args = (r_pentomino(512),)"),
    "targets/heat.py": ("HeatPlate.step", "args = (HeatPlate(150),)"),
    "targets/grid_lists.py": ("tick", "args = (build(40),)"),
    "targets/mandelbrot.py": ("render", "args = (120, 90, 200)"),
    "targets/pairwise.py": ("distance_matrix", "args = (make_points(60, 3),)"),
    "tests/corpus/floyd_warshall.py": ("shortest_paths", "args = (random_network(40, 160),)"),
    "tests/corpus/equalise.py": ("equalise", "args = (synthetic(300, 400),)"),
    "tests/corpus/jacobi.py": (
        "jacobi",
        "a = rng.random((200, 200)) + 200 * np.eye(200); args = (a, rng.random(200))",
    ),
    "tests/corpus/bubble_sort.py": ("bubble_sort", "args = (rng.permutation(1500).tolist(),)"),
    "tests/corpus/edit_distance.py": ("levenshtein", "args = ('kitten' * 60, 'sitting' * 60)"),
    "tests/corpus/matmul_lists.py": ("matmul", "args = (hilbert(24), hilbert(24))"),
}
"""File -> function, and statements that set its arguments."""


@dataclass(frozen=True)
class Row:
    """One rewrite of one function, in seconds a call."""

    name: str
    rule: str
    original: float
    rewritten: float
    guard: float

    @property
    def share(self) -> float:
        """Of the rewritten call."""
        return self.guard / self.rewritten


class _Timed(ast.NodeTransformer):
    """``if T:`` becomes ``if __guard__(lambda: T):``."""

    def __init__(self, tests: Sequence[ast.expr]) -> None:
        self.places = {(t.lineno, t.col_offset, t.end_lineno, t.end_col_offset) for t in tests}

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr):
            place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            if place in self.places:
                no_arguments = ast.arguments([], [], None, [], [], None, [])
                body = ast.Lambda(no_arguments, node)
                return ast.Call(ast.Name("__guard__", ast.Load()), [body], [])
        return self.generic_visit(node)


def definitions(text: str) -> str:
    """The text without the statements that make the program run."""
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    lines = text.splitlines(keepends=True)
    kept = []
    for node in ast.parse(text).body:
        constant = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple)
        if isinstance(node, kinds) or constant or "INF" in ast.unparse(node)[:3]:
            kept.append("".join(lines[node.lineno - 1 : node.end_lineno]))
    return "\n\n".join(kept) + "\n"


def measure(name: str, rule: Rule, function: str, inputs: str, text: str) -> Row | None:
    """None where the rule leaves the function alone."""
    found = first_match(rule.function, chain_for(text, function, inputs=inputs))
    if len(found) != 2 or not isinstance(found[1], Match) or not isinstance(found[0], Region):
        return None
    after = apply_edits(found[0].source, found[1].edits).decode()
    spent: list[float] = []

    def guard(test: Any) -> Any:
        begin = time.perf_counter()
        value = test()
        spent.append(time.perf_counter() - begin)
        return value

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rewritten.py"
        path.write_text(after)
        tree = _Timed(guard_tests(text, after)).visit(ast.parse(after))
        code = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
        new = list(_calls(code, function, inputs, {"__guard__": guard, "__file__": str(path)}))
        old = list(_calls(compile(text, "before.py", "exec"), function, inputs, {}, rounds=1))
    guards = sum(spent) / len(new)
    return Row(name, rule.code, min(old), statistics.median(new[1:]), guards)


def _calls(
    code: Any, function: str, inputs: str, names: dict[str, Any], rounds: int = ROUNDS
) -> Iterator[float]:
    import math

    import numpy as np

    names |= {"__name__": "case"}
    exec(code, names)
    given = names | {"np": np, "math": math, "rng": np.random.default_rng(1)}
    exec(inputs, given)
    for _ in range(rounds + 1):
        args = copy.deepcopy(given["args"])
        begin = time.perf_counter()
        call(names, function, args)
        yield time.perf_counter() - begin


def table(rows: Sequence[Row]) -> str:
    """As Markdown."""
    lines = [
        "| program | rule | original ms | rewritten ms | guard ms | guard / rewritten | "
        "guard / saved |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        mark = " **!**" if row.share > TOO_MUCH else ""
        saved = row.guard / max(1e-9, row.original - row.rewritten)
        times = " | ".join(f"{1e3 * t:.3f}" for t in (row.original, row.rewritten, row.guard))
        lines.append(
            f"| {row.name} | {row.rule} | {times} | {100 * row.share:.1f} %{mark} | "
            f"{100 * saved:.2f} % |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    for file, (function, inputs) in CALLS.items():
        name = Path(file).stem
        if options.names and name not in options.names:
            continue
        text = definitions((ROOT / file).read_text())
        for rule in rules():
            if rule.code[:2] in ("NP", "NB", "PY"):
                try:
                    row = measure(name, rule, function, inputs, text)
                except Exception as problem:
                    print(f"{name} {rule.code}: {problem!r}", file=sys.stderr)
                    continue
                if row is not None:
                    rows.append(row)
                    print(f"{name} {rule.code}: {100 * row.share:.1f} %", file=sys.stderr)
    head = (
        f"Guards of rewrites; {platform.processor() or platform.machine()}, Python "
        f"{platform.python_version()}, {time.strftime('%Y-%m-%d')}, "
        "`python benchmarks/guards.py`.\n\n"
    )
    print(head + table(rows))
    if options.output:
        options.output.write_text("# What guards cost\n\n" + head + table(rows))


if __name__ == "__main__":
    main()
