"""The search for the best set of rewrites that are right together."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.verify.conflicts import heaviest_passing


def oracle(weights, bad):
    """By looking at every set."""
    everything = range(len(weights))
    passing = [
        chosen
        for size in range(1, len(weights) + 1)
        for chosen in combinations(everything, size)
        if not any(conflict <= set(chosen) for conflict in bad)
    ]
    return max(
        ((round(sum(weights[k] for k in chosen), 6), len(chosen)) for chosen in passing),
        default=None,
    )


@st.composite
def problems(draw):
    count = draw(st.integers(1, 6))
    weights = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    members = st.frozensets(st.integers(0, count - 1), min_size=2, max_size=3)
    bad = draw(st.lists(members, max_size=4)) if count > 1 else []
    return weights, bad


@given(problems())
def test_it_finds_the_best_set_and_the_reasons(case):
    weights, bad = case
    asked = []

    def problem(chosen):
        asked.append(chosen)
        assert len(chosen) > 1 and list(chosen) == sorted(chosen)
        return next((f"{sorted(b)}" for b in bad if b <= set(chosen)), None)

    found = heaviest_passing(weights, problem)
    assert not any(conflict <= set(found.best) for conflict in bad)
    assert (sum(weights[k] for k in found.best), len(found.best)) == oracle(weights, bad)
    for conflict in found.conflicts:
        # Smallest: it fails, without any one of its members it would not.
        assert any(b <= conflict.members for b in bad)
        for member in conflict.members:
            assert not any(b <= conflict.members - {member} for b in bad)
        assert conflict.reason
    assert len(asked) <= 60


def test_a_valuable_rewrite_is_worth_two_small_ones():
    found = heaviest_passing([10.0, 1.0, 2.0], lambda s: "clash" if 0 in s else None)
    assert found.best == (0,)
    assert {c.members for c in found.conflicts} == {frozenset({0, 1}), frozenset({0, 2})}


def test_more_than_can_be_searched_keeps_the_most_valuable():
    asked = []
    found = heaviest_passing([float(k) for k in range(1, 13)], asked.append)
    assert found.best == tuple(range(4, 12)) and len(asked) == 1


def test_what_the_runs_raise_goes_through():
    def problem(chosen):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        heaviest_passing([1.0, 1.0], problem)
