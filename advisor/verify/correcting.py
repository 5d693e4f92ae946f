"""Changes that are no gain: what sets a wrong measurement right, and what is only timed.

A script that reads the clock before the GPU has done its work tells times of launching. The wait
that is missing makes nothing faster, so no gain is asked for; all that the script writes has to be
the same, but for those times. And what changes results on purpose, a larger batch, is run once to
say what it would gain, and never offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..model import (
    Candidate,
    Corrected,
    OnlyTimed,
    Purpose,
    RunResult,
    Trial,
    Unavailable,
    Verdict,
    Verified,
)
from ..patch import PatchError
from . import timing
from .agreement import end_words
from .compose import Composer, Whole, patch_of
from .output import lines_of
from .trying import OUT_OF_TIME, OutOfTime, Patch, Trying, reason

SHOWN = 2
"""Lines of output that are quoted."""
NOT_REPLAYED = Unavailable("compared as a whole script")
AT_ONCE = Unavailable("timed as a whole script, once")


@dataclass
class Corrections:
    """What became of the changes that are no gain."""

    trials: list[Trial] = field(default_factory=list)
    whole: Whole | None = None
    """The patch with what was set right; None if nothing was."""


def by_purpose(candidates: Sequence[Candidate], purpose: Purpose) -> list[Candidate]:
    """The candidates of one purpose, in the order given."""
    return [c for c in candidates if c.match.purpose is purpose]


def correct(composer: Composer, fixes: Sequence[Candidate], base: Whole | None) -> Corrections:
    """Each correction alone, and all that are right on top of ``base``, the patch found so far."""
    found = Corrections()
    kept: list[Trial] = []
    for candidate in fixes:
        trial = Trial(candidate, NOT_REPLAYED)
        verdict = _alone(composer, trial)
        trial = replace(trial, script_verdict=verdict)
        found.trials.append(trial)
        if isinstance(verdict, Corrected):
            kept.append(trial)
    if kept:
        found.whole = _together(composer, kept, base)
    return found


def _alone(composer: Composer, trial: Trial) -> Verdict:
    trying = composer.trying
    trying.progress(f"{trial.candidate.rule}, line {trial.candidate.region.site.line}: corrected")
    try:
        return _judged(trying, patch_of([trial]), [trial])
    except PatchError as problem:
        return Unavailable(str(problem))
    except OutOfTime:
        trying.partial = True
        return OUT_OF_TIME


def _together(composer: Composer, kept: Sequence[Trial], base: Whole | None) -> Whole | None:
    """With the patch, if that still gains with them; else they alone."""
    trying = composer.trying
    try:
        if base is not None:
            whole = composer.together([*base.trials, *kept])
            if isinstance(whole.verdict, Verified):
                return whole
            words = f"together with the faster rewrites: {reason(whole.verdict)}"
            composer.reasons |= {trial.candidate.id: words for trial in kept}
            return None
        patch = patch_of(kept)
        single = len(kept) == 1 and kept[0].script_verdict
        verdict = single or _judged(trying, patch, kept)
    except (OutOfTime, PatchError):
        trying.partial = True
        return None
    return Whole(tuple(kept), patch, verdict) if isinstance(verdict, Corrected) else None


def time_only(composer: Composer, candidates: Sequence[Candidate]) -> list[Trial]:
    """One whole run of each, for its time alone; as far as the budget reaches."""
    trials = []
    for candidate in candidates:
        trial = Trial(candidate, AT_ONCE)
        composer.trying.progress(f"{candidate.rule}, line {candidate.region.site.line}: timed")
        verdict: Verdict
        try:
            verdict = _timed(composer.trying, patch_of([trial]), candidate)
        except PatchError as problem:
            verdict = Unavailable(str(problem))
        except OutOfTime:
            composer.trying.partial = True
            verdict = OUT_OF_TIME
        trials.append(replace(trial, script_verdict=verdict))
    return trials


def _judged(trying: Trying, patch: Patch, trials: Sequence[Trial]) -> Verdict:
    """One whole run with corrections, compared. Raises OutOfTime."""
    goal = trying.goal([trial.candidate for trial in trials])
    run, comparison = trying.trials.once(patch, goal, trying.deadline)
    if comparison.problem is not None:
        return comparison.problem
    original = trying.trials.original
    return Corrected(_told(original, run), comparison.compared, original.wall, run.wall)


def _told(original: RunResult, run: RunResult) -> tuple[tuple[str, str], ...]:
    """The first lines of the output that differ: what the script told of its own times."""
    mine, other = lines_of(original.stdout or b""), lines_of(run.stdout or b"")
    pairs = [(a.strip(), b.strip()) for a, b in zip(mine, other, strict=False) if a != b]
    return tuple(pairs[:SHOWN])


def _timed(trying: Trying, patch: Patch, candidate: Candidate) -> Verdict:
    """What a change of results would gain, if the script ends as it did. Raises OutOfTime."""
    goal = trying.goal([candidate])
    run, comparison = trying.trials.once(patch, goal, trying.deadline)
    original = trying.trials.original
    if run.end != original.end:
        words = f"{end_words(run.end)} where the original {end_words(original.end)}"
        return comparison.problem or Unavailable(words)
    ratio = timing.ratio(trying.trials.original_walls, [run.wall])
    inside = trying.inside(candidate.region)
    left = inside - (original.wall - run.wall)
    return OnlyTimed(ratio, inside / left if 0.0 < left < inside else None)
