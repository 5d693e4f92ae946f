"""Measures the ceilings of the CPU, in a process of its own: ``python -m gpuadvise.roofline.cpu``.

The number of threads is set by environment variables that libraries read when they are loaded, so
that one core and all cores are two processes. Prints one line of JSON:
``{"bandwidth": {method: [bytes/s, ..]}, "float32": {method: [flop/s, ..]}, "float64": ..}``.

Copy bandwidth counts the bytes read and the bytes written, 2 n for n bytes copied, as STREAM does;
what the cache reads to fill a line before it is written comes on top and is not counted. The peak
is the better of a BLAS matrix product (2 n**3 operations) and a loop of multiply-adds on
accumulators that do not depend on one another (2 operations each).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that set the number of threads; `environment` sets all of them."""
REPEATS = 7
COPIED = 256 << 20
"""Bytes of each of the two arrays, unless memory is short: far beyond the caches."""
MATRIX = {"float32": 1536, "float64": 1024}
CHAINS = 256
"""Accumulators of the loop of multiply-adds: more than latency times width times units."""
STEPS = 400_000


def environment(threads: int) -> dict[str, str]:
    """What limits the libraries to so many threads."""
    return dict.fromkeys(THREADS, str(threads))


def rates(work: float, run: Callable[[], Any]) -> list[float]:
    """``work`` per second of each of `REPEATS` calls, after one that is not timed."""
    run()
    found = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        found.append(work / (time.perf_counter() - start))
    return found


def measure(threads: int, copied: int = COPIED) -> dict[str, dict[str, list[float]]]:
    """All ceilings with so many threads; ``copied``: bytes of the arrays that are copied."""
    import numpy as np

    source = np.ones(copied // 8)
    target = np.zeros_like(source)
    bandwidth = {"numpy.copyto": rates(2 * copied, lambda: np.copyto(target, source))}
    loops = _compiled(threads)
    if loops is not None:
        copy, chain = loops
        bandwidth["compiled loop"] = rates(2 * copied, lambda: copy(target, source))
    found = {"bandwidth": bandwidth}
    for dtype, n in MATRIX.items():
        left = np.full((n, n), 0.5, dtype)
        product = np.empty_like(left)
        flops = {"matrix product": rates(2.0 * n**3, lambda: np.dot(left, left, out=product))}  # noqa: B023
        if loops is not None:
            sums = np.zeros((threads, CHAINS), dtype)
            half, one = np.full(1, 0.5, dtype), np.ones(1, dtype)
            work = 2.0 * threads * CHAINS * STEPS
            flops["multiply-adds"] = rates(work, lambda: chain(sums, half, one, STEPS))  # noqa: B023
        found[dtype] = flops
    return found


def _compiled(threads: int) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The loops that need numba; None without it."""
    try:
        import numba
    except ImportError:
        return None
    parallel = threads > 1

    @numba.njit(parallel=parallel)
    def copy(target: Any, source: Any) -> None:
        for i in numba.prange(target.size):
            target[i] = source[i]

    @numba.njit(parallel=parallel, fastmath={"contract"})
    def chain(sums: Any, factors: Any, terms: Any, steps: int) -> None:
        for thread in numba.prange(sums.shape[0]):
            mine = sums[thread]
            factor, term = factors[0], terms[0]
            for _ in range(steps):
                for k in range(mine.size):
                    mine[k] = mine[k] * factor + term

    return copy, chain


def main() -> None:
    """One line of JSON on standard output."""
    threads = int(sys.argv[1])
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    json.dump(measure(threads, min(COPIED, free // 8)), sys.stdout)


if __name__ == "__main__":
    main()
