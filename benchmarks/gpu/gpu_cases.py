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
from gpuadvise.registry import Rule, rules

PRELUDE = """\
import json, sys, time
import numpy as np
{0}
text, function, inputs, repeats = json.load(open(sys.argv[1]))
names = {{"__name__": "case"}}
exec(compile(text, "case.py", "exec"), names)
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
times = []
for _ in range(repeats):
    space = dict(names) | globals_of()
    exec(inputs, space)
    start = time.perf_counter()
    result = names[function](*space["args"]) if function else None
    times.append(time.perf_counter() - start)
print(json.dumps([plain(result), plain(space["args"]), times]))
"""
TORCH = """\
import torch
if {0}:
    torch.set_default_device("cuda")
def globals_of():
    torch.manual_seed(0)
    return {{"np": np, "torch": torch}}
"""
NUMBA = """\
import warnings
warnings.simplefilter("ignore")
from numba import cuda
def globals_of():
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


def mistakes(source: Source, prefix: tuple[str, ...]) -> list[tuple[str, Mistake]]:
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
def run_case(prelude: str, text: str, case: Spots, repeats: int) -> tuple[str, list[float]]:
    """Result and arguments afterwards as text, and the times of the calls, seconds."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, "case.json")
        given.write_text(json.dumps([text, case.function, case.inputs, repeats]))
        program = Path(folder, "run.py")
        program.write_text(PRELUDE.format(prelude))
        done = subprocess.run(
            [sys.executable, str(program), str(given)],
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        if done.returncode:
            return "failed: " + done.stderr.strip().splitlines()[-1], [float("nan")]
        result, args, times = json.loads(done.stdout.splitlines()[-1])
        return json.dumps([result, args]), times


def cases_table(prefix: tuple[str, ...], repeats: int = 3) -> None:
    """Every case with a rewrite: equal or different, median times."""
    print("| rule | case | output | before ms | after ms | ratio |")
    print("|---|---|---|---|---|---|")
    for rule in rules():
        if rule.code.startswith(prefix):
            for number, case in enumerate(rule.cases):
                if isinstance(case, Spots) and case.after is not None and case.inputs:
                    print(row(rule, number, case, repeats), flush=True)


def row(rule: Rule, number: int, case: Spots, repeats: int) -> str:
    """One line of the table."""
    assert case.after is not None
    on_gpu = rule.code not in ("PT503", "PT504")
    prelude = TORCH.format(on_gpu) if rule.code.startswith("PT") else NUMBA
    first, slow = run_case(prelude, case.before, case, repeats)
    second, fast = run_case(prelude, case.after, case, repeats)
    verdict = "equal" if first == second else f"DIFFERENT {first[:90]} / {second[:90]}"
    if first.startswith("failed"):
        verdict = first
    old, new = median(slow) * 1e3, median(fast) * 1e3
    return f"| {rule.code} | {number} | {verdict} | {old:.2f} | {new:.2f} | {old / new:.2f} |"


def programs_table(programs: dict[Path, list[str]], prefix: tuple[str, ...]) -> None:
    """Whole programs, before and after all safe rewrites, and after each of them alone."""
    print("\n| program | rewrites | output | before s | after s | ratio |")
    print("|---|---|---|---|---|---|")
    originals: dict[Path, tuple[str, float]] = {}
    alone: list[tuple[Path, bytes, list[str]]] = []
    for path, arguments in programs.items():
        source = Source(path, path.read_bytes())
        found = mistakes(source, prefix)
        originals[path] = run_program(source.data, arguments, 2)
        text, used = together(source, found)
        program_row(path, text, arguments, used, originals[path], 2)
        for code, mistake in found:
            if mistake.match is not None:
                name = code + ("" if mistake.match.safe else " (unsafe)")
                alone.append((path, apply_edits(source, mistake.match.edits), [name]))
    for path, text, used in alone:
        program_row(path, text, programs[path], used, originals[path], 1)


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
