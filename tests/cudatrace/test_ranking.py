"""Functions of a GPU program ranked by its trace, on recorded runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.cudatrace.attribute import attribute
from gpuadvise.cudatrace.ranking import all_on_gpu, sampled
from gpuadvise.cudatrace.records import load
from gpuadvise.gpucode.cupy_traced import example
from gpuadvise.gpumodel import GpuWork, Place, PlaceTime
from gpuadvise.model import Source

DATA = Path(__file__).parents[1] / "data" / "cudatrace"


def work(name: str) -> GpuWork:
    trace = load(DATA / name)
    found = attribute(trace)
    return GpuWork(found.lines, found.coverage, trace.span * 1e-9, 1.0, times=found.times)


@pytest.mark.parametrize("name", ["torch_training.npz", "cupy_life.npz"])
def test_shares_of_a_recorded_run(name: str) -> None:
    traced = work(name)
    ranked = sampled(traced)
    assert ranked is not None
    assert sum(f.share for f in ranked.functions) == pytest.approx(1.0)
    assert sum(t.python_share + t.system_share for t in ranked.lines) == pytest.approx(1.0)
    assert min(f.python_share for f in ranked.functions) >= 0.0
    assert list(ranked.functions) == sorted(ranked.functions, key=lambda f: -f.share)
    by_function = {f.qualname: f.share for f in ranked.functions}
    span = sum(time.seconds for time in traced.times)
    for line in traced.lines:  # what a line took is in its function's share
        if line.place is not None:
            assert by_function[line.place.function] * span >= line.host * 0.999


def test_a_line_that_waits_is_shown_to_wait() -> None:
    traced = work("cupy_life.npz")
    ranked = sampled(traced)
    assert ranked is not None
    waiting = {Path(w.place.file): w for w in traced.lines if w.place is not None and w.waited > 0}
    assert waiting
    assert any(line.system_share > 0.0 for line in ranked.lines)


def test_nothing_to_rank() -> None:
    traced = work("cupy_life.npz")
    assert sampled(None) is None
    assert sampled(replace(traced, times=())) is None  # the callback method
    assert sampled(replace(traced, times=traced.times[:0], span=0.0)) is None


MIXED = """\
def prepare(n):
    total = 0
    for k in range(n):
        total += k * k
    return total


def run(x, steps):
    for _ in range(steps):
        x = x * 2
        x = x + prepare(9)
    return x
"""


@pytest.mark.parametrize(("seconds", "alone"), [(0.01, True), (0.5, False)])
def test_a_loop_on_the_cpu_is_worth_an_instrumented_run(seconds: float, alone: bool) -> None:
    source = Source(Path("mixed.py"), MIXED.encode())
    launch, loop = Place("mixed.py", 10, "run"), Place("mixed.py", 4, "prepare")
    line = replace(example(1.0, kernels={"multiply": (9, 0.1)}), place=launch)
    work = GpuWork((line,), 1.0, 2.0, 2.0, times=(PlaceTime(launch, 1.0), PlaceTime(loop, seconds)))
    assert all_on_gpu(work, [source]) is alone


def test_without_times_nothing_is_known_of_the_cpu() -> None:
    source = Source(Path("mixed.py"), MIXED.encode())
    assert not all_on_gpu(None, [source])
    assert not all_on_gpu(replace(work("cupy_life.npz"), times=()), [source])
