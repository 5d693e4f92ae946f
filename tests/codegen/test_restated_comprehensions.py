"""Statements whose loop is a comprehension: compiled, as array statements, and left alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from harness import assert_same, chain_for, first_match, run
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.codegen.restated.as_arrays import emit_restated_arrays
from gpuadvise.codegen.restated.as_lanes import emit_lanes_restated
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

__all__ = ["_private_cache"]

COMPILED = (
    Case(
        name="assign",
        text="""\
def distance2(p, q):
    return (p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1])


def nearest(point, centers):
    best = 0
    best_d = distance2(point, centers[0])
    for i in range(1, len(centers)):
        d = distance2(point, centers[i])
        if d < best_d:
            best, best_d = i, d
    return best


def assign(points, centers):
    labels = [nearest(p, centers) for p in points]
    return labels
""",
        seen="([(random.random(), random.random()) for _ in range(90)], [(0.5, 0.5), (0.1, 0.9)])",
        others=(
            "([], [(0.5, 0.5)])",
            "([(0.5, 0.5)], [])",
            "([(1, 2), (3, 4)], [(1, 2), (5, 5)])",
            "([(float('nan'), 2.0), (3.0, 4.0)], [(1.0, 2.0), (5.0, float('inf'))])",
            "([(1.0,)], [(1.0, 2.0)])",
            "(None, [(1.0, 2.0)])",
        ),
        contains=("labels = []",),
    ),
    Case(
        name="primes",
        text="""\
def is_prime(n):
    if n < 2:
        return False
    k = 2
    while k * k <= n:
        if n % k == 0:
            return False
        k += 1
    return True


def primes(limit):
    return sum(1 for n in range(limit) if is_prime(n)), limit
""",
        seen="(600,)",
        others=("(0,)", "(-4,)", "(True,)", "(7.0,)", "(None,)"),
    ),
    Case(
        name="grid",
        text="""\
import math


def height(x, y):
    return math.sin(x * 0.1) + math.sqrt(x * y)


def grid(width, rows):
    table = [[height(x, y) for x in range(width)] for y in rows]
    x = 7
    return table, x
""",
        seen="(30, [1, 5, 2, 9, 3, 3, 8])",
        others=("(0, [1, 2])", "(3, [])", "(3, [1, -2])", "(3, [2.5, 4])", "('a', [1])"),
    ),
    Case(
        name="worst",
        text="""\
def worst(a, b, n):
    gap = 0
    gap += max(abs(a[i] * j - b[i]) for i in range(n) for j in range(3) if i != j)
    return gap
""",
        seen="([0.5, 1.5, 2.0] * 30, [1.0, -2.0, 0.25] * 30, 90)",
        others=(
            "([0.5, float('nan'), 2.0], [1.0, 0.0, 0.25], 3)",
            "([0.5, 1], [1, -7], 2)",
            "([0.5], [1.5, 2.5], 2)",
            "([], [], 0)",
        ),
    ),
    Case(
        name="held",
        text="""\
def square(x):
    return x * x - 3


def held(xs, n):
    first = tuple(square(x) for x in xs)
    return first, sum(first)
""",
        seen="([0.5, 1.5, -2.0] * 30, 90)",
        others=("([], 0)", "([1, 2.5], 2)", "('ab', 2)", "(iter([0.5]), 1)"),
        contains=("first = tuple(items)",),
    ),
    Case(
        name="firsts",
        text="""\
def fits(i, j, limit):
    return (i * i + 3 * j) % 17 < limit


def firsts(n, limit):
    if any(fits(i, j, limit) for i in range(n) for j in range(n) if i > j):
        return 1
    found = all(not fits(i, j, limit) for i in range(n) for j in range(n))
    return found
""",
        seen="(25, 0)",
        others=("(25, 1)", "(0, 3)", "(4, 2.5)", "(-1, None)"),
    ),
)


@pytest.mark.parametrize("case", COMPILED, ids=str)
def test_compiled(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


MADE = """\
def cross(xs, ys, lags):
    n = len(xs)
    return [sum(xs[t] * ys[t + lag] for t in range(n - lag)) / n for lag in range(lags)]
"""


def arrays(text: str, name: str, seen: str, folder: Path) -> str:
    """The text with array statements."""
    path = folder / "case.py"
    path.write_text(text, encoding="utf-8")
    found = first_match(
        emit_restated_arrays, chain_for(text, name, path=path, inputs=f"args = {seen}")
    )
    assert len(found) == 2 and isinstance(found[1], Match), found
    region, match = found
    assert match.safe
    return apply_edits(region.source, match.edits).decode()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sum() is compensated")
def test_as_arrays(tmp_path: Path) -> None:
    xs, ys = "[0.5, -1.5, 2.0, 3.25] * 40", "[1.0, 0.25, -0.0, 7.5] * 40"
    after = arrays(MADE, "cross", f"({xs}, {ys}, 9)", tmp_path)
    assert "items.extend(items_new.tolist())" in after
    for arguments in (
        f"({xs}, {ys}, 9)",
        f"({xs}, {ys}, 0)",
        f"({xs}, [1.5], 1)",
        f"({xs}, {ys}, 170)",
        "([1, 2, 3], [4, 5.5, 6], 2)",
        "([-0.0], [0.0], 1)",
        "([float('nan'), 1.0], [1.0, float('inf')], 2)",
        "([], [], 1)",
    ):
        one = run(MADE, "cross", inputs=f"args = {arguments}", folder=tmp_path)
        assert_same(one, run(after, "cross", inputs=f"args = {arguments}", folder=tmp_path))


def test_side_by_side(tmp_path: Path) -> None:
    """Loops that end one by one, each for an element of the list."""
    text = """\
def steps(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def longest(limit):
    lengths = [steps(n) for n in range(1, limit)]
    return lengths
"""
    path = tmp_path / "case.py"
    path.write_text(text, encoding="utf-8")
    found = first_match(
        emit_lanes_restated, chain_for(text, "longest", path=path, inputs="args = (900,)")
    )
    assert len(found) == 2 and isinstance(found[1], Match), found
    after = apply_edits(found[0].source, found[1].edits).decode()
    for arguments in ("(900,)", "(1,)", "(2,)", "(3.5,)"):
        one = run(text, "longest", inputs=f"args = {arguments}", folder=tmp_path)
        assert_same(one, run(after, "longest", inputs=f"args = {arguments}", folder=tmp_path))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        # what is called before it may raise, or change what the comprehension reads
        ("return f(n) + sum(f(i) for i in range(n))", "something else before"),
        ("return [next(xs) + i for i in range(n)]", "something else before"),
        ("return sum((f(i) for i in range(n)), 'a')", "begins with something else"),
        ("return sorted(xs, key=lambda x: [f(i) + x for i in range(n)])", "no loop in k"),
    ],
)
def test_left_alone(line: str, reason: str, tmp_path: Path) -> None:
    text = f"def f(i):\n    return i * 2\n\n\ndef k(n, xs):\n    {line}\n"
    try:
        found = answer(Case("k", text, "(50, iter(range(200)))"), tmp_path)
    except LookupError as error:
        assert reason in str(error)
    else:
        assert isinstance(found, Refusal) and reason in found.reason, found


def test_the_name_is_not_filled_where_somebody_may_look(tmp_path: Path) -> None:
    """``found`` is read after an exception, or by a function inside: it changes at the end."""
    text = """\
def f(x):
    return 1.0 / x


def k(xs):
    found = None
    try:
        found = [f(x) for x in xs]
    except ZeroDivisionError:
        pass
    return found
"""
    case = Case("k", text, "([1.0, 2.0, 4.0] * 30,)", ("([1.0, 0.0],)", "([1, 2],)", "([],)"))
    assert "found = items" in check(case, tmp_path)


FOLDING = """\
def distance2(p, q):
    return sum((a - b) ** 2 for a, b in zip(p, q))


def nearest(point, centers):
    best = 0
    smallest = distance2(point, centers[0])
    for i in range(1, len(centers)):
        d = distance2(point, centers[i])
        if d < smallest:
            best, smallest = i, d
    return best


def assign(points, centers):
    return [nearest(p, centers) for p in points]
"""
POINTS = (
    "([(0.25 * i, i % 7 - 0.5) for i in range(90)], [(0.5, 0.5), (3.5, -0.25), (9.5, 1.5)])",
    "([], [(0.5, 0.5)])",
    "([(0.5, 0.5)], [])",
    "([(1, 2), (3, 4)], [(1, 2), (5, 5)])",
    "([(0.5, 2.5, 1.5), (3.5, 4.5, 0.5)], [(1.5, 2.5), (5.0, 5.0)])",
    "([(float('nan'), 2.0), (3.0, 4.0)], [(1.0, 2.0), (5.0, float('inf'))])",
    "([(1e200, 2.0), (3.0, 4.0)], [(1.0, 2.0), (-1e200, 5.0)])",
    "([(), ()], [(), ()])",
)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sum() is compensated")
def test_sums_in_functions(tmp_path: Path) -> None:
    """``distance2`` is written with a loop; what nobody calls in the end is not left behind."""
    case = Case("assign", FOLDING, POINTS[0], POINTS[1:], contains=("version_info < (3, 12)",))
    after = check(case, tmp_path)
    assert "def nearest_in_loops" not in after


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sum() is compensated")
def test_sums_in_functions_as_arrays(tmp_path: Path) -> None:
    after = arrays(FOLDING, "assign", POINTS[0], tmp_path)
    assert "import sys" in after and "def distance2_in_loops" not in after
    for arguments in POINTS:
        one = run(FOLDING, "assign", inputs=f"args = {arguments}", folder=tmp_path)
        assert_same(one, run(after, "assign", inputs=f"args = {arguments}", folder=tmp_path))
