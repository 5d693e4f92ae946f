"""What would win if the script were run more often, or only once."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpuadvise.conditions import Runs, overtakes, turn
from gpuadvise.model import ErrorSize, Finding, Inconclusive, NotFaster, Ratio, Trial, Verified

sys.path.insert(0, str(Path(__file__).parent / "report"))
from sample import full_report


def ratio(original: float, candidate: float) -> Ratio:
    value = original / candidate
    return Ratio(value, value, value, (original,), (candidate,))


def verified(original: float, first: float, later: float | None = None) -> Verified:
    found = ratio(original, later) if later is not None else None
    return Verified(ratio(original, first), ErrorSize(), 0, "output", later=found)


@pytest.fixture(scope="module")
def place() -> Finding:
    return full_report().findings[0]


def finding(place: Finding, winner: Verified | None, *others: Verified | NotFaster) -> Finding:
    sample = place.others[0]
    trials = tuple(replace(sample, script_verdict=verdict) for verdict in others)
    return Finding(place.region, winner and replace(sample, script_verdict=winner), trials)


@pytest.mark.parametrize("incumbent", [Runs(1.0, 1.0), Runs(2.0, 0.9)])
@pytest.mark.parametrize("rival", [Runs(3.0, 0.2), Runs(30.0, 0.7), Runs(2.05, 0.8)])
def test_the_number_of_runs_is_the_least_one(rival: Runs, incumbent: Runs) -> None:
    count = overtakes(rival, incumbent)
    assert count is not None
    assert 1.1 * rival.total(count) <= incumbent.total(count) + 1e-9
    assert count == 2 or 1.1 * rival.total(count - 1) > incumbent.total(count - 1)


def test_what_later_runs_do_not_gain_is_never_earned_back() -> None:
    assert overtakes(Runs(3.0, 0.95), Runs(1.0, 1.0)) is None
    assert overtakes(Runs(1e6, 0.1), Runs(1.0, 1.0)) is None


def test_a_compiled_rival_wins_from_some_number_of_runs(place: Finding) -> None:
    found = turn(finding(place, verified(7.0, 1.0), verified(7.0, 1.6, 0.4)), runs=1)
    assert found is not None and found.runs == 3
    assert (found.rival, found.incumbent) == (Runs(1.6, 0.4), Runs(1.0, 1.0))


def test_without_a_winner_the_original_is_the_incumbent(place: Finding) -> None:
    slower = NotFaster(ratio(1.0, 1.6), 1.1, ratio(1.0, 0.5))
    found = turn(finding(place, None, slower), runs=1)
    assert found is not None and found.incumbent == Runs(1.0, 1.0)


def test_what_wins_a_single_run_is_named_when_many_were_asked_for(place: Finding) -> None:
    both = finding(place, verified(7.0, 1.6, 0.4), verified(7.0, 1.0))
    found = turn(both, runs=1000)
    assert found is not None and found.runs == 1
    assert turn(finding(place, verified(7.0, 1.0), verified(7.0, 0.99)), runs=1000) is None


def test_what_was_not_run_as_a_whole_script_is_no_rival(place: Finding) -> None:
    sample = replace(place.others[0], script_verdict=None)
    unsure = replace(sample, script_verdict=Inconclusive("noise"))
    winner: Trial = replace(sample, script_verdict=verified(7.0, 1.0))
    assert turn(Finding(place.region, winner, (sample, unsure)), runs=1) is None
    assert turn(Finding(place.region, None, (sample, unsure)), runs=1) is None
