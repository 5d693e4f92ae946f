"""Which rewrites are offered: tried one by one on real states, then as whole scripts, together.

A rewrite is offered only if it was compared equal and the whole script, run with exactly the bytes
of the patch, is faster by the threshold. What could not be compared is said, never passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from ..deadline import Deadline
from ..model import (
    Basis,
    Candidate,
    Crashed,
    Exactness,
    Finding,
    Inconclusive,
    Mismatch,
    NotFaster,
    Refusal,
    Refused,
    Region,
    Source,
    TimedOut,
    Trial,
    Unavailable,
    Verdict,
    Verified,
)
from ..patch import PatchError, combine
from . import timing
from .script import Goal, ScriptTrials, nothing_compared
from .server import StateServer
from .states import HeldState, StateResult
from .verdicts import failed, verdict_of

WHOLE_SCRIPTS = 2
"""Candidates of one hot place that are run as whole scripts."""
SECOND_CHANCE = 1.5
"""The second is run only if its predicted time is within this factor of the first's,"""
START_UP = 0.5
"""or within these seconds: predictions do not know what importing costs in a fresh process."""
SLACK = 0.97
"""Predicted gains are not exact: this part of the threshold is enough for a whole run."""
SHARED_IMPORT = 0.5
"""Part of a compiled candidate's first call that remains when its compiler is loaded anyway."""
MARGINAL = 0.04
"""Share of the script, as rewritten so far, that one more rewrite must save to be added."""
STATES = 4
"""States of one place a candidate is tried on."""
REPEATS = 2
"""Timed calls on the first state; the others are there for equality."""
WORTH_COMPILING = 0.3
"""Seconds a rewritten loop must still take in the whole run for one more compiler to be tried on
it: numba's import and one compilation cost 0.65 s, compiling for threads 0.7 s more."""
LOOSENESS = (Exactness.BITS, Exactness.LAST_DIGIT, Exactness.REASSOCIATED)
OUT_OF_TIME = Inconclusive("the time budget ran out before it was tried")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Chosen:
    """What the trials came to."""

    findings: tuple[Finding, ...] = ()
    patched: dict[Path, bytes] = field(default_factory=dict)
    """New content of every file the patch changes; empty without a patch."""
    script_verdict: Verdict | None = None
    """The whole script with exactly that content."""
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()
    partial: bool = False


def choose(
    candidates: Sequence[Candidate],
    server: StateServer,
    trials: ScriptTrials,
    *,
    bare_wall: float,
    min_speedup: float = 1.1,
    deadline: Deadline,
    unsafe: bool = False,
    progress: Progress = lambda text: None,
) -> Chosen:
    """Try all candidates, and pick those that together make the whole script fastest.

    ``bare_wall``: seconds of the user's own run. ``deadline`` bounds all trials; what it leaves
    untried is Inconclusive, and the result is marked partial. ``unsafe``: also try candidates
    whose ledger holds something assumed, or observed without a guard.
    """
    return _Choice(server, trials, bare_wall, min_speedup, deadline, unsafe, progress).run(
        candidates
    )


@dataclass(frozen=True)
class _Whole:
    """Winners combined, and what the whole script said."""

    trials: tuple[Trial, ...]
    patched: dict[Path, bytes]
    verdict: Verdict


class _Choice:
    def __init__(
        self,
        server: StateServer,
        trials: ScriptTrials,
        bare_wall: float,
        min_speedup: float,
        deadline: Deadline,
        unsafe: bool,
        progress: Progress,
    ) -> None:
        self.server, self.trials = server, trials
        self.bare_wall, self.min_speedup = bare_wall, min_speedup
        self.deadline, self.unsafe, self.progress = deadline, unsafe, progress
        self.notes: list[str] = []
        self.refused: list[Refused] = []
        self.partial = False
        self.several = False
        """More than one hot place: what is found is tried together in the end."""
        self._results: dict[str, list[StateResult]] = {}

    def run(self, candidates: Sequence[Candidate]) -> Chosen:
        tried: list[list[Trial]] = []
        grouped = places([c for c in candidates if self._admit(c)])
        self.several = len(grouped) > 1
        # A time loop replayed as a whole costs a bare run, the step it calls a hundredth of it.
        grouped.sort(key=lambda place: -self._promise(place[0].region))
        for place in grouped:
            race: list[Trial] = []
            for candidate in place:
                left_out = self._left_out(candidate, race, [t for p in tried for t in p])
                race.append(left_out or self._on_states(candidate))
            tried.append(self._race(race))
        best = [_best(place) for place in tried]
        whole = self._compose([trial for trial in best if trial is not None])
        whole = self._extend(whole, tried)
        kept = {trial.candidate.id: trial for trial in whole.trials} if whole else {}
        findings = []
        for race, alone in zip(tried, best, strict=True):
            winner = next((kept[t.candidate.id] for t in race if t.candidate.id in kept), None)
            findings.append(self._finding(race, winner, alone))
        return Chosen(
            findings=tuple(findings),
            patched=whole.patched if whole else {},
            script_verdict=whole.verdict if whole else None,
            refused=tuple(self.refused),
            notes=tuple(dict.fromkeys((*self.notes, *self.trials.notes))),
            partial=self.partial,
        )

    def _finding(self, place: list[Trial], winner: Trial | None, best: Trial | None) -> Finding:
        region = (winner or place[0]).candidate.region
        if best is not None and winner is None:
            self.notes.append(
                f"{best.candidate.rule} at line {region.site.line} passed alone, but not together "
                "with the other rewrites"
            )
        taken = winner.candidate.id if winner else None
        return Finding(region, winner, tuple(t for t in place if t.candidate.id != taken))

    # ----------------------------------------------------------------- admission
    def _admit(self, candidate: Candidate) -> bool:
        open_conditions = [
            c.text
            for c in candidate.match.ledger
            if c.basis is Basis.ASSUMED or (c.basis is Basis.OBSERVED and not c.guarded)
        ]
        if candidate.match.safe or self.unsafe:
            return True
        words = "; ".join(open_conditions)
        reason = f"equal only if {words}, which is not proved; --unsafe tries it all the same"
        self.refused.append(Refused(candidate.region, candidate.rule, Refusal(reason)))
        return False

    def _replay(self, region: Region) -> float:
        """Seconds that one replay of the region takes, about."""
        entries = region.observation.entries if region.observation else 1
        return min(region.share, 1.0) * self.bare_wall / max(1, entries)

    def _promise(self, region: Region) -> float:
        """What a place promises: its share, less for one that is slow to replay."""
        return region.share - 0.5 * min(1.0, self._replay(region) / self.bare_wall)

    def _left_out(
        self, candidate: Candidate, before: Sequence[Trial], elsewhere: Sequence[Trial]
    ) -> Trial | None:
        """A trial that is not worth its time, with the reason; None if it is."""
        rival = _rival(candidate, before, compiled=not self.several)
        if rival is not None and isinstance(rival.region_verdict, Verified):
            steady = self._inside(candidate) / rival.region_verdict.speedup.value
            if steady < WORTH_COMPILING:
                rule = rival.candidate.rule
                left = f"not tried: with {rule}, this loop takes only {steady:.2g} s in all"
                return Trial(candidate, Inconclusive(left))
        known = [*elsewhere, *before]
        needed = self._reserve(known) + (2.0 * self._replay(candidate.region) if elsewhere else 0.0)
        if known and self.deadline.remaining() < needed:
            self.partial = True
            return Trial(candidate, OUT_OF_TIME)
        return None

    def _inside(self, candidate: Candidate) -> float:
        """Seconds of the bare run in the candidate's region."""
        return min(candidate.region.share, 1.0) * self.bare_wall

    def _reserve(self, before: Sequence[Trial]) -> float:
        """Seconds that whole-script trials of what was found so far will need."""
        predicted = [t.predicted_script_seconds for t in before if t.predicted_script_seconds]
        original = 0.0 if self.trials.original_walls else self.bare_wall
        return original + 4.0 * min(predicted, default=0.5 * self.bare_wall)

    # -------------------------------------------------------------------- states
    def _on_states(self, candidate: Candidate, *, full: bool = False) -> Trial:
        """A candidate on the program's own states, where the hot place was entered.

        On the first state only, unless ``full``: those that cannot win need not be proved right.
        """
        source = candidate.region.source
        try:
            text = combine(source, [candidate.match.edits])
        except PatchError as problem:
            return Trial(candidate, Unavailable(f"the edit does not apply: {problem}"))
        if self.deadline.over:
            self.partial = True
            return Trial(candidate, OUT_OF_TIME)
        states = self.server.states_of(candidate.region)[:STATES]
        if not states:
            return Trial(candidate, Unavailable("no state of the program could be held here"))
        line = candidate.region.site.line
        results = self._results.setdefault(candidate.id, [])
        for number, state in enumerate(states[: len(states) if full else 1], 1):
            if number <= len(results):
                continue
            self.progress(f"{candidate.rule}, line {line}: state {number} of {len(states)}")
            results.append(self._try(candidate, state, text, REPEATS if number == 1 else 1))
            if failed(results[-1]):
                break
        verdict = verdict_of(results)
        return Trial(candidate, verdict, predicted_script_seconds=self._predict(candidate, verdict))

    def _try(
        self, candidate: Candidate, state: HeldState, text: bytes, repeats: int
    ) -> StateResult:
        match = candidate.match
        # Compared in full even late in the budget: a call is never longer than the whole script.
        limit = min(max(self.deadline.remaining(), 1.0), 20.0 + 4 * self.bare_wall)
        return state.try_candidate(
            {candidate.region.source.path: text},
            exactness=match.exactness,
            reduction_length=match.reduction_length,
            limit=limit,
            repeats=repeats,
        )

    def _predict(self, candidate: Candidate, verdict: Verdict) -> float | None:
        """Seconds of the whole script, from the gain of the call and the region's share."""
        if not isinstance(verdict, Verified | NotFaster):
            return None
        inside = self._inside(candidate)
        first = verdict.first_call if isinstance(verdict, Verified) else 0.0
        return self.bare_wall - inside + inside / verdict.speedup.value + first

    # ---------------------------------------------------------------- whole scripts
    def _race(self, place: list[Trial]) -> list[Trial]:
        """Run the most promising candidates of one hot place as whole scripts."""
        runnable = [t for t in place if isinstance(t.region_verdict, Verified | Unavailable)]
        runnable.sort(key=lambda t: t.predicted_script_seconds or float("inf"))
        done: dict[int, Trial] = {}
        run = 0
        for trial in runnable:
            if run >= WHOLE_SCRIPTS or not self._worth_it(trial, list(done.values())):
                continue
            proved = self._on_states(trial.candidate, full=True)
            if not isinstance(proved.region_verdict, Verified | Unavailable):
                done[id(trial)] = proved
                continue
            done[id(trial)] = self._script(proved, _quickest(list(done.values())))
            run += 1
        return [done.get(id(trial), trial) for trial in place]

    def _worth_it(self, trial: Trial, before: list[Trial]) -> bool:
        mine = trial.predicted_script_seconds
        # Nothing but a whole run can tell; the share says what it could gain at most.
        possible = self.bare_wall / mine if mine else trial.candidate.region.max_speedup
        if possible < SLACK * self.min_speedup:
            return False
        passed = [t for t in before if isinstance(t.script_verdict, Verified)]
        if not passed:
            return True
        best = min(t.predicted_script_seconds or float("inf") for t in passed)
        return mine is not None and mine <= best * SECOND_CHANCE + START_UP

    def _script(self, trial: Trial, beat: float | None) -> Trial:
        source = trial.candidate.region.source
        try:
            patched = {source.path: combine(source, [trial.candidate.match.edits])}
        except PatchError as problem:
            return replace(trial, script_verdict=Unavailable(str(problem)))
        return replace(
            trial, script_verdict=self._judge(patched, [trial], beat, quick=self.several)
        )

    def _judge(
        self,
        patched: dict[Path, bytes],
        trials: Sequence[Trial],
        beat: float | None = None,
        *,
        quick: bool = False,
    ) -> Verdict:
        if self.deadline.over:
            self.partial = True
            return OUT_OF_TIME
        goal = replace(self._goal(trials), beat=beat, quick=quick)
        verdict = self.trials.judge(patched, goal, self.deadline, self.progress)
        alone = any(not isinstance(t.region_verdict, Verified) for t in trials)
        if isinstance(verdict, Verified) and alone and nothing_compared(verdict):
            return Inconclusive(
                "no state of the program could be compared, and the script writes nothing: "
                "there is nothing to prove the rewrite on"
            )
        if isinstance(verdict, Verified) and alone:
            words = "; no state of the program was compared, only whole runs"
            return replace(verdict, compared=verdict.compared + words)
        return verdict

    def _goal(self, trials: Sequence[Trial]) -> Goal:
        matches = [t.candidate.match for t in trials]
        return Goal(
            threshold=self.min_speedup,
            exactness=max((m.exactness for m in matches), key=LOOSENESS.index),
            reduction_length=max(m.reduction_length for m in matches),
            unsafe=self.unsafe,
        )

    # ---------------------------------------------------------------- composition
    def _compose(self, winners: list[Trial]) -> _Whole | None:
        """All winners together; if they fail together, the largest set that passes."""
        if not winners:
            return None
        ordered = sorted(winners, key=_gain, reverse=True)
        whole = self._together(ordered)
        if isinstance(whole.verdict, Verified) or len(ordered) == 1:
            return whole if isinstance(whole.verdict, Verified) else None
        if isinstance(whole.verdict, Mismatch | Crashed | TimedOut | Unavailable):
            self.notes.append(f"all rewrites together: {_words(whole.verdict)}")
        best = self._together(ordered[:1])
        for trial in ordered[1:]:
            more = self._together([*best.trials, trial])
            if isinstance(more.verdict, Verified) and _faster(more.verdict, best.verdict):
                best = more
        return best if isinstance(best.verdict, Verified) else None

    def _extend(self, whole: _Whole | None, tried: list[list[Trial]]) -> _Whole | None:
        """Add rewrites that gain too little alone, but much of what the others have left.

        A loop with 8 % of the run cannot clear the threshold of 1.1; once the other 90 % are gone,
        it is most of the script.
        """
        places_taken = {t.candidate.id for t in whole.trials} if whole else set()
        for place in sorted(tried, key=lambda p: -p[0].candidate.region.share):
            if any(t.candidate.id in places_taken for t in place) or self.deadline.over:
                continue
            if whole is None or not isinstance(whole.verdict, Verified):
                break
            now = median(whole.verdict.speedup.candidate)
            saving, trial = self._most_saved(place, whole)
            if trial is None or saving < MARGINAL * now:
                continue
            trial = self._on_states(trial.candidate, full=True)
            if not isinstance(trial.region_verdict, Verified):
                continue
            more = self._together([*whole.trials, trial])
            if isinstance(more.verdict, Verified) and _adds(whole.verdict, more.verdict):
                whole = more
        return whole

    def _most_saved(self, place: list[Trial], whole: _Whole) -> tuple[float, Trial | None]:
        """The trial of a place that should save most seconds on top of the others."""
        present = frozenset().union(*(t.candidate.match.needs for t in whole.trials))
        best: tuple[float, Trial | None] = (0.0, None)
        for trial in place:
            verdict = trial.region_verdict
            # What failed as a whole script fails here too; NotFaster may have been Amdahl's doing.
            if isinstance(trial.script_verdict, Mismatch | Crashed | TimedOut | Unavailable):
                continue
            if not isinstance(verdict, Verified):
                continue
            inside = self._inside(trial.candidate)
            shared = bool(trial.candidate.match.needs & present - {"numpy"})
            first = verdict.first_call * (SHARED_IMPORT if shared else 1.0)
            saved = inside * (1.0 - 1.0 / verdict.speedup.value) - first
            if saved > best[0]:
                best = (saved, trial)
        return best

    def _together(self, trials: Sequence[Trial]) -> _Whole:
        by_file: dict[Path, list[Trial]] = {}
        for trial in trials:
            by_file.setdefault(trial.candidate.region.source.path, []).append(trial)
        patched: dict[Path, bytes] = {}
        for path, group in by_file.items():
            source: Source = group[0].candidate.region.source
            try:
                patched[path] = combine(source, [t.candidate.match.edits for t in group])
            except PatchError as problem:  # Overlap is one
                return _Whole(tuple(trials), {}, Unavailable(str(problem)))
        alone = trials[0].script_verdict
        if len(trials) == 1 and isinstance(alone, Verified):
            once_more = 3.0 * median(alone.speedup.candidate)
            if not self.several or self.deadline.remaining() < once_more:
                return _Whole(tuple(trials), patched, alone)
        self.progress(f"{len(trials)} rewrites together")
        return _Whole(tuple(trials), patched, self._judge(patched, trials))


def places(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates grouped by hot place (loops that contain one another), hottest first."""
    groups: list[list[Candidate]] = []
    for candidate in sorted(candidates, key=lambda c: -c.region.share):
        for group in groups:
            if any(_overlap(candidate.region, other.region) for other in group):
                group.append(candidate)
                break
        else:
            groups.append([candidate])
    # What needs no compiler is tried first: it costs least, and often wins.
    return [sorted(group, key=lambda c: "numba" in c.match.needs) for group in groups]


def _rival(candidate: Candidate, before: Sequence[Trial], *, compiled: bool) -> Trial | None:
    """A verified rewrite of the same loop, tried before a compiled one; None if there is none.

    ``compiled``: only rivals that are compiled as well, where there is time to let the others race.
    """
    if "numba" not in candidate.match.needs:
        return None
    for trial in before:
        same = trial.candidate.region.site == candidate.region.site
        kind = "numba" in trial.candidate.match.needs or not compiled
        if same and kind and isinstance(trial.region_verdict, Verified):
            return trial
    return None


def _overlap(one: Region, other: Region) -> bool:
    if one.site.file != other.site.file:
        return False
    return one.lines[0] <= other.lines[1] and other.lines[0] <= one.lines[1]


def _quickest(trials: Sequence[Trial]) -> float | None:
    """Median wall seconds of the fastest verified script so far."""
    walls = [
        median(t.script_verdict.speedup.candidate)
        for t in trials
        if isinstance(t.script_verdict, Verified)
    ]
    return min(walls, default=None)


def _best(place: Sequence[Trial]) -> Trial | None:
    passed = [trial for trial in place if isinstance(trial.script_verdict, Verified)]
    return max(passed, key=_gain, default=None)


def _gain(trial: Trial) -> float:
    verdict = trial.script_verdict
    return verdict.speedup.value if isinstance(verdict, Verified) else 0.0


def _faster(one: Verified, other: Verdict) -> bool:
    return not isinstance(other, Verified) or one.speedup.value > other.speedup.value


def _adds(before: Verified, after: Verified) -> bool:
    """The larger set of rewrites is faster than the smaller one, beyond the noise."""
    return timing.ratio(before.speedup.candidate, after.speedup.candidate).low > 1.0


def _words(verdict: Mismatch | Crashed | TimedOut | Unavailable) -> str:
    match verdict:
        case Mismatch(what):
            return what
        case Crashed(why) | Unavailable(why):
            return why
        case TimedOut(limit):
            return f"stopped after {limit:.0f} s"
