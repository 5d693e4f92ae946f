"""Warnings about speed that a rewrite takes the cause of: they may go away, nothing else may."""

from __future__ import annotations

import pytest

from gpuadvise.api import Spots
from gpuadvise.cases import mistakes_in
from gpuadvise.model import Exited, Mismatch, RunResult
from gpuadvise.registry import rules
from gpuadvise.verify.agreement import Goal, Reference
from gpuadvise.verify.files import WrittenFiles
from gpuadvise.verify.output import without_silenced

HOST = "NumbaPerformanceWarning: Host array used in CUDA kernel"
LINE = f"/lib/numba/cuda/devicearray.py:890: {HOST} will incur copy overhead to/from device.\n"
QUOTED = "  warn(NumbaPerformanceWarning(msg))\n"
GRID = "/lib/numba/cuda/dispatcher.py:536: NumbaPerformanceWarning: Grid size 1 is small\n"


def compared(was: str, now: str, silenced: tuple[str, ...], warns: tuple[str, ...] = ()) -> object:
    def run(text: str) -> RunResult:
        return RunResult(Exited(0), 1.0, 1.0, 1, stdout=b"42\n", stderr=text.encode(), files={})

    reference = Reference(run(was), lambda: run(was))
    return reference.compare(run(now), WrittenFiles(), Goal(silenced=silenced, warns=warns)).problem


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        (LINE + QUOTED, "", True),
        (LINE + QUOTED + GRID, GRID, True),
        (LINE + LINE, LINE, True),
        (LINE.replace("Host", "\x1b[1mHost").replace(".\n", ".\x1b[0m\n") + QUOTED, "", True),
        ("", LINE, False),  # a new warning
        (GRID, "", False),  # another warning
        (LINE + "total 3\n", "total 4\n", False),
        (f"{HOST} is what I print\n", "", False),  # no place before it: the program's own words
    ],
)
def test_only_what_is_named_may_go_away(was: str, now: str, same: bool) -> None:
    problem = compared(was, now, (HOST,))
    assert (problem is None) is same
    assert same or isinstance(problem, Mismatch)


def test_a_warning_may_come_where_a_rewrite_says_so() -> None:
    assert compared("", LINE + QUOTED, (), warns=(HOST,)) is None
    assert compared(GRID, GRID + LINE + QUOTED, (), warns=(HOST,)) is None
    assert isinstance(compared("", GRID, (), warns=(HOST,)), Mismatch)
    assert isinstance(compared(LINE, "", (), warns=(HOST,)), Mismatch)


def test_without_a_rewrite_that_says_so_it_must_stay() -> None:
    assert isinstance(compared(LINE, "", ()), Mismatch)
    assert without_silenced(LINE.encode(), b"", ()) == LINE.encode()


def test_a_rule_that_silences_a_warning_says_so_in_words() -> None:
    """Whatever `Match.silenced` names is among the differences that the report shows."""
    seen = 0
    for rule in rules():
        for case in rule.cases if rule.code.startswith("NC") else ():
            if not isinstance(case, Spots):
                continue
            for _, mistake in mistakes_in(rule.function, case):
                if mistake.match is not None and mistake.match.silenced:
                    seen += 1
                    assert any("warn" in text for text in mistake.match.differences)
    assert seen
