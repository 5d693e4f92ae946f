"""Runs GPU rules' cases and whole programs before and after, each as a process of its own.

Shared by ``rules_torch.py`` and ``rules_numba.py``; see those.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from gpuadvise.api import Mistake, Region, Spots
from gpuadvise.edits import PatchError, apply_edits
from gpuadvise.model import Edit, Refusal, Site, Source
from gpuadvise.registry import rules

CASES = """\
import json, sys, time
import numpy as np
{0}
def plain(value):
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if hasattr(value, "copy_to_host"):
        value = value.copy_to_host()
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [plain(v) for v in value]]
    if hasattr(value, "parameters"):
        return [plain(p) for p in value.parameters()]
    return [type(value).__name__, repr(value)]
def run(code, text, function, inputs):
    prepare(code)
    names = {{"__name__": "case"}}
    exec(compile(text, "case.py", "exec"), names)
    times = []
    for _ in range(4):  # the first one compiles
        space = dict(names) | given()
        exec(inputs, space)
        start = time.perf_counter()
        result = names[function](*space["args"])
        times.append(time.perf_counter() - start)
    return [json.dumps([plain(result), plain(space["args"])]), times[1:]]
real = sys.stdout
sys.stdout = sys.stderr  # a case may print
for code, number, texts, function, inputs in json.load(open(sys.argv[1])):
    sides = []
    for text in texts:
        try:
            sides.append(run(code, text, function, inputs))
        except Exception as error:
            sides.append([f"failed: {{type(error).__name__}}: {{error}}", [float("nan")]])
    print(json.dumps([code, number, sides]), file=real, flush=True)
"""
TORCH = """\
import torch
def prepare(code):
    # these two rules are about tensors that are made on the CPU
    torch.set_default_device("cpu" if code in ("PT503", "PT504", "PT510", "PT511") else "cuda")
def given():
    torch.manual_seed(0)
    return {"np": np, "torch": torch}
"""
NUMBA = """\
import warnings
warnings.simplefilter("ignore")
from numba import cuda
def prepare(code):
    pass
def given():
    return {"np": np, "cuda": cuda}
"""
LIMIT = 60.0
"""Seconds for one process."""


def regions(source: Source) -> Iterator[Region]:
    """Every loop of a file as a region that was only read, outer loops first."""
    scopes: list[ast.Module | ast.FunctionDef] = [source.tree]
    scopes += [n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef)]
    for scope in scopes:
        for node in own(scope):
            if isinstance(node, ast.For | ast.While):
                function = scope if isinstance(scope, ast.FunctionDef) else None
                name = "<module>" if function is None else function.name
                yield Region(
                    site=Site(source.path, node.lineno, name),
                    source=source,
                    loop=node,
                    function=function,
                    class_name=None,
                    share=0.99,
                    depth=0,
                    observation=None,
                    nest=Refusal("only read"),
                )


def own(scope: ast.AST) -> Iterator[ast.AST]:
    """What is below a node in source order, without the bodies of functions and classes."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from own(child)


def mistakes(source: Source, prefix: str) -> list[tuple[str, Mistake]]:
    """What the rules of a family name in a file."""
    found: dict[tuple[str, int, tuple[Edit, ...]], Mistake] = {}
    for rule in rules():
        if not rule.code.startswith(prefix):
            continue
        for region in regions(source):
            answer = rule.function(region)
            for mistake in answer if isinstance(answer, tuple) else ():
                edits = mistake.match.edits if mistake.match else ()
                found.setdefault((rule.code, mistake.line, edits), mistake)
    return [(key[0], mistake) for key, mistake in found.items()]


def together(source: Source, found: list[tuple[str, Mistake]]) -> tuple[bytes, list[str]]:
    """The file with all rewrites that can be made safely, the first where two collide."""
    edits: tuple[Edit, ...] = ()
    used: list[str] = []
    for code, mistake in found:
        if mistake.match is None or not mistake.match.safe:
            continue
        try:
            apply_edits(source, (*edits, *mistake.match.edits))
        except PatchError:
            continue
        edits = (*edits, *mistake.match.edits)
        used.append(code)
    return apply_edits(source, edits), used


# ------------------------------------------------------------------- processes
def cases_table(prefix: str, limit: float = 200.0) -> None:
    """Every case with a rewrite, all of a family in one process: equal or not, median times."""
    listed = [
        (rule.code, number, (case.before, case.after), case.function, case.inputs)
        for rule in rules()
        for number, case in enumerate(rule.cases)
        if rule.code.startswith(prefix) and isinstance(case, Spots) and case.after and case.inputs
    ]
    print("| rule | case | output | before ms | after ms | ratio |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        given, program = Path(folder, "cases.json"), Path(folder, "run.py")
        given.write_text(json.dumps(listed))
        program.write_text(CASES.format(TORCH if prefix.startswith("PT") else NUMBA))
        done = subprocess.run(
            [sys.executable, str(program), str(given)],
            capture_output=True,
            text=True,
            timeout=limit,
        )
    for line in done.stdout.splitlines():
        print(row(*json.loads(line)), flush=True)
    if done.returncode:
        print(done.stderr[-500:])


def row(code: str, number: int, sides: list[tuple[str, list[float]]]) -> str:
    """One line of the table."""
    (first, slow), (second, fast) = sides
    verdict = "equal" if first == second else f"DIFFERENT {first[:90]} / {second[:90]}"
    if first.startswith("failed"):
        verdict = first[:150]
    old, new = median(slow) * 1e3, median(fast) * 1e3
    return f"| {code} | {number} | {verdict} | {old:.2f} | {new:.2f} | {old / new:.2f} |"


def programs_table(programs: dict[Path, list[str]], prefix: str) -> None:
    """Whole programs, before and after all safe rewrites."""
    print("\n| program | rewrites | output | before s | after s | ratio |")
    print("|---|---|---|---|---|---|")
    for path, arguments in programs.items():
        source = Source(path, path.read_bytes())
        text, used = together(source, mistakes(source, prefix))
        original = run_program(source.data, arguments, 1)
        program_row(path, text, arguments, used, original, 1)


def program_row(
    path: Path,
    text: bytes,
    arguments: list[str],
    used: list[str],
    original: tuple[str, float],
    repeats: int,
) -> None:
    """One line of the table, printed."""
    out, old = original
    new_out, new = run_program(text, arguments, repeats)
    verdict = "equal" if new_out == out else f"DIFFERENT {out[-90:]!r} {new_out[-90:]!r}"
    cells = [path.name, ", ".join(used), verdict, f"{old:.2f}", f"{new:.2f}"]
    print("|", " | ".join(cells), f"| {old / new:.2f} |", flush=True)


def run_program(text: bytes, arguments: list[str], repeats: int) -> tuple[str, float]:
    """Standard output, and the best time of some runs, seconds: start and compilation included."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_bytes(text)
        best = float("inf")
        for _ in range(repeats):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, str(program), *arguments],
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
            best = min(best, time.perf_counter() - start)
            if done.returncode:
                return "failed: " + done.stderr.strip()[-200:], best
    return done.stdout, best
