"""Dictionaries that a hot loop only fills."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

NP = "__import__('numpy')"
CASES = (
    Case(
        name="ways",
        text="""\
def ways(is_prime, limit):
    found = {}
    for even in range(4, limit + 1, 2):
        count = 0
        for a in range(2, even // 2 + 1):
            if is_prime[a] and is_prime[even - a]:
                count += 1
        found[even] = count
    return found, list(found)
""",
        seen="([k in (2, 3, 5, 7, 11, 13, 17, 19) for k in range(31)], 30)",
        others=("([True] * 9, 8)", "([True, False] * 3, 2)", "([True] * 9, 50)"),
        contains=("found_keys = []", "found.update(zip(found_keys, found_values))"),
    ),
    Case(
        name="given",
        text="""\
def given(best, xs):
    for i, x in enumerate(xs):
        total = 0.0
        for k in range(40):
            total += x / (k + 1.0 - x)
        best[i % 7] = total
    return best, list(best)
""",
        seen="({3: None, 'other': 1}, [random.random() for _ in range(30)])",
        others=(
            "({}, [])",
            "({}, [0.5, 2.0, 1.0, 4.0])",  # divides by zero: what was filled so far stays
            "(__import__('collections').Counter({1: 2.0}), [0.5, 0.25])",
            "(__import__('collections').defaultdict(int), [0.5, 0.25] * 9)",
            "([0.0] * 7, [0.5, 0.25])",
        ),
        contains=("type(best) is dict", "finally:"),
    ),
    Case(
        name="pairs",
        text="""\
def pairs(xs, ys, n):
    near, far = {}, {}
    for i in range(n):
        for j in range(i + 1, n):
            d = (xs[i] - xs[j]) ** 2 + (ys[i] - ys[j]) ** 2
            if d < 0.1:
                near[i, j] = d
            else:
                far[i * n + j] = d
    return near, far
""",
        seen="([random.random() for _ in range(12)], [random.random() for _ in range(12)], 12)",
        others=("([1.0], [2.0], 1)", "([1.0, float('nan')], [2.0, 3.0], 2)"),
        contains=("near.update(zip(zip(near_keys, near_keys_2), near_values))",),
    ),
    Case(
        name="numbers_of_numpy",
        text="""\
def numbers_of_numpy(rows, n):
    found = {}
    for i in range(n):
        best = rows[i, 0]
        for k in range(1, n):
            if rows[i, k] > best:
                best = rows[i, k]
        found[i] = best
    return found
""",
        seen=f"({NP}.random.default_rng(1).random((6, 6)), 6)",
        others=(f"({NP}.arange(9.0).reshape(3, 3), 3)", f"({NP}.arange(9).reshape(3, 3), 3)"),
    ),
    Case(
        name="twice",
        text="""\
def twice(first, second, n):
    for i in range(n):
        s = 0
        for k in range(i):
            s += k * i % 7
        first[i] = s
        second[i] = s + 1
    return first, second
""",
        seen="({}, {}, 9)",
        others=("(lambda d: (d, d, 5))({})", "({0: 1}, {}, 3)"),
        contains=("first is not second",),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_filled_dictionaries(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


LOOP = """\
def f(d, xs, n):
    for i in range(n):
        s = 0.0
        for k in range(n):
            s += xs[k]
{}
    return d
"""


@pytest.mark.parametrize(
    "lines",
    [
        ["d[xs[i]] = s"],  # a float as a key may be a NaN
        ["d[i] = s", "d[i] += 1.0"],
        ["d[i] = len(d)"],
        ["d[i] = s", "if i in d:", "    s = 1.0"],
        ["d[i] = s", "d[i, 0] = s"],
        ["d[i] = d.get(i - 1, 0.0) + s"],
        ["d[i == 3] = s"],
        ["i = i / 2", "d[i] = s"],
    ],
)
def test_what_is_left_alone(lines: list[str], tmp_path: Path) -> None:
    text = LOOP.format("\n".join(f"        {line}" for line in lines))
    case = Case("f", text, "({}, [random.random() for _ in range(9)], 9)")
    assert isinstance(answer(case, tmp_path), Refusal)
