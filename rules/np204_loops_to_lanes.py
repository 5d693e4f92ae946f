"""Compute what many iterations need, each for itself, side by side in NumPy arrays.

Why it is slow: the interpreter runs every step of every inner loop on single numbers: an escape
time, a trial division, a root by Newton's method.
Why it may differ: it does not. Each iteration does the same operations in the same order, only
those that are still running, and the loop itself takes the values one after the other. Where
Python would raise, or an integer might need more than 64 bits, the loop runs as it was.
"""

from __future__ import annotations

from gpuadvise.api import Ignores, Match, Refusal, Region, Rewrites, rule
from gpuadvise.codegen.restated.as_lanes import emit_lanes_restated

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def chain_length(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def histogram(limit):
    counts = [0] * 500
    longest = 0
    for i in range(1, limit):
        length = chain_length(i)
        counts[length] += 1
        if length > longest:
            longest = length
    return longest, counts
""",
        inputs="args = (600,)",
        function="histogram",
        contains=("length = next(chain_lengths)", "active, n = active[stay], n[stay]", "2**60"),
    ),
    Rewrites(
        before="""\
import numpy as np


def mandelbrot(height, width, most):
    image = np.zeros((height, width), dtype=int)
    for row in range(height):
        y0 = -1.5 + 3.0 * row / height
        for column in range(width):
            x0 = -2.0 + 3.0 * column / width
            x = y = 0.0
            n = 0
            while n < most and x * x + y * y <= 4.0:
                x, y = x * x - y * y + x0, 2.0 * x * y + y0
                n += 1
            image[row, column] = n
    return image
""",
        inputs="args = (24, 31, 40)",
        function="mandelbrot",
        contains=("n = next(ns)", "np.unravel_index"),
    ),
    Rewrites(
        before="""\
def cube_root(a):
    x = a
    for _ in range(60):
        new = x - (x * x * x - a) / (3.0 * x * x)
        if abs(new - x) < 1e-12:
            break
        x = new
    return x


def roots(values):
    found = []
    for a in values:
        found.append(cube_root(a))
    return found
""",
        inputs="args = ((1.0 + 9.0 * rng.random(300)).tolist(),)",
        function="roots",
        contains=('divide="raise"', "found.append(next(cube_roots))"),
    ),
    Rewrites(
        before="""\
import math


class Comet:
    def __init__(self, e, q):
        self.e = e
        self.q = q


def anomaly(mean, e):
    E = mean if e < 0.8 else math.pi
    for _ in range(100):
        delta = (E - e * math.sin(E) - mean) / (1.0 - e * math.cos(E))
        E -= delta
        if abs(delta) < 1e-12:
            break
    return E


def distances(comets, days):
    for day in range(days):
        for comet in comets:
            E = anomaly(0.01 * day, comet.e)
            if day == days - 1:
                print(comet.q / (1.0 - comet.e) * (1.0 - comet.e * math.cos(E)))
""",
        inputs="args = ([Comet(e, 1.0 + e) for e in (0.9 * rng.random(20)).tolist()], 20)",
        function="distances",
        contains=("comets_e = [", "E = next(anomalys)"),
    ),
    Ignores(
        before="""\
def escape(c, limit):
    x = 0.0
    n = 0
    while n < limit and x < 4.0:
        x = x * x + c
        n += 1
    return n


def walk(starts, limit):
    c = 0.25
    total = 0
    for start in starts:
        n = escape(c, limit)
        total += n
        c = start + 0.01 * n
    return total
""",
        inputs="args = (rng.random(300).tolist(), 50)",
        function="walk",
        because="where an iteration starts hangs on the result of the one before",
        reason="needs the c of the one before",
    ),
    Ignores(
        before="""\
def smallest_factor(n):
    d = 2
    while d * d <= n:
        if n % d == 0:
            return d
        d += 1
    return n


def first_prime_above(numbers):
    for n in numbers:
        if smallest_factor(n) == n:
            break
    return n
""",
        inputs="args = (list(range(1000, 1300)),)",
        function="first_prime_above",
        because="most of the numbers are never looked at",
        reason="may end before its last iteration",
    ),
    Ignores(
        before="""\
def settle(x, table):
    for k in range(50):
        table[k] += x
        x = 0.5 * x + table[k]
        if x < 1e-3:
            return k
    return 50


def run(values, table):
    total = 0
    for x in values:
        count = settle(x, table)
        total += count
    return total
""",
        inputs="args = (rng.random(300).tolist(), [0.0] * 50)",
        function="run",
        because="every call changes the table that the next one reads",
        reason="change on the way",
    ),
    Ignores(
        before="""\
def halvings(x, trace):
    n = 0
    while x > 1.0:
        x = 0.5 * x
        trace.append(x)
        n += 1
    return n


def run(values, trace):
    total = 0
    for x in values:
        n = halvings(x, trace)
        total += n
    return total
""",
        inputs="args = ((9.0 * rng.random(300)).tolist(), [0.5])",
        function="run",
        because="the list has the steps of all calls, one call after the other",
        reason="appends to",
    ),
)


@rule(needs={"numpy"}, cases=CASES, comprehensions=True)
def loops_to_lanes(region: Region) -> Match | Refusal | None:
    """Take what the iterations compute for themselves out of the loop."""
    return emit_lanes_restated(region)
