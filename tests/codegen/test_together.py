"""Loops that stand one after the other, rewritten as one: lists are converted once."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from harness import assert_same, run
from test_numba_cpu import _private_cache

from gpuadvise.cases import chains_for
from gpuadvise.codegen.together import emit_arrays_together, emit_together
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

__all__ = ["_private_cache"]


def floats(number, seed=1):
    rng = random.Random(seed)
    return [rng.uniform(-2.0, 2.0) for _ in range(number)]


def table(rows, columns, seed=1):
    return [floats(columns, seed + k) for k in range(rows)]


def several(text, args):
    """The region whose loops stand one after the other."""
    found = [r for chain in chains_for(text, "f", args) for r in chain if r.beside]
    assert len(found) == 1, found
    return found[0].together


def rewritten(emit, text, args):
    region = several(text, args)
    match = emit(region)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits)
    assert broken_step(region.source, after, match) is None
    assert "for once in" not in after.decode()
    return after.decode(), match


PRODUCTS = """
def f(a, b):
    n, m = len(a), len(b[0])
    c = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for k in range(len(b)):
                c[i][j] += a[i][k] * b[k][j]
    # the sums of the rows
    sums = [0.0] * n
    for i in range(n):
        for j in range(m):
            sums[i] += c[i][j]
    return sums
"""
DIFFUSION = """
def f(u, steps):
    w, h = len(u), len(u[0])
    v = [[0.0 for _ in range(h)] for _ in range(w)]
    for t in range(steps):
        for x in range(1, w - 1):
            for y in range(1, h - 1):
                v[x][y] = u[x - 1][y] + u[x + 1][y] + u[x][y - 1] + u[x][y + 1] - 4.0 * u[x][y]
        for x in range(1, w - 1):
            for y in range(1, h - 1):
                u[x][y] += 0.1 * v[x][y]
        print(t)
    return u
"""
GAPS = """
def f(distance, hops):
    n = len(distance)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if distance[i][k] + distance[k][j] < distance[i][j]:
                    distance[i][j] = distance[i][k] + distance[k][j]
    reach = [[False] * n for _ in range(n)]
    far = 0.0
    for i in range(n):
        for j in range(n):
            reach[i][j] = distance[i][j] < hops
            far = max(far, distance[i][j])
    half = 0.5 * far
    near: list[int] = [0 for _ in range(n)]
    i = 0
    while i < n:
        for j in range(n):
            if distance[i][j] <= half:
                near[i] += 1
        i += 1
    return reach, near, far
"""
COUNTS = """
def f(values, size):
    counts = [0] * size
    for v in values:
        counts[v % size] += 1
    for k in range(1, size):
        counts[k] += counts[k - 1]
    place = [0] * len(values)
    for i in range(len(values) - 1, -1, -1):
        k = values[i] % size
        counts[k] -= 1
        place[counts[k]] = i
    return place
"""
CENTRED = """
def f(sample):
    n, m = len(sample.rows), len(sample.rows[0])
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += sample.rows[i][j]
    scale = 0.01
    for i in range(n):
        for j in range(m):
            sample.rows[i][j] -= scale * total
    return sample.rows, total
"""
DIVIDED = """
def f(x, y):
    n = len(x)
    top = 0.0
    for i in range(n):
        top += x[i] * y[i]
    for i in range(n):
        x[i] = x[i] / (top - y[i])
    for i in range(n):
        y[i] = x[i] - y[i]
    return top
"""
"""Programs, arguments seen, and other arguments."""
EQUAL = {
    "a product and its sums": (
        PRODUCTS,
        (table(25, 37), table(37, 26, 9)),
        [
            ([[1.0]], [[2.0]]),
            ([[1]], [[2.0]]),
            ([[1.0, float("nan")]], [[2.0], [float("inf")]]),
            ([[1.0, 2.0]], [[1.0]]),
            ([[1.0], [2.0, 3.0]], [[1.0, 2.0]]),
            ([], [[1.0]]),
        ],
    ),
    "steps of a time loop that prints": (
        DIFFUSION,
        (table(46, 38), 3),
        [(table(3, 3), 2), (table(2, 2), 1), ([[1, 2], [3, 4]], 1), (table(4, 5), 0)],
    ),
    "divisions": (
        DIVIDED,
        (floats(90), floats(90, 2)),
        [([2.0], [0.0]), ([], []), ([1.0, 2.0], [2.0]), ([1, 2.0], [3.0, 4.0])],
    ),
}
NUMBA_ONLY = {
    "lists of all types between": (
        GAPS,
        ([[abs(x) for x in row] for row in table(6, 6)], 1.5),
        [([], 1.0), ([[1.0]], 2), ([[2, 1], [3, 4]], 1.5), ([[1.0, float("nan")]] * 2, 3.0)],
    ),
    "divisions": EQUAL.pop("divisions"),
    "places of sorted values": (
        COUNTS,
        ([7, 3, 9, 3, 12, 5], 5),
        [([], 3), ([1, 2], 1), ([2**70, 5], 4), ([-1, -7, 4], 6), ([3], 0), ([1.5], 2)],
    ),
}


@pytest.mark.parametrize(
    ("text", "seen", "others"), [*EQUAL.values(), *NUMBA_ONLY.values()], ids=[*EQUAL, *NUMBA_ONLY]
)
def test_compiled_together(text, seen, others):
    after, _ = rewritten(emit_together, text, seen)
    assert after.count("_kernel(") == 2  # its definition and its call
    for args in (seen, *others):
        assert_same(run(text, "f", args), run(after, "f", args))


@pytest.mark.parametrize(("text", "seen", "others"), EQUAL.values(), ids=EQUAL)
def test_arrays_together(text, seen, others):
    after, _ = rewritten(emit_arrays_together, text, seen)
    for args in (seen, *others):
        assert_same(run(text, "f", args), run(after, "f", args), tolerance=1e-9)


def test_the_same_list_twice():
    """What one name stores, the other one shows: the loops as they were must run."""
    text, x = DIVIDED.replace("x[i] / (top - y[i])", "x[i] * (top - y[i])"), floats(6)
    twice = text.replace("def f(x, y)", "def g(x, y)") + "\n\ndef f(x):\n    return g(x, x), x\n"
    region = next(
        r.together
        for chain in chains_for(twice, "g", (floats(90), floats(90, 2)))
        for r in chain
        if r.beside
    )
    for emit in (emit_together, emit_arrays_together):
        after = apply_edits(region.source, emit(region).edits).decode()
        assert_same(run(twice, "f", (x,)), run(after, "f", (x,)))


def test_lists_that_nobody_reads_are_not_written_back():
    for emit in (emit_together, emit_arrays_together):
        after, _ = rewritten(emit, PRODUCTS, EQUAL["a product and its sums"][1])
        assert "sums[:] =" in after
        assert "zip(c, " not in after
        shown = PRODUCTS.replace("return sums", "return sums, c")
        after, _ = rewritten(emit, shown, EQUAL["a product and its sums"][1])
        assert "zip(c, " in after


@pytest.mark.parametrize(
    "shared",
    [
        "keep = c = [[0.0] * m for _ in range(n)]",
        "c = [[0.0] * m for _ in range(n)]\n    keep = c",
        "c = [[0.0] * m for _ in range(n)]\n    keep = c[0]",
        "c = [[0.0] * m for _ in range(n)]\n    def keep(): return c",
    ],
)
def test_lists_that_another_name_shows_are_written_back(shared):
    text = PRODUCTS.replace("c = [[0.0] * m for _ in range(n)]", shared)
    result = "keep()" if "def keep" in shared else "keep"
    text = text.replace("return sums", f"return sums, {result}")
    args = EQUAL["a product and its sums"][1]
    for emit in (emit_together, emit_arrays_together):
        match = emit(several(text, args))
        if isinstance(match, Match):
            after = apply_edits(several(text, args).source, match.edits).decode()
            assert_same(run(text, "f", args), run(after, "f", args), tolerance=1e-9)


def test_a_comment_between_the_loops_stays():
    after, _ = rewritten(emit_together, PRODUCTS, EQUAL["a product and its sums"][1])
    assert "# the sums of the rows" in after


REFUSED = {
    "a list that a handler may see": (
        """
def f(a, b):
    n = len(a)
    norms = None
    try:
        for i in range(n):
            a[i][0] = 1.0 / a[i][0]
        norms = [0.0] * n
        for i in range(n):
            norms[i] = a[i][1]
    except ZeroDivisionError:
        return norms
    return norms
""",
        "other code may see when",
    ),
    "a list of what a loop computes": (
        PRODUCTS.replace("sums = [0.0] * n", "sums = [c[0][0]] * n"),
        "between the loops of what may change",
    ),
    "a length that a loop computes": (
        """
def f(a, b):
    n = 0
    for i in range(len(a)):
        if a[i][0] > 0.0:
            n += 1
    kept = [0.0] * n
    for i in range(n):
        kept[i] = a[i][0]
    for i in range(n):
        kept[i] += a[i][1]
    return kept
""",
        "between the loops of what they compute",
    ),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_refused(text, reason):
    answer = emit_together(several(text, (table(5, 7), table(7, 6, 9))))
    assert isinstance(answer, Refusal), answer
    assert reason in answer.reason


def test_a_length_that_may_be_no_int_is_asked_about():
    text = PRODUCTS.replace("def f(a, b)", "def f(a, b, n)").replace(
        "n, m = len(a), len(b[0])", "m = len(b[0])"
    )
    after, _ = rewritten(emit_together, text, (table(5, 7), table(7, 6, 9), 5))
    assert "if type(n) is int:" in after
    for n in (5, 4, 0, -1, 6, 2.0, True):
        args = table(5, 7), table(7, 6, 9), n
        assert_same(run(text, "f", args), run(after, "f", args))


def test_attributes():
    seen = SimpleNamespace(rows=table(5, 8))
    after, _ = rewritten(emit_together, CENTRED, (seen,))
    for rows in (table(5, 8), table(1, 1), [[1, 2.0]], [[1.0], [2.0, 3.0]], []):
        args = (SimpleNamespace(rows=rows),)
        one, two = run(CENTRED, "f", args), run(after, "f", args)
        assert (one.result, one.error) == (two.result, two.error)
