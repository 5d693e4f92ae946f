"""Loops that draw from Python's generators, the generator's own steps compiled along."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

HEAD = """\
import math
import random
from random import gauss


def path(steps, sigma):
    \"\"\"The mean of a path.\"\"\"
    price = 1.0
    total = 0.0
    for _ in range(steps):
        price *= math.exp(sigma * random.gauss(0.0, 1.0))  # one step
        total += price
        if price > 4.0:
            return total
    return total / steps


MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def wander(steps):
    x = y = 0
    for step in range(steps):
        dx, dy = random.choice(MOVES)
        x += dx * random.choice([1, 2])
        y += dy
        if x * x + y * y > 40:
            return step
    return steps


def dice(k):
    return sum_of(k) + random.randint(1, 6)


def sum_of(k):
    total = 0
    for _ in range(k):
        total += random.randrange(6)
    return total


"""
CASES = (
    Case(
        name="price",
        text=HEAD
        + """\
def price(n, steps, strike):
    payoffs = []
    for _ in range(n):
        payoffs.append(max(path(steps, 0.25) - strike, 0.0))
    return payoffs, random.random(), random.gauss(0.0, 1.0), random.getstate()
""",
        seen="(40, 9, 1.0)",
        others=("(0, 3, 1.0)", "(3, 0, 1.0)", "(3, 2, 1)", "(7, 3.0, 1.0)"),
        contains=("return path(steps, sigma)", "random.setstate(state_after)"),
    ),
    Case(
        name="rolls",
        text=HEAD
        + """\
def rolls(n, k, counts):
    for _ in range(n):
        counts[dice(k)] += 1
    return counts, random.getstate()
""",
        seen="(50, 3, [0] * 25)",
        others=("(20, 5, [0] * 9)", "(20, 2, [0.0] * 25)", "(0, 2, [])"),
        contains=("1 // 0", "return dice(k)"),
    ),
    Case(
        name="rejection",
        text=HEAD
        + """\
def rejection(n, xs, rng):
    tries = 0
    out = []
    for i in range(n):
        x = rng.uniform(-1, 1)
        while rng.random() > math.exp(-x * x):
            x = rng.normalvariate(0.0, 0.5)
            tries += 1
        if tries > 3 and x > 0:
            out.append(x)
        elif rng.expovariate(2.0) < 0.5:
            xs[rng.randrange(len(xs))] = rng.choice(xs) + rng.gauss(0, 1)
    return out, xs, tries, rng.random(), rng.getstate()
""",
        seen="(60, [1.5, 2.5, 3.5], random.Random(4))",
        others=("(9, [], random.Random(4))", "(9, [1, 2.5], random.Random(1))"),
        contains=("type(rng) is random.Random",),
    ),
    Case(
        name="walks",
        text=HEAD
        + """\
def walks(n, steps):
    home = far = 0
    for _ in range(n):
        x, y = 0, 0
        for _ in range(steps):
            dx, dy = random.choice(MOVES)
            x += dx + random.choice((-1, 1))
            y += dy if random.random() < 0.5 else -dy
        far = max(far, abs(x) + sum(random.randint(1, 6) for _ in range(2)))
        if x == 0 and random.random() < 0.5:
            home += 1
        elif y == 0 or random.random() < 0.25:
            home += 2
    return home, far, random.getstate()
""",
        seen="(40, 20)",
        others=("(0, 3)", "(3, 0)", "(3.0, 1)"),
        contains=("_choices = [-1, 1]",),
    ),
    Case(
        name="wanders",
        text=HEAD
        + """\
def wanders(n, steps):
    total = 0
    for _ in range(n):
        total += wander(steps)
    return total, random.getstate()
""",
        seen="(20, 30)",
        others=("(0, 3)", "(3, 0)", "(3.0, 1)"),
        contains=("return wander(steps)",),
    ),
    Case(
        name="permuted",
        sums_floats=True,
        text=HEAD
        + """\
def permuted(pool, k, n):
    above = 0
    for _ in range(n):
        random.shuffle(pool)
        left = sum(pool[:k]) / k
        drawn = [random.choice(pool) for _ in range(k)]
        if left - sum(pool[k:]) / (len(pool) - k) > 0.1 * max(drawn):
            above += 1
    return above, pool, random.getstate()
""",
        seen="([random.random() for _ in range(20)], 8, 50)",
        others=(
            "([1.0, 2.0, 3.0], 3, 4)",
            "([1.0, 2.0, 3.0], 5, 4)",
            "([1, 2, 3, 4], 2, 4)",
            "([], 1, 1)",
        ),
    ),
    Case(
        name="wide",
        text=HEAD
        + """\
def wide(n, most, rng):
    total = 0.0
    while n > 0:
        total += 0.5 * rng.randrange(most) - rng.randint(-most, most)
        n -= 1
    return total, rng.getstate()
""",
        seen="(30, 1000, random.Random(2))",
        others=(
            "(30, 2**32, random.Random(2))",
            "(30, 2**31, random.Random(2))",
            "(30, 2**90, random.Random(2))",
            "(30, 0, random.Random(2))",
            "(30, 1, random.Random(2))",
        ),
    ),
    Case(
        name="metropolis",
        text=HEAD
        + """\
def metropolis(grid, steps, weights):
    n = len(grid)
    flips = 0
    for _ in range(steps):
        i, j = random.randrange(n), random.randrange(n)
        cost = 2 * grid[i][j] * (grid[i - 1][j] + grid[i][j - 1])
        if cost <= 0 or random.random() < weights[cost]:
            grid[i][j] = -grid[i][j]
            flips += 1
    return flips, grid, random.getstate()
""",
        seen="([[1, -1, 1], [1, 1, 1], [-1, 1, 1]], 60, {d: math.exp(-d) for d in (-4, 0, 4)})",
        others=(
            "([[1, -1], [1, 1]], 9, {0: 0.5, 4: 0.25})",
            "([[1, 1], [1, 1]], 9, {0: 0.5})",
            "([[1, 1], [1, 1]], 9, {4: math.nan})",
            "([[1, 1], [1, 1]], 9, {4: 1})",
            "([[1, 1], [1, 1]], 9, {'a': 0.5})",
            "([[1, 1], [1, 1]], 9, {})",
            "([[50, 50], [50, 50]], 9, {10000: 0.5})",
            "([[1, 1], [1, 1]], 9, [0.5, 0.5, 0.5, 0.5, 0.25])",
        ),
        contains=("weights_table = np.array(", "type(weights) is dict", "raise KeyError(key)"),
    ),
    Case(
        name="kept",
        text=HEAD
        + """\
def kept(n):
    gauss(0, 1)
    total = 0.0
    while n > 0:
        total += gauss(1, 2)
        n -= 1
    return total, gauss(0, 1), gauss(0, 1), random.getstate()
""",
        seen="(30,)",
        others=("(0,)", "(1,)", "(31,)", "(2.0,)"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_numbers_and_the_same_state(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


LEFT_ALONE = (
    Case(
        name="sampled",
        text="""\
import random


def sampled(xs, n):
    total = 0.0
    for _ in range(n):
        total += random.sample(xs, 1)[0] * random.random()
    return total
""",
        seen="([1.0, 2.0, 3.0], 30)",
    ),
    Case(
        name="sometimes",
        text="""\
import random


def sometimes(n):
    total = 0.0
    while n > 0:
        total += random.gauss(0, 1) if n % 3 else 1.0
        n -= 1
    return total
""",
        seen="(30,)",
    ),
    Case(
        name="of_two",
        text="""\
import random


def of_two(n, one, other):
    total = 0.0
    while n > 0:
        total += one.random() * other.random()
        n -= 1
    return total
""",
        seen="(30, random.Random(1), random.Random(2))",
    ),
)


@pytest.mark.parametrize("case", LEFT_ALONE, ids=str)
def test_what_is_not_known_stays(case: Case, tmp_path: Path) -> None:
    assert isinstance(answer(case, tmp_path), Refusal)
