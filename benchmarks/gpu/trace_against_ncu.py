"""Kernels of one program as Nsight Compute counts and times them, and as the recorder does.

    python benchmarks/gpu/trace_against_ncu.py [--output FILE]

The program (below) launches kernels of four families: CuPy's own, a raw one, numba's, PyTorch's.
ncu runs without its clock and cache control, so that both see the device as it is. Needs an NVIDIA
GPU, ncu, CuPy, PyTorch, numba-cuda and cupti-python.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trace_overhead import header

from gpuadvise.cudatrace.traced import trace_run
from gpuadvise.model import Target
from gpuadvise.observe.sandbox import Sandbox

PROGRAM = '''\
import cupy as cp
import numpy as np
import torch
from numba import cuda


@cuda.jit
def triple(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 3.0


square = cp.RawKernel(
    """extern "C" __global__ void square(float* x, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) x[i] *= x[i];
}""",
    "square",
)
x = cp.ones(4_000_000, dtype=cp.float32)
for _ in range(20):
    x = x * 1.5 - 0.5
for _ in range(10):
    square((31250,), (128,), (x, np.int32(x.size)))
a = cuda.to_device(np.ones(4_000_000))
for _ in range(15):
    triple[31250, 128](a)
m = torch.ones(1024, 1024, device="cuda")
for _ in range(8):
    m = torch.tanh(m @ m)
torch.cuda.synchronize()
'''
FAMILIES = ("multiply", "subtract", "square", "triple", "gemm", "fill")
"""Words in the names of the kernels that are compared one by one; all are counted."""


@dataclass(frozen=True)
class Launch:
    """One kernel."""

    name: str
    nanoseconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "families.py"
        script.write_text(PROGRAM, encoding="utf-8")
        theirs, ours = by_ncu(script), by_recorder(script)
    lines = ["| kernel | n, ncu | n, ours | median ncu us | median ours us | ratio |"]
    lines.append("|---|---|---|---|---|---|")
    lines += [row(word, theirs, ours) for word in FAMILIES]
    lines.append(f"| all kernels | {len(theirs)} | {len(ours)} | | | |")
    text = f"{header()}\n\n" + "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")


def row(word: str, theirs: list[Launch], ours: list[Launch]) -> str:
    times = [[k.nanoseconds for k in found if word in k.name] for found in (theirs, ours)]
    if not all(times):
        return f"| {word} | {len(times[0])} | {len(times[1])} | | | |"
    a, b = (statistics.median(found) / 1000 for found in times)
    return f"| {word} | {len(times[0])} | {len(times[1])} | {a:.2f} | {b:.2f} | {b / a:.2f} |"


def by_ncu(script: Path) -> list[Launch]:
    """Every kernel with its duration. Raises CalledProcessError if ncu fails."""
    log = script.with_suffix(".csv")
    control = ["--clock-control", "none", "--cache-control", "none"]
    metric = ["--metrics", "gpu__time_duration.sum", "--csv", "--log-file", str(log)]
    subprocess.run(["ncu", *control, *metric, sys.executable, str(script)], check=True)
    lines = [n for n in log.read_text(encoding="utf-8").splitlines() if not n.startswith("==")]
    return [
        Launch(found["Kernel Name"], float(found["Metric Value"].replace(",", "")))
        for found in csv.DictReader(lines)
    ]


def by_recorder(script: Path) -> list[Launch]:
    """Every kernel with its duration. Raises SystemExit if nothing was recorded."""
    target = Target(script, (), None, script.parent, sys.executable)
    with Sandbox(target) as box:
        trace = trace_run(box, target).trace
    if trace is None:
        raise SystemExit("nothing was recorded")
    return [Launch(trace.name(k["name"]), float(k["end"] - k["start"])) for k in trace["kernels"]]


if __name__ == "__main__":
    main()
