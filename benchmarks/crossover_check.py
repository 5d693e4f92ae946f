"""Crossovers that ``gpuadvise crossover`` reports, against a fine sweep by hand.

    python benchmarks/crossover_check.py [NAME ..] [--budget S] [--runs N] [--output FILE]

The command sweeps each bundled program. Then the two versions on both sides of each change of lead
run, in turn and in fresh processes, at sizes 8 % apart around it; the size at which the straight
line through the logarithm of their ratio is zero is taken for the true one, and its interval found
by resampling the runs. Where that is wide the two curves hardly cross: then what counts is whether
the interval that was reported says so.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from gpuadvise import targets
from gpuadvise.crossover.curves import Change, Condition
from gpuadvise.crossover.journey import crossover
from gpuadvise.crossover.result import Result
from gpuadvise.crossover.versions import Kind
from gpuadvise.options import Options

PROGRAMS = {"nbody": ["40", "10"], "life_naive": ["60", "10"]}
ON_GPU = {"life_roll": ["300", "200"], "mandelbrot": ["600", "300"]}
"""Programs with ``--gpu``, where the lead goes from a version for the CPU to one for the GPU."""
STEP, SIDE = 1.08, 5
"""Sizes so many times apart, so many on each side of the reported one."""
RESAMPLES, SEED = 1000, 1
CACHES = {"CUPY_CACHE_DIR": "cupy", "CUDA_CACHE_PATH": "nv"}
"""Where what is compiled is kept beside ``__pycache__``, for each version its own."""


@dataclass(frozen=True)
class Found:
    """Where a fine sweep has the crossing."""

    size: float
    low: float
    high: float
    """95 % interval; the ends of the sweep where it tells no more."""


@dataclass(frozen=True)
class Checked:
    """One change of lead."""

    program: str
    size: str
    condition: Condition
    change: Change
    fine: Found

    @property
    def off(self) -> float:
        """Reported over found, minus one."""
        return self.change.size / self.fine.size - 1.0

    @property
    def held(self) -> bool:
        """Whether the two intervals have a size in common."""
        return self.change.low <= self.fine.high and self.fine.low <= self.change.high


def check(
    name: str, arguments: Sequence[str], options: argparse.Namespace, deadline: float
) -> Iterator[Checked]:
    """Sweep a program with the tool, then by hand around each change of lead.

    With ``--gpu``, only of those to a version for a GPU. None is begun after the deadline.
    """
    path = next(example.path for example in targets.catalogue() if example.name == name)
    with tempfile.TemporaryDirectory(prefix="gpuadvise-sweep-") as folder:
        copy = Path(shutil.copy(path, folder))
        console = Console() if options.gpu else Console(file=io.StringIO())
        choice = Options(budget=options.budget)
        result = crossover((str(copy), *arguments), None, console, options=choice)
        for condition in result.conditions:
            for change in result.lead(condition).changes:
                if options.gpu and not change.after.gpu:
                    continue
                if condition not in options.condition or time.monotonic() > deadline:
                    continue
                found = fine(result, condition, change, copy, options.runs, options.side)
                yield Checked(name, result.parameter.name, condition, change, found)


def fine(
    result: Result, condition: Condition, change: Change, script: Path, runs: int, side: int
) -> Found:
    """Where the two versions cross, by runs at sizes around the reported one."""
    wanted = (round(change.size * STEP**k) for k in range(-side, side + 1))
    sizes = sorted({size for size in wanted if size >= 2})
    kinds = (change.before, change.after)
    for kind in kinds if condition is Condition.LATER else ():
        for size in sizes:
            once(result, kind, size, script, fresh=False)  # what is compiled is on disk afterwards
    times = np.zeros((len(sizes), len(kinds), runs))
    for run in range(runs):
        for row, size in enumerate(sizes):
            for column, kind in enumerate(kinds):
                fresh = condition is Condition.FIRST
                times[row, column, run] = once(result, kind, size, script, fresh=fresh)
    return crossing(sizes, times)


def crossing(sizes: Sequence[int], times: np.ndarray) -> Found:
    """The root of a line through the logarithms of ratios, and its interval.

    ``times``: by size, version (the one that leads below comes first) and run.
    """
    rng = np.random.default_rng(SEED)
    runs = times.shape[-1]
    x = np.log(sizes)
    roots = []
    for draw in range(RESAMPLES + 1):
        picked = rng.integers(runs, size=times.shape)
        drawn = np.take_along_axis(times, picked, -1) if draw else times
        before, after = np.median(drawn, axis=-1).T
        slope, height = np.polyfit(x - x.mean(), np.log(before / after), 1)
        # a line that does not rise says only on which side the crossing lies
        root = x.mean() - height / max(slope, 1e-9)
        roots.append(math.exp(min(max(root, x[0]), x[-1])))
    low, high = np.quantile(roots[1:], [0.025, 0.975])
    return Found(roots[0], min(float(low), roots[0]), max(float(high), roots[0]))


def once(result: Result, kind: Kind, size: int, script: Path, *, fresh: bool) -> float:
    """Wall seconds of one run of a version at a size; ``fresh``: nothing compiled is on disk."""
    version = next(v for v in result.versions if v.kind is kind)
    patched = version.patch(result.report.sources, result.parameter.edits(size))
    home = script.parent / str(kind).replace(", ", "-")
    home.mkdir(exist_ok=True)
    (home / script.name).write_bytes(patched.get(script, script.read_bytes()))
    for folder in ("__pycache__", *CACHES.values()) if fresh else ():
        shutil.rmtree(home / folder, ignore_errors=True)
    arguments = result.parameter.arguments(result.report.target.args, size)
    command = [sys.executable, str(home / script.name), *arguments]
    environment = os.environ | {name: str(home / folder) for name, folder in CACHES.items()}
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=home, env=environment)
    return time.perf_counter() - start


def table(found: Sequence[Checked]) -> str:
    """One row for each change of lead."""
    lines = [
        "| program | change | runs | reported | fine sweep | off | intervals meet |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for one in found:
        change, by_hand = one.change, one.fine
        words = f"{change.before} -> {change.after}"
        reported = f"{one.size} = {change.size:.3g} ({change.low:.3g}-{change.high:.3g})"
        hand = f"{by_hand.size:.3g} ({by_hand.low:.3g}-{by_hand.high:.3g})"
        met = "yes" if one.held else "no"
        cells = [one.program, words, str(one.condition), reported, hand]
        lines.append(f"| {' | '.join(cells)} | {100 * one.off:+.0f} % | {met} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Check the programs one after the other and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="these programs only")
    parser.add_argument("--budget", type=float, default=150.0, help="seconds of each sweep")
    parser.add_argument("--runs", type=int, default=5, help="runs a version and size, by hand")
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the table here")
    parser.add_argument("--side", type=int, default=SIDE, help="sizes on each side, by hand")
    parser.add_argument("--gpu", action="store_true", help="changes to a GPU version only")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing later")
    parser.add_argument("--condition", action="append", choices=list(Condition), default=[])
    options = parser.parse_args()
    options.condition = options.condition or list(Condition)
    deadline = time.monotonic() + options.seconds
    found: list[Checked] = []
    programs = ON_GPU if options.gpu else PROGRAMS
    for name in options.names or programs:
        for one in check(name, programs.get(name, []), options, deadline):
            found.append(one)
            print(table(found), flush=True)
    print(table(found))
    if options.output is not None:
        options.output.write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main()
