"""What several states say together."""

from __future__ import annotations

from gpuadvise.model import ErrorSize, Inconclusive, Mismatch, Verified
from gpuadvise.verify.compare import Different, Same
from gpuadvise.verify.replies import HURRIED
from gpuadvise.verify.states import StateResult
from gpuadvise.verify.verdicts import failed, verdict_of


def state(entry: int, accuracy: str = "") -> StateResult:
    same = Same(ErrorSize(), "2 objects", accuracy)
    times = (1.0, 1.01, 1.02), (0.1, 0.101, 0.102)
    return StateResult(entry, "first", same, None, *times, warm=True)


def test_the_accuracy_is_said_once() -> None:
    """Each state has figures of its own; the sentence is the same."""
    told = [f"no less accurate than the original (largest error {n} before)" for n in (12, 4, 6)]
    verdict = verdict_of([state(n, text) for n, text in enumerate(told, 1)])
    assert isinstance(verdict, Verified)
    assert verdict.compared.count("no less accurate") == 1
    assert "largest error 12 before), likewise on 2 more states" in verdict.compared
    alone = verdict_of([state(1, told[0])])
    assert isinstance(alone, Verified) and "likewise" not in alone.compared


def test_a_budget_that_ran_out_says_nothing_of_the_rewrite() -> None:
    hurried = StateResult(3, "largest", None, HURRIED)
    assert not failed(hurried)
    assert isinstance(verdict_of([state(1), hurried]), Inconclusive)
    wrong = StateResult(2, "late", Different("result: 1 became 2"))
    assert isinstance(verdict_of([hurried, wrong]), Mismatch)
