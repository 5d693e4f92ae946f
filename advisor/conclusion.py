"""The one line that says how a journey ended."""

from __future__ import annotations

from collections.abc import Sequence

from .deadline import Deadline
from .diagnose.hotspots import MIN_SHARE
from .model import (
    Advice,
    Corrected,
    Inconclusive,
    Mismatch,
    NotFaster,
    OnlyTimed,
    Profile,
    Region,
    Stopped,
    Trial,
    Unavailable,
    Verified,
)
from .report.words import deciding
from .verify.choose import Chosen

NOT_TRIED = "not tried: "
"""How the reason begins why a rewrite was left out."""


def conclusion(
    profile: Profile,
    chains: tuple[tuple[Region, ...], ...],
    chosen: Chosen,
    deadline: Deadline,
    advice: Sequence[Advice] = (),
) -> str:
    """What was gained, or why there is nothing to gain, in one sentence without a full stop."""
    if isinstance(profile.bare.end, Stopped):
        limit = f"the script was stopped at the time limit of {profile.bare.end.limit:g} s"
        if reasons := unconfirmed(chosen):
            return f"{limit}; {_unconfirmed(reasons)}"
        return f"{limit}; nothing to gain in what was seen of it"
    if chosen.patched:
        count = sum(1 for finding in chosen.findings if finding.winner is not None)
        rewrites = "1 rewrite" if count == 1 else f"{count} rewrites"
        if isinstance(chosen.script_verdict, Verified):
            return f"{rewrites} verified: the whole script {deciding(chosen.script_verdict)}"
        if isinstance(chosen.script_verdict, Corrected):
            made = "1 correction" if count == 1 else f"{count} corrections"
            return f"{made} of what the script measures of itself; nothing gets faster by that"
        return f"{rewrites} in the patch; the whole script is unverified"
    if reasons := unconfirmed(chosen):
        return _unconfirmed(reasons)
    if advice:
        return _advised(advice)
    if chosen.partial or (deadline.over and not chains):
        return "nothing found within the time budget; a larger --budget may find more"
    if not chains:
        return f"nothing to gain: {_no_loops(profile)}"
    if not chosen.findings:
        return "nothing to gain: no rule can rewrite the hot loops safely"
    trials = [
        trial
        for finding in chosen.findings
        for trial in (finding.winner, *finding.others)
        if trial is not None
    ]
    return f"nothing to gain: {_why_none(trials)}"


def _advised(advice: Sequence[Advice]) -> str:
    """Mistakes in GPU code were named, and no rewrite of them is offered."""
    named = f"{len(advice)} mistake{'s' * (len(advice) > 1)} in GPU code named"
    if any(a.mistake.measured for a in advice):
        return f"{named}; nothing is rewritten"
    return f"{named}, not measured; nothing is rewritten"


def unconfirmed(chosen: Chosen) -> tuple[Unavailable, ...]:
    """Why rewrites that gained on recorded calls could not run as whole scripts."""
    return tuple(
        trial.script_verdict
        for finding in chosen.findings
        if (trial := finding.unconfirmed) is not None
        and isinstance(trial.script_verdict, Unavailable)
    )


def _unconfirmed(reasons: tuple[Unavailable, ...]) -> str:
    count = "1 rewrite is" if len(reasons) == 1 else f"{len(reasons)} rewrites are"
    return (
        f"{count} equal and faster on recorded calls, unverified as a whole script: "
        f"{reasons[0].why}"
    )


def _no_loops(profile: Profile) -> str:
    own = sum(function.share for function in profile.functions)
    if not any(line.share > 0.0 for line in profile.lines):
        return "the time could not be measured line by line"
    if own < 0.5:
        return f"{1 - own:.0%} of the time is spent outside the script's own lines"
    return f"no loop of the script takes {MIN_SHARE:.0%} of its time"


def _not_worth_trying(trial: Trial) -> bool:
    verdict = trial.region_verdict
    return isinstance(verdict, Inconclusive) and verdict.why.startswith(NOT_TRIED)


def _untried(trials: list[Trial]) -> str:
    """Nothing was tried at all; the first reason stands for them."""
    first = trials[0].region_verdict
    why = first.why.removeprefix(NOT_TRIED) if isinstance(first, Inconclusive) else ""
    if len(trials) == 1:
        return f"the only rewrite was not tried: {why}"
    return f"none of the {len(trials)} rewrites was tried: {why}"


def _why_none(trials: list[Trial]) -> str:
    verdicts = [v for trial in trials for v in (trial.region_verdict, trial.script_verdict)]
    if trials and all(map(_not_worth_trying, trials)):
        return _untried(trials)
    # Equal and faster where it stands, and not even run as a whole script: it could not gain there.
    too_little = any(
        (isinstance(trial.region_verdict, Verified) and trial.script_verdict is None)
        or _not_worth_trying(trial)
        for trial in trials
    )
    if any(isinstance(t.script_verdict, Inconclusive) for t in trials):
        return "whether the rewrites make the whole script faster could not be told"
    if too_little or any(isinstance(verdict, NotFaster) for verdict in verdicts):
        return "the rewrites that were tried do not make the whole script faster"
    if all(isinstance(trial.script_verdict, OnlyTimed) for trial in trials):
        return "what was timed changes results on purpose"
    if any(isinstance(verdict, Mismatch) for verdict in verdicts):
        return "the rewrites that were tried change the result"
    return "none of the rewrites could be verified"
