"""What several states say together."""

from __future__ import annotations

from gpuadvise.model import ErrorSize, Inconclusive, Mismatch, Usage, Verified
from gpuadvise.verify.compare import Different, Same
from gpuadvise.verify.one_trial import StateResult
from gpuadvise.verify.replies import HURRIED
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


def timed(original: tuple[float, ...], cpu: float) -> float:
    """The gain said of a rewrite that takes 1 ms."""
    usages = (tuple(Usage(cpu, 0) for _ in original), (Usage(0.001, 0),))
    same = Same(ErrorSize(), "2 objects", "")
    found = verdict_of([StateResult(1, "first", same, None, original, (0.001,), usages=usages)])
    assert isinstance(found, Verified)
    return found.speedup.value


def test_waiting_for_other_programs_is_no_gain() -> None:
    """One run of the original that had an eighth of a core counts with its CPU time."""
    assert round(timed((0.6,), 0.075)) == 75
    assert round(timed((0.08,), 0.075)) == 80
    assert round(timed((0.6, 0.61, 0.62), 0.075)) == 610
    assert round(timed((0.02,), 0.004)) == 20


def test_waiting_of_the_rewrite_is_no_loss() -> None:
    """Nor does a rewrite lose by what others took of its single run; threads keep their wall."""

    def against(candidate: float, cpu: float) -> float:
        usages = (Usage(0.7, 0),), (Usage(cpu, 0),)
        same = Same(ErrorSize(), "2 objects", "")
        held = StateResult(1, "first", same, None, (0.7,), (candidate,), usages=usages)
        found = verdict_of([held])
        assert isinstance(found, Verified)
        return found.speedup.value

    assert round(against(1.8, 0.1)) == 7
    assert round(against(0.1, 0.19)) == 7
