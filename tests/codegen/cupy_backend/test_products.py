"""Products of matrices by CuPy, run against the loops: over NumPy, and on a GPU where one is."""

from __future__ import annotations

import fake_cupy
import numpy as np
import pytest
from harness import assert_same, region_for, run, tolerance_for
from test_arrays import cupy  # noqa: F401  (a fixture)

from gpuadvise.codegen.cupy_backend import products_on_gpu
from gpuadvise.model import Exactness, Match, Refusal
from gpuadvise.patch import apply_edits
from gpuadvise.verify.claims import broken_step

CHAIN = """
import numpy as np


def f(a, b, c):
    n, m, p = a.shape[0], b.shape[1], c.shape[1]
    half = np.zeros((n, m))
    whole = np.zeros((n, p))
    for i in range(n):
        for j in range(m):
            for k in range(b.shape[0]):
                half[i, j] += a[i, k] * b[k, j]
    for i in range(n):
        for j in range(p):
            for k in range(m):
                whole[i, j] += half[i, k] * c[k, j]
    return whole
"""
UPDATE = """
def f(alpha, a, b, c):
    n, m = a.shape
    for i in range(n):
        for j in range(n):
            c[i, j] *= 0.5
            for k in range(m):
                c[i, j] += alpha * a[i, k] * b[j, k]
    return c
"""
GRAM = """
import numpy as np


def f(data):
    n, m = data.shape
    cov = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]
    return cov
"""


def matrices(seed: int, *shapes: tuple[int, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


PROGRAMS = {
    "one after the other": (CHAIN, lambda s: tuple(matrices(s, (66, 70), (70, 65), (65, 68)))),
    "an update of a third": (UPDATE, lambda s: (1.5, *matrices(s, (70, 80), (70, 80), (70, 70)))),
    "with its own transpose": (GRAM, lambda s: tuple(matrices(s, (90, 70)))),
}


def rewritten(text: str, args: tuple[object, ...]) -> str:
    region = region_for(text, "f", args)
    match = products_on_gpu(region)
    assert isinstance(match, Match), match
    assert match.exactness is Exactness.REASSOCIATED and "cupy" in match.needs
    new = apply_edits(region.source, match.edits)
    assert broken_step(region.source, new, match) is None
    return new.decode()


@pytest.mark.parametrize(("text", "make"), PROGRAMS.values(), ids=PROGRAMS.keys())
def test_equal(text: str, make: object, cupy: bool) -> None:  # noqa: F811
    new = rewritten(text, make(1))  # type: ignore[operator]
    assert "_f_product(" in new
    for seed in (2, 3):
        args = make(seed)  # type: ignore[operator]
        names = frozenset({"np", "cp", "_f_product"})
        before, after = run(text, "f", args), run(new, "f", args)
        assert_same(before, after, tolerance=tolerance_for(100), new_names=names)


def test_the_product_is_made_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    text, make = PROGRAMS["an update of a third"]
    new = rewritten(text, make(1))
    fake_cupy.copies.update(there=0, back=0)
    run(new, "f", make(1))
    assert fake_cupy.copies == {"there": 2, "back": 1}
    monkeypatch.setattr(fake_cupy.cuda, "is_available", lambda: False)
    run(new, "f", make(1))
    assert fake_cupy.copies == {"there": 2, "back": 1}


def test_left_to_the_cpu() -> None:
    small = products_on_gpu(
        region_for(UPDATE, "f", (1.5, *matrices(1, (20, 20), (20, 20), (20, 20))))
    )
    assert isinstance(small, Refusal) and "take longer than the product" in small.reason
    whole = [m.astype(np.int64) for m in matrices(1, (80, 80), (80, 80), (80, 80))]
    assert products_on_gpu(region_for(UPDATE.replace("0.5", "2"), "f", (3, *whole))) is None
