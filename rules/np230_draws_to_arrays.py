"""Draw a loop's random numbers as one array, and write the loop as array statements.

Why it is slow: every number is drawn by a call of its own, boxed, and used by the interpreter; a
generator fills an array hundreds of times as fast, and array statements use it as a whole.
Why it may differ: it does not. The same generator gives the same numbers in the same order, and is
left in the same state; loops that draw under a condition, or may end early, are left alone.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.draws_array import read_from_arrays
from gpuadvise.codegen.draws_find import Stop, find_draws
from gpuadvise.codegen.numpy_backend import emit_drawn
from gpuadvise.names import import_edit

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
import random


def circle(n):
    random.seed(n)
    inside = 0
    for _ in range(n):
        x = random.random()
        y = random.random()
        if x * x + y * y <= 1.0:
            inside += 1
    return 4.0 * inside / n, random.random()
""",
        inputs="args = (500,)",
        function="circle",
        contains=("random_sample((n, 2))", "count_nonzero"),
    ),
    Rewrites(
        before="""\
def noisy(signal, rng):
    out = [0.0] * len(signal)
    for i in range(len(signal)):
        out[i] = signal[i] + rng.normal(0.0, 0.1)
    return out
""",
        inputs="args = (rng.random(300).tolist(), np.random.default_rng(4))",
        function="noisy",
        contains=("rng.normal(0.0, 0.1, size=",),
    ),
    Rewrites(
        before="""\
import numpy as np


def hits(n, m):
    np.random.seed(n)
    total = 0
    for i in range(n):
        for j in range(m):
            if np.random.rand() < 0.25:
                total += 1
    return total
""",
        inputs="args = (40, 50)",
        function="hits",
        contains=("np.random.rand(n, m)",),
    ),
    Ignores(
        before="""\
import random


def first(n):
    for i in range(n):
        if random.random() > 0.99:
            return i
    return -1
""",
        inputs="args = (500,)",
        function="first",
        because="the loop ends when a number says so: those after it are not drawn",
        reason="may end",
    ),
    Ignores(
        before="""\
import random


def steps(n):
    x = 0.0
    for i in range(n):
        if x < 1.0:
            x += random.random()
        else:
            x -= 1.0
    return x
""",
        inputs="args = (500,)",
        function="steps",
        because="not every iteration draws",
        reason="depends on the data",
    ),
    Ignores(
        before="""\
def widening(n, rng):
    total = 0.0
    for i in range(n):
        total += rng.normal(0.0, i)
    return total
""",
        inputs="args = (300, np.random.default_rng(1))",
        function="widening",
        because="each number is drawn from a distribution of its own",
        reason="changes in the loop",
    ),
)


@rule(needs={"numpy"}, cases=CASES)
def draws_to_arrays(region: Region) -> Match | Refusal | None:
    """Lower the loop with arrays in place of the draws, and hand it to the NumPy back end."""
    draws = find_draws(region)
    if draws is None or isinstance(draws, Refusal):
        return draws
    above = region.loop.lineno if region.function is None else None
    np, _ = import_edit(region.source, "numpy", "np", above=above)
    try:
        return emit_drawn(region, read_from_arrays(region, draws, np))
    except Stop as stop:
        return Refusal(stop.reason, stop.line)
