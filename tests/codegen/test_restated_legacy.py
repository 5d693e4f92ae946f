"""Loops that draw from ``numpy.random``, the generator's own steps compiled along."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

STATE = "np.random.get_state(legacy=False)['state']"
HEAD = """\
import math

import numpy as np

np.random.seed(11)


"""
CASES = (
    Case(
        name="sweep",
        text=HEAD
        + f"""\
def sweep(spins, n, beta):
    flips = 0
    for i in range(n):
        for j in range(n):
            a = np.random.randint(0, n)
            b = np.random.randint(n)
            s = spins[a, b]
            near = spins[(a + 1) % n, b] + spins[a, (b + 1) % n] + spins[a - 1, b] + spins[a, b - 1]
            cost = 2 * s * near
            if cost <= 0 or np.random.rand() < np.exp(-beta * cost):
                spins[a, b] = -s
                flips += 1
    return flips, spins, {STATE}
""",
        seen="(2 * np.random.randint(2, size=(9, 9)) - 1, 9, 0.5)",
        others=(
            "(2 * np.random.randint(2, size=(3, 3)) - 1, 3, 0.25)",
            "(np.zeros((0, 0), dtype=int), 0, 0.5)",
            "(50 * np.random.randint(2, size=(4, 4)), 4, 0.001)",
            "(50 * np.random.randint(2, size=(4, 4)), 4, -9.5)",
            "(2 * np.random.randint(2, size=(3, 3)) - 1, 3, np.float64(0.25))",
        ),
        contains=("np.random.set_state(state_after)", "exp_table = np.array(", "return np.random"),
    ),
    Case(
        name="kinds",
        text=HEAD
        + f"""\
def kinds(n, xs, scale):
    total = 0.0
    tries = 0
    while tries < n:
        x = np.random.uniform(-1, 1)
        if x > 0.0:
            x += np.random.normal(0.5, scale)
        elif np.random.random() < 0.5:
            x -= np.random.randn() * np.random.exponential(scale)
        if np.random.choice(7) == 3:
            total += np.random.choice([0.25, 0.5]) + np.random.choice(xs)
        total += x
        tries += 1
    np.random.shuffle(xs)
    return total, xs, np.random.normal(), {STATE}
""",
        seen="(60, np.arange(5.0), 1.5)",
        others=(
            "(0, np.arange(5.0), 1.5)",
            "(9, np.zeros(0), 1.5)",
            "(9, np.arange(5.0), 0.0)",
            "(9, np.arange(5.0), -1.0)",
            "(9, np.arange(5.0), math.nan)",
            "(9, np.arange(5.0), math.inf)",
            "(9, np.arange(5), 1.5)",
            "(9, np.arange(5.0), 1)",
        ),
        contains=("_choices = np.array([0.25, 0.5])",),
    ),
    Case(
        name="shuffled",
        text=HEAD
        + f"""\
def step(p):
    if np.random.random_sample() < p:
        return 1
    return np.random.randint(-1, 1)


def shuffled(deck, n, p):
    hits = 0
    for _ in range(n):
        np.random.shuffle(deck)
        for i in range(len(deck) - 1):
            if deck[i] == deck[i + 1]:
                hits += step(p)
    return hits, deck, {STATE}
""",
        seen="([1, 2, 3] * 4, 12, 0.25)",
        others=("([], 3, 0.5)", "([1, 1], 3, 0.5)", "([1.5, 1.5], 3, 0.5)", "([1, 1], 3, 1)"),
    ),
    Case(
        name="limits",
        text=HEAD
        + f"""\
def limits(n, low, high):
    total = 0
    for i in range(n):
        if i % 3:
            total += np.random.randint(low, high)
        else:
            total -= np.random.randint(low, low + 1)
    return total, {STATE}
""",
        seen="(30, 3, 1000)",
        others=("(9, 3, 3)", "(9, 3, 2**32 + 3)", "(9, 3, 2**32 + 4)", "(9, -(2**62), 2**62)"),
    ),
    Case(
        name="own",
        text=HEAD
        + """\
def own(n, rng):
    inside = 0
    for i in range(n):
        x = rng.random_sample()
        if x > 0.25 and rng.rand() < x:
            inside += 1
    return inside, rng.random_sample(), rng.get_state(legacy=False)["state"]
""",
        seen="(40, np.random.RandomState(3))",
        others=(
            "(0, np.random.RandomState(3))",
            "(9, np.random.RandomState(np.random.PCG64(3)))",
            "(9, np.random.default_rng(3))",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_numbers_and_the_same_state(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


LEFT_ALONE = (
    Case(
        name="scaled",
        text=HEAD
        + """\
def scaled(n, rng):
    total = 0.0
    while n > 0:
        if rng.random_sample() < 0.5:
            total += rng.normal(0.0, 2.0)
        n -= 1
    return total
""",
        seen="(30, np.random.RandomState(3))",
    ),
    Case(
        name="both",
        text=HEAD
        + """\
import random


def both(n):
    total = 0.0
    while n > 0:
        total += np.random.rand() * random.random()
        n -= 1
    return total
""",
        seen="(30,)",
    ),
    Case(
        name="growing",
        text=HEAD
        + """\
def growing(n):
    total = 0.0
    for i in range(n):
        if np.random.rand() < 0.5:
            total += np.exp(-0.25 * i)
    return total
""",
        seen="(30,)",
    ),
)


@pytest.mark.parametrize("case", LEFT_ALONE, ids=str)
def test_what_is_not_known_stays(case: Case, tmp_path: Path) -> None:
    assert isinstance(answer(case, tmp_path), Refusal)
