"""The whole journey of a GPU program, with a module in CuPy's place whose waits are sleeps."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from reading import regions

from gpuadvise import pipeline
from gpuadvise.gpucode.cupy_traced import example
from gpuadvise.gpumodel import CopyWork, GpuWork, Place, PlaceTime
from gpuadvise.matching import match_rules
from gpuadvise.model import Report, Source, Target, Unavailable, Verified
from gpuadvise.options import Options

CUPY = """\
import time

import numpy

stack = numpy.stack


def sum(array):
    return numpy.asarray(numpy.asarray(array).sum()).view(ndarray)


class ndarray(numpy.ndarray):
    def __float__(self):
        time.sleep(0.004)
        return super().__float__()


def asarray(array):
    if type(array) is not ndarray:
        time.sleep(0.004)
    return numpy.asarray(array).view(ndarray)
"""
SCRIPT = """\
import cupy as cp
import numpy as np


def simulate(steps):
    weights = np.linspace(0.0, 1.0, 20)
    grid = cp.asarray(np.arange(400.0).reshape(20, 20))
    totals = []
    for _ in range(steps):
        w = cp.asarray(weights)
        grid = grid * w + 1.0
        totals.append(float(cp.sum(grid)))
    return totals


print(sum(simulate(120)))
"""


def traced(script: Path) -> GpuWork:
    """What the recorder would have said: two lines that take most of the time."""

    def place(line: int, function: str = "simulate") -> Place:
        return Place(str(script), line, function)

    up = CopyWork("host to device", "pageable", "device", 120, 19200, 0.001)
    down = CopyWork("device to host", "device", "pageable", 120, 960, 0.001)
    lines = (
        replace(example(0.5, copies=(up,)), place=place(10)),
        replace(example(0.5, copies=(down,)), place=place(12)),
    )
    times = (
        *(PlaceTime(place(line), 0.5) for line in (10, 12)),
        PlaceTime(place(11), 0.02),
        PlaceTime(Place(str(script), 2, "<module>"), 0.2),
    )
    return GpuWork(lines, 1.0, 1.2, 1.3, times=times)


SETTLING = """\
import cupy as cp


def settle(grid, limit):
    while True:
        new = cp.abs(grid) * 0.5
        moved = float(cp.sum(grid - new))
        grid = new
        if moved < limit:
            return grid


print(float(cp.sum(settle(cp.asarray([64.0] * 300), 1e-9))))
"""


def test_what_only_unsafe_tries_is_advice_without_it(tmp_path: Path) -> None:
    source = Source(tmp_path / "program.py", SETTLING.encode())
    (region,) = (
        replace(
            r, gpu={7: example(0.5, copies=(CopyWork("device to host", "", "", 40, 320, 0.1),))}
        )
        for r in regions(source)
    )
    options = Options(allow=frozenset({"numpy", "cupy"}))
    plain = match_rules([(region,)], options)
    (advice,) = plain.advice
    assert (advice.rule, advice.mistake.line, plain.candidates) == ("CP303", 7, ())
    assert "tried under --unsafe only: it is right if up to 9 more steps" in advice.mistake.remedy
    asked = match_rules([(region,)], replace(options, unsafe=True))
    assert [c.rule for c in asked.candidates] == ["CP303"] and not asked.advice


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("journey")
    script = folder / "program.py"
    script.write_text(SCRIPT)
    (folder / "cupy.py").write_text(CUPY)
    with pytest.MonkeyPatch.context() as patch:
        machine = pipeline.describe()
        patch.setattr(pipeline, "describe", lambda: replace(machine, gpus=("a GPU",)))
        patch.setattr(pipeline, "gather", lambda *_, **__: (traced(script), ()))
        target = Target(script, cwd=folder, python=sys.executable)
        allow = frozenset({"numpy", "cupy"})
        return pipeline.advise(target, Options(allow=allow, budget=40.0))


def test_mistakes_are_mended_together(report: Report) -> None:
    winners = {f.winner.candidate.rule for f in report.findings if f.winner}
    assert winners == {"CP302", "CP303"}, report.message
    assert isinstance(report.script_verdict, Verified), report.script_verdict
    assert report.script_verdict.speedup.low > 1.1


def test_functions_are_ranked_by_the_trace(report: Report) -> None:
    assert report.profile is not None
    assert report.profile.method == "the GPU trace"
    # Its loops launch GPU work, all of them: nothing else could rewrite them.
    assert not {"scalene", "line profile"} & {cost.stage for cost in report.costs}
    assert report.profile.functions[0].qualname == "simulate"


def test_no_state_is_said_to_have_been_compared(report: Report) -> None:
    for finding in report.findings:
        if finding.winner is not None:
            assert isinstance(finding.winner.region_verdict, Unavailable)
