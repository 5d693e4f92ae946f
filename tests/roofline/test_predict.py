"""The model's floor for each kind of version."""

from __future__ import annotations

import numpy as np
import pytest
from harness import region_for

from gpuadvise.crossover.versions import Kind
from gpuadvise.loopnest.ir import Nest
from gpuadvise.roofline.ceilings import Roof
from gpuadvise.roofline.predict import BUS, LAUNCH, launches_of, predict
from gpuadvise.roofline.work import Work, work_of

ROOF = Roof("one core", 10e9, {"float32": 80e9, "float64": 40e9}, {})
HEAT = """\
def heat(u, v, steps):
    for t in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = 0.25 * (u[i - 1] + 2.0 * u[i] + u[i + 1])
        for i in range(1, len(u) - 1):
            u[i] = v[i]
"""
SUM = "def f(a, b):\n    for i in range(len(a)):\n        b[i] = a[i] * 2.0 + a[i]\n"


def nest_of(text: str, name: str, *args: object) -> tuple[Nest, Work]:
    nest = region_for(text, name, args).nest
    assert isinstance(nest, Nest)
    work = work_of(nest)
    assert isinstance(work, Work)
    return nest, work


def test_a_compiled_loop_moves_its_data_once_and_numpy_once_for_each_operation() -> None:
    nest, work = nest_of(SUM, "f", np.ones(1000), np.ones(1000))
    compiled, arrays = (predict(nest, work, kind, ROOF) for kind in (Kind.NUMBA, Kind.NUMPY))
    assert compiled.seconds == pytest.approx(16_000 / 10e9)
    assert arrays.seconds == pytest.approx(2 * 1000 * 24 / 10e9)
    assert compiled.limit == arrays.limit == "memory"


def test_arithmetic_is_the_limit_beyond_the_ridge() -> None:
    nest, _ = nest_of(SUM, "f", np.ones(1000), np.ones(1000))
    found = predict(nest, Work(flops=4e9, bytes=8e3), Kind.NUMBA, ROOF)
    assert found.limit == "arithmetic" and found.seconds == pytest.approx(0.1)


def test_a_time_loop_is_two_launches_a_step_and_one_copy_both_ways() -> None:
    nest, work = nest_of(HEAT, "heat", np.ones(500), np.ones(500), 40)
    assert launches_of(nest) == 80
    found = predict(nest, work, Kind.CUDA, ROOF)
    assert found.launches == pytest.approx(80 * LAUNCH[Kind.CUDA])
    assert found.copies == pytest.approx(work.bytes / BUS)
    assert found.seconds == pytest.approx(found.work + found.launches + found.copies)
    assert launches_of(nest_of(SUM, "f", np.ones(9), np.ones(9))[0]) == 1
