"""Loops that draw from a ``numpy.random.Generator``, its raw numbers drawn before them."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

HEAD = """\
import numpy as np


"""
CASES = (
    Case(
        name="metropolis",
        text=HEAD
        + """\
def metropolis(spins, temperature, steps, rng):
    size = spins.shape[0]
    accepted = 0
    for _ in range(steps):
        x = rng.integers(size)
        y = rng.integers(0, size)
        s = spins[x, y]
        near = spins[(x + 1) % size, y] + spins[x - 1, y] + spins[x, (y + 1) % size]
        cost = 2.0 * s * near
        if cost <= 0.0 or rng.random() < np.exp(-cost / temperature):
            spins[x, y] = -s
            accepted += 1
    return accepted, spins, rng.integers(9), rng.random(), rng.bit_generator.state
""",
        seen="(2 * rng.integers(0, 2, (6, 6)) - 1, 1.5, 200, np.random.default_rng(4))",
        others=(
            "(2 * rng.integers(0, 2, (5, 5)) - 1, 0.5, 0, np.random.default_rng(4))",
            "(2 * rng.integers(0, 2, (1, 1)) - 1, 0.5, 9, np.random.default_rng(4))",
            "(50 * rng.integers(0, 2, (5, 5)), 0.5, 9, np.random.default_rng(4))",
            "(2 * rng.integers(0, 2, (5, 5)) - 1, 0.0, 9, np.random.default_rng(4))",
            "(np.zeros((0, 0), dtype=int), 0.5, 9, np.random.default_rng(4))",
            "(np.ones((5, 5), dtype=int), 0.5, 9, np.random.Generator(np.random.MT19937(4)))",
            "(2 * rng.integers(0, 2, (5, 5)) - 1, 0.5, 9.0, np.random.default_rng(4))",
        ),
        contains=("rng.bit_generator.random_raw(3 * max(steps, 0) + 4096)", "exp_table"),
    ),
    Case(
        name="walk",
        text=HEAD
        + """\
def walk(n, m, hops, rng):
    far = 0
    for i in range(n):
        x = 0.0
        for _ in range(m):
            hop = rng.choice(hops)
            if rng.choice(4) == 1:
                hop += rng.uniform(-0.5, 0.5)
            elif hop > 1.0:
                break
            x += hop
        if x * x > 2.0:
            far += 1
    return far, rng.integers(7), rng.bit_generator.state
""",
        seen="(20, 9, np.array([0.5, -0.5, 1.5]), np.random.default_rng(1))",
        others=(
            "(0, 9, np.array([0.5]), np.random.default_rng(1))",
            "(3, 9, np.zeros(0), np.random.default_rng(1))",
            "(3, 2**23, np.array([2.0, 3.0, 4.0]), np.random.default_rng(1))",
            "(3, 9, np.array([1, -2]), np.random.default_rng(1))",
            "(3, 9, [0.5, 1.5], np.random.default_rng(1))",
        ),
    ),
    Case(
        name="limits",
        text=HEAD
        + """\
def limits(n, low, high, rng):
    rng.integers(5)
    total = 0
    for i in range(n):
        if rng.random() < 0.5:
            total += rng.integers(low, high)
    return total, rng.integers(5), rng.bit_generator.state
""",
        seen="(40, 3, 1000, np.random.default_rng(8))",
        others=(
            "(9, 3, 3, np.random.default_rng(8))",
            "(9, 3, 4, np.random.default_rng(8))",
            "(99, 0, 2**31 - 1, np.random.default_rng(8))",
            "(99, 0, 3 * 2**29, np.random.default_rng(8))",
            "(9, 0, 2**31, np.random.default_rng(8))",
            "(9, -(2**62), 2**62, np.random.default_rng(8))",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_numbers_and_the_same_state(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


LEFT_ALONE = (
    Case(
        name="normal",
        text=HEAD
        + """\
def normal(n, rng):
    total = 0.0
    for i in range(n):
        if rng.random() < 0.5:
            total += rng.normal(0.0, total)
    return total
""",
        seen="(30, np.random.default_rng(3))",
    ),
    Case(
        name="until",
        text=HEAD
        + """\
def until(n, rng):
    total = 0
    while total < n:
        if rng.random() < 0.5:
            total += rng.integers(3)
    return total
""",
        seen="(30, np.random.default_rng(3))",
    ),
)


@pytest.mark.parametrize("case", LEFT_ALONE, ids=str)
def test_what_is_not_known_stays(case: Case, tmp_path: Path) -> None:
    assert isinstance(answer(case, tmp_path), Refusal)
