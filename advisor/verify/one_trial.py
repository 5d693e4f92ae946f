"""Everything done for one candidate on one held state, and what came of it."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..deadline import Deadline
from ..model import CompiledKernel, Exactness, Usage
from .compare import Comparison, Different, Same, compare, in_later_call
from .perturbed import NOT_PERTURBED, Perturbed
from .replies import HURRIED, Failure, Reference, Run
from .runs import compiles
from .schedule import Room

if TYPE_CHECKING:
    from .states import HeldState

SLOWDOWN_LIMIT = 4.0
"""A candidate is stopped at this many times the original's time, plus ``MARGIN``."""
MARGIN = 2.0
ALONE = 1.25
"""Where nothing but the first call is timed, it is stopped at this many times the original's time,
plus ``MARGIN``: it has lost."""
COMPILE_MARGIN = 90.0
"""Seconds allowed for importing and compiling where the new code uses a compiler;"""
COMPILING = 8.0
"""with less than this, on a busy machine, it says nothing of the code that it did not end."""
LOST = 1.5
"""A call of more than ``CHEAP`` seconds that takes so many times as long is not repeated."""
PLAINLY = 2.0
"""Of calls of more than ``CHEAP`` seconds, one that is so many times as fast gains plainly."""
LATER = 1.3
"""A call after a warm-up takes so many times as long as the first one did, with its compilation."""
CHEAP = 0.5
"""Calls up to this long are run again for every comparison and timing, and once more after it."""
LOOKS = 4
"""So many times the data are gone through where a call is warmed up: before, between and after."""
KEPT = "a second call with the same arguments returns an object that the first call returned"


@dataclass(frozen=True)
class StateResult:
    """What came of trying one candidate on one held state."""

    entry: int
    reason: str
    comparison: Comparison | None
    """None if there was nothing to compare: see ``failure``."""
    failure: Failure | None = None
    original_times: tuple[float, ...] = ()
    candidate_times: tuple[float, ...] = ()
    """Steady state where ``warm``; else of first calls, without imports and definitions."""
    first_call: float = 0.0
    """Seconds of the first call beyond the steady state: imports, definitions, compilation."""
    warm: bool = False
    raised: str | None = None
    """The exception that both raised, in words."""
    perturbed: Perturbed = NOT_PERTURBED
    """What came of inputs made from this state's."""
    usages: tuple[tuple[Usage, ...], tuple[Usage, ...]] = ((), ())
    """CPU time and page faults of the timed calls of both sides."""
    kernels: tuple[CompiledKernel, ...] = ()
    """CUDA kernels that the candidate compiled."""

    @property
    def same(self) -> bool:
        """Compared, and equal."""
        return isinstance(self.comparison, Same)


class OneTrial:
    """Everything done for one candidate on one state."""

    def __init__(
        self,
        state: HeldState,
        reference: Reference,
        changed: dict[Path, bytes],
        deadline: Deadline,
        repeats: int,
        room: Room | None = None,
    ) -> None:
        self.state, self.reference, self.changed = state, reference, changed
        self.deadline, self.repeats, self.room = deadline, repeats, room
        self.name = state.trial_name(changed)
        self.compiles = compiles(changed)
        self.steady: list[float] = []
        self.cold: list[float] = []
        self.usages: dict[bool, list[Usage]] = {True: [], False: []}
        self.setup = self.compiling = 0.0
        self.warm = True
        self.kernels: tuple[CompiledKernel, ...] = ()

    def run(self, exactness: Exactness, reduction_length: int) -> StateResult:
        """The calls of the candidate, compared and timed."""
        ignore = self.state.ignorable(self.changed)

        def judge(run: Run) -> Comparison:
            assert run.state is not None
            return compare(
                self.reference.state,
                run.state,
                exactness=exactness,
                reduction_length=reduction_length,
                ignore=ignore,
            )

        began = self.deadline.spent
        first = self._attempt(warm=False, want_capture=True)
        if not first.done:
            return self._result(None, first.failure)
        self.setup = float(first.answer["setup"])
        # Of an original that compiles as well, the same would have to be taken off.
        self.compiling = 0.0 if self.reference.compiling else first.compiling
        self.cold.append(first.seconds)
        self.usages[False].append(first.usage)
        comparison = judge(first)
        if isinstance(comparison, Same) and self._has_lost:
            return self._result(comparison, None)
        if isinstance(comparison, Same) and not comparison.error.exact and first.state is not None:
            comparison = self.state.accuracy(
                first.state, comparison, reduction_length, self.deadline
            )
        if not isinstance(comparison, Same):
            return self._result(comparison, None)
        # Every process compiles again: one warm call is what that is worth.
        once = self.compiles or self._gains_plainly
        rounds = min(1, self.repeats) if once else self.repeats
        if not self._has_room(self.deadline.spent - began):
            rounds = 0
        for left in reversed(range(rounds)):
            if self.deadline.over:  # a call would only be stopped
                gains = self._gains
                return self._result(comparison if gains else None, None if gains else HURRIED)
            last = left == 0 or self.deadline.remaining() < 4 * first.seconds
            self.state.time_original(self.deadline)
            run = self._timed(last=last)
            if not run.done:
                # That the time ran out for it takes nothing from the call that was compared.
                known = run.failure == HURRIED and self._gains
                return self._result(comparison if known else None, None if known else run.failure)
            if run.state is not None:
                again = judge(run)
                if not isinstance(again, Same):
                    return self._result(in_later_call(again), None)
                if run.kept and not self.state.keeps(self.deadline.remaining()):
                    return self._result(Different(KEPT), None)
                break
        return self._result(comparison, None)

    @property
    def _gains(self) -> bool:
        """The first call is faster than the original's.

        With all that only a first call takes; what it spent on compiling is left out where that is
        known, as the calls behind it do without.
        """
        starting = 0.0 if self.compiling else self.setup
        return starting + self.cold[0] - self.compiling < min(self.reference.times)

    @property
    def _gains_plainly(self) -> bool:
        """Where the original takes long it is timed once, and so is what is far quicker."""
        usual = min(self.reference.times)
        return usual > CHEAP and PLAINLY * (self.setup + self.cold[0]) < usual

    @property
    def _has_lost(self) -> bool:
        """A long call without a compiler that is plainly slower than the original's stays so."""
        usual = max(self.reference.times)
        return not self.compiles and usual > CHEAP and self.cold[0] > LOST * usual

    def _has_room(self, once: float) -> bool:
        """Whether a later call, ``once`` seconds long in all, leaves time for a whole run."""
        if self.room is None or not self._gains:
            return True
        first, usual = self.setup + self.cold[0], min(self.reference.times)
        later = LATER * max(once, first)
        if self.compiling:
            steady = self.cold[0] - self.compiling
            return self.room.after(later, steady / usual, self.setup + self.compiling)
        return self.room.after(later, first / usual)

    def _timed(self, *, last: bool) -> Run:
        """One timed call: warmed up where that is possible."""
        if self.warm:
            run = self._attempt(warm=True, want_capture=last)
            if run.done:
                self.steady.append(run.seconds)
                self.usages[True].append(run.usage)
                return run
            # Warming up may fail where the call itself does not (shuffled data that never end).
            self.warm = False
        run = self._attempt(warm=False, want_capture=last)
        if run.done:
            self.cold.append(run.seconds)
            self.usages[False].append(run.usage)
        return run

    @property
    def _without_compiling(self) -> list[float]:
        """Times of first calls, what numba took in the very first one left out."""
        return [max(self.cold[0] - self.compiling, 1e-9), *self.cold[1:]] if self.cold else []

    def _attempt(self, *, warm: bool, want_capture: bool) -> Run:
        usual, left = max(self.reference.times), max(self.deadline.remaining(), 0.3)
        limit = SLOWDOWN_LIMIT * usual + (COMPILE_MARGIN if self.compiles else MARGIN)
        if self.repeats == 0:
            limit = ALONE * usual + MARGIN
        # Large data take their time to be written down, which says nothing of the code.
        around = (LOOKS if warm else 1) * self.reference.around
        limit += around
        run = self.state.attempt(
            "candidate",
            self.changed,
            min(limit, left),
            want_capture=want_capture,
            warm=warm,
            again=warm and want_capture and usual <= CHEAP,
            one=usual > CHEAP,
            trial=self.name,
        )
        self.kernels = run.kernels or self.kernels
        enough = around + SLOWDOWN_LIMIT * usual + (COMPILING if self.compiles else MARGIN)
        return replace(run, hurried=left < enough, hopeless=self.repeats == 0 and limit <= left)

    def _result(self, comparison: Comparison | None, failure: Failure | None) -> StateResult:
        times = self.steady or self._without_compiling
        usual = statistics.median(times) if times else 0.0
        beyond = max(0.0, self.cold[0] - usual) if self.cold else 0.0
        original_times, original_usages = self.reference.of(warm=bool(self.steady))
        return StateResult(
            entry=self.state.hello.entry,
            reason=self.state.hello.reason,
            comparison=comparison,
            failure=failure,
            original_times=original_times,
            candidate_times=tuple(times),
            first_call=self.setup + beyond,
            warm=bool(self.steady),
            raised=self.reference.raised,
            usages=(original_usages, tuple(self.usages[bool(self.steady)])),
            kernels=self.kernels,
        )
