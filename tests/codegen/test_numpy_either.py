"""Lists in which ints and floats stand side by side: ``[0] * n``, given floats later."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness import assert_same, region_for, run
from numpy_cases import Cases, check

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

rng = np.random.default_rng(29)
cases = Cases()
case = cases.add


def rows(n, m):
    return rng.standard_normal((n, m)).tolist()


def framed(n, m, edge=0):
    """Floats with a border of ints."""
    table = rows(n, m)
    table[0] = [edge] * m
    table[-1] = [edge] * m
    return table


case(
    "product into a table of 0",
    """
def k(a, b):
    n = len(a)
    m = len(b[0])
    c = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            for t in range(len(b)):
                c[i][j] += a[i][t] * b[t][j]
    return c
""",
    (rows(20, 30), rows(30, 20)),
    [
        (rows(1, 1), rows(1, 1)),
        (rows(2, 3), rows(3, 1)),
        ([[]], [[1.0]]),
        (rows(2, 2), [[1, 0.5]] * 2),
    ],
)
case(
    "a sum that starts at 0",
    """
def k(a, x):
    y = [0] * len(a)
    for i in range(len(a)):
        s = 0
        for j in range(len(x)):
            s += a[i][j] * x[j]
        y[i] = s
    return y
""",
    (rows(30, 20), rng.random(20).tolist()),
    [(rows(3, 2), [0.5, -0.0]), ([[], []], []), ([], [0.5])],
)
case(
    "the ends keep their ints",
    """
def k(x, y):
    n = len(x)
    slope = [0] * n
    for i in range(1, n - 1):
        slope[i] = (y[i + 1] - y[i - 1]) / (x[i + 1] - x[i - 1])
    return slope
""",
    (np.arange(300.0).tolist(), rng.random(300).tolist()),
    [(np.arange(n * 1.0).tolist(), rng.random(n).tolist()) for n in (0, 1, 2, 3)],
)
case(
    "a grid with a border of ints, both ways",
    """
def k(u, rate):
    n = len(u)
    m = len(u[0])
    new = [[0] * m for _ in range(n)]
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            around = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]
            new[i][j] = rate * (around - 4 * u[i][j])
    return new
""",
    (framed(20, 30), 0.25),
    [
        (framed(5, 6, edge), rate)
        for edge in (7, -1, 2**31 + 1, 2**70, True, math.nan, -0.0)
        for rate in (0.5, -0.5)
    ]
    + [(framed(2, 2), 0.5), ([[0] * 4 for _ in range(4)], 0.5)],
)
case(
    "changed in place",
    """
def k(u, f):
    for i in range(len(u)):
        u[i] = u[i] * 0.5 + f
""",
    ([0] * 20 + rng.random(300).tolist(), 0.25),
    [([0, 3, 0.5, -0.0], -0.0), ([], 0.5), ([1, 2], math.inf), ([2**80, 1.0], 0.5)],
)


@pytest.mark.parametrize("name", cases)
def test_lists_of_ints_and_floats(name):
    assert "np." in check(cases[name])


@pytest.mark.parametrize(
    "value",
    [
        "u[i]",  # the int itself goes on
        "-u[i]",  # -0 and -0.0
        "u[i] * u[i + 1]",  # 0 * -1 and 0.0 * -1.0
        "max(u[i], u[i + 1])",
        "u[i] + 1",
        "u[i] // 2.5",  # 0 // -2.5
        "u[i] ** 2",
        "f if u[i] > 0.5 else 1",
    ],
)
def test_refused_where_the_type_shows(value):
    text = f"""
def k(u, f):
    out = [0.0] * len(u)
    for i in range(len(u) - 1):
        out[i] = {value}
    return out
"""
    observed = ([0] * 20 + rng.random(300).tolist(), -1.0)
    region = region_for(text, "k", observed)
    assert isinstance(region.nest, Refusal)
    assert isinstance(emit(region), Refusal)


def test_a_table_of_ints_under_a_condition_is_left():
    """Which elements become floats is known only by then."""
    text = """
def k(x):
    out = [0] * len(x)
    for i in range(len(x)):
        if x[i] > 0.5:
            out[i] = x[i] * 0.5
    return out
"""
    assert isinstance(emit(region_for(text, "k", (rng.random(300).tolist(),))), Refusal)


def test_what_was_not_stored_stays_an_int():
    """Also where another run stores less."""
    text = """
def k(out, x, first, last):
    for i in range(first, last):
        out[i] = x[i] * 0.5
"""
    x = rng.random(300).tolist()
    region = region_for(text, "k", ([0] * 300, x, 20, 280))
    match = emit(region)
    assert isinstance(match, Match)
    after = apply_edits(region.source, match.edits).decode()
    for args in (
        ([0, 1, 2.5, 3], x, 1, 3),
        ([0] * 4, x, 3, 1),
        ([0] * 4, x, -2, 2),
        ([0] * 4, x, 0, 9),
    ):
        assert_same(run(text, "k", args), run(after, "k", args))


def test_a_carried_number_is_asked_for_its_type():
    """An int at first, it makes ints of the first row."""
    text = """
def k(table, start):
    for i in range(len(table)):
        for j in range(len(table[0])):
            table[i][j] = start * j
        start = start + 0.5
    return table, start
"""
    region = region_for(text, "k", (rng.random((30, 40)).tolist(), 0.25))
    match = emit(region)
    assert isinstance(match, Match)
    after = apply_edits(region.source, match.edits).decode()
    for start in (1, True, 0.5):
        args = ([[0.5, 1.5], [2.5, 3.5]], start)
        assert_same(run(text, "k", args), run(after, "k", args))
