"""Buffers that change places in a hot loop."""

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
        name="lists",
        text="""\
def lists(xs, n):
    old = xs[:]
    new = [0.0] * len(xs)
    for t in range(n):
        for i in range(1, len(xs) - 1):
            new[i] = 0.5 * (old[i - 1] + old[i + 1])
        old, new = new, old
    return old, new
""",
        seen="([random.random() for _ in range(30)], 9)",
        others=("([], 3)", "([1.0, 2.0, 3.0], 4)", "([1, 2, 3], 3)"),
        contains=("turns[0] = (turns[0] + 1) % 2", "old, new = new, old"),
    ),
    Case(
        name="arrays",
        text="""\
import numpy as np


def arrays(u, v, n):
    mine = u
    for t in range(n):
        for i in range(1, len(u) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        if t % 3 != 1:
            u, v = v, u
        v[0] = 1.0 / (n - t - 4)
    return u, v, mine is u
""",
        seen=f"({NP}.arange(30.0), {NP}.zeros(30), 3)",
        others=(
            f"({NP}.arange(9.0), {NP}.zeros(9), 8)",
            f"({NP}.arange(9), {NP}.zeros(9), 2)",
            f"({NP}.arange(9.0), {NP}.zeros(8), 2)",
            f"({NP}.ones((3, 4)), {NP}.zeros((3, 4)), 3)",
            f"((lambda a: (a[1:], a[:-1], 3))({NP}.arange(9.0)))",
            "([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 2)",
            f"({NP}.arange(3.0), [0.0, 0.0, 0.0], 2)",
        ),
        contains=("np.may_share_memory(u, v)", "finally:"),
    ),
    Case(
        name="wave",
        text="""\
import numpy as np


class Wave:
    def __init__(self, n):
        self.a = np.arange(float(n * n)).reshape(n, n)
        self.b = self.a * 0.5
        self.c = np.zeros((n, n))


def wave(n, steps):
    w = Wave(n)
    first = w.a, w.b, w.c
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                w.c[i, j] = 2 * w.b[i, j] - w.a[i, j] + 0.1 * (w.b[i - 1, j] - w.b[i, j + 1])
        w.a, w.b, w.c = w.b, w.c, w.a
    return w.a, w.b, w.c, first, w.a is first[0], w.a is first[1]
""",
        seen="(8, 10)",
        others=("(8, 11)", "(2, 3)", "(5, 0)", "(7, 3)"),
        contains=("turns[0] = (turns[0] + 1) % 3",),
    ),
    Case(
        name="rows",
        text="""\
def rows(old, new, steps):
    first = old
    n = len(old)
    row = old[0] if old else None
    for t in range(steps):
        for i in range(n):
            for j in range(n):
                new[i][j] = 0.5 * old[i - 1][j] + old[i][j - 1]
        old, new = new, old
    return old, new, first is old, row
""",
        seen="([[float(i * j % 5) for j in range(8)] for i in range(8)],"
        " [[0.0] * 8 for _ in range(8)], 5)",
        others=(
            "([], [], 3)",
            "([[1.0]], [[2.0]], 2)",
            "([[1.0, 2.0]] * 2, [[2.0, 3.0], [5.0, 6.0]], 3)",
            "([[1.0, 2.0], [0.5, 0.5]], [[2.0, 3.0], [5.0]], 3)",
            "((lambda r, s: ([r, s], [s, r], 3))([1.0, 2.0], [3.0, 4.0]))",
        ),
        contains=("set(map(type, old)) == {list}",),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_everybody_finds_the_same_in_the_buffers(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_a_buffer_that_is_made_anew_stays(tmp_path: Path) -> None:
    text = """\
import numpy as np


def stays(u, v, n):
    for t in range(n):
        for i in range(1, len(u)):
            v[i] = u[i - 1]
        u, v = v, u
        if t == 3:
            v = np.zeros(len(u))
    return u, v
"""
    case = Case(name="stays", text=text, seen=f"({NP}.arange(30.0), {NP}.zeros(30), 9)")
    found = answer(case, tmp_path)
    assert isinstance(found, Refusal) or "turns" not in found[0]
