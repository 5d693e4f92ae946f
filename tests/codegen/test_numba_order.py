"""Loops in another order: every bit stays, and where it would not, the order stays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from harness import assert_same, region_for, run
from random_nests import RandomNest, arguments  # type: ignore[import-not-found]
from test_numba_cpu import Loaded, _private_cache

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits
from gpuadvise.model import Match, Refusal

__all__ = ["_private_cache"]

PRODUCT = """
def f(a, b, c, x, y, n, m, p):
    for i in range(n):
        for j in range(m):
            s = 0.0  # one element
            # along the row of a, down the column of b
            for k in range(p):
                s += a[i, k] * b[k, j]
            c[i, j] = s
"""
COLUMNS = """
def f(a, b, c, x, y, n, m, p):
    for j in range(n):
        before = 0.5
        for i in range(m):
            c[i, j] = 0.3 * a[i, j] + 0.7 * before
            before = c[i, j]
"""
ROWS = """
def f(a, b, c, x, y, n, m, p):
    for i in range(n):
        t = 0.0
        u = 1.0
        for j in range(m):
            t += a[i, j] * x[j]
            u -= b[i, j] * x[j]
        y[i] = t - u
"""
TRIANGLE = """
def f(a, b, c, x, y, n, m, p):
    for i in range(n):
        for j in range(i + 1, m):
            for k in range(p):
                c[i, j] -= (a[k, i] - x[i]) * a[k, j] + b[k, j]
            c[j, i] = c[i, j]
"""
DOTS = """
def f(a, b, c, x, y, n, m, p):
    for i in range(n):
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += a[i, k] * b[j, k]
"""
AHEAD = """
def f(a, b, c, x, y, n, m, p):
    for i in range(n):
        for j in range(i, m):
            c[i, j] = a[i, j] * x[j - 1 + 1]
"""
BETTER = {
    "product": (PRODUCT, "s_row[j]", "for k in range(0, k_tail, 4):"),
    "columns": (COLUMNS, "before_row[j]", "for i in range(m):\n        for j in range(n):"),
    "rows": (ROWS, "t_3 += a[i + 3, j] * x[j]", "y[i + 1] = t_1 - u_1"),
    "triangle": (TRIANGLE, "j = i + 1 + ahead", "- ((a[k, i] - x[i]) * a[k, j] + b[k, j])"),
    "dots": (DOTS, "c[i, j + 3] += a[i, k] * b[j + 3, k]", "j_tail = (i + 1) // 4 * 4"),
    "ahead": (AHEAD, "for ahead in range(m - i):", "j = i + ahead"),
}
SIZES = (
    *((11, 11, 11), (9, 10, 7), (10, 3, 8), (0, 5, 7), (7, 0, 6)),
    *((8, 9, 0), (1, 1, 1), (4, 4, 4), (-2, 4, 5), (4, -1, 9), (11, 6, -3)),
)


def _emitted(text: str, seed: int = 1) -> str:
    """In steps where that is better, else in order."""
    region = region_for(text, "f", arguments(seed, 11, 11, 11))
    match = emit(region, parallel=False, steps=True)
    if isinstance(match, Refusal):
        match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    return apply_edits(region.source, match.edits).decode()


def _same(text: str, call: Callable[[tuple[Any, ...]], Any]) -> None:
    for size in SIZES:
        for shared in (False, True):
            args = list(arguments(2, *size))
            if shared:
                args[2] = args[0]
            assert_same(run(text, "f", tuple(args)), call(tuple(args)))


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run as Python, whose order of loops is the same, without being compiled."""

    def njit(*functions: Any, **_: Any) -> Any:
        def plain(function: Any) -> Any:
            function.py_func = function
            return function

        return plain(functions[0]) if functions else plain

    monkeypatch.setattr(numba, "njit", njit)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("name", BETTER)
def test_another_order(name: str) -> None:
    text, *marks = BETTER[name]
    after = _emitted(text)
    for mark in marks:
        assert mark in after, after
    _same(text, lambda args: run(after, "f", args))


@pytest.mark.parametrize("name", ["product", "triangle"])
def test_compiled(name: str, tmp_path: Path) -> None:
    """LLVM keeps the order too, and compiles each kernel once."""
    text = BETTER[name][0]
    loaded = Loaded(_emitted(text), tmp_path / "ordered.py")
    _same(text, lambda args: loaded.call("f", args))
    assert loaded.compilations == 1


def test_comments_stay_once() -> None:
    """In the kernel and in the loop for other arguments, each comment as often as it was."""
    after = _emitted(PRODUCT)
    assert after.count("# along the row of a, down the column of b") == 2
    assert after.count("# one element") == 2


def test_threads_keep_the_outermost_loop() -> None:
    region = region_for(PRODUCT, "f", arguments(1, 11, 11, 11))
    match = emit(region, parallel=True)
    assert isinstance(match, Match), match
    after = apply_edits(region.source, match.edits).decode()
    assert "for i in numba.prange(n):" in after and "s_row[j]" in after


COLUMN_SUMS = """
def f(a, b, c, x, y, n, m, p):
    for i in range(n):
        for j in range(m):
            y[i] += a[j, i] * x[j]
"""


@pytest.mark.parametrize("parallel", [False, True])
def test_a_loop_in_threads_is_not_moved_inside(parallel: bool) -> None:
    region = region_for(COLUMN_SUMS, "f", arguments(1, 11, 11, 11))
    match = emit(region, parallel=parallel)
    assert isinstance(match, Match), match
    kernel = apply_edits(region.source, match.edits).decode().partition("def _f_loops")[0]
    assert ("for i in numba.prange(n):\n        for j in range(m):" in kernel) is parallel
    assert ("for j in range(m):\n        for i in range(n):" in kernel) is not parallel


KEPT = {
    "read afterwards": PRODUCT.replace("p):\n", "p):\n    s = 0.0\n", 1) + "    y[0] = s\n",
    "index read afterwards": PRODUCT.replace("p):\n", "p):\n    j = 0\n", 1) + "    y[0] = j\n",
    "another column": PRODUCT.replace("c[i, j] = s", "c[i, j] = s + c[i, j - 1]"),
    "range of its own": """
def f(a, b, c, x, y, n, m, p):
    for i in range(n):
        for j in range(m):
            for k in range(j):
                c[i, j] += a[i, k] * b[k, j]
""",
    "left early": PRODUCT.replace(
        "                s +=",
        "                if s > 9.0:\n                    break\n                s +=",
    ),
    "shared row": """
def f(a, b, c, x, y, n, m, p):
    for k in range(n):
        for j in range(m):
            y[j] += a[k, j] * y[0]
""",
    "own column": """
def f(a, b, c, x, y, n, m, p):
    for k in range(n):
        for j in range(m):
            c[0, j] += c[k, 0] * a[k, j]
""",
}


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("why", KEPT)
def test_the_order_stays(why: str) -> None:
    text = KEPT[why]
    after = _emitted(text)
    for mark in ("_row[", "_tail", "_1"):
        assert mark not in after, after
    _same(text, lambda args: run(after, "f", args))


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_terms_are_added_one_by_one_in_other_types(dtype: type) -> None:
    """A float32 element is rounded after each term; integers gain nothing."""
    text = DOTS.replace("b[j, k]", "b[k, j]")
    args = tuple(
        (100 * a).astype(dtype) if isinstance(a, np.ndarray) else a
        for a in arguments(1, 11, 11, 11)
    )
    region = region_for(text, "f", copy.deepcopy(args))
    match = emit(region, parallel=False, steps=True)
    if isinstance(match, Refusal):
        return
    assert "_tail" not in apply_edits(region.source, match.edits).decode()


@pytest.mark.usefixtures("in_python")
def test_random_nests() -> None:
    """Whatever the order, and whether arrays share memory or not: what the original computes."""
    reordered = 0
    for seed in range(50):
        text = RandomNest(seed).text
        after = _emitted(text, seed)
        if "_row[" not in after and "_tail" not in after:
            continue  # in its old order: what other tests are about
        reordered += 1
        for size in SIZES[:6]:
            args = arguments(seed + 1, *size)
            shared = (*args[:2], args[0], *args[3:])
            for given in (args, shared):
                assert_same(run(text, "f", given), run(after, "f", given))
    assert reordered >= 3
