"""Python ints that may outgrow 64 bits: compiled while they fit, exact when they do not.

The first arguments of a case were observed. The compiled loop must run on them, and on the others
the results are those of Python, whatever the size.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for
from test_numba_cpu import Loaded, _private_cache, rewritten

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Basis, Match

__all__ = ["_private_cache"]


class Holder:
    """An object with attributes, as ``self``."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


FAR = 2**40
CASES: dict[str, tuple[str, tuple[tuple[Any, ...], ...]]] = {
    "shortest paths": (
        """
def f(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i][j] = min(d[i][j], d[i][k] + d[k][j])
    return d
""",
        (
            ([[0, 5, 9], [7, 0, 2], [1, 8, 0]],),
            ([[FAR, -FAR], [-FAR, FAR]],),
            # a negative cycle: the lengths double with every k
            ([[-FAR] * 40 for _ in range(40)],),
            ([[2**70, 1], [1, 0]],),
        ),
    ),
    "ways through a grid": (
        """
def f(ways):
    for i in range(1, len(ways)):
        for j in range(1, len(ways[0])):
            ways[i][j] = ways[i - 1][j] + ways[i][j - 1]
    return ways
""",
        (([[1] * 4 for _ in range(4)],), ([[1] * 40 for _ in range(40)],), ([[1]],)),
    ),
    "the largest of sums, which doubles": (
        """
def f(d):
    for i in range(1, len(d)):
        best = 0
        for k in range(i):
            best = max(best, d[k] + d[i - 1])
        d[i] = best
    return d
""",
        (
            ([3, 1, 2, 0],),
            ([FAR] + [0] * 19,),
            ([FAR] + [0] * 21,),
            ([FAR] + [0] * 22,),
            ([FAR] + [0] * 40,),
            ([-FAR] * 30,),
        ),
    ),
    "a variable that doubles": (
        """
def f(d):
    t = 1
    for i in range(len(d)):
        t = t + max(t, d[i])
    return t
""",
        (([3, 1, 2],), ([FAR] * 20,), ([FAR] * 22,), ([FAR] * 23,), ([1] * 90,)),
    ),
    "coins, added in place": (
        """
def f(ways, coins):
    for c in coins:
        for s in range(c, len(ways)):
            ways[s] += ways[s - c]
    return ways
""",
        (
            ([1, 0, 0, 0, 0], [1, 2]),
            ([FAR] * 20, [1] * 60),
            ([-FAR] * 20, [1] * 60),
            ([1, 0], []),
        ),
    ),
    "fibonacci of scalars": (
        """
def f(x):
    a, b = 0, 1
    for v in x:
        a, b = b, a + b + v
    return a, b
""",
        (([0] * 5,), ([0] * 60,), ([0] * 100,), ([],), ([-(2**39)] * 50,)),
    ),
    "the largest that fits and the next": (
        """
def f(x, n):
    s = x[0]
    for k in range(n):
        s = s + s
        x[k % 2] = s
    return s, x
""",
        (([1, 0], 3), *(([1, 0], n) for n in (59, 60, 61, 62, 63, 64)), ([-1, 0], 64)),
    ),
    "products": (
        """
def f(m, n):
    p = 1
    for k in range(n):
        p = p * m[k]
    return p
""",
        (([2, 3, 4], 3), (list(range(1, 40)), 39), ([-(2**15)] * 5, 5), ([], 0)),
    ),
    "a sum in one line": (
        """
def f(x, y):
    s = 0
    for i in range(len(x)):
        for j in range(len(y)):
            if x[i] > y[j]: s += x[i] * y[j]
    return s
""",
        (([2**29, 2], [2**28, 0]), ([2**33] * 3, [2**32] * 3), ([2**29] * 9, [2**28] * 9)),
    ),
    "an attribute": (
        """
def f(self, x):
    for v in x:
        self.total += self.total + v
    return self.total
""",
        ((Holder(total=1), [1, 2]), (Holder(total=1), [1] * 70), (Holder(total=-1), [-1] * 70)),
    ),
    "appended": (
        """
def f(n, xs):
    for k in range(n):
        xs.append(xs[-1] * 3)
    return xs
""",
        ((3, [1]), (60, [1]), (60, [-1, 7]), (0, []), (1, [])),
    ),
    "rows made": (
        """
def f(n):
    rows = []
    for i in range(n):
        row = [i + 2]
        for j in range(i):
            row.append(row[j] * 3)
        rows.append(row)
    return rows
""",
        ((5,), (80,), (0,)),
    ),
    "an array goes back too": (
        """
def f(seen, t):
    for i in range(1, len(t)):
        seen[i] += 1.5
        t[i] += t[i - 1] + t[i - 1]
    return seen, t
""",
        ((np.zeros(3), [1, 2, 3]), (np.zeros(70), [1] * 70)),
    ),
    "a helper": (
        """
def step(a, b):
    c = a + b
    return c if c > a else a


def f(t):
    for i in range(1, len(t)):
        t[i] = step(t[i - 1], t[i - 1])
    return t
""",
        (([1, 2, 3],), ([1] * 90,), ([-1] * 5,)),
    ),
    "a helper that adds up": (
        """
def doubled(t, start):
    total = start
    for v in t:
        total += total + v
    return total


def f(t, starts):
    found = []
    for s in starts:
        found.append(doubled(t, s))
    return found
""",
        (([1, 2, 3], [1, 2]), ([1] * 70, [1, 2]), ([-1] * 70, [0]), ([1] * 60, [0, 2**30])),
    ),
    "a quotient of sums": (
        """
def f(t, n):
    total = 1
    best = 0.5
    for k in range(n):
        total += total + t[k]
        if total / n > best:
            best = total / n
    return best, total
""",
        # beyond 2**53 a quotient of 64-bit floats rounds twice
        (([1] * 9, 9), ([1] * 54, 54), ([3] * 61, 61), ([1] * 70, 70), ([-5] * 58, 58)),
    ),
    "found out by a test": (
        """
def f(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
""",
        ((27,), (2**31 - 1,), (2**90 + 1,), (7**20,)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_exact_at_any_size(name: str, tmp_path: Path) -> None:
    text, argument_sets = CASES[name]
    text = text.lstrip("\n")
    new = rewritten(text, "f", argument_sets[0])
    assert "OverflowError" in new, "nothing is looked at"
    after, before = Loaded(new, tmp_path / "after.py"), Loaded(text, tmp_path / "before.py")
    for number, args in enumerate(argument_sets):
        expected, found = before.call("f", args), after.call("f", args)
        if number == 0:
            assert after.compilations == 1, "the guard turned down what was observed"
        assert (expected.error and expected.error[0]) == (found.error and found.error[0])
        assert_same(expected, found)
    assert after.compilations == 1


def test_the_ledger_says_what_is_looked_at() -> None:
    text, argument_sets = CASES["shortest paths"]
    match = emit(region_for(text.lstrip("\n"), "f", argument_sets[0]), parallel=False)
    assert isinstance(match, Match) and match.safe
    ints = [c for c in match.ledger if c.text == "Python ints stay within 64 bits"]
    assert [c.basis for c in ints] == [Basis.PROVED] and "2**61" in ints[0].evidence


def test_a_variable_is_looked_at_where_it_is_stored_in_a_list() -> None:
    """Not in the inner loop: twice the largest element is far from the end of 64 bits."""
    text, argument_sets = CASES["the largest of sums, which doubles"]
    new = rewritten(text.lstrip("\n"), "f", argument_sets[0])
    assert "best = max(best, d[k] + d[i - 1])" in new.partition("def _f_kernel(")[2]
    assert "_bounded(best)" in new


def test_nothing_is_looked_at_where_ranges_prove_it() -> None:
    text = "def f(d, x):\n    for i in range(1, len(d)):\n        d[i] = d[i - 1] + 1\n"
    assert "OverflowError" not in rewritten(text, "f", ([0, 0, 0], [1]))


def test_not_in_threads() -> None:
    text = "def f(d, e):\n    for i in range(len(d)):\n        d[i] = d[i] * 3 + e[i]\n"
    found = emit(region_for(text, "f", ([1, 2], [3, 4])), parallel=True)
    assert not isinstance(found, Match)
