"""What the numba.cuda back end writes, on a GPU: equal to the loops, and how fast.

Each program's hot function is rewritten by NC410 and by the CPU back ends, from observations on
small data. First the results are compared with the loops themselves on that data, then whole calls
are timed (copies to and from the device included), each in turn, and the median is shown.

Usage: python benchmarks/gpu/loops_to_cuda.py [NAME ..]
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

from gpuadvise.cases import chain_for
from gpuadvise.codegen.cuda_backend import loops_on_gpu
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Match, Refusal, Region
from gpuadvise.patch import apply_edits

Arguments = Callable[[int], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """A function with hot loops, and its data at a size."""

    name: str
    function: str
    text: str
    arguments: Arguments
    small: int
    sizes: tuple[int, ...]


def rng() -> np.random.Generator:
    """The same numbers each time."""
    return np.random.default_rng(5)


LIFE = """\
import numpy as np


def run(state, steps):
    rows, cols = state.shape
    other = np.zeros((rows, cols), dtype=state.dtype)
    for step in range(steps):
        for i in range(rows):
            for j in range(cols):
                alive = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di == 0 and dj == 0:
                            continue
                        alive += state[(i + di) % rows, (j + dj) % cols]
                if alive == 3 or (alive == 2 and state[i, j] == 1):
                    other[i, j] = 1
                else:
                    other[i, j] = 0
        for i in range(rows):
            for j in range(cols):
                state[i, j] = other[i, j]
    return state
"""
HEAT = """\
def run(u, new, r, steps):
    n, m = u.shape
    for step in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                laplacian = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                new[i, j] = u[i, j] + r * laplacian
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = new[i, j]
    return u
"""
MANDELBROT = """\
import numpy as np


def escape_time(cr, ci, limit):
    zr = 0.0
    zi = 0.0
    for n in range(limit):
        zr2 = zr * zr
        zi2 = zi * zi
        if zr2 + zi2 > 4.0:
            return n
        zi = 2.0 * zr * zi + ci
        zr = zr2 - zi2 + cr
    return limit


def run(size, limit):
    image = np.zeros((size, size), dtype=np.int32)
    dx = 2.6 / (size - 1)
    dy = 2.3 / (size - 1)
    for row in range(size):
        y = -1.15 + row * dy
        for col in range(size):
            x = -2.0 + col * dx
            image[row, col] = escape_time(x, y, limit)
    return image
"""
PAIRWISE = """\
import math

import numpy as np


def run(points):
    n, d = points.shape
    dist = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(d):
                diff = points[i, k] - points[j, k]
                s += diff * diff
            dist[i, j] = math.sqrt(s)
    return dist
"""
NBODY = """\
import numpy as np


def run(pos, vel, mass, dt, steps):
    n = len(mass)
    acc = np.zeros((n, 3))
    for step in range(steps):
        for i in range(n):
            ax = 0.0
            ay = 0.0
            az = 0.0
            for j in range(n):
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + 0.01
                inverse = 1.0 / (r2 * np.sqrt(r2))
                ax += mass[j] * dx * inverse
                ay += mass[j] * dy * inverse
                az += mass[j] * dz * inverse
            acc[i, 0] = ax
            acc[i, 1] = ay
            acc[i, 2] = az
        for i in range(n):
            for k in range(3):
                vel[i, k] += acc[i, k] * dt
                pos[i, k] += vel[i, k] * dt
    return pos
"""
MATMUL = """\
def run(A, B, C):
    n, m = C.shape
    p = A.shape[1]
    for i in range(n):
        for j in range(m):
            C[i, j] *= 0.5
        for k in range(p):
            for j in range(m):
                C[i, j] += 1.5 * A[i, k] * B[k, j]
    return C
"""
PROGRAMS = (
    Program(
        "life",
        "run",
        LIFE,
        lambda n: ((rng().random((n, n)) < 0.3).astype(int), 20),
        20,
        (100, 1000, 4000),
    ),
    Program(
        "heat",
        "run",
        HEAT,
        lambda n: (rng().random((n, n)), np.zeros((n, n)), 0.2, 20),
        20,
        (100, 1000, 4000),
    ),
    Program("mandelbrot", "run", MANDELBROT, lambda n: (n, 300), 30, (200, 1000, 4000)),
    Program("pairwise", "run", PAIRWISE, lambda n: (rng().random((n, 3)),), 30, (500, 2000, 8000)),
    Program(
        "nbody",
        "run",
        NBODY,
        lambda n: (rng().random((n, 3)), np.zeros((n, 3)), rng().random(n), 0.01, 5),
        16,
        (200, 2000, 8000),
    ),
    Program(
        "matmul",
        "run",
        MATMUL,
        lambda n: (rng().random((n, n)), rng().random((n, n)), rng().random((n, n))),
        16,
        (200, 1000, 2000),
    ),
)


def load(text: str, name: str, folder: Path) -> ModuleType:
    """The text as a module: numba looks its source up."""
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rewritten(program: Program, rule: Callable[[Region], Match | Refusal]) -> str | None:
    """The program's text after a rule, by the first loop from outside that it takes."""
    for region in chain_for(program.text, program.function, program.arguments(program.small)):
        answer = rule(region)
        if isinstance(answer, Match):
            return apply_edits(region.source, answer.edits).decode()
        print(f"  {program.name}: {answer.reason}")
    return None


def threads(region: Region) -> Match | Refusal:
    """The loops in CPU threads, else in one."""
    answer = emit(region, parallel=True)
    return answer if isinstance(answer, Match) else emit(region, parallel=False)


def seconds(call: Callable[..., Any], arguments: Arguments, size: int, repeats: int = 3) -> float:
    """Median wall seconds of a call on fresh data, after one that compiles."""
    call(*arguments(size))
    taken = []
    for _ in range(repeats):
        given = arguments(size)
        began = time.perf_counter()
        call(*given)
        taken.append(time.perf_counter() - began)
    return median(taken)


def deviation(one: Any, two: Any) -> str:
    """Whether two arrays are equal, else by how much they differ."""
    if one.dtype == two.dtype and one.tobytes() == two.tobytes():
        return "bit-equal"
    size = np.max(np.abs(one.astype(float) - two.astype(float)))
    return f"DIFFERS by {size:.2g} (largest {np.max(np.abs(one)):.2g})"


def main() -> None:
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program in PROGRAMS:
            if wanted and program.name not in wanted:
                continue
            given = program.arguments(program.small)
            expected = load(program.text, f"{program.name}_loops", folder).run(*given)
            calls = {}
            for kind, rule in (("cuda", loops_on_gpu), ("cpu", threads)):
                text = rewritten(program, rule)
                if text is None:
                    continue
                calls[kind] = load(text, f"{program.name}_{kind}", folder).run
                began = time.perf_counter()
                result = calls[kind](*program.arguments(program.small))
                first = time.perf_counter() - began
                said = deviation(expected, result)
                print(f"{program.name:12}{kind:6}{said}; first call {first:.2f} s", flush=True)
            for size in program.sizes:
                row = {k: seconds(call, program.arguments, size) for k, call in calls.items()}
                told = "  ".join(f"{kind} {s * 1e3:9.3f} ms" for kind, s in row.items())
                print(f"  {program.name:10} n = {size:5}: {told}", flush=True)


if __name__ == "__main__":
    main()
