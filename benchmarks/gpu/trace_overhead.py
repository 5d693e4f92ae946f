"""What tracing by line costs, and how much of the GPU's work gets a line.

    python benchmarks/gpu/trace_overhead.py [--rounds N] [--output FILE] [--keep FOLDER]

Runs every bundled CUDA program bare and under the recorder, in turn, in fresh processes, and
prints a table: median seconds, their ratio, events, coverage. Needs an NVIDIA GPU, CuPy, PyTorch,
numba-cuda and cupti-python.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from gpuadvise.cudatrace.attribute import attribute
from gpuadvise.cudatrace.traced import trace_run
from gpuadvise.model import Target
from gpuadvise.observe.sandbox import Sandbox

ARGUMENTS = {
    "cupy_life": ("--steps", "300"),
    "cupy_pipeline": ("--steps", "1000"),
    "numba_host_arrays": ("--steps", "400"),
    "torch_inference": ("--steps", "8000"),
    "torch_training": ("--steps", "2"),
}
"""Arguments with which a program takes some seconds; the others do without."""
FOLDER = Path(__file__).parents[2] / "targets" / "cuda"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--keep", type=Path, help="folder that takes the recorded traces")
    options = parser.parse_args()
    left_out = ("__init__", "cupy_polynomial")  # one kernel after another: nothing to record
    programs = [p for p in sorted(FOLDER.glob("*.py")) if p.stem not in left_out]
    lines = [
        "| program | bare s | traced s | ratio | kernels | copies | syncs | with a line | lines |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for program in programs:
        if not options.only or program.stem in options.only:
            lines.append(row(program, options.rounds, options.keep))
            print(lines[-1], flush=True)
    text = f"{header()}\n\n" + "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")


def row(program: Path, rounds: int, keep: Path | None) -> str:
    bare: list[float] = []
    traced: list[float] = []
    arguments = ARGUMENTS.get(program.stem, ())
    target = Target(program, arguments, None, program.parent, sys.executable)
    with Sandbox(target) as box:
        box.run(box.command())  # warms the kernel caches: both sides have them
        for _ in range(rounds):
            start = time.perf_counter()
            command = [sys.executable, str(program), *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            bare.append(time.perf_counter() - start)
            run = trace_run(box, target)
            traced.append(run.run.wall)
        if run.trace is None:
            return f"| {program.stem} | {'; '.join(run.notes)} |"
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(box.own / "trace.npz", keep / f"{program.stem}.npz")
    work = attribute(run.trace)
    counts = [len(run.trace[name]) for name in ("kernels", "copies", "syncs", "lines")]
    a, b = statistics.median(bare), statistics.median(traced)
    command_line = " ".join([program.stem, *arguments])
    return (
        f"| {command_line} | {a:.2f} | {b:.2f} | {b / a:.2f} | {counts[0]} | {counts[1]} | "
        f"{counts[2]} | {100 * work.coverage:.2f} % | {counts[3]} |"
    )


def header() -> str:
    gpu = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    today = datetime.datetime.now(tz=datetime.UTC).date()
    command = f"python benchmarks/gpu/{Path(sys.argv[0]).name} {' '.join(sys.argv[1:])}".strip()
    return f"{gpu}; Python {platform.python_version()}; {today}; `{command}`"


if __name__ == "__main__":
    main()
