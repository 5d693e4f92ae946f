"""Ratios and their intervals."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.model import ErrorSize, Inconclusive, NotFaster, Usage, Verified
from gpuadvise.report import words
from gpuadvise.verify.load import Meter, Ticks, waiting
from gpuadvise.verify.timing import gain, not_apart, ratio

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
    assert isinstance(noisy, Inconclusive) and "idle machine" in noisy.why


BUSY = "other programs took 0.9 of 2 cores meanwhile"


def test_a_small_gain_beside_other_programs_must_show_in_every_run():
    small = ratio([1.30, 1.31, 1.32], [1.0, 1.01, 1.02, 1.03, 1.04])
    assert gain(small, 1.1) is None
    assert not_apart(small, 1.1, BUSY) is None, "each of the original took longer"
    mixed = ratio([1.30, 1.31, 1.32], [1.0, 1.01, 1.02, 1.03, 1.305])
    doubtful = not_apart(mixed, 1.1, BUSY)
    assert isinstance(doubtful, Inconclusive) and BUSY in doubtful.why
    assert "original 1.3 to 1.32 s in 3 runs" in doubtful.why and "idle machine" in doubtful.why
    assert not_apart(mixed, 1.1, "") is None, "nobody else was there"
    few = ratio([1.3, 1.31], [1.0, 1.0, 1.0])
    assert isinstance(not_apart(few, 1.1, BUSY), Inconclusive), "by chance once in ten times"
    assert not_apart(ratio([3.0, 3.1], [1.0, 1.0, 1.0]), 1.1, BUSY) is None, "plain"


@pytest.mark.parametrize(
    ("others", "stolen", "disturbs"), [(0.2, 0.0, False), (0.3, 0.0, True), (0.0, 0.2, True)]
)
def test_who_disturbs(monkeypatch, others, stolen, disturbs):
    """``others``: share of all cores; ``stolen``: cores. Little of them is said, and no matter."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    meter = Meter(wall=10.0, others=40.0 * others, stolen=10.0 * stolen)
    assert meter.words and bool(meter.disturbing) == disturbs
    assert not Meter().disturbing


def test_a_wide_interval_is_no_answer():
    """Its middle lies below the threshold, by chance; 0.6x and 1.7x are as likely."""
    wide = gain(ratio([1.0, 1.8, 0.9, 1.1, 1.7], [0.9, 1.9, 1.0, 1.7, 1.1]), 1.1, "a busy machine")
    assert isinstance(wide, Inconclusive) and "a busy machine" in wide.why
    assert "original 0.9 to 1.8 s in 5 runs" in wide.why, "times, no speed-up"
    narrow = gain(ratio([1.05, 1.06, 1.05, 1.04, 1.12], [1.0, 1.0, 1.0, 1.0, 1.0]), 1.1)
    assert isinstance(narrow, NotFaster)


def test_what_other_runs_differ_by_widens_a_single_run():
    near, far = ratio([1.0], [0.5] * 3), ratio([1.0], [0.5] * 3, known_spread=0.3)
    assert far.low < near.low and far.high > near.high
    assert ratio([1.0] * 3, [0.5] * 3, known_spread=0.3).low == 2.0, "three runs speak themselves"


def test_what_runs_took_is_kept():
    used = [Usage(0.9, 100)], [Usage(0.4, 200)]
    measured = ratio([1.0], [0.5], usages=used)
    assert measured.original_usage == (Usage(0.9, 100),)
    assert measured.candidate_usage == (Usage(0.4, 200),)


def verified(original, candidate, first_call):
    return Verified(ratio(original, candidate), ErrorSize(), 1, "", first_call)


def test_break_even():
    assert verified([0.3, 0.3], [0.1, 0.1], 1.0).break_even == pytest.approx(5.0)
    assert verified([0.3], [0.1], 0.0).break_even == 0.0
    assert verified([0.3], [0.4], 1.0).break_even is None
    assert "pays after 5 calls" in words.first_call(verified([0.3], [0.1], 0.99))
    assert "never" in words.first_call(verified([0.3], [0.4], 1.0))
    assert "no measurable" in words.first_call(verified([0.3], [0.1], 0.0))


# ------------------------------------------------------------------------ load
def test_another_program_is_noticed():
    code = "import time\nend = time.time() + 20\nwhile time.time() < end: pass"
    other = subprocess.Popen([sys.executable, "-c", code])
    try:
        time.sleep(0.3)
        meter = Meter()
        before = Ticks.now()
        time.sleep(0.5)
        meter.add(before, 0.5, Usage(0.0, 0))
    finally:
        other.kill()
        other.wait()
    assert "other programs took" in meter.words and "cores meanwhile" in meter.words


def test_our_own_work_is_not_anothers():
    meter = Meter(wall=2.0, others=0.05)
    assert meter.words == ""
    assert Meter(wall=2.0, others=2.4).words.startswith("other programs took 1.2 of ")
    assert "virtual machines" in Meter(wall=2.0, stolen=0.6).words


def test_without_counters_nothing_is_said(tmp_path):
    assert Ticks.now(tmp_path / "stat") is None
    (tmp_path / "stat").write_text("cpu one two\n")
    assert Ticks.now(tmp_path / "stat") is None
    meter = Meter()
    meter.add(None, 1.0, Usage(0.0, 0))
    assert meter.words == ""


def test_waiting():
    assert waiting([2.0, 3.0], [Usage(1.0, 0), Usage(1.0, 0)]) == "wall time is 2.5 times CPU time"
    assert waiting([2.0], [Usage(1.9, 0)]) == ""
    assert waiting([2.0], []) == ""
