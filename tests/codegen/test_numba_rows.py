"""Rows of arrays as views in compiled loops: ``a[i, :]`` passed on, looped over, stored to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for
from test_numba_cpu import Loaded, _private_cache, rewritten

from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.model import Refusal

__all__ = ["_private_cache"]

RNG = np.random.default_rng(5)
COMPILED: dict[str, tuple[str, tuple[tuple[Any, ...], ...]]] = {
    "rows as arguments of a helper": (
        """
def dot(p, q):
    s = 0.0
    for k in range(len(p)):
        s += p[k] * q[k]
    return s

def f(a, out):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            out[i, j] = dot(a[i, :], a[j, :])
    return out
""",
        (
            (RNG.random((5, 4)), np.zeros((5, 5))),
            (RNG.random((4, 5)).T, np.zeros((5, 5))),
            (RNG.random((0, 4)), np.zeros((5, 5))),
            (RNG.integers(0, 9, (2, 2)), np.zeros((5, 5))),
        ),
    ),
    "a named row that is stored to": (
        """
def f(a):
    t = 0.0
    for i in range(len(a)):
        row = a[i, :]
        for v in row:
            t += v * 2
        row[0] = t
    return a, t
""",
        ((RNG.random((5, 4)),), (RNG.random((0, 4)),), (RNG.random((4, 5)).T,)),
    ),
    "powers of attributes": (
        """
def f(obj, u):
    for i in range(len(u)):
        u[i] = obj.scale ** 2.5 * u[i]
    return u
""",
        (),
    ),
}


class Holder:
    """An object with a number."""

    scale: float

    def __init__(self) -> None:
        self.scale = 1.25


@pytest.mark.parametrize("name", COMPILED)
def test_same(name: str, tmp_path: Path) -> None:
    text, sets = COMPILED[name]
    text = text.lstrip("\n")
    sets = sets or ((Holder(), RNG.random(5)),)
    before = Loaded(text, tmp_path / "before.py")
    after = Loaded(rewritten(text, "f", sets[0]), tmp_path / "after.py")
    for number, args in enumerate(sets):
        assert_same(before.call("f", args), after.call("f", args))
        assert after.compilations >= 1 or number
    assert after.compilations >= 1


REFUSED = {
    # a list's slice is a copy; numpy adds the elements of a slice pairwise
    "parts of rows": ("row = a[i, 1:]\n        s += row[0]", "the slice"),
    "sums of slices": ("s += a[i, :].sum()", "called inside the loop"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    line, words = REFUSED[name]
    text = f"def f(a):\n    s = 0.0\n    for i in range(len(a)):\n        {line}\n    return s\n"
    found = emit(region_for(text, "f", (RNG.random((5, 4)),)), parallel=False)
    assert isinstance(found, Refusal) and words in found.reason, found
