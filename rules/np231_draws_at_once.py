"""Draw all the random numbers of a loop before it, at once.

Why it is slow: each call of a NumPy generator costs about a microsecond for one number, and a few
nanoseconds a number where many are asked for.
Why it may differ: it does not. The same generator gives the same numbers in the same order, and is
left in the same state, also where the loop raises half-way; loops that draw under a condition or
may end early are left alone.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.draws_array import read_from_arrays
from gpuadvise.codegen.draws_find import Stop, find_draws
from gpuadvise.codegen.numpy_backend.split import emit_split
from gpuadvise.names import import_edit

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import numpy as np


def drift(n):
    rng = np.random.default_rng(3)
    level = 0.0
    path = np.zeros(n)
    for i in range(n):
        level = 0.99 * level + rng.normal(0.0, 0.1)
        path[i] = level
    return path, rng
""",
        inputs="args = (400,)",
        function="drift",
        contains=("iter(rng.normal(0.0, 0.1, size=n).tolist())", "next(draws)"),
    ),
    Rewrites(
        before="""\
import numpy as np


def walk(n):
    np.random.seed(8)
    x = 0
    seen = []
    for _ in range(n):
        x += 2 * np.random.randint(0, 2) - 1
        seen.append(x)
    return seen, np.random.rand()
""",
        inputs="args = (400,)",
        function="walk",
        contains=("np.random.randint(0, 2, size=n)",),
    ),
    Ignores(
        before="""\
import numpy as np


def until(n, limit, rng):
    x = 0.0
    for i in range(n):
        x += rng.normal()
        if x > limit:
            break
    return x
""",
        inputs="args = (400, 5.0, np.random.default_rng(3))",
        function="until",
        because="the numbers after the last step are not drawn",
        reason="end early",
    ),
    Ignores(
        before="""\
def shaken(x, rng):
    return x + rng.normal()


def mixed(n, rng):
    x = 0.0
    for i in range(n):
        x = shaken(x, rng) * rng.normal()
    return x
""",
        inputs="args = (40, np.random.default_rng(3))",
        function="mixed",
        because="the function draws from the same generator, in between",
        reason="may draw",
    ),
)


@rule(needs={"numpy"}, cases=CASES)
def draws_at_once(region: Region) -> Match | Refusal | None:
    """Split the draws from the loop."""
    draws = find_draws(region)
    if draws is None or isinstance(draws, Refusal):
        return draws
    above = region.loop.lineno if region.function is None else None
    np, _ = import_edit(region.source, "numpy", "np", above=above)
    try:
        return emit_split(region, read_from_arrays(region, draws, np))
    except Stop as stop:
        return Refusal(stop.reason, stop.line)
