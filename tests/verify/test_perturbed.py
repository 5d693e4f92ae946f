"""When a difference on a perturbed input counts: the tool's side alone, no process is started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gpuadvise.model import Exactness
from gpuadvise.verify import capture
from gpuadvise.verify.perturbed import PATIENCE, SLOWER, Perturbed, PerturbedReplay, Run, Runs

WHAT = {"words": "sizes 8 -> 7", "wild": False, "odd": False}
QUICK = 0.01
PLENTY = 100.0


def done(value: object) -> Run:
    state = capture.take({"result": value})
    return Run(WHAT, "done", "sizes 8 -> 7", QUICK, "", state)


def stopped(limit: float) -> Run:
    return Run(WHAT, "timeout", "sizes 8 -> 7", 0.0, "timeout", None, limit)


class Holder:
    """Answers as a held process would: ``candidate`` has one answer for each time it is asked."""

    def __init__(self, candidate: Sequence[Run], original: Sequence[Run]) -> None:
        self.answers = {"candidate": list(candidate), "original": list(original)}
        self.orders: list[dict[str, Any]] = []

    def ask(self, side: str, changed: object, order: Any, limit: float) -> Runs:
        if side == "candidate":
            self.orders.append(dict(order))
        return Runs((self.answers[side].pop(0),))


def judged(
    holder: Holder, *, limit: float = 5.0, reserve: float = PLENTY, **given: Any
) -> Perturbed:
    replay = PerturbedReplay(holder.ask, QUICK, raised=False)
    return replay.judge(
        {},
        limit,
        exactness=Exactness.BITS,
        reduction_length=1,
        ignore=frozenset(),
        reserve=reserve,
        **given,
    )


def test_a_difference_that_is_there_twice_counts() -> None:
    found = judged(Holder([done(1), done(1)], [done(2), done(2)]))
    assert found.mismatch is not None and "sizes 8 -> 7" in found.mismatch


def test_a_difference_that_does_not_come_again_is_left_out() -> None:
    found = judged(Holder([done(1), done(2)], [done(2), done(2)]))
    assert found.mismatch is None and "the rewrite does not repeat itself" in found.left_out
    found = judged(Holder([done(1)], [done(2), done(3)]))
    assert found.mismatch is None and "uninitialised memory" in str(dict(found.left_out))


def test_a_difference_that_there_is_no_time_to_see_again_counts() -> None:
    found = judged(Holder([done(1)], [done(2)]), limit=0.0, reserve=0.0)
    assert found.mismatch is not None


@pytest.mark.parametrize("first_call", [0.0, 3.0])
def test_how_long_a_run_may_take_follows_from_the_original_and_the_first_call(
    first_call: float,
) -> None:
    """A compiler was paid for on the recorded input: a bound for the worst one would judge none."""
    holder = Holder([done(2)], [done(2)])
    assert judged(holder, first_call=first_call).count == 1
    (order,) = holder.orders
    patience = SLOWER * QUICK + PATIENCE + 2.0 * first_call
    assert order["limits"] == [pytest.approx(patience)]
    assert order["beyond"] == pytest.approx(patience), "a run begun in time may come to its end"
    again = Holder([done(2)], [done(2)])
    judged(again, first_call=first_call, reserve=1.0)
    # Two clocks are read, one after the other; without the bound it would be seconds more.
    assert again.orders[0]["beyond"] <= 1.0 + 0.25, "but never past what is left of the budget"


def test_a_rewrite_that_does_not_end_is_refused_if_it_had_its_time() -> None:
    patience = SLOWER * QUICK + PATIENCE
    found = judged(Holder([stopped(patience)] * 2, [done(2), done(2)]))
    assert found.mismatch is not None and "did not end" in found.mismatch
    found = judged(Holder([stopped(0.5 * patience)], [done(2)]))
    assert found.mismatch is None and dict(found.left_out) == {"the time ran out": 1}
