"""What trials will take, and what of a script's time a rewrite can save, before it is known."""

from __future__ import annotations

from collections.abc import Sequence

from ..deadline import Deadline
from ..model import Candidate, NotFaster, Region, Trial, Verdict, Verified
from . import timing
from .runs import over
from .schedule import NEXT_RUN
from .script import ScriptTrials

ENTERING = 5e-6
"""Seconds that entering a rewritten loop takes, its tests included: a loop that takes as long in
Python, such as that of a helper called a million times, gains little and comes after its caller."""
COMPILED = 1.2
"""Seconds that numba's import and one compilation cost a run, about."""
GUESS = 3.0
"""So many times faster a rewrite is taken to be as long as nothing is known of it."""
IMPORTING = 0.25
"""Seconds that importing numba takes where its code is compiled already: 0.26 to 0.4 s."""


class Estimates:
    """Seconds of replays and whole runs, from the bare run, the profile and the trials so far."""

    def __init__(
        self,
        trials: ScriptTrials,
        deadline: Deadline,
        bare_wall: float,
        min_speedup: float,
        runs: int,
    ) -> None:
        """``bare_wall``: seconds of the user's own run; ``runs``: how often there will be one."""
        self.trials, self.deadline = trials, deadline
        self.bare_wall, self.min_speedup, self.runs = bare_wall, min_speedup, runs

    def inside(self, region: Region) -> float:
        """Seconds of the bare run in a region."""
        return min(region.share, 1.0) * self.bare_wall

    def replay(self, region: Region) -> float:
        """Seconds that one replay takes, about: of the loop at module level, else of a call.

        What is held is a call of the function around the loop, which may enter it a million times.
        """
        calls = region.calls
        if calls is None:
            return self.entry(region)
        share = min(1.0, max(calls.share, region.share))
        return share * self.bare_wall / max(1, calls.number)

    def entry(self, region: Region) -> float:
        """Seconds that the loop takes when it is entered once, about."""
        return self.inside(region) / max(1, entries(region))

    def at_best(self, candidate: Candidate) -> float:
        """Seconds of the whole script if its loop took nothing but what entering it costs."""
        region, needs = candidate.region, candidate.match.needs
        entering = ENTERING * entries(region) if needs else 0.0
        return self.bare_wall - self.inside(region) + entering + self._starting(candidate)

    def reserve(self, before: Sequence[Trial]) -> float:
        """Seconds that whole-script trials of what was found so far will need.

        Nothing, as long as nothing that promises to gain was found.
        """
        predicted = [t.predicted_script_seconds for t in before if t.predicted_script_seconds]
        gaining = [p for p in predicted if p * self.min_speedup < self.bare_wall]
        return self._whole_runs(min(gaining)) if gaining else 0.0

    def _whole_runs(self, predicted: float) -> float:
        """Seconds of the whole runs of a rewrite that is predicted to take so many."""
        known = self.trials.original_walls or self.trials.stand_in
        return (0.0 if known else self.bare_wall) + 3.0 * predicted

    @property
    def _one_whole_run(self) -> float:
        """Seconds to be left for one whole run of a rewrite with a plain gain."""
        return NEXT_RUN * self.bare_wall / (timing.PLAIN * self.min_speedup)

    @property
    def has_room_for_a_run(self) -> bool:
        """Whether one whole run of a rewrite with a plain gain fits, the original's being known."""
        known = self.trials.original_walls or self.trials.stand_in
        return bool(known) and self.deadline.remaining() > self._one_whole_run

    def look(self, candidate: Candidate, *, known: bool) -> float:
        """Seconds of a first look at a recorded state; ``known``: the original ran on it."""
        replay = self.replay(candidate.region)
        return (0.0 if known else replay) + self._starting(candidate) + replay / GUESS

    def pair(self, candidate: Candidate) -> float:
        """Seconds of the whole runs without which a rewrite is not offered.

        One of the rewrite where its gain should be plain beside runs that were made already, else
        one of the original as well.
        """
        inside = self.inside(candidate.region)
        whole = self.bare_wall - inside + self._starting(candidate) + inside / GUESS
        known = self.trials.original_walls or self.trials.stand_in
        plain = known and self.bare_wall > timing.PLAIN * self.min_speedup * whole
        return NEXT_RUN * (whole if plain else whole + self.bare_wall)

    @staticmethod
    def _starting(candidate: Candidate) -> float:
        return COMPILED if "numba" in candidate.match.needs else 0.0

    def start_up(self, candidate: Candidate, first_call: float) -> float:
        """Seconds that a first call costs one of the user's runs, in the mean of all of them."""
        if "numba" not in candidate.match.needs:
            return first_call  # importing a library, which every run does again
        return over(self.runs, first_call, min(first_call, IMPORTING))

    def _predict(self, candidate: Candidate, verdict: Verdict) -> float | None:
        """Seconds of the whole script, from the gain of the call and the region's share."""
        if not isinstance(verdict, Verified | NotFaster):
            return None
        inside = self.inside(candidate.region)
        first = verdict.first_call if isinstance(verdict, Verified) else 0.0
        first = self.start_up(candidate, first)
        return self.bare_wall - inside + inside / verdict.speedup.value + first


def entries(region: Region) -> int:
    """How often the profiled run entered the loop."""
    return region.observation.entries if region.observation else 1
