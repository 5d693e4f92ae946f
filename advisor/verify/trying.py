"""Trying rewrites: on states of the program, and as whole scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..deadline import Deadline
from ..model import (
    Candidate,
    Exactness,
    Inconclusive,
    Mismatch,
    Trial,
    Unavailable,
    Verdict,
    Verified,
)
from ..patch import PatchError, combine
from .agreement import Goal
from .claims import broken_step
from .compare import Incomparable
from .estimates import Estimates, entries
from .one_trial import StateResult
from .replies import TOO_SLOW
from .schedule import NEXT_RUN, Room
from .script import OutOfTime, ScriptTrials, nothing_compared, ran_out
from .server import StateServer
from .standing_in import STOOD_IN
from .states import HeldState
from .telling import ONLY_RUNS, known_now, nearest, reason, trifling
from .verdicts import failed, untelling, verdict_of

STATES = 4
"""States of one place a candidate is tried on."""
REPEATS = 2
"""Timed calls on the first state; the others are there for equality."""
FIRST_TRY = 0.4
"""Share of the time left that one state may take before anything is known of the script: an
endless compilation must not use up what the other rewrites and the whole runs need."""
ROOM = 8.0
"""A loop that the script enters once costs it what the first call takes. Later calls are timed only
where so many replays are left: with a budget of three bare runs, a script whose one hot function
takes all its time has hardly that many."""
REPLAYS = 2.5
"""The original on a state, and a candidate that is faster three times: so many calls."""
LONG = 1.0
"""Seconds of a replay from which on its time is weighed against that of whole runs."""
LEAST = 0.3  # seconds left below which no state is tried
PERTURBED = 5.0
PERTURBED_SHARE = 0.25
"""Perturbed inputs of one candidate may take so many seconds in all, and such a part of the time
that is left."""
COMPILATIONS = 3.0
"""So many first calls more: compiled code is compiled again in the process that perturbs, and the
time of that tells nothing."""
LOOSENESS = (Exactness.BITS, Exactness.LAST_DIGIT, Exactness.REASSOCIATED)
SURE = 1.5
"""A replay that is no longer needed is begun where so many times its time is left."""
OUT_OF_TIME = Inconclusive("the time budget ran out before it was tried")
NOTHING_TO_PROVE = Inconclusive(
    "no state of the program could be compared, and the script writes nothing: "
    "there is nothing to prove the rewrite on"
)
Progress = Callable[[str], None]
Patch = dict[Path, bytes]


class Trying(Estimates):
    """What all trials of one journey share: states, sandbox, budget."""

    def __init__(
        self,
        server: StateServer,
        trials: ScriptTrials,
        *,
        bare_wall: float,
        min_speedup: float,
        deadline: Deadline,
        unsafe: bool,
        progress: Progress,
        runs: int = 1,
    ) -> None:
        """``runs``: how often the user will run the script."""
        super().__init__(trials, deadline, bare_wall, min_speedup, runs)
        self.server, self.unsafe, self.progress = server, unsafe, progress
        self.notes: list[str] = []
        self.partial = False
        """Something was left untried for want of time."""
        self._results: dict[str, list[StateResult]] = {}
        self._perturbed: set[str] = set()
        self._not_replayed: dict[str, str] = {}
        """Why candidates were not run on a recorded state,"""
        self._small: dict[str, Verdict] = {}
        """and what small inputs said of them."""
        self._replayed: set[int] = set()
        """``id`` of the states on which the original was run: later candidates share that."""
        self._promises: dict[str, str | None] = {}
        self._kept = 0.0
        """Seconds for one whole run of the best that was found on states, and not run yet."""

    # ------------------------------------------------------------------- states
    def on_states(self, candidate: Candidate, *, full: bool = False, forced: bool = False) -> Trial:
        """A candidate on the program's own states, where the hot place was entered.

        On the first state that says something, unless ``full``: those that cannot win need not be
        proved right. A first call with no data, or with types that are left to the original loop,
        says nothing.
        ``full``: on all of them, and on inputs perturbed from theirs. ``forced``: also where that
        leaves no time for whole runs, as they were made.
        """
        source = candidate.region.source
        try:
            text = combine(source, [candidate.match.edits])
        except PatchError as problem:
            return Trial(candidate, Unavailable(f"the edit does not apply: {problem}"))
        broken = self._broken_promise(candidate, text)
        if broken is not None:
            return Trial(candidate, Mismatch(broken))
        if full and not forced and candidate.id in self._small:
            # Said once; a replay now would take the time of the whole runs, which come next.
            return Trial(candidate, self._small[candidate.id])
        states = nearest(self.server.states_of(candidate.region), candidate.region)[:STATES]
        if not states:
            return Trial(candidate, Unavailable("no state of the program could be held here"))
        # What the original does on the first state is known after the first candidate.
        known = id(states[0]) in self._replayed
        new = not self._results.get(candidate.id)
        if new and not forced and self._too_long(candidate, known=known):
            replay = self.replay(candidate.region)
            why = f"one replay takes about {replay:.2g} s, and the time budget leaves less"
            return Trial(candidate, self._without_replay(candidate, states[0], text, why))
        if new and not forced and self._would_be_stopped(candidate, known=known):
            self.partial = True
            return Trial(candidate, OUT_OF_TIME)
        line = candidate.region.site.line
        results = self._results.setdefault(candidate.id, [])
        for number, state in enumerate(states, 1):
            if number <= len(results):
                continue
            if number > 1 and not self._another(candidate, results, full):
                break
            if self.deadline.remaining() < LEAST:
                self.partial = True
                return Trial(candidate, OUT_OF_TIME)
            self.progress(f"{candidate.rule}, line {line}: state {number} of {len(states)}")
            patch = {source.path: text}
            results.append(self._try([candidate], state, patch, self._repeats(candidate, number)))
            if failed(results[-1]):
                break
            if isinstance(results[-1].failure, Inconclusive):
                short = results[-1].failure != TOO_SLOW
                self.partial |= short
                if not (short and any(result.same for result in results)):
                    stopped = self._stopped(candidate, states[0], text, results[-1])
                    if isinstance(stopped, Unavailable):
                        del results[-1]  # whole runs tell; a later look begins anew
                    return Trial(candidate, stopped)
                # Equal where there was time; that another state had none takes nothing from it.
                del results[-1]
                break
        if full and not any(failed(result) for result in results):
            self._on_perturbed(candidate, states, {source.path: text})
        verdict = verdict_of(results)
        predicted = self._predict(candidate, verdict)
        self._keep_time_for(predicted)
        return Trial(
            candidate,
            verdict,
            predicted_script_seconds=predicted,
            kernels=next((result.kernels for result in results if result.kernels), ()),
        )

    def _too_long(self, candidate: Candidate, *, known: bool) -> bool:
        """Whether a look at a recorded state would take the time of the whole runs.

        They and small inputs say more than half a replay.
        """
        replay, left = self.replay(candidate.region), self.deadline.remaining()
        if replay <= LEAST:
            return False
        least = 0.5 * replay if known else replay
        later = self._one_whole_run if self.has_room_for_a_run else 0.5 * replay
        needed = least if known else least + later
        if replay > LONG and self.has_room_for_a_run:
            needed = max(needed, self.look(candidate, known=known) + self.pair(candidate))
        return left < needed

    def _would_be_stopped(self, candidate: Candidate, *, known: bool) -> bool:
        """Whether the time that is kept for a whole run of another leaves too little for a look.

        It would end without a verdict, and the time of that would be missing.
        """
        left = self.deadline.remaining() - self._kept
        return bool(self._kept) and left < self.look(candidate, known=known)

    def _keep_time_for(self, predicted: float | None) -> None:
        """From now on a whole run of what was found has its time, until there was one."""
        if predicted is not None and predicted * self.min_speedup < self.bare_wall:
            # What a look takes beyond its limit must not be missing in the end.
            run = NEXT_RUN * predicted + LEAST
            self._kept = min(self._kept, run) if self._kept else run

    def _another(self, candidate: Candidate, results: Sequence[StateResult], full: bool) -> bool:
        """Whether a candidate is tried on one more state."""
        replay = self.replay(candidate.region)
        if not full:
            return untelling(results) or all(trifling(result, replay) for result in results)
        predicted = self._predict(candidate, verdict_of(results))
        if predicted is None:
            return True
        # Right on one state and never run as a whole is not offered; the other way round it is.
        once = max(r.first_call + max(r.candidate_times, default=0.0) for r in results)
        return self.deadline.remaining() > 1.2 * replay + once + NEXT_RUN * predicted

    def _stopped(
        self, candidate: Candidate, state: HeldState, text: bytes, result: StateResult
    ) -> Verdict:
        """Of a call that was not done in its time; where the budget was short, runs may tell."""
        failure = result.failure
        assert isinstance(failure, Inconclusive)
        if failure == TOO_SLOW or not self.has_room_for_a_run:
            return failure
        return self._without_replay(candidate, state, text, failure.why)

    def _without_replay(
        self, candidate: Candidate, state: HeldState, text: bytes, why: str
    ) -> Verdict:
        """What small inputs say of a candidate, where the recorded ones take too long: ``why``."""
        self._not_replayed[candidate.id] = why
        limit = min(PERTURBED, self.deadline.remaining() - self.pair(candidate))
        verdict = self._on_small_inputs(candidate, state, text, limit)
        self._small[candidate.id] = verdict
        return verdict

    def _on_small_inputs(
        self, candidate: Candidate, state: HeldState, text: bytes, limit: float
    ) -> Verdict:
        why = self._not_replayed[candidate.id]
        # A compiler that has to be stopped says nothing.
        if limit < LEAST + self._starting(candidate) or not candidate.match.safe:
            return Unavailable(why)
        self.progress(f"{candidate.rule}, line {candidate.region.site.line}: perturbed inputs")
        goal = self.goal([candidate])
        result = state.perturb_alone(
            {candidate.region.source.path: text},
            Unavailable(why),
            usual=self.replay(candidate.region),
            exactness=goal.exactness,
            reduction_length=goal.reduction_length,
            limit=limit,
        )
        if result.perturbed.mismatch is not None:
            return verdict_of([result])
        count = result.perturbed.count
        return Unavailable(f"{why}; equal on {count} small inputs made from it" if count else why)

    def afterwards(self, trial: Trial) -> Trial:
        """A rewrite whose whole runs were equal, now with the small inputs there was no time for.

        Whole runs came first, as without them nothing is offered; what a script writes may show
        little of what its loops compute.
        """
        candidate, verdict = trial.candidate, trial.region_verdict
        why = self._not_replayed.get(candidate.id)
        if not isinstance(verdict, Unavailable) or verdict.why != why:
            return trial
        states = nearest(self.server.states_of(candidate.region), candidate.region)
        if not states or not isinstance(trial.script_verdict, Verified):
            return trial
        known = id(states[0]) in self._replayed
        if self.deadline.remaining() > SURE * self.look(candidate, known=known):
            del self._not_replayed[candidate.id]
            seen = self.on_states(candidate, forced=True).region_verdict
            if isinstance(seen, Verified | Mismatch):
                return known_now(trial, seen)
        text = combine(candidate.region.source, [candidate.match.edits])
        limit = min(PERTURBED, self.deadline.remaining())
        self._not_replayed[candidate.id] = why
        return known_now(trial, self._on_small_inputs(candidate, states[0], text, limit))

    def _broken_promise(self, candidate: Candidate, text: bytes) -> str | None:
        """What the ledger says of the text and is not so; read once."""
        if candidate.id not in self._promises:
            self._promises[candidate.id] = broken_step(
                candidate.region.source, text, candidate.match
            )
        return self._promises[candidate.id]

    def _on_perturbed(
        self, candidate: Candidate, states: Sequence[HeldState], patch: Patch
    ) -> None:
        """Once for each candidate; what is assumed of one that is unsafe may not hold there."""
        if candidate.id in self._perturbed or not candidate.match.safe:
            return
        self._perturbed.add(candidate.id)
        goal, results = self.goal([candidate]), self._results[candidate.id]
        whole = self._predict(candidate, verdict_of(results)) or self.bare_wall
        left = self.deadline.remaining() - self._whole_runs(min(whole, self.bare_wall))
        last = Deadline(max(0.0, left))
        compiling = COMPILATIONS * max((result.first_call for result in results), default=0.0)
        deadline = Deadline(min(PERTURBED + compiling, PERTURBED_SHARE * max(0.0, left)))
        for number, (state, result) in enumerate(zip(states, results, strict=False)):
            # Each process compiles again: that must fit as well.
            if deadline.remaining() < max(LEAST, 2.0 * result.first_call) or not result.same:
                continue
            line = candidate.region.site.line
            self.progress(f"{candidate.rule}, line {line}: perturbed inputs")
            results[number] = state.perturb(
                patch,
                result,
                exactness=goal.exactness,
                reduction_length=goal.reduction_length,
                limit=deadline.remaining(),
                reserve=max(0.0, last.remaining() - deadline.remaining()),
            )
            if failed(results[number]):
                return

    def _repeats(self, candidate: Candidate, number: int) -> int:
        """Timed calls on a state, the first one not counted."""
        region = candidate.region
        calls = region.calls.number if region.calls else entries(region)
        once = calls == 1 and region.observation is not None
        if once and self.runs == 1 and self.deadline.remaining() < ROOM * self.replay(region):
            return 0
        return REPEATS if number == 1 else 1

    def _try(
        self, candidates: Sequence[Candidate], state: HeldState, patch: Patch, repeats: int
    ) -> StateResult:
        self._replayed.add(id(state))
        left = max(LEAST, self.deadline.remaining() - self._kept)
        # A call is never longer than the whole script, but a compiler may be.
        limit = min(20.0 + 4 * self.bare_wall, left - self._whole_runs(0.5 * self.bare_wall))
        starting = max(self._starting(candidate) for candidate in candidates)
        replays = REPLAYS * self.replay(candidates[0].region) + 1.0 + 2.0 * starting
        limit = min(left, max(limit, FIRST_TRY * left, replays))
        goal = self.goal(candidates)
        return state.try_candidate(
            patch,
            exactness=goal.exactness,
            reduction_length=goal.reduction_length,
            limit=limit,
            repeats=repeats,
            perturb=False,
            room=self._room(candidates),
        )

    def _room(self, candidates: Sequence[Candidate]) -> Room:
        """What of the budget is to be kept for a whole run with these rewrites."""
        inside = max(self.inside(candidate.region) for candidate in candidates)
        return Room(self.deadline.remaining, lambda r: self.bare_wall - inside + inside * r)

    def clash_on_states(self, trials: Sequence[Trial], patch: Patch) -> tuple[str | None, int]:
        """Several rewrites at once, on one state of each place.

        Returns how they fail, or None, and the number of states that could be compared. A script
        that writes little shows little of what two rewrites do to each other: ::

            def scale(data): ...      # the first rewrite turns the global list into an array,
            def total(): ...          # the second one's guard was made for the list

        """
        compared = 0
        for trial in trials:
            states = self.server.states_of(trial.candidate.region)[:1]
            if not states or self.deadline.remaining() < LEAST:
                continue
            self.progress(f"{len(trials)} rewrites together, on a state of the program")
            result = self._try([t.candidate for t in trials], states[0], patch, 1)
            if failed(result):
                verdict = verdict_of([result])
                return (reason(verdict), compared)
            compared += result.comparison is not None and not isinstance(
                result.comparison, Incomparable
            )
        return None, compared

    # ------------------------------------------------------------ whole scripts
    def goal(
        self, candidates: Sequence[Candidate], *, beat: float | None = None, quick: bool = False
    ) -> Goal:
        """What whole runs with these rewrites have to reach."""
        matches = [candidate.match for candidate in candidates]
        return Goal(
            threshold=self.min_speedup,
            exactness=max((m.exactness for m in matches), key=LOOSENESS.index),
            reduction_length=max(m.reduction_length for m in matches),
            unsafe=self.unsafe,
            beat=beat,
            quick=quick,
            runs=self.runs,
            alone=len(candidates) == 1,
            silenced=tuple(dict.fromkeys(text for m in matches for text in m.silenced)),
            warns=tuple(dict.fromkeys(text for m in matches for text in m.warns)),
        )

    def judge(
        self,
        patch: Patch,
        trials: Sequence[Trial],
        *,
        beat: float | None = None,
        quick: bool = False,
    ) -> Verdict:
        """The whole script with these rewrites, against the original."""
        predicted = [t.predicted_script_seconds for t in trials]
        expected = min((p for p in predicted if p is not None), default=None)
        goal = self.goal([t.candidate for t in trials], beat=beat, quick=quick)
        goal = replace(goal, expected=expected)
        verdict = self.trials.judge(patch, goal, self.deadline, self.progress)
        self._kept = 0.0
        self.partial |= ran_out(verdict)
        alone = any(not isinstance(t.region_verdict, Verified) for t in trials)
        if isinstance(verdict, Verified) and alone:
            if nothing_compared(verdict):
                return NOTHING_TO_PROVE
            return replace(verdict, compared=verdict.compared + ONLY_RUNS)
        return verdict

    def script(self, trial: Trial, beat: float | None, *, quick: bool) -> Trial:
        """One rewrite as a whole script."""
        source = trial.candidate.region.source
        try:
            patch = {source.path: combine(source, [trial.candidate.match.edits])}
        except PatchError as problem:
            return replace(trial, script_verdict=Unavailable(str(problem)))
        return replace(trial, script_verdict=self.judge(patch, [trial], beat=beat, quick=quick))

    def problem(self, patch: Patch, trials: Sequence[Trial]) -> Verdict | None:
        """Why a patch is wrong, by one whole run. Raises OutOfTime."""
        goal = self.goal([t.candidate for t in trials])
        return self.trials.check(patch, goal, self.deadline)

    def settle(self, verdict: Verified, patch: Patch, trials: Sequence[Trial]) -> Verdict:
        """The last word on a patch, with as many runs in turn as the budget leaves."""
        goal = self.goal([t.candidate for t in trials])
        settled = self.trials.settle(verdict, patch, goal, self.deadline, self.progress)
        if isinstance(settled, Verified):
            words = verdict.compared
            if STOOD_IN not in settled.compared:
                words = words.replace(f"; {STOOD_IN}", "")
            return replace(settled, compared=words)
        return settled


__all__ = ["OUT_OF_TIME", "OutOfTime", "Patch", "Progress", "Trying", "reason"]
