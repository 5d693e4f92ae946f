"""CuPy rules on a GPU: every case and program before and after, outputs compared, times.

    python benchmarks/gpu/rules_cupy.py [--only CP303] [--seconds 230]

Each side runs in a process of its own. Prints a Markdown table: equal (bit for bit), or the
largest relative difference; the median time of one call (cases), or of the whole process without
its imports (programs). Needs an NVIDIA GPU and CuPy.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuadvise.api import Spots
from gpuadvise.cases import static_chain
from gpuadvise.patch import apply_edits
from gpuadvise.registry import Rule, rules

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = (
    *((path, ()) for path in sorted((ROOT / "tests/gpu_rules/cupy_programs").glob("*.py"))),
    (ROOT / "targets/cuda/cupy_life.py", ("--size", "1000", "--steps", "100")),
    (ROOT / "targets/cuda/cupy_pipeline.py", ("--steps", "300", "--size", "250000")),
)
CHILD = r"""
import contextlib, io, json, pickle, runpy, statistics, sys, time
import numpy as np
import cupy as cp

job, target_file = json.loads(open(sys.argv[1]).read()), sys.argv[2]


def plain(value):
    if isinstance(value, cp.ndarray):
        return ("cupy", str(value.dtype), value.get())
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(v) for v in value])
    if isinstance(value, dict):
        return ("dict", [(k, plain(v)) for k, v in value.items()])
    return (type(value).__name__, value)


cp.arange(10).sum().get()
times, result, text = [], None, ""
for repeat in range(job["repeats"]):
    out = io.StringIO()
    if job["function"]:
        names = {"__name__": "case"}
        exec(compile(job["text"], "case.py", "exec"), names)
        given = dict(names) | {"np": np, "cp": cp, "rng": np.random.default_rng(0)}
        exec(job["inputs"], given)
        target = names[job["function"]]
    with contextlib.redirect_stdout(out):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        if job["function"]:
            result = target(*given["args"])
        else:
            sys.argv = [job["path"], *job["args"]]
            runpy.run_path(job["path"], run_name="__main__")
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    text = out.getvalue()
args = plain(list(given["args"])) if job["function"] else None
timed = times[1:] or times
pickle.dump((plain(result), args, text, statistics.median(timed)), open(target_file, "wb"))
"""


@dataclass(frozen=True)
class Job:
    """Two texts to be compared."""

    name: str
    before: str
    after: str
    function: str = ""
    inputs: str = ""
    args: tuple[str, ...] = ()
    repeats: int = 4
    path: Path = ROOT / "case.py"


def cupy_rules(only: str) -> list[Rule]:
    """The rules for CuPy, or one of them."""
    return [r for r in rules() if r.code.startswith(only or "CP3")]


def jobs(only: str) -> Iterator[Job]:
    """All cases with a rewrite, then all programs with all rewrites applied."""
    for rule in cupy_rules(only):
        for number, case in enumerate(rule.cases):
            if isinstance(case, Spots) and case.after is not None and case.inputs:
                name = f"{rule.code} case {number} `{case.function}`"
                yield Job(name, case.before, case.after, case.function or "", case.inputs)
    for path, args in PROGRAMS:
        before = path.read_text(encoding="utf-8")
        after, used = rewritten(before, path, only)
        if used:
            name = f"{path.stem} ({', '.join(used)})"
            yield Job(name, before, after, args=tuple(args), repeats=2, path=path)


def rewritten(text: str, path: Path, only: str = "") -> tuple[str, list[str]]:
    """A program after one rewrite after the other, and the rules that made them."""
    used: list[str] = []
    for _ in range(20):
        step = _one(text, path, only)
        if step is None:
            break
        text, code = step
        used.append(code)
    return text, sorted(set(used))


def _one(text: str, path: Path, only: str) -> tuple[str, str] | None:
    tree = ast.parse(text)
    functions = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    for function in (None, *functions):
        try:
            chain = static_chain(text, function, path=path)
        except LookupError:
            continue
        for rule in cupy_rules(only):
            for region in chain:
                answer = rule.function(region)
                for mistake in answer if isinstance(answer, tuple) else ():
                    if mistake.match is not None:
                        return apply_edits(region.source, mistake.match.edits).decode(), rule.code
    return None


# --------------------------------------------------------------------- running
def run(job: Job, text: str, folder: Path) -> tuple[object, object, str, float] | str:
    """One side in a process of its own; what it wrote to stderr if it failed."""
    import pickle

    script = folder / job.path.name
    script.write_text(text, encoding="utf-8")
    order = {
        "text": text,
        "function": job.function,
        "inputs": job.inputs,
        "path": str(script),
        "args": list(job.args),
        "repeats": job.repeats,
    }
    (folder / "job.json").write_text(json.dumps(order), encoding="utf-8")
    (folder / "child.py").write_text(CHILD, encoding="utf-8")
    command = [sys.executable, "child.py", "job.json", "result.pickle"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "ran past 60 s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"
    loaded: tuple[object, object, str, float] = pickle.loads(
        (folder / "result.pickle").read_bytes()
    )
    return loaded


def difference(left: object, right: object) -> float:
    """Largest relative difference of numbers; infinity where anything else differs."""
    import numpy as np

    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        if len(left) != len(right) or type(left) is not type(right):
            return float("inf")
        return max((difference(a, b) for a, b in zip(left, right, strict=True)), default=0.0)
    if isinstance(left, float | np.ndarray) and isinstance(right, float | np.ndarray):
        one, two = np.asarray(left), np.asarray(right)
        if one.shape != two.shape or one.dtype != two.dtype:
            return float("inf")
        if np.array_equal(one, two, equal_nan=one.dtype.kind in "fc"):
            return 0.0
        if one.dtype.kind not in "fc":
            return float("inf")
        scale = float(np.nanmax(np.abs(one))) or 1.0
        return float(np.nanmax(np.abs(one - two))) / scale
    return 0.0 if left == right and type(left) is type(right) else float("inf")


def line(job: Job) -> str:
    """One row of the table."""
    sides = []
    for text in (job.before, job.after):
        with tempfile.TemporaryDirectory() as folder:
            sides.append(run(job, text, Path(folder)))
    before, after = sides
    if isinstance(before, str) or isinstance(after, str):
        return f"| {job.name} | FAILED: before {before!r:.150}, after {after!r:.150} | | | |"
    worst = difference(before[:2], after[:2])
    text = "yes" if before[2] == after[2] else f"{before[2]!r:.80} / {after[2]!r:.80}"
    equal = "equal" if worst == 0 else f"{worst:.1e}"
    times = f"{before[3] * 1e3:.1f} | {after[3] * 1e3:.1f} | {before[3] / after[3]:.2f}"
    return f"| {job.name} | {equal}, output {text} | {times} |"


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=230.0)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp())
    print(f"Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}\n")
    print("| case | same | before ms | after ms | ratio |\n|---|---|---|---|---|")
    for job in jobs(options.only):
        if time.monotonic() > end:
            print(f"| {job.name} | not run: out of time | | | |")
            continue
        print(line(job), flush=True)


if __name__ == "__main__":
    main()
