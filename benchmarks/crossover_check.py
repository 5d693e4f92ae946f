"""Crossovers that ``gpuadvise crossover`` reports, against a fine sweep by hand.

    python benchmarks/crossover_check.py [NAME ..] [--budget S] [--runs N] [--output FILE]

The command sweeps each bundled program. Then the two versions on both sides of each change of lead
run, in turn and in fresh processes, at sizes 8 % apart around it; the size at which the straight
line through the logarithm of their ratio is zero is taken for the true one.
"""

from __future__ import annotations

import argparse
import io
import math
import shutil
import statistics
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
ON_GPU = {"mandelbrot": ["600", "300"]}
"""Programs with ``--gpu``, where the lead goes from a version for the CPU to one for the GPU."""
STEP, SIDE = 1.08, 5
"""Sizes so many times apart, so many on each side of the reported one."""


@dataclass(frozen=True)
class Checked:
    """One change of lead."""

    program: str
    size: str
    condition: Condition
    change: Change
    fine: float | None
    """The size that the fine sweep found; None where it found none near."""

    @property
    def off(self) -> float | None:
        """Reported over found, minus one."""
        return None if self.fine is None else self.change.size / self.fine - 1.0


def check(
    name: str, arguments: Sequence[str], budget: float, runs: int, side: int, *, gpu: bool
) -> Iterator[Checked]:
    """Sweep a program with the tool, then by hand around each change of lead.

    ``gpu``: only of those to a version for a GPU.
    """
    path = next(example.path for example in targets.catalogue() if example.name == name)
    with tempfile.TemporaryDirectory(prefix="gpuadvise-sweep-") as folder:
        copy = Path(shutil.copy(path, folder))
        console = Console() if gpu else Console(file=io.StringIO())
        result = crossover((str(copy), *arguments), None, console, options=Options(budget=budget))
        for condition in result.conditions:
            for change in result.lead(condition).changes:
                if gpu and not change.after.gpu:
                    continue
                found = fine(result, condition, change, copy, runs, side)
                yield Checked(name, result.parameter.name, condition, change, found)


def fine(
    result: Result, condition: Condition, change: Change, script: Path, runs: int, side: int = SIDE
) -> float | None:
    """Where the two versions cross, by runs at sizes around the reported one."""
    wanted = (round(change.size * STEP**k) for k in range(-side, side + 1))
    sizes = sorted({size for size in wanted if size >= 2})
    ratios = []
    for size in sizes:
        times: dict[Kind, list[float]] = {change.before: [], change.after: []}
        for kind in times if condition is Condition.LATER else ():
            once(result, kind, size, script, fresh=False)  # what is compiled is on disk afterwards
        for _ in range(runs):
            for kind, seconds in times.items():
                fresh = condition is Condition.FIRST
                seconds.append(once(result, kind, size, script, fresh=fresh))
        before, after = (statistics.median(times[k]) for k in (change.before, change.after))
        ratios.append(math.log(before / after))
    slope, height = np.polyfit(np.log(sizes), ratios, 1)
    root = math.exp(-height / slope) if slope > 0.0 else 0.0
    return root if sizes[0] / STEP <= root <= sizes[-1] * STEP else None


def once(result: Result, kind: Kind, size: int, script: Path, *, fresh: bool) -> float:
    """Wall seconds of one run of a version at a size; ``fresh``: nothing compiled is on disk."""
    version = next(v for v in result.versions if v.kind is kind)
    patched = version.patch(result.report.sources, result.parameter.edits(size))
    home = script.parent / str(kind).replace(", ", "-")
    home.mkdir(exist_ok=True)
    (home / script.name).write_bytes(patched.get(script, script.read_bytes()))
    if fresh:
        shutil.rmtree(home / "__pycache__", ignore_errors=True)
    arguments = result.parameter.arguments(result.report.target.args, size)
    command = [sys.executable, str(home / script.name), *arguments]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=home)
    return time.perf_counter() - start


def table(found: Sequence[Checked]) -> str:
    """One row for each change of lead."""
    lines = [
        "| program | change | runs | reported | fine sweep | off |",
        "|---|---|---|---:|---:|---:|",
    ]
    for one in found:
        change = one.change
        words = f"{change.before} -> {change.after}"
        reported = f"{one.size} = {change.size:.3g} ({change.low:.3g}-{change.high:.3g})"
        by_hand = "none near" if one.fine is None else f"{one.fine:.3g}"
        off = "" if one.off is None else f"{100 * one.off:+.0f} %"
        lines.append(
            f"| {one.program} | {words} | {one.condition} | {reported} | {by_hand} | {off} |"
        )
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
    options = parser.parse_args()
    found: list[Checked] = []
    programs = ON_GPU if options.gpu else PROGRAMS
    for name in options.names or programs:
        given = (programs.get(name, []), options.budget, options.runs, options.side)
        found += check(name, *given, gpu=options.gpu)
        print(table(found), flush=True)
    print(table(found))
    if options.output is not None:
        options.output.write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main()
