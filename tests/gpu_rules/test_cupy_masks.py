"""CP315's rewrites against the originals, executed with NumPy in CuPy's place.

The functions used have one meaning in both; what CuPy does with them on a GPU is in
``benchmarks/gpu/rules_cupy.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

from gpuadvise.cases import static_chain
from gpuadvise.patch import apply_edits
from gpuadvise.registry import rules

RULE = next(rule.function for rule in rules() if rule.code == "CP315")
TEXT = """\
import cupy as cp


def run(x, y, m):
    x = cp.asarray(x)
    y = cp.asarray(y)
    m = cp.asarray(m, dtype=bool)
    for _ in range(3):
        {0}
    return x
"""
ASSIGNED = "x[m] = y[m]"
SCALED = ("x[m] *= -0.5", "x[m] += 2", "x[m] -= 1", "x[m] /= 3")


def both(statement: str, *given: np.ndarray) -> list[object]:
    """What the loop makes of copies of its arguments, before and after; exceptions by type."""
    results: list[object] = []
    for run in functions(statement):
        try:
            results.append(run(*map(np.copy, given)))
        except Exception as error:
            results.append(type(error))
    return results


@lru_cache
def functions(statement: str) -> list[Callable[..., object]]:
    """The function before and after the rewrite, with NumPy in CuPy's place."""
    region = static_chain(TEXT.format(statement), "run")[0]
    (mistake,) = RULE(region)
    assert mistake.match is not None
    found = []
    for text in (region.source.data, apply_edits(region.source, mistake.match.edits)):
        names: dict[str, Callable[..., object]] = {}
        exec(text.replace(b"import cupy as cp", b"import numpy as cp"), names)
        found.append(names["run"])
    assert b"may_share_memory" in text or statement != ASSIGNED
    return found


def same(one: object, two: object) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(two, np.ndarray):
        return one is two
    return one.dtype == two.dtype and one.tobytes() == two.tobytes()


RNG = np.random.default_rng(4)
SQUARE = RNG.standard_normal((5, 5))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i8", "u1", "c16", "?"])
@pytest.mark.parametrize("other", ["f4", "i8", "?"])
@pytest.mark.parametrize("shape", [(5, 5), (5,), (4,), (1, 5)])
@pytest.mark.parametrize("statement", [ASSIGNED, *SCALED])
def test_equal_for_all_types_and_shapes(statement, dtype, other, shape) -> None:
    x = (SQUARE * 7).astype(dtype)
    y = (SQUARE.T * 3).astype(other)
    m = np.resize(SQUARE > 0, shape)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        one, two = both(statement, x, y, m)
    assert same(one, two)


def test_a_shifted_view_of_the_same_memory_is_gathered_first() -> None:
    """``x[m] = y[m]`` with ``y = x[1:]``: in place, elements would be read after they changed."""
    results = []
    for run in functions(ASSIGNED):
        base = np.arange(10.0)
        run(base[1:], base[:-1], np.arange(9) % 3 > 0)
        results.append(base.tolist())
    assert results[0] == results[1]
