"""Whole numbers that are int8 on the device: only where what is stored stays in the range."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_programs import Program
from test_in_simulator import rewritten, simulated

LIFE = """
import numpy as np


def step(world):
    rows, cols = world.shape
    new = np.zeros((rows, cols), dtype=int)
    for i in range(rows):
        for j in range(cols):
            alive = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        alive += world[(i + di) % rows, (j + dj) % cols]
            if alive == 3 or (alive == 2 and world[i, j] == 1):
                new[i, j] = 1
    return new


def f(world, steps):
    frames = []
    for _ in range(steps):
        world = step(world)
        frames.append(world)
    return world, frames
"""
FIRE = """
def f(trees, burnt, steps):
    n, m = trees.shape
    for step in range(steps):
        for i in range(n):
            for j in range(m):
                now = trees[i, j]
                if now == 2:
                    burnt[i, j] = 0
                elif now == 1 and (trees[i, j - 1] == 2 or trees[i - 1, j] == 2):
                    burnt[i, j] = 2
                else:
                    burnt[i, j] = now
        trees, burnt = burnt, trees
    return trees, burnt
"""
SHIFT = """
import numpy as np


def f(u, steps):
    for step in range(steps):
        new = np.empty_like(u)
        for i in range(len(u)):
            new[i] = u[i - 1] - 3 * (u[i] - u[i])
        u = new
    return u
"""
COUNT = """
def f(u, v, steps):
    for step in range(steps):
        for i in range(len(u)):
            v[i] = u[i] + 1
        u, v = v, u
    return u, v
"""


def board(n: int, m: int, most: int = 1, least: int = 0) -> np.ndarray:
    rng = np.random.default_rng(n * m + most)
    return rng.integers(least, most + 1, (n, m))


def line(most: int, least: int = 0) -> np.ndarray:
    return board(1, 30, most, least)[0]


PROGRAMS = (
    Program(
        "life",
        LIFE,
        "f",
        (
            (board(9, 8), 4),
            (board(9, 8, 127), 3),
            (board(9, 8, 200), 3),
            (board(9, 8, 1, -1), 3),
            (board(1, 1), 2),
            (board(9, 8)[:0], 2),
            (board(9, 8).astype(np.int32), 2),
            (board(9, 8), 0),
        ),
        (
            "world.astype(cells, copy=False)",
            "copy_to_host().astype(np.int64, copy=False)",
            # no argument of the launch: the kernel reads them off its array
            "_kernel(world, new):",
            "    rows = world.shape[0]\n    cols = world.shape[1]\n",
        ),
    ),
    Program(
        "fire",
        FIRE,
        "f",
        (
            (board(8, 9, 2), board(8, 9, 1), 4),
            (board(8, 9, 2), board(8, 9, 300), 1),
            (board(8, 9, 2**40), board(8, 9, 1), 3),
        ),
        ("cells = np.int8 if all(", "trees[...] = gpu_trees.copy_to_host()"),
    ),
)
WIDE = (
    Program("counts up", COUNT, "f", ((line(3), line(3), 3),)),
    Program("more than a byte", FIRE, "f", ((board(8, 9, 300), board(8, 9, 300), 3),)),
    Program("a product that leaves it", SHIFT, "f", ((line(5), 3),)),
)


def test_equal_within_the_range_and_beyond() -> None:
    texts = [rewritten(program) for program in PROGRAMS]
    for program, text in zip(PROGRAMS, texts, strict=True):
        assert all(wanted in text for wanted in program.contains), text
    found = simulated(
        [(p.text, t, p.function, p.args, p.inputs) for p, t in zip(PROGRAMS, texts, strict=True)]
    )
    for outcome in found:
        assert [why for why, _ in outcome] == [None] * len(outcome)
        assert all(ran for _, ran in outcome[:3])


@pytest.mark.parametrize("program", WIDE, ids=lambda p: p.name)
def test_left_as_wide_as_it_is(program: Program) -> None:
    assert "int8" not in rewritten(program)


@pytest.mark.parametrize(("most", "narrow"), [(127, True), (128, False)])
def test_the_range_of_a_byte(most: int, narrow: bool) -> None:
    first = board(8, 9, most)
    first[0, 0] = most
    text = rewritten(Program("fire", FIRE, "f", ((first, first.copy(), 3),)))
    assert (f"<= {most}" in text and "np.int8" in text) == narrow
