"""Rows of arrays that a loop takes apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from restating import Case, answer, check
from test_numba_cpu import _private_cache

from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

SEEN = "np.random.default_rng(1).random((20, 2))"
HEAD = "import numpy as np\n\n\n"
OTHERS = (
    "np.zeros((0, 2))",
    "np.ones((4, 3))",
    "np.asfortranarray(np.random.default_rng(2).random((9, 2)))",
    "np.ones((5, 2), dtype=int)",
    "np.full((3, 2), np.nan)",
    "[(1.0, 2.0), (3.0, 4.0)]",
    "np.ones(4)",
    "None",
)
CASES = (
    Case(
        name="moments",
        text=HEAD
        + """\
def moments(points, steps):
    total = 0.0
    for k, (x, y) in enumerate(points):
        for s in range(steps):
            total += x * s - y * k
    return total
""",
        seen=f"({SEEN}, 5)",
        others=tuple(f"({other}, 3)" for other in OTHERS),
        contains=("points_0 = points[:, 0]", "points.shape[1] == 2"),
    ),
    Case(
        name="areas",
        text=HEAD
        + """\
def areas(corners, weights):
    total = 0.0
    for i in range(len(corners) - 1):
        x, y = corners[i]
        for (a, b), w in zip(corners, weights):
            total += w * (x * b - a * y)
    return total
""",
        seen=f"({SEEN}, [0.5] * 20)",
        others=tuple(f"({other}, [0.5, 0.25, 2.0])" for other in OTHERS),
        contains=("corners_0[i], corners_1[i]", "zip(zip(corners_0, corners_1), weights)"),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_runs_as_the_original(case: Case, tmp_path: Path) -> None:
    """Results, arguments and exceptions are those of the original."""
    check(case, tmp_path)


def test_arrays_that_change(tmp_path: Path) -> None:
    """Columns would be the same memory as what the loop writes."""
    text = """\
def turn(points, steps):
    for s in range(steps):
        for i in range(len(points)):
            x, y = points[i]
            points[i, 0] = x + 0.1 * y
            points[i, 1] = y - 0.1 * x
    return points
"""
    found = answer(Case(name="turn", text=HEAD + text, seen=f"({SEEN}, 3)"), tmp_path)
    assert isinstance(found, Refusal)
    assert "taken apart" in found.reason or found.reason == "nothing to restate"
