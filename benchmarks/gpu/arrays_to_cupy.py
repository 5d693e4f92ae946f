"""What the CuPy back end writes, on a GPU: equal to NumPy, and how fast beside NumPy and by hand.

Each program's loop is rewritten by CP320 from observations on small data. Results are compared
bit for bit at every size; then calls of 20 passes are timed, in turn, copies to and from the device
included, and the median a pass is shown. "By hand" is CuPy as a colleague would write it, with the
arrays on the device, padded slices instead of rolls, and buffers allocated once.

Usage: python benchmarks/gpu/arrays_to_cupy.py [--sizes 250 1000 2000] [--output FILE]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

from gpuadvise.cases import region_for
from gpuadvise.codegen.cupy_backend import arrays_on_gpu
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

PASSES = 20

LIFE = """\
import numpy as np


def neighbours(g):
    return (
        np.roll(g, 1, axis=0) + np.roll(g, -1, axis=0)
        + np.roll(g, 1, axis=1) + np.roll(g, -1, axis=1)
        + np.roll(np.roll(g, 1, axis=0), 1, axis=1) + np.roll(np.roll(g, 1, axis=0), -1, axis=1)
        + np.roll(np.roll(g, -1, axis=0), 1, axis=1) + np.roll(np.roll(g, -1, axis=0), -1, axis=1)
    )


def f(grid, steps):
    for _ in range(steps):
        n = neighbours(grid)
        grid = np.where((n == 3) | ((grid == 1) & (n == 2)), 1, 0)
    return grid
"""
HEAT = """\
import numpy as np


def f(u, k, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u[0] = u[1]
        u[-1] = u[-2]
    return u
"""


def life_by_hand(grid: Any, steps: int) -> Any:
    """Padded ``uint8``, no array made in the loop."""
    import cupy as cp

    padded = cp.zeros((grid.shape[0] + 2, grid.shape[1] + 2), cp.uint8)
    inner = padded[1:-1, 1:-1]
    inner[...] = cp.asarray(grid)
    n, alive = cp.empty(grid.shape, cp.uint8), cp.empty(grid.shape, bool)
    for _ in range(steps):
        padded[0], padded[-1] = padded[-2], padded[1]
        padded[:, 0], padded[:, -1] = padded[:, -2], padded[:, 1]
        cp.add(padded[:-2, :-2], padded[:-2, 1:-1], out=n)
        for part in (padded[:-2, 2:], padded[1:-1, :-2], padded[1:-1, 2:]):
            cp.add(n, part, out=n)
        for part in (padded[2:, :-2], padded[2:, 1:-1], padded[2:, 2:]):
            cp.add(n, part, out=n)
        cp.equal(n | inner, 3, out=alive)
        inner[...] = alive
    return inner.get().astype(np.int64)


def heat_by_hand(u: Any, k: float, steps: int) -> Any:
    """Resident, with two work arrays."""
    import cupy as cp

    g = cp.asarray(u)
    total, inner = cp.empty((u.shape[0] - 2, u.shape[1] - 2)), g[1:-1, 1:-1]
    scaled = cp.empty_like(total)
    for _ in range(steps):
        cp.add(g[2:, 1:-1], g[:-2, 1:-1], out=total)
        cp.add(total, g[1:-1, 2:], out=total)
        cp.add(total, g[1:-1, :-2], out=total)
        cp.multiply(inner, 4, out=scaled)
        cp.subtract(total, scaled, out=total)
        cp.multiply(total, k, out=total)
        cp.add(inner, total, out=inner)
        g[0], g[-1] = g[1], g[-2]
    return g.get(out=u)


def life_data(n: int) -> tuple[Any, ...]:
    """A random board."""
    return ((np.random.default_rng(5).random((n, n)) < 0.3).astype(np.int64), PASSES)


def heat_data(n: int) -> tuple[Any, ...]:
    """A random plate."""
    return (np.random.default_rng(5).random((n, n)), 0.1, PASSES)


PROGRAMS: tuple[tuple[str, str, Callable[[int], tuple[Any, ...]], Callable[..., Any]], ...] = (
    ("life, rolled", LIFE, life_data, life_by_hand),
    ("heat, slices", HEAT, heat_data, heat_by_hand),
)


def module(text: str, name: str, folder: Path) -> ModuleType:
    """The text as a module."""
    made = ModuleType(name)
    (folder / f"{name}.py").write_text(text)
    exec(compile(text, str(folder / f"{name}.py"), "exec"), made.__dict__)
    return made


def main() -> None:
    """Print the table, and write it where ``--output`` says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 1000, 2000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        f"`python benchmarks/gpu/arrays_to_cupy.py --rounds {options.rounds}`, "
        f"{datetime.now(UTC):%Y-%m-%d}, {_machine()}. Microseconds a pass, medians of "
        f"{options.rounds} calls of {PASSES} passes, copies there and back included; first call of "
        "the rewritten loop in milliseconds.",
        "",
        "| program | N | equal | NumPy | rewritten | by hand | rewritten / by hand | first call |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, text, data, by_hand in PROGRAMS:
            region = region_for(text, "f", data(200))
            answer = arrays_on_gpu(region)
            assert isinstance(answer, Match), answer
            after = apply_edits(region.source, answer.edits).decode()
            old = module(text, "before", Path(folder))
            new = module(after, "after", Path(folder))
            for size in options.sizes:
                lines.append(_row(name, size, data, [old.f, new.f, by_hand], options.rounds))
                print(lines[-1], flush=True)
    print("\n".join(lines))
    if options.output:
        options.output.write_text("# NumPy loops as CuPy ones\n\n" + "\n".join(lines) + "\n")


def _row(
    name: str,
    size: int,
    data: Callable[[int], tuple[Any, ...]],
    functions: list[Callable[..., Any]],
    rounds: int,
) -> str:
    results, seconds = [], [[0.0] * 0 for _ in functions]
    first = 0.0
    for number, function in enumerate(functions):
        arguments = data(size)
        start = time.perf_counter()
        results.append(np.array(function(*arguments)))
        if number == 1:
            first = time.perf_counter() - start
    equal = all(np.array_equal(results[0], r) and r.dtype == results[0].dtype for r in results)
    for _ in range(rounds):
        for function, walls in zip(functions, seconds, strict=True):
            arguments = data(size)
            start = time.perf_counter()
            function(*arguments)
            walls.append(time.perf_counter() - start)
    numpy, new, hand = (median(walls) / PASSES * 1e6 for walls in seconds)
    return (
        f"| {name} | {size} | {'yes' if equal else 'NO'} | {numpy:.0f} | {new:.0f} | {hand:.0f} | "
        f"{new / hand:.2f} | {first * 1e3:.0f} |"
    )


def _machine() -> str:
    from gpuadvise.observe.machine import gpus

    names = ", ".join(str(getattr(gpu, "name", gpu)) for gpu in gpus()) or "no GPU"
    return f"{names}, Python {sys.version.split()[0]}"


if __name__ == "__main__":
    main()
