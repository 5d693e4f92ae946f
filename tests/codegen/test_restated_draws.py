"""Loops that take a number of random numbers which depends on them, compiled."""

from __future__ import annotations

import random
import types

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.restated.restate import emit_restated
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

HEAD = """
import math
import random
import numpy as np


def k(n, m, t, rng):
    random.seed(n + 1)
    np.random.seed(m + 1)
    total = 0.0
    count = 0
    grid = [[1] * m for _ in range(n)]
"""
TAIL = """
    return total, count, grid, random.random(), random.gauss(0, 1), np.random.rand(), rng
"""
DATA = [(23, 7, 1.5), (0, 4, 1.5), (3, 1, 0.0)]


def answer(body, generator):
    text = HEAD + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")) + TAIL
    region = region_for(text, "k", (12, 9, 1.5, generator()))
    return text, region, emit_restated(region)


def check(body, *, generator=lambda: np.random.default_rng(5)):
    """Rewritten, and equal with other sizes, with none, and where the loop raises half-way."""
    text, region, match = answer(body, generator)
    assert isinstance(match, Match), match
    assert match.safe
    after = apply_edits(region.source, match.edits).decode()
    for n, m, t in DATA:
        pair = (n, m, t, generator()), (n, m, t, generator())
        old, new = run(text, "k", pair[0]), run(after, "k", pair[1])
        assert_same(old, new, compare_warnings=False)
    return after


def test_metropolis_with_pythons_generator():
    after = check("""
for i in range(n):
    for j in range(m):
        change = 2 * grid[i][j] * (grid[i - 1][j] + grid[i][j - 1])
        if change <= 0 or random.random() < math.exp(-change / t):
            grid[i][j] = -grid[i][j]
            count += 1
""")
    assert "drawn_numbers = twister.random_sample(max(n, 0) * max(m, 0))" in after


def test_triangular_loops_that_end_early():
    after = check("""
for i in range(n):
    for j in range(i % 2, i + 1, 2):
        step = np.random.normal(0.0, 1.0)
        total += step / (t * t)
        if total > 2.0:
            break
    else:
        total -= np.random.normal(0.0, 1.0)
""")
    assert "np.random.set_state(before)" in after


def test_triangles_that_begin_late():
    """No start of the outer loop takes from what the inner one can draw."""
    check("""
for i in range(m + 13, n):
    for j in range(i):
        if j != count:
            total += random.random()
""")


def test_a_generator_object_with_arguments():
    after = check("""
for i in range(1, n):
    if total < 1.0:
        total += rng.exponential(t)
    else:
        total -= 1.0 / t
""")
    assert "0 <= t <= 1e300" in after


def test_two_draws_of_one_statement_keep_their_order():
    check("""
for i in range(n):
    for _ in grid:
        total += random.uniform(-1.0, t) * random.random()
        if total > 3.0:
            total -= random.random()
""")


def test_what_no_array_holds_is_drawn_one_by_one():
    check("while total < 3.0 + t:\n    total += random.random()")
    check("for i in range(n):\n    if total < t:\n        total += (1.0 / t) * random.random()")
    check("for i in [7, 90]:\n    for j in range(i):\n        total += random.random()")


SIZES = """
import random


def k(sizes, t):
    random.seed(3)
    count = 0
    for i in range(sizes.n + 1):
        if i * t > 2.0 and random.random() < 0.25:
            count += i
    return count, random.random()
"""


def test_attributes_that_nothing_changes_say_how_often():
    region = region_for(SIZES, "k", (types.SimpleNamespace(n=30), 0.5))
    match = emit_restated(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "type(sizes.n) is int" in after
    for n in (30, 0, -5, 2.5, True):
        args = types.SimpleNamespace(n=n), 0.5
        assert_same(run(SIZES, "k", args), run(after, "k", args), compare_warnings=False)


REFUSED = {
    "an unknown number": (
        "while total < 3.0:\n    total += rng.random()",
        "a while loop",
    ),
    "several distributions": (
        "for i in range(n):\n    if total < t:\n        total += rng.normal(0.0, 1.0)\n"
        "    else:\n        total -= rng.random()",
        "several distributions",
    ),
    "one behind what may raise": (
        "for i in range(n):\n    if total < t:\n        total += (1.0 / t) * rng.normal()",
        "behind what may raise",
    ),
    "bounds that the loop changes": (
        "for i in range(n):\n    for j in range(count):\n        total += rng.random()\n"
        "    count += 1",
        "not known before",
    ),
    "an index that is no index": (
        "for i in [7, 90]:\n    for j in range(i):\n        total += rng.random()",
        "not known before",
    ),
    "an argument that the loop changes": (
        "for i in range(n):\n    if total < t:\n        total += rng.normal(total, 1.0)",
        "changes in the loop",
    ),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(body, reason):
    _, _, found = answer(body, lambda: np.random.default_rng(5))
    assert isinstance(found, Refusal)
    assert reason in found.reason


def test_a_large_loop_draws_one_by_one():
    """A billion numbers have no room: the loop runs as it was."""
    text, region, match = answer(
        "for i in range(n):\n    if random.random() < 0.01:\n        break",
        lambda: random.Random(5),
    )
    assert isinstance(match, Match)
    after = apply_edits(region.source, match.edits).decode()
    text, after = (t.replace("[1] * m for _ in range(n)", "1") for t in (text, after))
    args = 10**30, 3, 1.0, None
    assert_same(run(text, "k", args), run(after, "k", args), compare_warnings=False)
