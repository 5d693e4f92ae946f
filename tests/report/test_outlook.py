"""The section on rewrites for a GPU: measured or not, predicted with its basis, and what to run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness import region_for
from sample import full_report, ratio
from test_terminal import text_of

from gpuadvise.model import ErrorSize, Finding, Report, Trial, Unavailable, Verified
from gpuadvise.report.json import to_json
from gpuadvise.roofline.outlook import outlooks
from gpuadvise.roofline.predict import BUS, LAUNCH, REFERENCE

TEXT = """\
def scaled(a, b):
    for i in range(len(a)):
        b[i] = 2.0 * a[i] + 1.0
"""
SIZE = 2_000


def with_gpu(verdict: object, *, cpu: float | None = 1e-3, nest: bool = True) -> Report:
    """A report with a rewrite for numba.cuda beside one for NumPy."""
    report = full_report()
    region = region_for(TEXT, "scaled", (np.ones(SIZE), np.ones(SIZE)))
    if not nest:
        region = replace(region, nest=replace(report.refused[0].refusal, reason="it draws"))
    first = report.findings[0].others[0].candidate
    cuda = replace(first, rule="NC410", region=region, id="c8")
    cuda = replace(cuda, match=replace(cuda.match, needs=frozenset({"numba", "cuda"})))
    trials = [Trial(cuda, verdict)]  # type: ignore[arg-type]
    if cpu is not None:
        numpy = replace(cuda, rule="NP201", match=replace(cuda.match, needs=frozenset({"numpy"})))
        seen = Verified(ratio(1.0), ErrorSize(), 1, "all")
        timed = replace(seen.speedup, candidate=(cpu,) * 3)
        trials.append(Trial(replace(numpy, id="c9"), replace(seen, speedup=timed)))
    return replace(report, findings=(Finding(region, None, tuple(trials)),))


def told(report: Report) -> str:
    return " ".join(text_of(report, 140).split())


def test_not_measured_here_and_what_would_measure_it() -> None:
    text = told(with_gpu(Unavailable("no CUDA device")))
    assert "Where a GPU may pay" in text
    assert "measured not here: " in text and "no CUDA device" in text
    assert "crossover life.py 200 'a b', where there is an NVIDIA GPU" in text


def test_the_prediction_and_its_parts() -> None:
    report = with_gpu(Unavailable("no CUDA device"))
    (found,) = outlooks(report)
    prediction = found.prediction
    assert prediction is not None
    moved = SIZE * 8 * 2
    assert prediction.copies == pytest.approx(moved / BUS)
    assert prediction.launches == pytest.approx(20e-6) == LAUNCH[prediction.kind]
    assert prediction.work == pytest.approx(moved / REFERENCE.bandwidth)
    assert found.gain == pytest.approx(1e-3 / prediction.seconds)
    text = told(report)
    assert (
        "23.2 us an entry or more on an NVIDIA H200; NP201 takes 1.00 ms here: at most 43x" in text
    )
    assert "basis launches 20.0 us, copies over the bus, both ways 3.20 us" in text
    assert prediction.expected > prediction.seconds
    assert f"likely about {round(prediction.expected * 1e6)} us an entry: 1." in text


def test_the_block_size_says_how_full_an_sm_may_get() -> None:
    report = with_gpu(Unavailable("no CUDA device"))
    (found,) = outlooks(report)
    assert found.block is None and "occupancy" not in told(report)
    finding = report.findings[0]
    candidate = finding.others[0].candidate
    edit = replace(candidate.match.edits[0], text="    block = 32, 8\n    grid = 1, 1\n")
    candidate = replace(candidate, match=replace(candidate.match, edits=(edit,)))
    trials = (replace(finding.others[0], candidate=candidate), *finding.others[1:])
    text = told(replace(report, findings=(replace(finding, others=trials),)))
    assert "occupancy not measured here; blocks of 256 threads fill 100 % of an SM" in text
    assert "up to 32 registers a thread" in text


def test_what_mends_a_gpu_program_is_no_question_of_whether_a_gpu_pays() -> None:
    report = with_gpu(Unavailable("compared as a whole script"))
    finding = report.findings[0]
    mended = replace(finding.others[0].candidate, rule="CP303", saves=0.5)
    finding = replace(finding, others=(replace(finding.others[0], candidate=mended),))
    report = replace(report, findings=(finding,))
    assert outlooks(report) == ()
    assert "Where a GPU may pay" not in told(report)


def test_no_gain_is_said_so() -> None:
    assert "no gain at this size" in told(with_gpu(Unavailable("no CUDA device"), cpu=1e-6))


def test_measured_beside_predicted() -> None:
    seen = Verified(ratio(2.0), ErrorSize(), 1, "all")
    seen = replace(seen, speedup=replace(seen.speedup, candidate=(4e-5, 5e-5, 6e-5)))
    text = told(with_gpu(seen))
    assert "measured 50.0 us an entry" in text


def test_what_cannot_be_counted_is_not_predicted() -> None:
    report = with_gpu(Unavailable("no CUDA device"), nest=False)
    assert "predicted nothing: it draws" in told(report)
    (entry,) = to_json(report)["gpu_outlook"]
    assert entry["predicted_seconds"] is None and entry["why_not"] == "it draws"


def test_without_a_rewrite_for_a_gpu_there_is_no_section() -> None:
    assert "Where a GPU may pay" not in text_of(full_report(), 140)
    assert to_json(full_report())["gpu_outlook"] == []


def test_as_json() -> None:
    (entry,) = to_json(with_gpu(Unavailable("no CUDA device")))["gpu_outlook"]
    assert entry["device"] == "NVIDIA H200" and entry["measured_seconds"] is None
    parts = entry["work_seconds"] + entry["launch_seconds"] + entry["copy_seconds"]
    assert entry["predicted_seconds"] == pytest.approx(parts)
    assert entry["likely_seconds"] > entry["predicted_seconds"]


STEPS = """\
import numpy as np


def step(u, r):
    new = np.zeros_like(u)
    for i in range(1, len(u) - 1):
        new[i] = u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return new


def simulate(u, r, steps):
    for _ in range(steps):
        u = step(u, r)
    return u
"""


def time_loop() -> Report:
    """A report with a time loop that stays on the GPU, its step rewritten for NumPy beside it."""
    report = with_gpu(Unavailable("no CUDA device"))
    finding = report.findings[0]
    loop = replace(region_for(STEPS, "simulate", (np.ones(SIZE), 0.2, 12)), share=0.9)
    inner = next(one for one in loop.inside)
    loop = replace(loop, inside=(replace(inner, share=0.8),))
    cuda, numpy = finding.others
    assert isinstance(numpy.region_verdict, Verified)
    faster = replace(numpy.region_verdict, speedup=ratio(4.0))
    inside = replace(numpy.candidate, region=loop.inside[0])
    trials = (
        replace(cuda, candidate=replace(cuda.candidate, region=loop)),
        replace(numpy, candidate=inside, region_verdict=faster),
    )
    return replace(report, findings=(Finding(loop, None, trials),))


def test_a_time_loop_is_predicted_from_the_nests_of_its_steps() -> None:
    report = time_loop()
    (found,) = outlooks(report)
    assert found.prediction is not None and report.profile is not None
    assert found.prediction.launches == pytest.approx(12 * 20e-6)
    assert found.prediction.copies == pytest.approx(SIZE * 8 * 2 / BUS)  # once, not each step
    assert found.prediction.work == pytest.approx(12 * SIZE * 8 * 2 / REFERENCE.bandwidth)
    assert found.prediction.expected > found.prediction.seconds
    assert "predicted 243 us an entry or more" in told(report)


def test_the_rival_of_a_time_loop_has_the_best_steps_of_the_cpu() -> None:
    report = time_loop()
    (found,) = outlooks(report)
    assert report.profile is not None and found.rival is not None
    assert found.rival.name == "NP201"
    assert found.rival.seconds == pytest.approx((0.1 + 0.8 / 4.0) * report.profile.bare.wall)
