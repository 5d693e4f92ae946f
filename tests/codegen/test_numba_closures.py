"""Compiled loops that call a function beside their own, inside the same outer function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import assert_same, chain_for
from test_numba_cpu import Loaded, _private_cache

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Match
from gpuadvise.patch import apply_edits

__all__ = ["_private_cache"]

TORUS = """\
def make(n, weight):
    def index(i, j):
        return (i % n) * n + (j % n)

    def step(u):
        new = [0.0] * (n * n)
        for i in range(n):
            for j in range(n):
                new[index(i, j)] = u[index(i, j)] + weight * u[index(i - 1, j + 1)]
        return new

    return step


STEP = make(6, 0.25)
SMALL = make(3, 0.5)
"""
STATE = "STEP([0.5 * (k % 7) for k in range(36)])\n"


def loops(text: str) -> Any:
    """The loop of the function inside the other one."""
    return chain_for(text + STATE, "make.step", path=Path("closures.py").absolute())[0]


def test_a_function_beside_the_loops_own(tmp_path: Path) -> None:
    region = loops(TORUS)
    match = emit(region, parallel=False)
    assert isinstance(match, Match), match
    assert match.safe
    text = apply_edits(region.source, match.edits).decode()
    assert "_step_index(n, i - 1, j + 1)" in text
    before, after = (
        Loaded(t, tmp_path / f"{name}.py")
        for name, t in (("before", TORUS), ("after", text.replace(STATE, "")))
    )
    states = [[0.5 * (k % 5) for k in range(36)], [1] * 36, [0.5] * 9, [0.5] * 8, []]
    for name in ("STEP", "SMALL"):
        for state in states:
            assert_same(before.call(name, (state,)), after.call(name, (state,)))
    assert after.compilations == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # what `index` stands for may be another function when the loop runs
        ("    return step", "    index = max\n    return step"),
        ("    return step", "    def other():\n        nonlocal index\n    return step"),
        (
            "    def index(i, j):",
            "    if n:\n        def index(i, j):\n            return 0\n\n    def index(i, j):",
        ),
        # and `n` another number in it
        ("def index(i, j):\n", "def index(i, j):\n        n = 4\n"),
    ],
)
def test_names_that_may_mean_something_else(old: str, new: str) -> None:
    text = TORUS.replace(old, new)
    assert text != TORUS
    compile(text, "closures.py", "exec")
    match = emit(loops(text), parallel=False)
    if isinstance(match, Match):
        assert "(n, i" not in apply_edits(loops(text).source, match.edits).decode()
