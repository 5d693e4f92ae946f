"""What is tried, and in which order, where the budget leaves little."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuadvise.deadline import Deadline
from gpuadvise.model import (
    Basis,
    Calls,
    Candidate,
    Condition,
    Edit,
    ErrorSize,
    Exactness,
    Inconclusive,
    Match,
    Mismatch,
    Ratio,
    Refusal,
    Region,
    Site,
    SiteObservation,
    Source,
    Trial,
    Unavailable,
    Verified,
)
from gpuadvise.verify.capture import take
from gpuadvise.verify.choose import _Choice
from gpuadvise.verify.compare import Different, Same
from gpuadvise.verify.one_trial import OneTrial, StateResult
from gpuadvise.verify.perturbed import Perturbed
from gpuadvise.verify.replies import HURRIED, Reference, Run
from gpuadvise.verify.schedule import Room
from gpuadvise.verify.telling import ONLY_RUNS, nearest, trifling
from gpuadvise.verify.trying import LEAST, OUT_OF_TIME, Trying

TEXT = """\
def step(rows):
    for row in rows:
        for k in range(9):
            row[k] += k

for n in range(100):
    for k in range(n):
        pass
"""
SOURCE = Source(Path("prog.py"), TEXT.encode())


def region(line: int, share: float, entries: int, calls: Calls | None = None) -> Region:
    nodes = [n for n in SOURCE.nodes if isinstance(n, ast.For) and n.lineno == line]
    function = SOURCE.tree.body[0] if line < 5 else None
    assert function is None or isinstance(function, ast.FunctionDef)
    site = Site(SOURCE.path, line, "step" if function else "<module>")
    seen = SiteObservation(entries, 1, {})
    refusal = Refusal("not lowered")
    return Region(site, SOURCE, nodes[0], function, None, share, 0, seen, refusal, calls=calls)


def candidate(name: str, where: Region, *needs: str) -> Candidate:
    start = TEXT.index("for")
    match = Match((Edit(start, start, ""),), "slow", "faster", needs=frozenset(needs))
    return Candidate(name, name, where, match)


class Fake(Trying):
    """Time stands still; what states and whole runs would say is given."""

    def __init__(self, left: float, verdicts: dict[str, Any] | None = None) -> None:
        super().__init__(
            SimpleNamespace(states_of=lambda where: []),  # type: ignore[arg-type]
            SimpleNamespace(original_walls=(5.0,), stand_in=None, notes=[]),  # type: ignore[arg-type]
            bare_wall=5.0,
            min_speedup=1.1,
            deadline=Deadline(left, clock=lambda: 0.0),
            unsafe=False,
            progress=lambda text: None,
        )
        self.verdicts = verdicts or {}
        self.asked: list[str] = []

    def on_states(self, candidate: Candidate, *, full: bool = False, forced: bool = False) -> Trial:
        self.asked.append(candidate.id + " in full" * full)
        return self.verdicts[self.asked[-1]](candidate)

    def script(self, trial: Trial, beat: float | None, *, quick: bool) -> Trial:
        return Trial(trial.candidate, trial.region_verdict, faster(9.0), None)


def faster(times: float) -> Verified:
    ratio = Ratio(times, times, times, (5.0,), (5.0 / times,))
    return Verified(ratio, ErrorSize(), 1, "everything")


def predicted(seconds: float) -> Any:
    return lambda found: Trial(found, faster(9.0), None, seconds)


# -------------------------------------------------------------- what is estimated
def test_a_replay_is_a_call_of_the_function_around_the_loop():
    """Entered 10,000 times in two calls: a replay takes half the run, an entry next to nothing."""
    trying = Fake(30.0)
    inner = region(3, 0.8, 10_000, Calls(2, 0.9))
    assert trying.replay(inner) == pytest.approx(0.9 * 5.0 / 2)
    assert trying.entry(inner) == pytest.approx(0.8 * 5.0 / 10_000)
    at_module_level = region(7, 0.8, 100)
    assert trying.replay(at_module_level) == pytest.approx(0.8 * 5.0 / 100)


def test_a_loop_that_is_the_whole_script_is_not_replayed_where_whole_runs_need_the_time():
    """5 s of loop, entered once: replay, compilation and the first call take 8 s, runs 3 s more."""
    once, often = region(2, 1.0, 1, Calls(1, 1.0)), region(2, 1.0, 100, Calls(100, 1.0))

    def too_long(left: float, where: Region, *, known: bool = False) -> bool:
        return Fake(left)._too_long(candidate("a", where, "numba"), known=known)

    assert not too_long(30.0, once)
    assert too_long(9.0, once)
    assert not too_long(9.0, once, known=True), "another rewrite was compared on that state"
    assert not too_long(9.0, often), "a replay is a hundredth of the script"
    # Four times as fast with NumPy, which starts at once.
    assert not Fake(10.0)._too_long(candidate("b", once), known=False)


def test_at_best_counts_entering_and_the_compiler():
    trying = Fake(30.0)
    once, often = region(2, 0.8, 1), region(3, 0.8, 100_000)
    plain = trying.at_best(candidate("a", once, "numpy"))
    assert plain == pytest.approx(1.0, abs=0.1)
    assert trying.at_best(candidate("b", once, "numpy", "numba")) > plain + 1.0
    assert trying.at_best(candidate("c", often, "numpy")) == pytest.approx(plain + 0.5, abs=0.1)


# ------------------------------------------------------------------- which states
def state(line: int | None, reason: str) -> Any:
    return SimpleNamespace(hello=SimpleNamespace(line=line, reason=reason))


def test_states_of_the_loop_itself_come_before_those_of_a_loop_around_it():
    around, first, late = state(6, "first"), state(7, "first"), state(7, "late")
    inner, outer = region(7, 0.9, 100), region(6, 1.0, 1)
    assert nearest([around, first, late], inner) == [late, first]
    assert nearest([around], inner) == [around]
    assert nearest([around, first, late], outer) == [around]
    calls = [state(None, "first"), state(None, "late")]
    assert nearest(calls, region(2, 0.9, 1)) == calls


def test_a_call_that_is_much_shorter_than_usual_tells_no_gain():
    same = Same(ErrorSize(), "equal")
    assert trifling(StateResult(1, "first", same, original_times=(0.001,)), usual=0.1)
    assert not trifling(StateResult(1, "first", same, original_times=(0.05,)), usual=0.1)
    different = StateResult(1, "first", Different("result"), original_times=(0.001,))
    assert not trifling(different, usual=0.1)


# ------------------------------------------------------------- which candidates
OUTER = region(2, 0.9, 1, Calls(1, 0.9))
INNER = region(3, 0.8, 1_500_000, Calls(1, 0.9))


def left_out(trying: Trying, tried: Candidate, before: Sequence[Trial]) -> str:
    trial = _Choice(trying)._left_out(tried, before, [])
    if trial is None:
        return ""
    assert isinstance(trial.region_verdict, Inconclusive)
    return trial.region_verdict.why


def test_a_loop_of_a_few_microseconds_is_not_tried_where_time_is_short():
    inner = candidate("inner", INNER, "numpy")
    assert "2.7 us each time it is entered" in left_out(Fake(15.0), inner, [])
    assert not left_out(Fake(300.0), inner, [])
    found = predicted(2.0)(candidate("outer", OUTER, "numpy"))
    assert left_out(Fake(300.0), inner, [found])
    # Nor as a second chance, before the loop around it had its first.
    trying = Fake(20.0)
    assert _Choice(trying)._place([inner], []) and not trying.asked
    assert not left_out(Fake(15.0), candidate("plain Python", INNER), [])


def test_what_cannot_beat_the_best_so_far_is_not_tried_where_time_is_short():
    first = predicted(0.9)(candidate("array", OUTER, "numpy"))
    compiled = candidate("compiled", region(2, 0.9, 1, Calls(1, 0.9)), "numba")
    assert "1.7 s at best, with another 0.9 s" in left_out(Fake(20.0), compiled, [first])


def test_a_small_gain_does_not_keep_the_time_of_a_large_one():
    """Whole runs of the first, predicted at 4 of 5 s, would take 12 of the 10 s that are left."""
    compiled = candidate("compiled", OUTER, "numba")
    small = predicted(4.0)(candidate("array", OUTER, "numpy"))
    assert not left_out(Fake(10.0), compiled, [small])
    large = predicted(3.0)(candidate("array", OUTER, "numpy"))
    assert left_out(Fake(8.0), compiled, [large])


def test_what_was_beaten_is_tried_once_the_winner_turned_out_wrong():
    array, compiled = candidate("array", OUTER, "numpy"), candidate("compiled", OUTER, "numba")
    wrong = Mismatch("NaN")
    verdicts = {
        "array": predicted(0.9),
        "array in full": lambda found: Trial(found, wrong),
        "compiled": predicted(1.5),
        "compiled in full": predicted(1.5),
    }
    trying = Fake(20.0, verdicts)
    first, second = _Choice(trying)._place([array, compiled], [])
    assert trying.asked == ["array", "array in full", "compiled", "compiled in full"]
    assert first.region_verdict is wrong
    assert second.candidate is compiled and isinstance(second.script_verdict, Verified)


def test_the_most_promising_of_a_place_is_tried_first():
    inner, outer = candidate("inner", INNER, "numpy"), candidate("outer", OUTER, "numba")
    verdicts = {"outer": predicted(1.8), "outer in full": predicted(1.8)}
    trying = Fake(20.0, verdicts)
    first, second = _Choice(trying)._place([inner, outer], [])
    assert trying.asked == ["outer", "outer in full"]
    assert (first.candidate, second.candidate) == (inner, outer)


def test_a_second_candidate_leaves_time_for_a_whole_run_of_the_first():
    """It is predicted to take 2 of 5 s: of the 10 s that are left, 2.3 are kept for that."""
    given: list[float] = []

    def call(*args: object, limit: float, **options: object) -> StateResult:
        given.append(limit)
        times = (4.0,), (1.0,)
        same = Same(ErrorSize(), "equal")
        return StateResult(1, "first", same, None, *times, 0.25)

    trying = Fake(10.0)
    held = SimpleNamespace(try_candidate=call)
    trying.server = SimpleNamespace(states_of=lambda where: [held])  # type: ignore[assignment]
    for name in ("array", "other"):
        Trying.on_states(trying, candidate(name, OUTER, "numpy"))
    assert given[0] == 10.0
    predicted = 0.1 * 5.0 + 0.9 * 5.0 / 4.0 + 0.25
    assert given[1] == pytest.approx(10.0 - 1.15 * predicted - LEAST)


def test_a_second_state_that_finds_no_time_takes_nothing_from_the_first():
    same = StateResult(1, "first", Same(ErrorSize(), "equal"), None, (4.0,), (1.0,), 0.25)
    never = replace(same, comparison=None, failure=HURRIED)
    answers = {"first": same, "second": never}
    held = [
        SimpleNamespace(try_candidate=lambda *_, name=name, **__: answers[name]) for name in answers
    ]
    trying = Fake(10.0)
    trying.server = SimpleNamespace(states_of=lambda where: held)  # type: ignore[assignment]
    often = candidate("array", region(2, 0.9, 100, Calls(100, 0.9)), "numpy")
    assumed = Condition("nobody looks", Basis.ASSUMED)  # so that there are no perturbed inputs
    often = replace(often, match=replace(often.match, ledger=(assumed,)))
    found = Trying.on_states(trying, often, full=True)
    assert isinstance(found.region_verdict, Verified) and trying.partial
    answers["first"] = never
    trying = Fake(10.0)
    trying.server = SimpleNamespace(states_of=lambda where: held)  # type: ignore[assignment]
    # Not even the first: whole runs may tell, where there is time for them.
    assert Trying.on_states(trying, often, full=True).region_verdict == Unavailable(HURRIED.why)
    trying = Fake(2.0)
    trying.server = SimpleNamespace(states_of=lambda where: held)  # type: ignore[assignment]
    assert Trying.on_states(trying, often, full=True).region_verdict == HURRIED


@pytest.mark.parametrize("right", [True, False])
def test_small_inputs_come_after_whole_runs_where_there_was_no_time_for_them_before(right):
    """6 s for a script of 5 s: whole runs first, then what is left."""
    asked: list[float] = []
    wrong = Perturbed(7, None if right else "the result differs")

    def small(*args: object, limit: float, **options: object) -> StateResult:
        asked.append(limit)
        return StateResult(1, "first", None, Unavailable("too long"), perturbed=wrong)

    held = SimpleNamespace(perturb_alone=small)
    trying = Fake(6.0)
    trying.server = SimpleNamespace(states_of=lambda where: [held])  # type: ignore[assignment]
    tried = Trying.on_states(trying, candidate("compiled", OUTER, "numba"))
    assert isinstance(tried.region_verdict, Unavailable) and not asked
    assert trying.afterwards(tried) is tried, "nothing is offered: nothing is to be proved"
    done = trying.afterwards(replace(tried, script_verdict=faster(9.0)))
    assert asked == [5.0]
    if right:
        assert isinstance(done.region_verdict, Unavailable)
        assert "equal on 7 small inputs" in done.region_verdict.why
        assert isinstance(done.script_verdict, Verified)
        assert trying.afterwards(done) is done, "once is enough"
    else:
        assert isinstance(done.region_verdict, Mismatch)
        assert isinstance(done.script_verdict, Mismatch)


@pytest.mark.parametrize("right", [True, False])
def test_a_replay_follows_whole_runs_where_they_left_time(right, monkeypatch):
    found: Any = Same(ErrorSize(), "equal") if right else Different("the result")
    times = ((4.0,), (1.0,)) if right else ((), ())
    held = SimpleNamespace(
        try_candidate=lambda *_, **__: StateResult(1, "first", found, None, *times, 0.25)
    )
    trying = Fake(30.0)
    monkeypatch.setattr(trying, "on_states", Trying.on_states.__get__(trying))
    trying.server = SimpleNamespace(states_of=lambda where: [held])  # type: ignore[assignment]
    compiled = candidate("compiled", OUTER, "numba")
    trying._not_replayed["compiled"] = "too long"
    runs = replace(faster(9.0), compared=f"output{ONLY_RUNS}")
    done = trying.afterwards(Trial(compiled, Unavailable("too long"), runs))
    if right:
        assert isinstance(done.region_verdict, Verified)
        assert done.script_verdict == replace(runs, compared="output")
    else:
        assert isinstance(done.region_verdict, Mismatch)
        assert isinstance(done.script_verdict, Mismatch)


# ------------------------------------------------------------------- later calls
class Calling:
    """A held state whose calls answer as they are told to."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)
        self.hello = SimpleNamespace(entry=1, reason="first")
        self.limits: list[float] = []

    def trial_name(self, changed: object) -> str:
        return "candidate"

    def ignorable(self, changed: object) -> frozenset[str]:
        return frozenset()

    def time_original(self, deadline: Deadline) -> None: ...

    def keeps(self, limit: float) -> bool:
        return True

    def attempt(self, side: str, changed: object, limit: float, **options: Any) -> Run:
        self.limits.append(limit)
        answer = {"setup": 0.0, "cpu": 1.0, "faults": 0, "limit": limit, **self.answers.pop(0)}
        wanted = options["want_capture"] and answer["status"] == "done"
        return Run(answer, ROOTS if wanted else None)


ROOTS = take({"result": 3, "exception": None})


COMPILED = b"import numba\n"


def tried(
    calls: Calling, original: float, room: Room | None = None, text: bytes = COMPILED
) -> StateResult:
    reference = Reference(ROOTS, [original], None, [])
    held: Any = calls
    changed = {Path("prog.py"): text}
    deadline = Deadline(3.0, clock=lambda: 0.0)
    return OneTrial(held, reference, changed, deadline, 2, room).run(Exactness.BITS, 1)


DONE, STOPPED = {"status": "done", "seconds": 1.0}, {"status": "timeout"}


def test_a_later_call_that_finds_no_time_takes_nothing_from_the_first():
    result = tried(Calling(DONE, STOPPED, STOPPED), original=4.0)
    assert result.same and result.failure is None and result.candidate_times == (1.0,)
    # A first call that is slower than the original's, compilation included, says nothing alone.
    result = tried(Calling(DONE, STOPPED, STOPPED), original=0.5)
    assert result.comparison is None and result.failure == HURRIED


@pytest.mark.parametrize(("left", "calls"), [(3.0, 1), (30.0, 2)])
def test_a_later_call_leaves_time_for_a_whole_run(left, calls):
    """The rewritten script is expected to take 2.5 s: a quarter of its time, and 1 s."""
    room = Room(lambda: left, lambda ratio: 6.0 * ratio + 1.0)
    calling = Calling(DONE, DONE)
    assert tried(calling, original=4.0, room=room).same
    assert len(calling.limits) == calls


@pytest.mark.parametrize(
    ("seconds", "text", "calls"),
    [(2.0, b"import numpy\n", 1), (0.5, b"import numpy\n", 3), (2.0, COMPILED, 2)],
)
def test_a_long_call_that_has_lost_is_not_repeated(seconds, text, calls):
    """A compiled one may have taken its time for compiling."""
    answer = {**DONE, "seconds": seconds}
    calling = Calling(answer, answer, answer)
    assert tried(calling, original=1.0, text=text).same
    assert len(calling.limits) == calls


@pytest.mark.parametrize("original", [4.0, 0.8])
def test_no_call_is_begun_when_the_time_is_over(original):
    """The first one took all of it: what it says alone counts where it is a gain."""
    calling = Calling(DONE, STOPPED)
    held: Any = calling
    reference = Reference(ROOTS, [original], None, [])
    over = Deadline(0.0, clock=lambda: 0.0)
    result = OneTrial(held, reference, {Path("prog.py"): b""}, over, 2).run(Exactness.BITS, 1)
    assert len(calling.limits) == 1
    assert result.same == (original == 4.0) and (result.failure is None) == (original == 4.0)


SLOW_START = {"status": "done", "seconds": 5.0, "setup": 0.5, "compiling": 4.5}
"""A call of half a second, behind the import of a compiler and 4.5 s of its work."""


def test_compilation_is_no_part_of_what_a_call_takes():
    """The call that finds no time would have told the same: 0.5 s, eight times as fast."""
    result = tried(Calling(SLOW_START, STOPPED, STOPPED), original=4.0)
    assert result.same and result.failure is None
    assert result.candidate_times == (0.5,)
    assert result.first_call == pytest.approx(0.5 + 4.5)
    slower = tried(Calling(SLOW_START, STOPPED, STOPPED), original=0.4)
    assert slower.comparison is None and slower.failure == HURRIED


@pytest.mark.parametrize(("left", "calls"), [(12.0, 1), (30.0, 2)])
def test_a_compiled_rewrite_keeps_the_time_of_a_whole_run(left, calls):
    """1 s of script, an eighth of 6 s and 5 s of start: 7.8 s, beside 7.2 s for one more call."""
    room = Room(lambda: left, lambda ratio: 6.0 * ratio + 1.0)
    calling = Calling(SLOW_START, DONE)
    assert tried(calling, original=4.0, room=room).same
    assert len(calling.limits) == calls


@pytest.mark.parametrize(
    ("original", "first", "calls"), [(0.6, 0.1, 2), (0.6, 0.4, 3), (0.4, 0.1, 3)]
)
def test_a_plain_gain_on_a_long_call_is_timed_once_more(original, first, calls):
    """The original is timed once as well; of short calls and of small gains more is wanted."""
    answer = {"status": "done", "seconds": first}
    calling = Calling(*[answer] * 3)
    assert tried(calling, original=original, text=b"").same
    assert len(calling.limits) == calls


def test_an_original_that_compiles_is_compared_as_it_is():
    reference = Reference(ROOTS, [6.0], None, [], compiling=4.0)
    held: Any = Calling(SLOW_START)
    trial = OneTrial(
        held, reference, {Path("prog.py"): COMPILED}, Deadline(3.0, lambda: 0.0), 0, None
    )
    assert trial.run(Exactness.BITS, 1).candidate_times == (5.0,)


def test_a_verdict_without_a_replay_is_found_once():
    """What was too long with 4 s left must not be replayed a moment later, with 3."""
    asked: list[str] = []

    def small(*args: object, **options: object) -> StateResult:
        asked.append("small")
        return StateResult(1, "first", None, Unavailable("too long"), perturbed=Perturbed(7))

    def call(*args: object, **options: object) -> StateResult:
        asked.append("replay")
        return StateResult(1, "first", None, HURRIED)

    held = SimpleNamespace(perturb_alone=small, try_candidate=call)
    trying = Fake(4.0)
    trying.server = SimpleNamespace(states_of=lambda where: [held])  # type: ignore[assignment]
    array = candidate("array", region(2, 0.9, 3, Calls(3, 0.9)), "numpy")
    first = Trying.on_states(trying, array).region_verdict
    assert asked == ["small"] and isinstance(first, Unavailable)
    trying.deadline = Deadline(3.0, clock=lambda: 0.0)
    assert Trying.on_states(trying, array, full=True).region_verdict == first
    assert asked == ["small"]


@pytest.mark.parametrize(
    ("spare", "needs", "asked"), [(1.0, "numba", 0), (2.0, "numba", 1), (1.0, "numpy", 1)]
)
def test_small_inputs_that_leave_no_time_to_compile_are_not_made(spare, needs, asked):
    """Beside the whole runs, which come first, a compiler needs 1.2 s to begin with."""
    made: list[int] = []

    def small(*args: object, **options: object) -> StateResult:
        made.append(1)
        return StateResult(1, "first", None, Unavailable("too long"), perturbed=Perturbed(7))

    state: Any = SimpleNamespace(perturb_alone=small)
    one = candidate("form", region(2, 0.9, 1, Calls(1, 0.9)), needs)
    trying = Fake(Fake(9.0).pair(one) + spare)
    verdict = trying._without_replay(one, state, b"", "too long")
    assert isinstance(verdict, Unavailable) and len(made) == asked


def test_a_look_that_would_be_stopped_is_not_begun():
    """2.5 s are kept for the array form; a compiler and a call of the other take 1.35 s."""
    often = region(2, 0.9, 10, Calls(10, 0.9))
    looked: list[object] = []

    def call(patch: object, **options: object) -> StateResult:
        looked.append(patch)
        same = Same(ErrorSize(), "equal")
        return StateResult(1, "first", same, None, (4.0,), (1.0,), 0.25)

    def found(left: float) -> list[Trial]:
        looked.clear()
        trying = Fake(10.0)
        held = SimpleNamespace(try_candidate=call)
        trying.server = SimpleNamespace(states_of=lambda where: [held])  # type: ignore[assignment]
        first = Trying.on_states(trying, candidate("array", often, "numpy"))
        trying.deadline = Deadline(left, clock=lambda: 0.0)
        return [first, Trying.on_states(trying, candidate("compiled", often, "numba"))]

    assert isinstance(found(4.0)[1].region_verdict, Verified)
    assert len(looked) == 2
    assert found(3.5)[1].region_verdict == OUT_OF_TIME
    assert len(looked) == 1, "the whole run of the first has its time"
