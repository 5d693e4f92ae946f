"""The model's floor for each kind of version."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness import region_for

from gpuadvise.crossover.versions import Kind
from gpuadvise.loopnest.ir import Nest
from gpuadvise.roofline.ceilings import Roof
from gpuadvise.roofline.predict import (
    ARRAY,
    BUS,
    CLOCK,
    CYCLE,
    ENTRY,
    FILLED,
    LAUNCH,
    PER_CALL,
    THREADS,
    WAIT,
    launches_of,
    predict,
    threads_of,
)
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


def test_the_estimate_of_a_compiled_loop_counts_cycles_and_caches() -> None:
    nest, work = nest_of(SUM, "f", np.ones(1000), np.ones(1000))
    one = predict(nest, work, Kind.NUMBA, ROOF).expected
    # a product, a sum, two loads and a store for each element
    assert one == pytest.approx(PER_CALL + max(1000 * 4.0 * CYCLE, 16_000 / 10e9 / 5.0))
    cores = replace(ROOF, device="all 8 cores")
    threads = predict(nest, work, Kind.PARALLEL, cores).expected
    assert threads == pytest.approx(THREADS + max(1000 * 4.0 * CYCLE / 8, 16_000 / 10e9 / 5.0))


def test_the_estimate_of_numpy_is_a_pass_for_each_operation_or_one_product() -> None:
    nest, work = nest_of(SUM, "f", np.ones(1000), np.ones(1000))
    passes = predict(nest, work, Kind.NUMPY, ROOF).expected
    assert passes == pytest.approx(2 * (PER_CALL + 24_000 / 10e9 / 5.0))
    product = predict(nest, Work(flops=4e9, bytes=8e3), Kind.NUMPY, ROOF, product=True)
    assert product.expected == pytest.approx(PER_CALL + 0.1)
    assert product.limit == "arithmetic"


def test_the_estimate_for_a_gpu_adds_what_each_array_costs() -> None:
    nest, work = nest_of(HEAT, "heat", np.ones(500), np.ones(500), 40)
    found = predict(nest, work, Kind.CUDA, ROOF)
    fixed = found.launches + found.copies + ENTRY + 2 * ARRAY
    assert found.expected > fixed and found.expected > found.seconds
    assert threads_of(nest) == 498


def test_few_threads_cannot_hide_what_each_waits_for() -> None:
    text = """\
def f(a, b):
    for i in range(len(a)):
        total = 0.0
        for j in range(len(b)):
            total += b[j] / (b[j] + a[i])
        a[i] = total
"""
    few, many = (
        predict(*nest_of(text, "f", np.ones(n), np.ones(2000)), Kind.CUDA, ROOF) for n in (32, 3200)
    )
    least = 2000 * 6.0 * WAIT / CLOCK  # a division and more, one after the other
    assert few.expected - few.work > least
    assert many.expected < 3 * few.expected + many.work / FILLED
