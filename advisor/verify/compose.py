"""From rewrites that pass alone to one patch: which of them, together, make the script fastest.

Together they may be wrong though each is right alone (one makes a list an array, which the other
does not expect), may collide in the text, or may gain nothing more than one of them did. And a
rewrite that saves too little to be offered alone may be most of what the others leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from ..model import (
    Corrected,
    Crashed,
    Inconclusive,
    Mismatch,
    NotFaster,
    OnlyTimed,
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
from .conflicts import heaviest_passing
from .script import nothing_compared, ran_out
from .trying import NOTHING_TO_PROVE, OutOfTime, Patch, Trying, reason

SHARED_IMPORT = 0.5
"""Part of a compiled candidate's first call that remains when its compiler is loaded anyway."""
MARGINAL = 0.04
"""Share of the script, as rewritten so far, that one more rewrite must save to be added."""
PAYS = 0.3
"""Part of the seconds that rewrites saved alone which must be saved on top of the others. Where
they have nothing to do with each other it is all of them, within the noise; where one takes the
other's work away (a helper that the rewritten caller no longer calls), nothing."""
ON_A_STATE = "on a state of the program"
SLACK = 0.97
"""Predicted gains are not exact: this part of the threshold is enough for a whole run."""


@dataclass(frozen=True)
class Whole:
    """Rewrites combined, and what the whole script said."""

    trials: tuple[Trial, ...]
    patched: Patch
    verdict: Verdict

    @property
    def wall(self) -> float:
        """Median wall seconds of the rewritten script; infinite if it was not verified.

        Under the user's conditions: of a first run, or of all of their runs in the mean.
        """
        if not isinstance(self.verdict, Verified):
            return float("inf")
        return median(self.verdict.deciding.candidate)


class Composer:
    """Composes what a `Trying` found."""

    def __init__(self, trying: Trying, *, several: bool) -> None:
        """``several``: there is more than one hot place, single trials were cut short."""
        self.trying, self.several = trying, several
        self.reasons: dict[str, str] = {}
        """Why a rewrite that passed alone is not in the patch, by candidate."""
        self.last: dict[str, Verdict] = {}
        """The last word on a rewrite that was to be the patch alone, by candidate."""

    def run(self, tried: Sequence[Trial]) -> Whole | None:
        """The best patch; None if nothing passes. ``tried``: every trial of every place."""
        passed = sorted((t for t in tried if _passed(t)), key=_gain, reverse=True)
        winners = apart(passed)
        whole = self._winners(winners) if winners else self._jointly(tried)
        whole = self._extend(whole, tried) if whole is not None else None
        if whole is None or not isinstance(whole.verdict, Verified):
            return None
        settled = self.settled(whole)
        if settled is None and len(whole.trials) > 1 and _passed(whole.trials[0]):
            # What is not sure together may be so alone.
            settled = self.settled(self.together(whole.trials[:1]))
        return settled

    def settled(self, whole: Whole) -> Whole | None:
        """With the last word on it; None if that is against it."""
        if not isinstance(whole.verdict, Verified):
            return None
        settled = self.trying.settle(whole.verdict, whole.patched, whole.trials)
        trials = whole.trials
        if len(trials) == 1:
            self.last[trials[0].candidate.id] = settled
            trials = (replace(trials[0], script_verdict=settled),)
        if isinstance(settled, Verified):
            return Whole(trials, whole.patched, settled)
        words = f"the last runs speak against it: {reason(settled)}"
        self.reasons |= {t.candidate.id: words for t in trials}
        return None

    # ------------------------------------------------------------------ winners
    def _winners(self, winners: list[Trial]) -> Whole | None:
        """Rewrites that are faster alone, together; the best set of them if they clash."""
        alone = self.together(winners[:1])
        if len(winners) == 1:
            return alone
        whole = self.together(winners)
        if wrong(whole.verdict):
            chosen = self._without_clashes(winners, whole)
            if len(chosen) < 2:
                return alone
            whole = self.together(chosen)
        if _pays(alone, whole):
            return whole
        if ran_out(whole.verdict):
            return alone
        # Right, but no faster than the best of them alone: one by one, as far as it pays.
        return self._one_by_one(alone, whole.trials[1:])

    def _one_by_one(self, whole: Whole, more: Sequence[Trial]) -> Whole:
        for trial in more:
            larger = self.together([*whole.trials, trial])
            if _pays(whole, larger):
                whole = larger
            else:
                self.reasons[trial.candidate.id] = "adds nothing to the other rewrites"
        return whole

    def _without_clashes(self, winners: list[Trial], whole: Whole) -> list[Trial]:
        """The set that saves most among those that are right together."""
        known = {tuple(range(len(winners))): reason(whole.verdict)}

        def problem(chosen: tuple[int, ...]) -> str | None:
            if chosen in known:
                return known[chosen]
            found = self.problem([winners[k] for k in chosen])
            return None if found is None else reason(found)

        weights = [max(1e-9, 1.0 - 1.0 / _gain(trial)) for trial in winners]
        try:
            found = heaviest_passing(weights, problem)
        except OutOfTime:
            self.trying.partial = True
            for trial in winners[1:]:
                self.reasons[trial.candidate.id] = (
                    f"not right together with the others ({reason(whole.verdict)}), and no time "
                    "was left to find out which of them it can stand"
                )
            return winners[:1]
        kept = set(found.best)
        for conflict in found.conflicts:
            for out in conflict.members - kept:
                others = [winners[k] for k in sorted(conflict.members - {out})]
                names = " and ".join(
                    f"{t.candidate.rule} at line {t.candidate.region.site.line}" for t in others
                )
                self.reasons.setdefault(
                    winners[out].candidate.id, f"together with {names}: {conflict.reason}"
                )
        return [winners[k] for k in sorted(kept)]

    def problem(self, trials: Sequence[Trial]) -> Verdict | None:
        """Why these are wrong together, by one whole run; None if they are right."""
        try:
            patched = patch_of(trials)
        except PatchError as problem:
            return Unavailable(str(problem))
        wrong = self.trying.problem(patched, trials)
        if wrong is not None:
            return wrong
        replayed = [t for t in trials if t.candidate.saves is None]
        clash, _ = self.trying.clash_on_states(replayed, patched)
        return None if clash is None else Mismatch(f"{ON_A_STATE}: {clash}")

    # ---------------------------------------------------------------- additions
    def _jointly(self, tried: Sequence[Trial]) -> Whole | None:
        """Rewrites none of which is enough alone: two loops of 9 % of the run each."""
        trials = self._provable(apart(self._by_saving(tried, ())))
        if len(trials) < 2:
            return None
        saved = sum(self._saving(t, trials[:k]) for k, t in enumerate(trials))
        left = self.trying.bare_wall - saved
        if left > 0.0 and self.trying.bare_wall / left < SLACK * self.trying.min_speedup:
            return None
        whole = self.together(trials)
        return whole if isinstance(whole.verdict, Verified) else None

    def _provable(self, trials: Iterable[Trial]) -> list[Trial]:
        """Those that are equal on all their states, not only on the first."""
        proved = (self.trying.on_states(trial.candidate, full=True) for trial in trials)
        return [trial for trial in proved if isinstance(trial.region_verdict, Verified)]

    def _extend(self, whole: Whole, tried: Sequence[Trial]) -> Whole:
        """Add rewrites that gain too little alone, but much of what the others have left.

        A loop with 8 % of the run cannot clear the threshold of 1.1; once the other 90 % are gone,
        it is most of the script.
        """
        for trial in self._by_saving(tried, whole.trials):
            if any(overlap(trial.candidate.region, t.candidate.region) for t in whole.trials):
                continue
            if trial.candidate.id in self.reasons or self.trying.deadline.over:
                continue
            if self._saving(trial, whole.trials) < MARGINAL * whole.wall:
                continue
            for proved in self._provable([trial]):
                more = self.together([*whole.trials, proved])
                if isinstance(whole.verdict, Verified) and _adds(whole.verdict, more.verdict):
                    whole = more
                elif wrong(more.verdict):
                    self.reasons[trial.candidate.id] = reason(more.verdict)
        return whole

    def _by_saving(self, tried: Sequence[Trial], present: Sequence[Trial]) -> list[Trial]:
        """Trials equal on states that should save time on top of others, the best first."""
        possible = [
            trial
            for trial in tried
            # What failed as a whole script fails here too; NotFaster may have been Amdahl's doing.
            if not wrong(trial.script_verdict)
            and isinstance(trial.region_verdict, Verified)
            and trial.region_verdict.speedup.low > 1.0
            and self._saving(trial, present) > 0.0
        ]
        return sorted(possible, key=lambda t: -self._saving(t, present))

    def _saving(self, trial: Trial, present: Sequence[Trial]) -> float:
        """Seconds a rewrite should save on top of others."""
        verdict = trial.region_verdict
        if not isinstance(verdict, Verified):
            return 0.0
        loaded = frozenset[str]().union(*(t.candidate.match.needs for t in present))
        shared = bool(trial.candidate.match.needs & loaded - {"numpy"})
        alone = self.trying.start_up(trial.candidate, verdict.first_call)
        first = alone * (SHARED_IMPORT if shared else 1.0)
        return self.trying.inside(trial.candidate.region) * (1.0 - 1.0 / verdict.speedup.value) - (
            first
        )

    # ----------------------------------------------------------------- together
    def together(self, trials: Sequence[Trial]) -> Whole:
        """The whole script with exactly the text that these rewrites make."""
        try:
            patched = patch_of(trials)
        except PatchError as problem:  # they change the same code, or define the same name
            return Whole(tuple(trials), {}, Unavailable(str(problem)))
        alone = trials[0].script_verdict
        if len(trials) == 1 and isinstance(alone, Verified):
            return Whole(tuple(trials), patched, alone)
        self.trying.progress(f"{len(trials)} rewrites together")
        verdict = self.trying.judge(patched, trials)
        if isinstance(verdict, Verified):
            # Held states know nothing of a GPU: what mends its work is compared in whole runs.
            replayed = [t for t in trials if t.candidate.saves is None]
            clash, compared = self.trying.clash_on_states(replayed, patched)
            if clash is not None:
                verdict = Mismatch(f"{ON_A_STATE}: {clash}")
            elif nothing_compared(verdict) and compared < len(trials):
                verdict = NOTHING_TO_PROVE
        return Whole(tuple(trials), patched, verdict)


def patch_of(trials: Sequence[Trial]) -> Patch:
    """New content of every file that these rewrites change. Raises PatchError."""
    by_file: dict[Path, list[Trial]] = {}
    for trial in trials:
        by_file.setdefault(trial.candidate.region.source.path, []).append(trial)
    patched: Patch = {}
    for path, group in by_file.items():
        source: Source = group[0].candidate.region.source
        patched[path] = combine(source, [t.candidate.match.edits for t in group])
    return patched


def apart(trials: Sequence[Trial]) -> list[Trial]:
    """The first ones of the sequence whose loops do not overlap."""
    taken: list[Trial] = []
    for trial in trials:
        if not any(overlap(trial.candidate.region, t.candidate.region) for t in taken):
            taken.append(trial)
    return taken


def overlap(one: Region, other: Region) -> bool:
    """Whether two regions share lines."""
    if one.site.file != other.site.file:
        return False
    return one.lines[0] <= other.lines[1] and other.lines[0] <= one.lines[1]


def _passed(trial: Trial) -> bool:
    return isinstance(trial.script_verdict, Verified)


def _gain(trial: Trial) -> float:
    verdict = trial.script_verdict
    return verdict.deciding.value if isinstance(verdict, Verified) else 0.0


def wrong(verdict: Verdict | None) -> bool:
    """Not right together, or not possible together; neither slow nor out of time."""
    match verdict:
        case Mismatch() | Crashed() | TimedOut():
            return True
        case Unavailable():
            return not ran_out(verdict)
        case Inconclusive() | NotFaster() | Verified() | Corrected() | OnlyTimed() | None:
            return False


def _pays(before: Whole, after: Whole) -> bool:
    """The rewrites that ``after`` has on top of ``before`` are worth their place in the patch."""
    present = {trial.candidate.id for trial in before.trials}
    saved = sum(_saved(t) for t in after.trials if t.candidate.id not in present)
    return after.wall <= before.wall - PAYS * saved


def _saved(trial: Trial) -> float:
    """Seconds of the script that a rewrite saves alone, as measured."""
    if not isinstance(trial.script_verdict, Verified):
        return 0.0
    speedup = trial.script_verdict.deciding
    return median(speedup.original) - median(speedup.candidate)


def _adds(before: Verified, after: Verdict) -> bool:
    """The larger set of rewrites is faster than the smaller one, beyond the noise."""
    if not isinstance(after, Verified):
        return False
    return timing.ratio(before.deciding.candidate, after.deciding.candidate).low > 1.0
