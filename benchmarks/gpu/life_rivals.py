"""The Game of Life on a torus by hand, in the ways that experienced people write it for a GPU.

The rivals of what the tool writes for ``targets/life_naive.py``: microseconds a step with all data
on the device, median of runs that are each synchronised once. Every rival is compared with NumPy on
one random board first.

Usage: python benchmarks/gpu/life_rivals.py [SIZE ..]
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from types import ModuleType

import cupy as cp
import numba
import numpy as np
from numba import cuda
from numba.core.errors import NumbaPerformanceWarning

import gpuadvise.targets
from gpuadvise.cases import region_for
from gpuadvise.codegen.cuda_backend import loops_on_gpu
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

Step = Callable[[], None]
Rival = Callable[[np.ndarray], tuple[Step, Callable[[], np.ndarray]]]
"""From a board of zeros and ones: one step, and the board after the steps made."""

SIZES = (100, 250, 500, 1000, 2000, 4000, 8000)
SOURCE = r"""
extern "C" __global__ void life(const unsigned char* a, unsigned char* b, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int up = (i == 0 ? n : i) - 1, down = i == n - 1 ? 0 : i + 1;
    int left = (j == 0 ? n : j) - 1, right = j == n - 1 ? 0 : j + 1;
    size_t r = (size_t)i * n, u = (size_t)up * n, d = (size_t)down * n;
    int c = a[u + left] + a[u + j] + a[u + right] + a[r + left] + a[r + right]
          + a[d + left] + a[d + j] + a[d + right];
    b[r + j] = c == 3 || (c == 2 && a[r + j]);
}
extern "C" __global__ void life4(const unsigned char* a, unsigned char* b, int n) {
    int j = 4 * (blockIdx.x * blockDim.x + threadIdx.x), i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int left = (j == 0 ? n : j) - 1, right = j + 4 == n ? 0 : j + 4;
    size_t rows[3] = {(size_t)((i == 0 ? n : i) - 1) * n, (size_t)i * n,
                      (size_t)(i == n - 1 ? 0 : i + 1) * n};
    int sums[6] = {0, 0, 0, 0, 0, 0};
    uchar4 own;
    for (int k = 0; k < 3; k++) {
        uchar4 v = *(const uchar4*)(a + rows[k] + j);
        sums[0] += a[rows[k] + left]; sums[1] += v.x; sums[2] += v.y; sums[3] += v.z;
        sums[4] += v.w; sums[5] += a[rows[k] + right];
        if (k == 1) own = v;
    }
    int c0 = sums[0] + sums[1] + sums[2] - own.x, c1 = sums[1] + sums[2] + sums[3] - own.y;
    int c2 = sums[2] + sums[3] + sums[4] - own.z, c3 = sums[3] + sums[4] + sums[5] - own.w;
    *(uchar4*)(b + rows[1] + j) = make_uchar4(
        c0 == 3 || (c0 == 2 && own.x), c1 == 3 || (c1 == 2 && own.y),
        c2 == 3 || (c2 == 2 && own.z), c3 == 3 || (c3 == 2 && own.w));
}
"""


def reference(board: np.ndarray, steps: int) -> np.ndarray:
    """The board after some steps, by NumPy's roll."""
    for _ in range(steps):
        shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        count = sum(np.roll(board, shift, (0, 1)) for shift in shifts)
        board = ((count == 3) | ((count == 2) & (board == 1))).astype(board.dtype)
    return board


@cuda.jit
def numba_kernel(a, b):  # type: ignore[no-untyped-def]
    """One thread a cell."""
    j, i = cuda.grid(2)
    n, m = a.shape
    if i >= n or j >= m:
        return
    up, down = (i - 1 if i > 0 else n - 1), (i + 1 if i < n - 1 else 0)
    left, right = (j - 1 if j > 0 else m - 1), (j + 1 if j < m - 1 else 0)
    count = a[up, left] + a[up, j] + a[up, right] + a[i, left] + a[i, right]
    count += a[down, left] + a[down, j] + a[down, right]
    b[i, j] = count == 3 or (count == 2 and a[i, j] == 1)


@numba.njit(parallel=True)
def cpu_step(a, b):  # type: ignore[no-untyped-def]
    """Rows in threads, the same indices."""
    n, m = a.shape
    for i in numba.prange(n):
        up, down = (i - 1 if i > 0 else n - 1), (i + 1 if i < n - 1 else 0)
        for j in range(m):
            left, right = (j - 1 if j > 0 else m - 1), (j + 1 if j < m - 1 else 0)
            count = a[up, left] + a[up, j] + a[up, right] + a[i, left] + a[i, right]
            count += a[down, left] + a[down, j] + a[down, right]
            b[i, j] = count == 3 or (count == 2 and a[i, j] == 1)


def by_numba_cuda(board: np.ndarray) -> tuple[Step, Callable[[], np.ndarray]]:
    """A numba.cuda kernel on uint8 boards that take turns."""
    boards = [cuda.to_device(board.astype(np.uint8)), cuda.to_device(board.astype(np.uint8))]
    n = len(board)
    kernel = numba_kernel[((n + 31) // 32, (n + 7) // 8), (32, 8)]

    def step() -> None:
        kernel(boards[0], boards[1])
        boards.reverse()

    return step, lambda: boards[0].copy_to_host()


def by_raw_kernel(board: np.ndarray, cells: int = 1) -> tuple[Step, Callable[[], np.ndarray]]:
    """CUDA C through CuPy."""
    boards = [cp.asarray(board.astype(np.uint8)), cp.asarray(board.astype(np.uint8))]
    n = len(board)
    kernel = cp.RawKernel(SOURCE, "life" if cells == 1 else "life4")
    grid = ((n // cells + 31) // 32, (n + 7) // 8)
    size = np.int32(n)

    def step() -> None:
        kernel(grid, (32, 8), (boards[0], boards[1], size))
        boards.reverse()

    return step, lambda: boards[0].get()


def by_four_cells(board: np.ndarray) -> tuple[Step, Callable[[], np.ndarray]]:
    """The same, four cells a thread: sizes that four divides."""
    return by_raw_kernel(board, 4)


def by_graph(board: np.ndarray) -> tuple[Step, Callable[[], np.ndarray]]:
    """Two launches of the raw kernel as a CUDA graph, replayed at every second step."""
    one, two = cp.asarray(board.astype(np.uint8)), cp.asarray(board.astype(np.uint8))
    n = len(board)
    kernel = cp.RawKernel(SOURCE, "life")
    kernel.compile()
    grid, size = ((n + 31) // 32, (n + 7) // 8), np.int32(n)
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.get_current_stream().synchronize()
    with stream:
        stream.begin_capture()
        kernel(grid, (32, 8), (one, two, size))
        kernel(grid, (32, 8), (two, one, size))
        graph = stream.end_capture()
    made = [0]

    def step() -> None:
        made[0] += 1
        if made[0] % 2:
            graph.launch(stream)

    return step, lambda: one.get()


def by_cupy_padded(board: np.ndarray) -> tuple[Step, Callable[[], np.ndarray]]:
    """CuPy on slices of a board with a border, buffers made once."""
    a = cp.asarray(np.pad(board.astype(np.uint8), 1, mode="wrap"))
    count, work = cp.empty(board.shape, cp.uint8), cp.empty(board.shape, cp.uint8)
    alive = cp.empty(board.shape, cp.bool_)

    def step() -> None:
        cp.add(a[:-2, :-2], a[:-2, 1:-1], out=count)
        for other in (a[:-2, 2:], a[1:-1, :-2], a[1:-1, 2:], a[2:, :-2], a[2:, 1:-1], a[2:, 2:]):
            cp.add(count, other, out=count)
        cp.bitwise_or(count, a[1:-1, 1:-1], out=work)  # 3, or 2 beside a live cell
        cp.equal(work, 3, out=alive)
        a[1:-1, 1:-1] = alive
        a[0], a[-1] = a[-2], a[1]
        a[:, 0], a[:, -1] = a[:, -2], a[:, 1]

    return step, lambda: a[1:-1, 1:-1].get()


def by_cpu_threads(board: np.ndarray) -> tuple[Step, Callable[[], np.ndarray]]:
    """numba on the CPU, in threads."""
    boards = [board.astype(np.uint8), board.astype(np.uint8)]

    def step() -> None:
        cpu_step(boards[0], boards[1])
        boards.reverse()

    return step, lambda: boards[0].copy()


@cache
def written() -> ModuleType:
    """``targets/life_naive.py`` as the tool rewrites it, but for the boards that it keeps."""
    text = (Path(gpuadvise.targets.__file__).parent / "life_naive.py").read_text()
    for kept in ("    history = [state]\n", "        history.append(state)\n"):
        text = text.replace(kept, "")
    text = text.replace("return history", "return state")
    board = (np.random.default_rng(0).random((9, 9)) < 0.3) + 0
    match = loops_on_gpu(region := region_for(text, "simulate", (board, 2000)))
    assert isinstance(match, Match), match
    folder = Path(tempfile.mkdtemp())
    (folder / "life_written.py").write_bytes(apply_edits(region.source, match.edits))
    sys.path.insert(0, str(folder))
    return importlib.import_module("life_written")


def by_tool(board: np.ndarray) -> tuple[Step, Callable[[], np.ndarray]]:
    """The kernel of the rewritten program, launched as it launches it: on int8 for 0 and 1."""
    boards = [cuda.to_device(board.astype(np.int8)) for _ in range(2)]
    rows, cols = board.shape
    grid = max(1, (cols + 31) // 32), max(1, (rows + 7) // 8)
    kernel = written()._life_step_naive_kernel[grid, (32, 8)]

    def step() -> None:
        kernel(boards[0], boards[1])
        boards.reverse()

    return step, lambda: boards[0].copy_to_host()


def loop_of_tool(board: np.ndarray) -> float:
    """Microseconds a step of the rewritten time loop, which replays its steps as a CUDA graph.

    What further steps take beyond the first 1200: copies and recording are in both.
    """
    run = written()._simulate_on_gpu  # of the steps and the board
    wide = board.astype(int)

    def seconds(steps: int) -> float:
        began = time.perf_counter()
        run(steps, wide)
        return time.perf_counter() - began

    seconds(1200)
    more = 6000 if board.size < 2**22 else 600
    few, many = (median(seconds(1200 + k) for _ in range(3)) for k in (0, more))
    return 1e6 * (many - few) / more


RIVALS: dict[str, Rival] = {
    "njit parallel": by_cpu_threads,
    "CuPy padded": by_cupy_padded,
    "the tool's kernel": by_tool,
    "numba.cuda": by_numba_cuda,
    "RawKernel": by_raw_kernel,
    "RawKernel, 4 cells": by_four_cells,
    "graph of RawKernel": by_graph,
}


def synchronise() -> None:
    """Wait for the device."""
    cuda.synchronize()


def microseconds(step: Step, budget: float = 0.15) -> Iterator[float]:
    """Time a step, in runs of many steps that end with a synchronisation."""
    for _ in range(4):
        step()
    synchronise()
    began = time.perf_counter()
    for _ in range(4):
        step()
    synchronise()
    once = (time.perf_counter() - began) / 4
    count = max(4, min(2000, int(budget / 5 / max(once, 1e-7)))) // 2 * 2
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(count):
            step()
        synchronise()
        yield (time.perf_counter() - began) / count * 1e6


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or list(SIZES)
    warnings.simplefilter("ignore", NumbaPerformanceWarning)  # of small grids
    rng = np.random.default_rng(1)
    small = (rng.random((64, 64)) < 0.3).astype(int)
    for name, rival in RIVALS.items():
        step, result = rival(small)
        for _ in range(6):
            step()
        synchronise()
        assert np.array_equal(result(), reference(small, 6)), name
    print("us a step".ljust(20), *(f"{n:>9}" for n in sizes))
    for name, rival in RIVALS.items():
        row = []
        for n in sizes:
            if n % 4 and rival is by_four_cells:
                row.append(f"{'-':>9}")
                continue
            step, _ = rival((rng.random((n, n)) < 0.3).astype(np.uint8))
            row.append(f"{median(microseconds(step)):9.1f}")
            del step
        print(name.ljust(20), *row, flush=True)
    boards = ((rng.random((n, n)) < 0.3).astype(np.uint8) for n in sizes)
    print("the tool's loop".ljust(20), *(f"{loop_of_tool(b):9.1f}" for b in boards), flush=True)


if __name__ == "__main__":
    main()
