"""Tables that are read a distance away which the data give: knapsacks, subset sums, coins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

HEAD = "import numpy as np\n\n\n"
KNAPSACK = """\
def k(weights, values, capacity):
    best = [0] * (capacity + 1)
    for weight, value in zip(weights, values):
        for w in range(capacity, weight - 1, -1):
            best[w] = max(best[w], best[w - weight] + value)
    return best
"""
NAMED = """\
def k(weights, values, capacity):
    best = [0.0] * (capacity + 1)
    for i in range(len(weights)):
        for w in range(capacity, weights[i] - 1, -1):
            if best[w - weights[i]] + values[i] > best[w]:
                best[w] = best[w - weights[i]] + values[i]
    return best
"""
SUMS = """\
def k(weights, values, capacity):
    reachable = [False] * (capacity + 1)
    reachable[0] = True
    for weight in weights:
        for s in reversed(range(weight, capacity + 1)):
            if reachable[s - weight]:
                reachable[s] = True
    return reachable
"""
WAYS = """\
def k(weights, values, capacity):
    ways = np.zeros(capacity + 1, dtype=np.int64)
    ways[0] = 1
    for i, weight in enumerate(weights):
        for s in range(capacity, weight - 1, -1):
            ways[s] = (ways[s] + ways[s - weight] * values[i]) % 10007
    return ways
"""
TABLE = """\
def k(weights, values, capacity):
    n = len(weights)
    table = [[0 for _ in range(capacity + 1)] for _ in range(n + 1)]
    for i in range(n + 1):
        for w in range(capacity + 1):
            if i == 0 or w == 0:
                table[i][w] = 0
            elif weights[i - 1] <= w:
                take = values[i - 1] + table[i - 1][w - weights[i - 1]]
                table[i][w] = max(take, table[i - 1][w])
            else:
                table[i][w] = table[i - 1][w]
    return table
"""
_rng = np.random.default_rng(7)


def items(n: int, capacity: int, low: int = 1, high: int = 40) -> tuple[Any, ...]:
    weights = _rng.integers(low, high, n).tolist()
    return weights, _rng.integers(1, 90, n).tolist(), capacity


OTHERS = (
    items(12, 200),
    items(0, 9),
    items(4, 0),
    items(6, 20),
    items(6, 39),
    items(6, 60, 0, 3),
    items(6, 60, -3, 9),
    items(4, -1),
    ([3, 4], [2**62, 2**62], 90),
    ([3, 4], [5], 90),
    ([3, 4], [5.0, 6.0], 90),
    ([3.0, 4.0], [5, 6], 90),
    ([True, True], [5, 6], 90),
    (np.array([3, 4]), np.array([5, 6]), 90),
    ((3, 4), (5, 6), 90),
)
FLAGS = """\
def k(weights, values, capacity):
    flags = np.zeros(capacity + 1)
    flags[0] = 0.5
    for weight in weights:
        for s in range(capacity, weight - 1, -1):
            if flags[s - weight]:
                flags[s] = True
    return flags
"""
PROGRAMS = {"knapsack": KNAPSACK, "named": NAMED, "sums": SUMS, "ways": WAYS, "table": TABLE}
PROGRAMS["flags"] = FLAGS


def rewritten(text: str, args: tuple[Any, ...]) -> str:
    region = region_for(text, "k", args)
    answer = emit(region)
    assert isinstance(answer, Match), answer
    return apply_edits(region.source, answer.edits).decode()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_on_all_items(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    seen = items(30, 900)
    after = rewritten(text, seen)
    for args in (seen, *OTHERS):
        assert_same(run(text, "k", args), run(after, "k", args))


def test_slices_are_shifted_against_each_other() -> None:
    after = rewritten(HEAD + KNAPSACK, items(30, 900))
    assert "best_array[weight:]" in after
    assert "best_array[:capacity - weight + 1] + value" in after


def test_a_mask_is_no_part_of_what_it_changes() -> None:
    """``copyto`` reads its mask while it writes."""
    assert "|= reachable_array[:" in rewritten(HEAD + SUMS, items(30, 900))
    text = """\
def k(flags, n):
    for i in range(n - 1):
        if flags[i + 1]:
            flags[i] = False
    return flags
"""
    args = (_rng.random(5000) < 0.5, 5000)
    assert_same(run(text, "k", args), run(rewritten(text, args), "k", args))


UPWARDS = KNAPSACK.replace("range(capacity, weight - 1, -1)", "range(weight, capacity + 1)")
DOUBLED = KNAPSACK.replace("max(best[w], best[w - weight] + value)", "best[w] + best[w - weight]")


@pytest.mark.parametrize(
    ("text", "args", "reason"),
    [
        (UPWARDS, items(30, 900), "another iteration writes"),
        (DOUBLED, items(30, 900), "may not fit into 64 bits"),
        (KNAPSACK, items(30, 900, -2, 9), "another iteration writes"),
    ],
    ids=["upwards", "doubled", "negative"],
)
def test_refused(text: str, args: tuple[Any, ...], reason: str) -> None:
    answer = emit(region_for(text, "k", args))
    assert isinstance(answer, Refusal)
    assert reason in answer.reason


def test_short_lists_raise_as_they_did() -> None:
    """A list's elements are looked for in front: its array would raise with another text."""
    text = """\
def k(xs, rows, n):
    for i in range(n):
        scale = xs[i]
        for j in range(len(rows[0])):
            rows[i][j] *= scale
    return rows
"""
    args = ([0.5] * 60, _rng.random((60, 60)).tolist(), 60)
    after = rewritten(text, args)
    for other in (args, ([0.5] * 3, _rng.random((9, 9)).tolist(), 9)):
        assert_same(run(text, "k", other), run(after, "k", other))
