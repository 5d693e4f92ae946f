"""Ratios and their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.model import Inconclusive, NotFaster
from gpuadvise.verify.timing import gain, ratio

times = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=8)


@given(times, times)
def test_interval_holds_the_value_and_repeats(original, candidate):
    first, second = ratio(original, candidate), ratio(original, candidate)
    assert first == second
    assert 0 < first.low <= first.value <= first.high
    assert first.original == tuple(original) and first.candidate == tuple(candidate)


def test_steady_times_give_a_narrow_interval():
    measured = ratio([2.0, 2.01, 1.99, 2.0, 2.02], [0.1, 0.101, 0.1, 0.099, 0.1])
    assert 19.5 < measured.low < measured.value < measured.high < 20.5


def test_a_single_run_is_never_sure():
    alone = ratio([1.0], [0.5])
    assert alone.low < 1.85 and alone.high > 2.15


def test_a_single_run_takes_the_spread_of_the_other_side():
    quiet = ratio([1.0], [0.5, 0.5, 0.5, 0.5])
    noisy = ratio([1.0], [0.3, 0.5, 0.7, 0.9])
    assert noisy.high - noisy.low > 3 * (quiet.high - quiet.low)


@pytest.mark.parametrize("bad", [([], [1.0]), ([1.0], []), ([1.0, 0.0], [1.0]), ([1.0], [-1.0])])
def test_no_times(bad):
    with pytest.raises(ValueError):
        ratio(*bad)


def test_gain_needs_the_whole_interval_above_the_threshold():
    assert gain(ratio([2.0] * 5, [1.0] * 5), 1.1) is None
    assert isinstance(gain(ratio([1.0] * 5, [1.0] * 5), 1.1), NotFaster)
    noisy = gain(ratio([1.0, 1.5, 0.9, 1.4, 1.3], [0.9, 1.2, 0.7, 1.3, 1.0]), 1.1)
    assert isinstance(noisy, Inconclusive) and "quiet machine" in noisy.why
