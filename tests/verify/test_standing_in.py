"""Runs that stand in for the original: which gains count."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuadvise.deadline import Deadline
from gpuadvise.model import Exited, RunResult, Verified
from gpuadvise.verify.agreement import Goal
from gpuadvise.verify.schedule import Timed
from gpuadvise.verify.standing_in import stood_in


def ran(seconds: float) -> RunResult:
    """A run that writes nothing."""
    return RunResult(Exited(0), seconds, seconds, 10**6, stdout=b"", stderr=b"", files={})


@pytest.mark.parametrize(
    ("seconds", "expected", "counts"),
    [
        (3.0, None, True),
        (5.5, None, False),  # known from the user's own run alone: 1.8x may be chance
        (5.5, 5.0, True),  # recorded calls gained as well
        (8.5, 8.0, False),
    ],
)
def test_which_gains_count(seconds: float, expected: float | None, counts: bool) -> None:
    """Against a real run of 10 s; ``expected``: what the gain on recorded calls promises."""
    found = stood_in(
        ran(10.0),
        ran(11.0),
        lambda limit: ran(seconds),
        Timed({Path("a.py"): b""}),
        Goal(expected=expected),
        Deadline(60.0),
    )
    assert isinstance(found, Verified) if counts else found is None
