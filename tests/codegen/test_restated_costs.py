"""Ints and infinities in one list: shortest paths, coins; and where somebody sees a type."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

INF = "float('inf')"
CASES = (
    Case(
        name="all_pairs",
        text="""\
def all_pairs(dist):
    n = len(dist)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i][k] + dist[k][j] < dist[i][j]:
                    dist[i][j] = dist[i][k] + dist[k][j]
    return dist, [[type(x) for x in row] for row in dist], float("inf")
""",
        seen=f"([[0, 5, {INF}], [{INF}, 0, 2], [1, {INF}, 0]],)",
        others=(
            f"([[0, 7, 2], [{INF}, 0, {INF}], [3, 3, 0]],)",
            f"([[0, 0.5, {INF}], [{INF}, 0, 2], [1, {INF}, 0]],)",
            f"([[0, float('nan'), {INF}], [{INF}, 0, 2], [1, {INF}, 0]],)",
            f"([[0, -{INF}, {INF}], [{INF}, 0, 2], [1, {INF}, 0]],)",
            f"([[0, True, {INF}], [{INF}, 0, 2], [1, {INF}, 0]],)",
            "([[0, -(2**48)], [-(2**48), 0]] + [[-(2**50)] * 4] * 2,)",
            f"([[2**50, 2**50, {INF}], [{INF}, 2**49, 2], [1, {INF}, 2**50]],)",
            f"([[-(2**49), {INF}, 1], [{INF}, -(2**49), 2], [1, {INF}, -(2**49)]],)",
            f"([[-(2**52), 2**53 + 1], [{INF}, 3]],)",
            f"([[1, {INF}]] * 2,)",
            f"([[0, {INF}], [1]],)",
            "([],)",
        ),
        contains=(
            "_cost(dist_costs[i][k] + dist_costs[k][j])",
            "dist_costs = [list(map(float, row",
        ),
    ),
    Case(
        name="fewest_coins",
        text="""\
import math


def fewest_coins(coins, amount):
    dp = [math.inf] * (amount + 1)
    dp[0] = 0
    for a in range(1, amount + 1):
        for c in coins:
            if c <= a:
                dp[a] = min(dp[a], dp[a - c] + 1)
    return dp, [type(x) for x in dp]
""",
        seen="([3, 5], 30)",
        others=("([7], 20)", "([-3, 5], 9)", "([2, 2.0], 9)", "([], 4)", "([0, 2], 4)"),
        contains=("_cost(min(dp_costs[a], dp_costs[a - c] + 1))",),
    ),
    Case(
        name="relaxed",
        text="""\
INF = float("inf")


def relaxed(dist, edges, rounds):
    best = INF
    for step in range(rounds):
        for u, v, w in edges:
            d = dist[u] + w
            if d < dist[v]:
                dist[v] = d
            best = min(best, d)
    return best, type(best), dist, [type(x) for x in dist]
""",
        seen=f"([0, {INF}, {INF}, {INF}], [(0, 1, 4), (1, 2, -2), (3, 1, 1)], 3)",
        others=(
            f"([{INF}, {INF}, 0, {INF}], [(0, 1, 4), (1, 0, -2), (3, 1, 1)], 3)",
            f"([0, {INF}, {INF}, {INF}], [(0, 1, -(2**39)), (1, 0, -(2**39))], 3000)",
            f"([0, {INF}, {INF}, {INF}], [(0, 1, 2**60), (1, 2, -(2**60) + 1)], 3)",
            f"([0, {INF}, {INF}, {INF}], [(0, 4, 2), (1, 2, -1)], 3)",
            f"([0, {INF}, -{INF}, {INF}], [(1, 2, 2), (2, 1, -1)], 3)",
            f"([0, {INF}, {INF}], [(0, 1, 2.5)], 3)",
        ),
        contains=("best = int(best)",),
    ),
    Case(
        name="longest",
        text="""\
def longest(best, gains):
    total = 0
    worst = -float("inf")
    for i in range(1, len(best)):
        for j in range(i):
            if best[j] > worst and best[j] + gains[j] > best[i]:
                best[i] = best[j] + gains[j]
                total += 1
    return total, best, [type(x) for x in best]
""",
        seen=f"([0] + [-{INF}] * 9, [3, -1, 4, 1, -5, 9, 2, 6, 5, 3])",
        others=(
            f"([-{INF}, 0] + [-{INF}] * 8, [3, -1, 4, 1, -5, 9, 2, 6, 5, 3])",
            f"([0] + [-{INF}] * 9, [3, -1])",
            f"([0] + [{INF}] * 9, [3, -1, 4, 1, -5, 9, 2, 6, 5, 3])",
            f"([0] + [-{INF}] * 3, [2**49, 2**49, 2**49, 2**49])",
        ),
        contains=("_cost(best_costs[j] + gains[j])",),
    ),
    Case(
        name="added_up",
        text="""\
def added_up(dist, tours):
    least = float("inf")
    for tour in range(tours):
        total = dist[0][0]
        for k in range(1, len(dist)):
            total += dist[k - 1][(k + tour) % len(dist)]
        if total < least:
            least = total
    return least, type(least), total, type(total)
""",
        seen=f"([[0, 5, {INF}], [4, 0, 2], [1, {INF}, 0]], 3)",
        others=(
            f"([[0, {INF}, {INF}], [{INF}, {INF}, {INF}], [1, {INF}, 0]], 3)",
            f"([[2**50, 2**50], [2**50, {INF}]], 2)",
            "([[1, 2], [3, 4]], 2)",
        ),
        contains=("total = ", "_cost(total + ("),
    ),
)
SEEN = """\
def f(dist, out, n):
    seen = 0
    for i in range(n):
        for j in range(n):
            {statement}
    return dist, out, seen, float("inf")
"""
TOLD = (
    "out[i] = dist[j]",
    "dist[i] = dist[j] / 2",
    "dist[i] = dist[j] * 0.5",
    "dist[i] = dist[j] * 2",
    "dist[i] = dist[j] // 2",
    "dist[i] = dist[j] + 0.5",
    "dist[i] = float(dist[j])",
    "dist[i] = 0.0",
    "dist[i] = 1e300",
    "dist[i] += i",
    "dist[i] = dist[j] = i",
    "dist[i] = out[j]",
    "dist[i] = dist[j] + i - n",
    "seen += dist[i] + n < dist[j] + i * n",
    "seen += i if dist[j] else j",
    "seen += dist[i] % 7 < 2",
    "dist.append(dist[i])",
    "dist[j] = dist[i] if dist[i] < 3 else out[0]",
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("statement", TOLD)
def test_what_tells_an_int_from_its_float_is_left_alone(statement: str, tmp_path: Path) -> None:
    text = SEEN.format(statement=statement)
    found = answer(Case("f", text, f"([0, 2, {INF}, 1], [0.5] * 4, 3)"), tmp_path)
    assert isinstance(found, Refusal) or "dist_costs" not in found[0], found[0]


def test_a_list_that_is_two_is_left_to_python(tmp_path: Path) -> None:
    text = """\
def both(dist, other, n):
    for i in range(1, n):
        for j in range(1, n):
            other[i] = j
            dist[j] = min(dist[j], dist[j - 1] + other[i])
    return dist, other, float("inf")
"""
    same = f"(lambda one: (one, one, 4))([0, {INF}, 3, 9])"
    whole = "(lambda one: (one, one, 4))([0, 5, 3, 9])"
    case = Case("both", text, f"([0, {INF}, 3, 9], [1, 2, 3, 4], 4)", (same, whole))
    assert "dist is not other" in check(case, tmp_path)
