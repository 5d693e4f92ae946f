"""Which rewrites are offered: tried one by one on real states, then as whole scripts, together.

A rewrite is offered only if it was compared equal and the whole script, run with exactly the bytes
of the patch, is faster by the threshold. What could not be compared is said, never passed over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from statistics import median

from ..deadline import Deadline
from ..model import (
    Basis,
    Candidate,
    Exactness,
    Finding,
    Inconclusive,
    Mismatch,
    Purpose,
    Refusal,
    Refused,
    Region,
    Trial,
    Unavailable,
    Verdict,
    Verified,
)
from .compose import SLACK, Composer, Whole, overlap
from .correcting import by_purpose, correct, time_only
from .devices import missing
from .estimates import ENTERING, IMPORTING
from .mending import complementary, mend
from .runs import over
from .schedule import NEXT_RUN
from .script import ScriptTrials
from .server import StateServer
from .simulated import on_simulator
from .trying import OUT_OF_TIME, Progress, Trying

WHOLE_SCRIPTS = 2
"""Candidates of one hot place that are run as whole scripts."""
SECOND_CHANCE = 1.5
"""The second is run only if its predicted time is within this factor of the first's,"""
START_UP = 0.5
"""or within these seconds: predictions do not know what importing costs in a fresh process."""
COMPILER = 0.5
"""Seconds that importing numba and one compilation take at the very least, in every run of a
script: 0.65 s were measured, 0.5 s are allowed for a faster machine."""
WORTH_COMPILING = 0.3
"""Seconds a rewritten loop must still take in the whole run for one more compiler to be tried on
it: numba's import and one compilation cost 0.65 s, compiling for threads 0.7 s more."""


PLAINLY = 0.5
"""A rewrite that may bring the script below this part of what the best so far is predicted to take
is tried even where that takes the time of another run of the best."""
AMPLE = 60.0
"""Seconds left from which on loops are tried as well that hardly can gain: a budget of three runs
of a script of five seconds leaves a quarter of that."""
SHORT = 6.0
"""Time is short where fewer replays are left, beside a whole run of the best so far: a rewrite that
is slower is stopped at four times the original's time,"""
COMPILING = 8.0
"""and these seconds: a compiler runs two or three times until a rewrite is proved."""


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
    runs: int = 1,
    progress: Progress = lambda text: None,
) -> Chosen:
    """Try all candidates, and pick those that together make the whole script fastest.

    ``bare_wall``: seconds of the user's own run. ``deadline`` bounds all trials; what it leaves
    untried is Inconclusive, and the result is marked partial. ``unsafe``: also try candidates
    whose ledger holds something assumed, or observed without a guard. ``runs``: how often the user
    will run the script; what is offered gains in the mean of so many runs.
    """
    trying = Trying(
        server,
        trials,
        bare_wall=bare_wall,
        min_speedup=min_speedup,
        deadline=deadline,
        unsafe=unsafe,
        progress=progress,
        runs=runs,
    )
    return _Choice(trying).run(candidates)


class _Choice:
    def __init__(self, trying: Trying) -> None:
        self.trying = trying
        self.refused: list[Refused] = []
        self.several = False
        """More than one hot place: what is found is tried together in the end."""
        self._beaten: set[str] = set()
        """Candidates that were not tried as another one promises more."""

    def run(self, candidates: Sequence[Candidate]) -> Chosen:
        tried: list[list[Trial]] = []
        allowed = [c for c in candidates if self._admit(c)]
        parts, rivals = complementary(by_purpose(allowed, Purpose.GAIN))
        grouped = places(rivals)
        admitted = [candidate for place in grouped for candidate in place]
        self.several = any(
            not overlap(one.region, other.region) for one, other in combinations(admitted, 2)
        )
        # A time loop replayed as a whole costs a bare run, the step it calls a hundredth of it.
        grouped.sort(key=lambda place: -self._promise(place[0].region))
        for place in grouped:
            tried.append(self._place(place, [t for p in tried for t in p]))
        composer = Composer(self.trying, several=self.several)
        whole = composer.run([trial for place in tried for trial in place])
        if parts:
            mended = mend(composer, parts, whole)
            composer.last |= mended.verdicts
            whole = (mended.whole and composer.settled(mended.whole)) or whole
            tried = _regrouped([*rivals, *parts], [*mended.trials, *(t for p in tried for t in p)])
        rest = correct(composer, by_purpose(allowed, Purpose.CORRECTION), whole)
        whole = rest.whole or whole
        timed = time_only(composer, by_purpose(allowed, Purpose.FIGURES))
        if more := [*rest.trials, *timed]:
            tried = _regrouped(allowed, [*(t for p in tried for t in p), *more])
        return Chosen(
            findings=tuple(on_simulator(self.trying, self._findings(tried, whole, composer))),
            patched=whole.patched if whole else {},
            script_verdict=whole.verdict if whole else None,
            refused=tuple(self.refused),
            notes=tuple(dict.fromkeys((*self.trying.notes, *self.trying.trials.notes))),
            partial=self.trying.partial,
        )

    def _place(self, place: Sequence[Candidate], elsewhere: Sequence[Trial]) -> list[Trial]:
        """Every candidate of one hot place, tried as far as it may win; in the given order."""
        race: list[Trial] = []
        for candidate in sorted(place, key=self.trying.at_best):
            left_out = self._left_out(candidate, race, elsewhere)
            race.append(left_out or self.trying.on_states(candidate))
        race = self._race(race)
        if not any(isinstance(trial.script_verdict, Verified) for trial in race):
            # What seemed to beat them was wrong on other data, or as a whole script.
            again = [self._second_chance(t) for t in race if t.candidate.id in self._beaten]
            told = {trial.candidate.id for trial in again}
            race = [*(t for t in race if t.candidate.id not in told), *self._race(again)]
        order = {candidate.id: number for number, candidate in enumerate(place)}
        return sorted(race, key=lambda trial: order[trial.candidate.id])

    def _second_chance(self, trial: Trial) -> Trial:
        self._beaten.discard(trial.candidate.id)
        return trial if self.trying.deadline.over else self.trying.on_states(trial.candidate)

    # ------------------------------------------------------------------ findings
    def _findings(
        self, tried: Sequence[list[Trial]], whole: Whole | None, composer: Composer
    ) -> list[Finding]:
        """One for each hot place; for each winner where a place has several."""
        kept = {trial.candidate.id: trial for trial in whole.trials} if whole else {}
        findings: list[Finding] = []
        for place in tried:
            told = [
                replace(
                    t,
                    left_out=_why_left_out(t, composer.reasons, bool(kept)),
                    script_verdict=composer.last.get(t.candidate.id, t.script_verdict),
                )
                for t in place
                if t.candidate.id not in kept
            ]
            winners = [kept[t.candidate.id] for t in place if t.candidate.id in kept]
            if not winners:
                findings.append(Finding(place[0].candidate.region, None, tuple(told)))
            for winner in winners:
                region = winner.candidate.region
                mine = [t for t in told if overlap(t.candidate.region, region)]
                told = [t for t in told if t not in mine]
                findings.append(Finding(region, winner, tuple(mine)))
            if winners and told:
                findings.append(Finding(told[0].candidate.region, None, tuple(told)))
        return findings

    def _promise(self, region: Region) -> float:
        trying = self.trying
        entry, replay = trying.entry(region), trying.replay(region)
        return promise(region.share, entry, replay, trying.bare_wall)

    # ----------------------------------------------------------------- admission
    def _admit(self, candidate: Candidate) -> bool:
        open_conditions = [
            c.text
            for c in candidate.match.ledger
            if c.basis is Basis.ASSUMED or (c.basis is Basis.OBSERVED and not c.guarded)
        ]
        if candidate.match.safe or self.trying.unsafe:
            return True
        words = "; ".join(open_conditions)
        reason = f"equal only if {words}, which is not proved; --unsafe tries it all the same"
        self.refused.append(Refused(candidate.region, candidate.rule, Refusal(reason)))
        return False

    def _left_out(
        self, candidate: Candidate, before: Sequence[Trial], elsewhere: Sequence[Trial]
    ) -> Trial | None:
        """A trial that is not worth its time, with the reason; None if it is."""
        absent = missing(candidate)
        if absent is not None:
            return Trial(candidate, Unavailable(absent))
        bare = self.trying.bare_wall
        if "numba" in candidate.match.needs and bare < self._in_the_mean(COMPILER):
            why = f"not tried: the whole script takes {bare:.2g} s, starting a compiler longer"
            return Trial(candidate, Inconclusive(why))
        whole = _taken_together(candidate, before)
        if whole is not None:
            rule = whole.candidate.rule
            why = f"not tried: {rule} rewrites this loop together with those beside it"
            return Trial(candidate, Inconclusive(why))
        rival = _rival(candidate, before, compiled=not self.several)
        if rival is not None and isinstance(rival.region_verdict, Verified):
            steady = self.trying.inside(candidate.region) / rival.region_verdict.speedup.value
            if steady < self._in_the_mean(WORTH_COMPILING):
                self._beaten.add(candidate.id)
                rule = rival.candidate.rule
                left = f"not tried: with {rule}, this loop takes only {steady:.2g} s in all"
                return Trial(candidate, Inconclusive(left))
        reserve = self.trying.reserve([*elsewhere, *before])
        if hopeless := self._not_worth_it(candidate, before, reserve):
            if self._ample_time or not self._brief(candidate):
                self._beaten.add(candidate.id)
            return Trial(candidate, Inconclusive(f"not tried: {hopeless}"))
        if self._no_time(candidate, before, elsewhere, reserve):
            self.trying.partial = True
            return Trial(candidate, OUT_OF_TIME)
        return None

    def _no_time(
        self,
        candidate: Candidate,
        before: Sequence[Trial],
        elsewhere: Sequence[Trial],
        reserve: float,
    ) -> bool:
        """Whether trying a candidate would take what whole runs of others need: ``reserve``."""
        trying = self.trying
        replay, least = trying.replay(candidate.region), trying.at_best(candidate)
        needed = reserve + (2.0 * replay if elsewhere else 0.0)
        if reserve and least < PLAINLY * min(_predictions(before)):
            # What gains a tenth must not keep the time that another one needs to gain tenfold.
            needed = 0.5 * replay + NEXT_RUN * least
        # Where nothing has won yet, a whole run may fit though a replay does not.
        last_hope = not reserve and trying.has_room_for_a_run
        known = bool(before or elsewhere)
        return known and trying.deadline.remaining() < needed and not last_hope

    def _not_worth_it(
        self, candidate: Candidate, before: Sequence[Trial], reserve: float
    ) -> str | None:
        """Why a candidate is left to the end, most of all where time is short; None if not."""
        trying, region = self.trying, candidate.region
        short = SHORT * trying.replay(region) + COMPILING
        is_short = trying.deadline.remaining() <= reserve + short
        passed = any(isinstance(t.region_verdict, Verified) for t in before)
        if self._brief(candidate) and (is_short or passed or not self._ample_time):
            return f"the loop takes {trying.entry(region) * 1e6:.2g} us each time it is entered"
        if not is_short:
            return None
        least = trying.at_best(candidate)
        best = min(_predictions([t for t in before if overlap(t.candidate.region, region)]))
        if least > best:
            return f"the script would take {least:.2g} s at best, with another {best:.2g} s"
        return None

    def _brief(self, candidate: Candidate) -> bool:
        """Whether entering the rewritten loop costs what the loop itself takes."""
        return bool(candidate.match.needs) and self.trying.entry(candidate.region) < ENTERING

    @property
    def _ample_time(self) -> bool:
        return self.trying.deadline.remaining() > AMPLE

    def _in_the_mean(self, seconds: float) -> float:
        """What a first run spends on a compiler, in the mean of the user's runs."""
        return over(self.trying.runs, seconds, min(seconds, IMPORTING))

    # ---------------------------------------------------------------- whole scripts
    def _race(self, place: list[Trial]) -> list[Trial]:
        """Run the most promising candidates of one hot place as whole scripts."""
        runnable = [
            t
            for t in place
            if isinstance(t.region_verdict, Verified | Unavailable) and not missing(t.candidate)
        ]
        runnable.sort(key=lambda t: t.predicted_script_seconds or float("inf"))
        done: dict[int, Trial] = {}
        run: list[Trial] = []
        for trial in runnable:
            # Two inner loops of one refused outer loop are no rivals: both may win.
            rivals = [t for t in run if overlap(t.candidate.region, trial.candidate.region)]
            # One that printed other digits takes no place: the exact one comes after it.
            standing = [t for t in rivals if not isinstance(t.script_verdict, Mismatch)]
            if len(standing) >= WHOLE_SCRIPTS or not self._worth_it(trial, rivals):
                continue
            proved = self.trying.on_states(trial.candidate, full=True)
            if isinstance(proved.region_verdict, Verified | Unavailable):
                proved = self.trying.script(proved, _quickest(rivals), quick=self.several)
                proved = self.trying.afterwards(proved)
                run.append(proved)
            done[id(trial)] = proved
        return [done.get(id(trial), trial) for trial in place]

    def _worth_it(self, trial: Trial, before: list[Trial]) -> bool:
        mine = trial.predicted_script_seconds
        # Nothing but a whole run can tell; the share says what it could gain at most.
        possible = self.trying.bare_wall / mine if mine else trial.candidate.region.max_speedup
        if possible < SLACK * self.trying.min_speedup:
            return False
        passed = [t for t in before if isinstance(t.script_verdict, Verified)]
        if not passed:
            return True
        best = min(t.predicted_script_seconds or float("inf") for t in passed)
        return mine is not None and mine <= best * SECOND_CHANCE + START_UP


def promise(share: float, entry: float, replay: float, bare_wall: float) -> float:
    """What a place promises: the share it can gain, less for one that is slow to replay.

    ``entry``: seconds of one entry of its loop; ``replay``: of what is held around it.
    """
    gain = share * max(0.0, 1.0 - ENTERING / max(entry, ENTERING))
    return gain - 0.5 * min(1.0, replay / bare_wall)


def places(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates grouped by hot place (loops that contain one another), hottest first."""
    groups: list[list[Candidate]] = []
    for candidate in sorted(candidates, key=lambda c: -c.region.share):
        for group in groups:
            if any(overlap(candidate.region, other.region) for other in group):
                group.append(candidate)
                break
        else:
            groups.append([candidate])
    # What needs no compiler is tried first: it costs least, and often wins.
    return [sorted(group, key=lambda c: "numba" in c.match.needs) for group in groups]


def _regrouped(candidates: Sequence[Candidate], trials: Sequence[Trial]) -> list[list[Trial]]:
    """All trials by hot place."""
    known = {trial.candidate.id: trial for trial in trials}
    return [[known[candidate.id] for candidate in place] for place in places(candidates)]


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


def _taken_together(candidate: Candidate, before: Sequence[Trial]) -> Trial | None:
    """A verified rewrite of this loop and its neighbours, as exact and with the same packages.

    What is converted once for all of them would be converted for each loop again.
    """
    for trial in before:
        whole, match = trial.candidate.region, trial.candidate.match
        wider = whole.until is not None and candidate.region.until is None
        wider = wider and overlap(whole, candidate.region)
        alike = match.exactness in (Exactness.BITS, candidate.match.exactness)
        alike = alike and match.needs == candidate.match.needs
        if wider and alike and isinstance(trial.region_verdict, Verified):
            return trial
    return None


def _quickest(trials: Sequence[Trial]) -> float | None:
    """Median wall seconds of the fastest verified script so far."""
    walls = [
        median(t.script_verdict.deciding.candidate)
        for t in trials
        if isinstance(t.script_verdict, Verified)
    ]
    return min(walls, default=None)


def _predictions(trials: Sequence[Trial]) -> list[float]:
    """Seconds of the whole script with each rewrite that was timed; the last is infinite."""
    known = (t.predicted_script_seconds for t in trials)
    return [*(seconds for seconds in known if seconds), math.inf]


def _why_left_out(trial: Trial, reasons: dict[str, str], patch: bool) -> str:
    """Why a rewrite that is right and faster alone is not in the patch."""
    reason = reasons.get(trial.candidate.id, "")
    if not reason and patch and isinstance(trial.script_verdict, Verified):
        return "another rewrite of this loop is faster"
    return reason
