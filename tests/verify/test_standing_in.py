"""What a rewritten run is compared with where the original gets no run of its own."""

from __future__ import annotations

import pytest

from gpuadvise.model import Exited, RunResult
from gpuadvise.verify.standing_in import as_the_original, without_waiting


def run(wall: float, cpu: float) -> RunResult:
    return RunResult(Exited(0), wall, cpu, max_rss=0)


@pytest.mark.parametrize(
    ("real", "profiled", "rewritten", "gain"),
    [
        # An idle machine: wall times as they are.
        ((5.0, 5.0), (6.0, 6.0), (1.0, 1.0), 5.0),
        # Three programs on each core, in all runs: as idle.
        ((15.0, 5.0), (18.0, 6.0), (3.0, 1.0), 5.0),
        # The same, but they were gone when the rewrite ran: not 15 times as fast.
        ((15.0, 5.0), (18.0, 6.0), (1.0, 1.0), 5.0),
        # They came later: its wall time counts in full.
        ((5.0, 5.0), (6.0, 6.0), (3.0, 1.0), 5.0 / 3.0),
        # Threads take more CPU time than they last.
        ((4.0, 8.0), (5.0, 9.0), (1.0, 2.0), 4.0),
        ((5.0, 5.0), (6.0, 6.0), (1.0, 2.0), 5.0),
        # The user took a minute to type; in a trial that is read from a file.
        ((65.0, 5.0), (6.0, 6.0), (1.0, 1.0), 5.0),
        # It ended before the clock of CPU time counted anything.
        ((5.0, 5.0), (6.0, 0.0), (1.0, 0.0), 5.0),
    ],
)
def test_waiting_is_left_out_of_both_sides(
    real: tuple[float, float],
    profiled: tuple[float, float],
    rewritten: tuple[float, float],
    gain: float,
) -> None:
    original = run(*real)
    seconds = as_the_original(run(*rewritten), original, run(*profiled))
    assert without_waiting(original) / seconds == pytest.approx(gain)


def test_a_script_that_sleeps_gains_no_more_than_it_computes() -> None:
    real, profiled, rewritten = run(5.0, 2.0), run(6.0, 3.0), run(3.1, 0.1)
    gain = without_waiting(real) / as_the_original(rewritten, real, profiled)
    assert 1.0 < gain <= 5.0 / 3.1
