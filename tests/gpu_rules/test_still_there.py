"""A mistake at a line that the patch replaces is mended: it is no longer named beside it."""

from __future__ import annotations

import pytest

from gpuadvise.cases import static_chain
from gpuadvise.matching import still_there
from gpuadvise.model import Advice, Candidate, Edit, Finding, Match, Mistake, Trial, Unavailable

TEXT = """\
def run(grid, steps):
    for _ in range(steps):
        frame = grid.get()
        total = frame.sum()
"""


@pytest.mark.parametrize(
    ("replaced", "left"),
    [
        ("        frame = grid.get()\n", [2, 4]),
        ("frame = grid.get()", [2, 4]),
        ("grid.get()", [2, 3, 4]),  # only a part: what is said of the line may still hold
        ("        frame = grid.get()\n        total = frame.sum()\n", [2]),
    ],
)
def test_only_whole_lines_count(replaced: str, left: list[int]) -> None:
    region = static_chain(TEXT, "run")[0]
    start = TEXT.index(replaced)
    match = Match((Edit(start, start + len(replaced), "pass"),), "", "")
    trial = Trial(Candidate("c1", "CP301", region, match, saves=1.0), Unavailable("whole runs"))
    named = [
        Advice(region, "CP313", Mistake(line, "what", "remedy", "seen", True)) for line in (2, 3, 4)
    ]
    kept = still_there(named, [Finding(region, trial, ())])
    assert [advice.mistake.line for advice in kept] == left
    assert still_there(named, [Finding(region, None, (trial,))]) == tuple(named)
