"""The PolyBench array kernels as NC410 rewrites them, on a GPU: equal to the loops, and how fast.

For every loop nest that becomes CUDA kernels: the function with that nest rewritten is compared
with the original on small data, then timed at a larger size beside the function as the CPU back
ends write it (all copies included, medians of three after a first call).

Usage: python benchmarks/gpu/kernels_on_gpu.py [SIZE [NAME ..]]   (SIZE 0: compare only)
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np
from loops_to_cuda import load, threads

import gpuadvise.targets.kernels.arrays as arrays
from gpuadvise.cases import chains_for
from gpuadvise.codegen.cuda_backend import nest_on_gpu
from gpuadvise.model import Match, Region
from gpuadvise.patch import apply_edits

SMALL = 14


def rewrites(text: str, name: str, args: tuple[Any, ...]) -> Iterator[tuple[Region, str]]:
    """The outermost nest of each chain that becomes kernels, with the new text."""
    for chain in chains_for(text, name, args):
        for region in chain:
            answer = nest_on_gpu(region)
            if isinstance(answer, Match):
                yield region, apply_edits(region.source, answer.edits).decode()
                break


def on_cpu(text: str, name: str, args: tuple[Any, ...], line: int) -> str | None:
    """The same nest by the CPU back ends."""
    for chain in chains_for(text, name, args):
        for region in chain:
            if region.loop.lineno == line:
                answer = threads(region)
                if isinstance(answer, Match):
                    return apply_edits(region.source, answer.edits).decode()
    return None


def same(one: Any, two: Any) -> bool:
    """Whether results are equal, bit for bit."""
    pairs = zip(one, two, strict=True) if isinstance(one, tuple) else [(one, two)]
    return all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in pairs)


def seconds(module: ModuleType, function: str, size: int) -> float:
    """Median of three calls after a first one."""
    call = getattr(module, function)
    taken = []
    for _ in range(4):
        given = module.data(size)
        began = time.perf_counter()
        call(*given)
        taken.append(time.perf_counter() - began)
    return median(taken[1:])


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    wanted = sys.argv[2:]
    equal = nests = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(Path(next(iter(arrays.__path__))).glob("[a-z]*.py")):
            name = path.stem
            if wanted and name not in wanted:
                continue
            text = path.read_text()
            original = importlib.import_module(f"gpuadvise.targets.kernels.arrays.{name}")
            expected = getattr(original, name)(*original.data(SMALL))
            for region, new in rewrites(text, name, original.data(SMALL)):
                line = region.loop.lineno
                module = load(new, f"{name}_{line}_cuda", Path(folder))
                found = getattr(module, name)(*module.data(SMALL))
                nests += 1
                equal += same(expected, found)
                told = "equal" if same(expected, found) else "DIFFERENT"
                cpu = on_cpu(text, name, original.data(SMALL), line) if size else None
                if size and cpu is not None and region.depth == 0:
                    other = load(cpu, f"{name}_{line}_cpu", Path(folder))
                    gpu_s, cpu_s = seconds(module, name, size), seconds(other, name, size)
                    told += f"  n = {size}: cuda {gpu_s * 1e3:.2f} ms, cpu {cpu_s * 1e3:.2f} ms"
                print(f"{name:16} line {line:3}: {told}", flush=True)
    print(f"{equal} of {nests} nests equal; numpy {np.__version__}")


if __name__ == "__main__":
    main()
