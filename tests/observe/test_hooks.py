"""The counter of entries: exact, and due when it was asked to be."""

from __future__ import annotations

import random

from gpuadvise.observe.hooks import ENTRIES, Counter


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
