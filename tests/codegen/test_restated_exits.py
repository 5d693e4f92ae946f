"""``return``, ``raise`` and ``else`` of loops: flags and ``break``."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, check
from test_numba_cpu import _private_cache

__all__ = ["_private_cache"]

CASES = (
    Case(
        name="find2d",
        text="""\
def find2d(grid, value):
    for r, row in enumerate(grid):
        for c, cell in enumerate(row):
            if cell == value:
                return (r, c)
    return None
""",
        seen="([[random.randint(0, 9) for _ in range(9)] for _ in range(8)], 7)",
        others=(
            "([], 3)",
            "([[1]], 3)",
            "([[1.5, 2]], 2)",
            "([[1, 2], [3]], 3)",
            "([[1, 2], [3]], 5)",
        ),
    ),
    Case(
        name="bisect",
        text="""\
def bisect(xs, t):
    lo, hi = 0, len(xs) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if xs[mid] == t:
            return mid
        if xs[mid] < t:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1
""",
        seen="([1.0, 2.0, 5.0, 7.5], 5.0)",
        others=(
            "([1.0, 2.0, 5.0, 7.5], 4.0)",
            "([], 4.0)",
            "([1, 2, 3], 3)",
        ),
    ),
    Case(
        name="first_div",
        text="""\
def first_div(xs, m):
    '''raises in the loop'''
    total = 0
    for x in xs:
        total += 100 // x
        if x % m == 0:
            return x, total
    return total
""",
        seen="([30, 42, 66], 7)",
        others=(
            "([30, 0, 66], 7)",
            "([30, 42], 0)",
            "([], 0)",
        ),
    ),
    Case(
        name="several",
        text="""\
def several(n, k):
    s = 0
    for i in range(n):
        s += i * k
        if s > 1000:
            return "large", s
        if s == 27:
            return None
        for j in range(i):
            if (s + j) % 97 == 5: return i, j  # odd
    return s
""",
        seen="(50, 3)",
        others=(
            "(50, 49)",
            "(0, 49)",
            "(4, 49)",
        ),
    ),
    Case(
        name="else_search",
        text="""\
def else_search(n):
    found = []
    for k in range(2, n):
        for d in range(2, k):
            if d * d > k:
                continue
            if k % d == 0:
                break
        else:
            found.append(k)
    return found
""",
        seen="(100,)",
        others=(
            "(0,)",
            "(3,)",
        ),
    ),
    Case(
        name="else_return",
        text="""\
def else_return(a, b):
    for x in a:
        for y in b:
            if x == y:
                break
        else:
            return False
    return True
""",
        seen="([3, 1, 2], [1, 2, 3])",
        others=(
            "([3, 1, 2], [1, 2, 4])",
            "([], [])",
        ),
    ),
    Case(
        name="else_root",
        text="""\
def else_root(a, t):
    n = 0
    for x in a:
        n += 1
        if x == t:
            break
    else:
        n = -1
    return n
""",
        seen="([3, 1, 2], 2)",
        others=(
            "([3, 1, 2], 5)",
            "([], 5)",
        ),
    ),
    Case(
        name="raises",
        text="""\
def raises(xs):
    s = 0.0
    for i, x in enumerate(xs):
        if x < 0:
            raise ValueError(f"negative at {i}: {x}")
        s += 1.0 / x
    return s
""",
        seen="([1.0, 2.0, 3.0],)",
        others=(
            "([1.0, -2.0, 3.0],)",
            "([1.0, 0.0, 3.0],)",
            "([],)",
        ),
    ),
    Case(
        name="gold",
        text="""\
def is_prime(n):
    if n < 2:
        return False
    for d in range(2, int(n ** 0.5) + 1):
        if n % d == 0:
            return False
    return True
def gold(n):
    for p in range(2, n // 2 + 1):
        if is_prime(p) and is_prime(n - p):
            return p, n - p
    return None
""",
        seen="(40,)",
        others=(
            "(0,)",
            "(7,)",
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_restated(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
