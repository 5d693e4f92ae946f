"""The counter of entries: exact, and due when it was asked to be."""

from __future__ import annotations

import random
from time import process_time

import pytest

from gpuadvise.observe.hooks import ENTRIES, Counter, FunctionSite, Recorder
from gpuadvise.observe.plan import SitePlan


def test_every_entry_is_counted_and_looks_come_when_they_are_due() -> None:
    counter, wanted = Counter(), 1
    draw = random.Random(3)
    for entry in range(1, 2000):
        is_due = counter.due()
        assert counter.entries() == entry
        assert is_due is (entry == wanted)
        if is_due:
            stride = draw.randint(1, 40)
            counter.wait(stride)
            wanted = entry + stride
    assert wanted > 1900


def test_an_entry_of_another_thread_during_a_look_is_counted_too() -> None:
    counter = Counter()
    assert counter.due()
    assert not counter.due()
    counter.wait(2)
    for entry in range(3, 10):
        assert not counter.due()
        assert counter.entries() == entry


def test_no_more_looks() -> None:
    counter = Counter()
    assert counter.due()
    counter.wait(ENTRIES)
    assert not any(counter.due() for _ in range(1000))
    assert counter.entries() == 1001


@pytest.mark.parametrize(("spent", "stride"), [(0.1, 500), (5.0, 500), (10.0, 1000), (25.0, 2500)])
def test_looks_become_rarer_where_all_of_them_take_too_much(spent: float, stride: int) -> None:
    """Ten nested sites, each of which keeps to its own share, are too much together."""
    recorder = Recorder(frozenset(), started=process_time() - 100.0, cost=spent)
    site = FunctionSite(SitePlan("key", 1, "f", True), recorder, None)
    site.last_entry, site.last_end = 9_000, 10.0
    # 1000 entries in 1 s, and a look that took 10 ms: 2 % of the time of 500 entries.
    assert site._stride(11.0, 11.01, 0.01, 10_000) == pytest.approx(stride, rel=0.1)
