"""First and later runs in the report, and what would win under other conditions."""

from __future__ import annotations

from dataclasses import replace

from sample import full_report, nothing_report, ratio
from test_terminal import text_of

from gpuadvise.model import ErrorSize, NotFaster, Report, Verified
from gpuadvise.report.terminal import next_command


def _with(report: Report, index: int, **changes: object) -> Report:
    """The report with another trial among the others of its first finding."""
    first = report.findings[0]
    others = list(first.others)
    others[index] = replace(others[index], **changes)  # type: ignore[arg-type]
    return replace(report, findings=(replace(first, others=tuple(others)), *report.findings[1:]))


def test_all_of_the_users_runs_decide_and_are_told() -> None:
    over = Verified(
        ratio(2.0), ErrorSize(), 0, "output", 0.9, later=ratio(60.0), over=ratio(40.0, n=3)
    )
    winner = replace(full_report().findings[0].winner, script_verdict=over)  # type: ignore[type-var]
    finding = replace(full_report().findings[0], winner=winner)
    report = replace(full_report(), runs=50, findings=(finding,), script_verdict=over)
    text = " ".join(text_of(report, 140).split())
    assert "verified, 40x (35-44x, n=3) in the mean of all runs" in text
    assert "first run 6.44 s -> 3.22 s, later runs 107 ms" in text
    assert "later runs, which find the compiled code: 60x" in text
    # ZZ401 takes 1.01 s at first, which is less than 3.22 s
    assert "For a single run ZZ401 would win: 1.01 s, not 3.22 s" in text


def test_what_would_gain_with_more_runs_is_the_next_command() -> None:
    slow = NotFaster(ratio(0.8), 1.1, later=ratio(9.0))
    trial = replace(full_report().findings[0].others[0], script_verdict=slow)
    safe = replace(trial.candidate, match=replace(trial.candidate.match, ledger=()))
    finding = replace(
        full_report().findings[0], winner=None, others=(replace(trial, candidate=safe),)
    )
    report = replace(nothing_report(), findings=(finding,), refused=())
    assert next_command(report) == "gpuadvise --runs 2 life.py 200 'a b'"
    assert "With --runs 2 or more ZZ401 would win" in " ".join(text_of(report, 140).split())
