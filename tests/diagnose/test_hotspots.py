"""Samples and line times become one profile."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuadvise.diagnose.hotspots import hot_functions, merge
from gpuadvise.model import Exited, FunctionTime, LineTime, Profile, RunResult, Source

FILE = Path("/p/main.py")
BARE = RunResult(Exited(0), wall=2.0, cpu=2.0, max_rss=1)
TEXT = """\
    import numpy as np
    def helper(x):
        return x + 1
    def work(n):
        total = 0
        for i in range(n):
            total += helper(i)
            total -= 1
        return total
    print(work(1000))
    """


@dataclass
class Sampled:
    functions: tuple[FunctionTime, ...]
    lines: tuple[LineTime, ...] = ()
    samples: int = 100
    partial: bool = False
    notes: tuple[str, ...] = ("from samples",)
    by: str = "scalene"


@dataclass
class Measured:
    lines: tuple[LineTime, ...]
    partial: bool = False
    notes: tuple[str, ...] = ()


def line(number: int, hits: int, seconds: float) -> LineTime:
    return LineTime(FILE, number, hits=hits, seconds=seconds)


MEASURED = Measured(
    (
        line(3, 1000, 0.1),
        line(5, 1, 0.0),
        line(6, 1001, 0.1),
        line(7, 1000, 5.0),
        line(8, 1000, 0.1),
    )
)
FUNCTIONS = (
    FunctionTime(FILE, "work", 4, 9, 0.5, 0.1),
    FunctionTime(FILE, "helper", 2, 3, 0.2, 0.0),
    FunctionTime(FILE, "<module>", 1, 10, 0.05, 0.15),
)


def profile(sampled: Sampled | None, measured: Measured | None) -> Profile:
    return merge(BARE, sampled, measured, {FILE: Source(FILE, textwrap.dedent(TEXT).encode())})


def shares(result: Profile) -> dict[int, float]:
    return {time.line: time.share for time in result.lines}


def test_hot_functions_are_ranked_and_cut() -> None:
    cold = FunctionTime(FILE, "cold", 1, 1, 0.02, 0.005)
    assert [f.qualname for f in hot_functions((cold, *reversed(FUNCTIONS)))] == [
        *("work", "<module>", "helper"),
    ]


def test_a_functions_total_is_spread_over_its_lines() -> None:
    result = profile(Sampled(FUNCTIONS), MEASURED)
    found = shares(result)
    assert found[3] == pytest.approx(0.2)
    assert sum(found[n] for n in (5, 6, 7, 8)) == pytest.approx(0.6)
    # Line 7's seconds are mostly the helper's, which are counted there.
    assert found[6] == pytest.approx(found[8])
    assert found[7] < 0.01
    assert "scalene" in result.method and result.notes == ("from samples",)


def test_imports_are_kept_but_not_ranked() -> None:
    sampled = (LineTime(FILE, 1, native_share=0.15), LineTime(FILE, 10, python_share=0.05))
    result = profile(Sampled(FUNCTIONS, sampled), MEASURED)
    by_line = {time.line: time for time in result.lines}
    assert (by_line[1].share, by_line[1].native_share) == (0.0, 0.15)
    assert by_line[10].share == pytest.approx(0.05)


def test_without_samples_the_line_times_decide() -> None:
    ranked = profile(None, MEASURED).functions
    for sampled in (None, Sampled((), samples=0), Sampled(ranked, samples=0)):
        result = profile(sampled, MEASURED)
        assert result.method == "line_profiler"
        assert sum(shares(result).values()) == pytest.approx(1.0)
        assert sum(f.share for f in result.functions) == pytest.approx(1.0)
        assert {f.qualname for f in result.functions} == {"work", "helper"}


def test_without_line_times_the_samples_decide() -> None:
    sampled = (LineTime(FILE, 6, python_share=0.4), LineTime(FILE, 8, python_share=0.2))
    result = profile(Sampled(FUNCTIONS, sampled), None)
    assert shares(result)[6] == pytest.approx(0.4)
    assert result.lines[0].hits is None


def test_nothing_at_all() -> None:
    result = profile(None, None)
    assert (result.functions, result.lines, result.partial) == ((), (), False)
    assert profile(None, Measured((), partial=True)).partial


def test_names_of_functions_become_those_of_the_text() -> None:
    result = profile(Sampled((FunctionTime(FILE, "Some.work", 4, 4, 0.5, 0.0),)), MEASURED)
    assert (result.functions[0].qualname, result.functions[0].last_line) == ("work", 9)
