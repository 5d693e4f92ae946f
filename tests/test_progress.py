"""Stages: measured with a fake clock, shown on terminals only."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gpuadvise.deadline import Deadline
from gpuadvise.errors import UsageProblem
from gpuadvise.model import Exited, RunResult, StageCost
from gpuadvise.options import installed_back_ends, parse_allow
from gpuadvise.pipeline import allowed
from gpuadvise.progress import Stages, following


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


def test_budgets() -> None:
    bare = RunResult(Exited(0), wall=4.0, cpu=4.0, max_rss=0)
    assert allowed(None, bare) + bare.wall <= 4 * bare.wall + 15.0
    assert allowed(0.0, bare) == 0.0, "zero is a budget, not its absence"
    clock = Clock()
    deadline = Deadline(10.0, clock)
    clock.now += 7.0
    assert deadline.within(None) == 3.0
    assert deadline.within(2.0) == 2.0
    clock.now += 7.0
    assert deadline.over
    assert deadline.remaining() == 0.0


def test_back_ends() -> None:
    assert {"numpy", "numba"} <= installed_back_ends()
    assert parse_allow("numpy, numba") == {"numpy", "numba"}
    assert parse_allow(None) == installed_back_ends()
    with pytest.raises(UsageProblem, match="fortran"):
        parse_allow("numpy,fortran")
