"""``itertools.product``, tuples compared and searched: compiled, as arrays, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for, run
from test_numba_cpu import Loaded, _private_cache, rewritten

from gpuadvise.codegen import numpy_backend
from gpuadvise.codegen.numba_cpu import emit
from gpuadvise.edits import apply_edits
from gpuadvise.model import Match, Refusal

__all__ = ["_private_cache"]

LIFE = """
import itertools
from itertools import product
import numpy as np

def f(g):
    n, m = g.shape
    new = np.zeros((n, m), dtype=int)
    for i in range(n):
        for j in range(m):
            s = 0
            for di, dj in PRODUCT:
                if (di, dj) != (0, 0):
                    s += g[(i + di) % n, (j + dj) % m]
            if g[i, j] == 1 and s in (2, 3) or not (g[i, j] == 1) and s == 3:
                new[i, j] = 1
    return new
""".lstrip("\n")
SUM = """
from itertools import product

def f(g, n, m):
    s = 0
    for i, j in product(range(n), range(m)):
        if (i, j) == (1, 2) or i in (3, 4):
            continue
        s += g[i, j] * j
    return s
""".lstrip("\n")
GRID = np.random.default_rng(3).integers(0, 2, (17, 19))
PRODUCTS = (
    "itertools.product(range(-1, 2), repeat=2)",
    "product((-1, 0, 1), (-1, 0, 1))",
    "product([-1, 0, 1], range(-1, 2))",
)


@pytest.mark.parametrize("spelled", PRODUCTS)
@pytest.mark.parametrize("numba", [True, False])
def test_life(spelled: str, numba: bool, tmp_path: Path) -> None:
    text = LIFE.replace("PRODUCT", spelled)
    sets: tuple[tuple[Any, ...], ...] = ((GRID,), (GRID[:1, :1],), (GRID[:0],), (GRID * 0.5,))
    if numba:
        after = rewritten(text, "f", sets[0])
        assert Loaded(after, tmp_path / "a.py").call("f", sets[0]).error is None
    else:
        region = region_for(text, "f", sets[0])
        match = numpy_backend.emit(region)
        assert isinstance(match, Match), match
        after = apply_edits(region.source, match.edits).decode()
    for args in sets:
        assert_same(run(text, "f", args), run(after, "f", args))


def test_ranges_become_an_ndindex(tmp_path: Path) -> None:
    after = Loaded(rewritten(SUM, "f", (GRID, 17, 19)), tmp_path / "after.py")
    before = Loaded(SUM, tmp_path / "before.py")
    for n, m in ((17, 19), (5, 1), (-2, 3), (0, 3), (2, 0), (0, 0), (2, -1)):
        assert_same(before.call("f", (GRID, n, m)), after.call("f", (GRID, n, m)))
    assert after.compilations == 1


REFUSED: dict[str, tuple[str, tuple[Any, ...], str]] = {
    # the index keeps its older value where the second factor is empty
    "index read after": (
        SUM.replace("return s", "return s + i"),
        (GRID, 17, 19),
        "is read after it",
    ),
    "break": (SUM.replace("continue", "break"), (GRID, 17, 19), "break out of a loop over product"),
    "factor changes": (
        SUM.replace("s += g[i, j] * j", "s += g[i, j] * j\n        m = 3"),
        (GRID, 17, 19),
        "product() of range(m)",
    ),
    "elements, of which it takes copies": (
        SUM.replace("range(n), range(m)", "g[0], g[1]"),
        (GRID, 17, 19),
        "product() of g[0]",
    ),
    # (x, 1) == (x, 1) is true for a NaN
    "tuples of floats": (
        "def f(x):\n    s = 0\n    for i in range(len(x)):\n"
        "        if (x[i], 1) == (x[0], 1):\n            s += 1\n    return s\n",
        (np.array([1.0, np.nan]),),
        "NaN may equal itself",
    ),
    "one name for both": (
        SUM.replace("for i, j in", "for p in").replace("(i, j) ==", "p ==").replace("i in", "3 in"),
        (GRID, 17, 19),
        "one name each",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, args, words = REFUSED[name]
    found = emit(region_for(text, "f", args), parallel=False)
    assert isinstance(found, Refusal) and words in found.reason, found


def test_another_product_is_no_product() -> None:
    text = SUM.replace(
        "from itertools import product\n", "def product(a, b):\n    return zip(a, b)\n"
    )
    assert isinstance(emit(region_for(text, "f", (GRID, 17, 19)), parallel=False), Refusal)
