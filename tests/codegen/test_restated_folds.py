"""``sum``, ``any``, ``all``, ``min``, ``max`` and comprehensions in hot loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, check
from test_numba_cpu import _private_cache

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="minrow",
        sums_floats=True,
        text="""\
def minrow(m):
    total = 0.0
    for i in range(len(m)):
        total += min(m[i]) + max(m[i]) + sum(m[i])
    return total
""",
        seen="([[random.random() for _ in range(9)] for _ in range(9)],)",
        others=(
            "([],)",
            "([[1.0, 2.0], []],)",
            "([[1, 2.5], [3.5]],)",
            "([[float('nan'), 2.5], [3.5, float('nan')]],)",
        ),
    ),
    Case(
        name="all_any",
        text="""\
def all_any(n):
    count = 0
    for k in range(2, n):
        if all(k % d for d in range(2, int(k ** 0.5) + 1)):
            count += 1
    return count
""",
        seen="(200,)",
        others=(
            "(0,)",
            "(17.0,)",
        ),
    ),
    Case(
        name="mins",
        text="""\
def mins(costs):
    n = len(costs)
    total = 0.0
    for k in range(n):
        j = min(range(n), key=lambda t: costs[k][t])
        total += costs[k][j] * (j + 1)
    return total
""",
        seen="([[float(abs(i - j)) for j in range(30)] for i in range(30)],)",
        others=(
            "([],)",
            "([[1, 2], [2, 1]],)",
            "([[float('nan'), 2.0], [2.0, float('nan')]],)",
        ),
    ),
    Case(
        name="gens2",
        text="""\
def gens2(n, m):
    c = 0
    for i in range(n):
        if i % 2 == 0 and any((i * j + k) % 7 == 3 for j in range(m) for k in range(m)):
            c += 1
        w = sum(1 for j in range(m) if (i ^ j) & 1)
        c += w * max((j * i) % 5 for j in range(1, i + 2))
        c += sum([q for q in range(i)], 2)
    return c
""",
        seen="(12, 5)",
        others=(
            "(0, 5)",
            "(12, 0)",
        ),
    ),
    Case(
        name="gens_raise",
        text="""\
def gens_raise(n):
    t = 0
    for i in range(n - 1, -1, -1):
        t += max(j * i for j in range(i))
    return t
""",
        seen="(5,)",
        others=(
            "(0,)",
            "(1,)",
        ),
    ),
    Case(
        name="dot_rows",
        sums_floats=True,
        text="""\
def dot_rows(m, x):
    acc = 0.0
    for k in range(20):
        for row in m:
            acc = acc * 0.5 + sum(a * b for a, b in zip(row, x))
    return acc
""",
        seen="([[0.1 * i + j for i in range(9)] for j in range(7)], [0.3 * i for i in range(9)])",
        others=(
            "([[1.5, 2.5]], [1.0])",
            "([[1.5, 2.5]], [1.0, 2.0, 3.0])",
        ),
    ),
    # Whole numbers in the run, floats in the next: Python 3.12 adds those up otherwise than a loop.
    Case(
        name="whole_slices",
        text="""\
def whole_slices(xs, k):
    found = []
    for i in range(k, len(xs)):
        found.append(sum(xs[i - k : i]) / k)
    return found
""",
        seen="([random.randrange(9) for _ in range(300)], 5)",
        others=("([1e9, 0.1, -1e9, 0.3] * 9, 5)", "([1, None, 2], 1)", "([], 2)", "((1, 0.1), 1)"),
        contains=("set(map(type, xs)) <= {int}",),
    ),
    Case(
        name="whole_rows",
        text="""\
def whole_rows(rows, weight):
    found = []
    for row in rows:
        found.append(sum(weight * x for x in row))
    return found
""",
        seen="([[random.randrange(9) for _ in range(8)] for _ in range(40)], 3)",
        others=(
            "([[1e9, 0.1, -1e9, 0.3] * 9] * 2, 3)",
            "([[1000000000, 1, -1000000000, 3] * 9] * 2, 0.1)",
            "([], 3)",
            "([[1], [1, 2]], True)",
        ),
        contains=("for row in rows)", "type(weight) is int"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
