"""Stages: measured with a fake clock, shown on terminals only."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from gpuadvise.deadline import Deadline, InTime, process_age, sampling_limit, tracing_limit
from gpuadvise.errors import UsageProblem
from gpuadvise.model import Exited, RunResult, StageCost
from gpuadvise.options import Options, installed_back_ends, parse_allow
from gpuadvise.pipeline import advise, allowed
from gpuadvise.progress import START, Stages, following
from gpuadvise.target import resolve


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_costs_of_stages_even_of_one_that_fails() -> None:
    clock = Clock()
    stages = Stages(clock=clock)
    with stages.stage("bare run"):
        clock.now += 2.5
    with pytest.raises(KeyError), stages.stage("scalene"):
        clock.now += 1.0
        raise KeyError
    assert stages.costs == [StageCost("bare run", 2.5), StageCost("scalene", 1.0)]


def test_the_start_of_the_tool_counts(tmp_path: Path) -> None:
    """Nine seconds of loading on a busy machine are nine seconds of the user's."""
    script = tmp_path / "s.py"
    script.write_text("x = 1\n")
    target = resolve((str(script),), None, tmp_path)
    report = advise(target, Options(budget=1.0), spent=9.0)
    assert [cost.stage for cost in report.costs[:2]] == [START, "bare run"]
    assert report.costs[0].seconds >= 9.0


@pytest.mark.parametrize(("terminal", "quiet", "shown"), [(1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_display(terminal: bool, quiet: bool, shown: bool) -> None:
    out = io.StringIO()
    stages = Stages(Console(file=out, force_terminal=bool(terminal), width=80))
    with stages.stage("scalene", quiet=bool(quiet)):
        stages.detail("half way")
    text = out.getvalue()
    assert ("scalene" in text) == bool(shown)
    assert ("half way" in text) == bool(shown)
    stages.detail("after the end")
    assert "after" not in out.getvalue()


def test_what_comes_next() -> None:
    assert following("bare run") == "then scalene"
    assert following("trials") == ""
    assert following("first line profile") == "then line profile"


def test_budgets() -> None:
    bare = RunResult(Exited(0), wall=4.0, cpu=4.0, max_rss=0)
    # With its start and its end the tool keeps to four bare runs and 15 s.
    assert 3 * bare.wall + 12.0 < allowed(None, bare, 1.0) < 3 * bare.wall + 14.0
    assert allowed(0.0, bare, 0.0) == 0.0, "zero is a budget, not its absence"
    assert 8.0 < allowed(10.0, bare, 1.0) < 9.0
    assert allowed(10.0, bare, 4.0) < 5.0, "what is slow to start is slow to end"
    clock = Clock()
    deadline = Deadline(10.0, clock)
    clock.now += 7.0
    assert deadline.within(None) == 3.0
    assert deadline.within(2.0) == 2.0
    clock.now += 7.0
    assert deadline.over
    assert deadline.remaining() == 0.0


@pytest.mark.parametrize("bare", [0.6, 3.0, 10.0, 30.0])
def test_the_default_leaves_time_for_every_stage(bare: float) -> None:
    """Sampling takes a tenth more than a bare run, tracing a quarter more."""
    left = 3.0 * bare + 13.0
    assert sampling_limit(left, bare) > 1.1 * bare
    left -= 1.1 * bare + 0.5
    assert tracing_limit(left, bare) > 1.25 * bare
    left -= 1.25 * bare + 0.5
    assert left > 0.45 * bare


def test_a_tight_budget_is_shared() -> None:
    sampling = sampling_limit(10.0, 8.0)
    assert 1.0 < sampling < 4.0
    tracing = tracing_limit(10.0 - sampling, 8.0)
    assert tracing >= (10.0 - sampling) / 2
    assert tracing < 10.0 - sampling


def test_items_while_there_is_time() -> None:
    clock = Clock()
    items = InTime("abcd", Deadline(10.0, clock), share=0.4)
    seen = []
    for item in items:
        seen.append(item)
        clock.now += 3.0
    assert seen == ["a", "b"] and items.left_out == 2
    none_left = InTime("ab", Deadline(0.0, clock))
    assert list(none_left) == ["a"] and none_left.left_out == 1
    unbounded = InTime("abcd", Deadline(None, clock))
    assert list(unbounded) == list("abcd") and unbounded.left_out == 0


def test_the_age_of_a_process(tmp_path: Path) -> None:
    code = "import time; from gpuadvise.deadline import process_age; time.sleep(0.5)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(process_age())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0.5 <= float(done.stdout) < 20.0
    assert process_age(tmp_path / "none") == 0.0


def test_back_ends() -> None:
    assert {"numpy", "numba"} <= installed_back_ends()
    assert parse_allow("numpy, numba") == {"numpy", "numba"}
    assert parse_allow(None) == installed_back_ends()
    with pytest.raises(UsageProblem, match="fortran"):
        parse_allow("numpy,fortran")
