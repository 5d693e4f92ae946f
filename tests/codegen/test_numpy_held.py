"""Elements that an inner loop adds to, held in a scalar meanwhile: forces by Newton's third law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from harness import assert_same, region_for, run

from gpuadvise.codegen.numpy_backend import emit
from gpuadvise.model import Match, Refusal
from gpuadvise.patch import apply_edits

BODIES = """\
import math


def forces(masses, points, acc):
    n = len(masses)
    for i in range(n):
        for j in range(i + 1, n):
            dx = points[j][0] - points[i][0]
            dy = points[j][1] - points[i][1]
            r2 = dx * dx + dy * dy + 0.01
            f = 1.0 / (r2 * math.sqrt(r2))
            acc[i][0] += masses[j] * f * dx
            acc[i][1] += masses[j] * f * dy
            acc[j][0] -= masses[i] * f * dx
            acc[j][1] -= masses[i] * f * dy
    return acc
"""
ARRAYS = """\
def springs(x, stiff, force):
    for a in range(len(x)):
        for b in range(a + 1, len(x)):
            pull = stiff[a, b] * (x[b] - x[a])
            force[a] += pull
            force[b] -= pull
    return force
"""
_rng = np.random.default_rng(5)


def rewritten(text: str, function: str, args: tuple[Any, ...]) -> str:
    region = region_for(text, function, args)
    answer = emit(region)
    assert isinstance(answer, Match), answer
    return apply_edits(region.source, answer.edits).decode()


def bodies(n: int) -> tuple[Any, ...]:
    points = _rng.normal(size=(n, 2)).tolist()
    return _rng.random(n).tolist(), points, [[0.5, -0.0] for _ in range(n)]


def springs(n: int) -> tuple[Any, ...]:
    return _rng.normal(size=n), _rng.random((n, n)), _rng.normal(size=n)


def test_forces_over_lists_of_lists() -> None:
    after = rewritten(BODIES, "forces", bodies(60))
    assert "accumulate" in after and "acc_array[i + 1:, 0] -= " in after
    masses, points, acc = bodies(5)
    others = [bodies(n) for n in (0, 1, 2, 7, 61)]
    others.append((masses, [*points[:4], [math.nan, math.inf]], acc))
    others.append((masses, points, [[0.0, 1.0]] * 5))  # one row under five names
    others.append(([1, *masses[1:]], points, acc))
    others.append((masses, points, acc[:4]))
    for args in others:
        assert_same(run(BODIES, "forces", args), run(after, "forces", args))


def test_rows_that_are_read_and_written() -> None:
    after = rewritten(BODIES, "forces", bodies(60))
    masses, points, _ = bodies(9)
    args = (masses, points, points)
    assert_same(run(BODIES, "forces", args), run(after, "forces", args))


def test_springs_over_arrays() -> None:
    after = rewritten(ARRAYS, "springs", springs(60))
    assert "force_here" in after
    for args in (springs(0), springs(1), springs(33)):
        assert_same(run(ARRAYS, "springs", args), run(after, "springs", args))
    base = np.arange(12.0)
    shared = (base[:8], np.ones((8, 8)), base[3:11])
    assert_same(run(ARRAYS, "springs", shared), run(after, "springs", shared))
    short = (np.ones(8), np.ones((8, 8)), np.ones(7))
    assert_same(run(ARRAYS, "springs", short), run(after, "springs", short))


@pytest.mark.parametrize(
    "line",
    [
        "force[b - 1] -= pull",  # at b == a + 1 that is the element itself
        "force[a] = force[a] * 0.5 + pull",
        "force[x_of[b]] -= pull",
        "total += force[a]",
    ],
)
def test_other_uses_of_the_element(line: str) -> None:
    text = f"""\
def springs(x, x_of, force):
    total = 0.0
    for a in range(len(x)):
        for b in range(a + 1, len(x)):
            pull = 0.25 * (x[b] - x[a])
            force[a] += pull
            {line}
    return force, total
"""
    args = (_rng.normal(size=60), _rng.integers(0, 60, 60), _rng.normal(size=60))
    region = region_for(text, "springs", args)
    answer = emit(region)
    if isinstance(answer, Refusal):
        return
    after = apply_edits(region.source, answer.edits).decode()
    assert_same(run(text, "springs", args), run(after, "springs", args))


def test_names_of_a_module_stay_hidden() -> None:
    text = """\
import numpy as np

x = np.linspace(0.0, 1.0, 60)
force = np.zeros(60)
for a in range(60):
    for b in range(a + 1, 60):
        pull = 0.25 * (x[b] - x[a])
        force[a] += pull
        force[b] -= pull
print(force.sum())
"""
    after = rewritten(text, None, ())  # type: ignore[arg-type]
    assert_same(run(text, None), run(after, None), scalar_names=False)
