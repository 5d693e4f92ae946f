"""The one line that says how a journey ended."""

from __future__ import annotations

from .diagnose.hotspots import MIN_SHARE
from .matching import Tried
from .model import Mismatch, NotFaster, Profile, Region, Stopped, Verdict, Verified
from .report.words import speedup
from .verify.choose import Chosen


def conclusion(
    profile: Profile, chains: tuple[tuple[Region, ...], ...], tried: Tried, chosen: Chosen
) -> str:
    """What was gained, or why there is nothing to gain, in one sentence without a full stop."""
    if isinstance(profile.bare.end, Stopped):
        return _of_stopped(profile.bare.end, promising(chosen))
    if chosen.patched:
        count = sum(1 for finding in chosen.findings if finding.winner is not None)
        rewrites = "1 rewrite" if count == 1 else f"{count} rewrites"
        if isinstance(chosen.script_verdict, Verified):
            return f"{rewrites} verified: the whole script {speedup(chosen.script_verdict.speedup)}"
        return f"{rewrites} equal on recorded calls; the whole script is unverified"
    if not chains:
        return f"nothing to gain: {_no_loops(profile)}"
    if not chosen.findings:
        return "nothing to gain: no rule can rewrite the hot loops safely"
    verdicts = [
        verdict
        for finding in chosen.findings
        for trial in (finding.winner, *finding.others)
        if trial is not None
        for verdict in (trial.region_verdict, trial.script_verdict)
    ]
    return f"nothing to gain: {_why_none(verdicts)}"


def promising(chosen: Chosen) -> tuple[Verified, ...]:
    """Region verdicts of rewrites that gained on recorded calls, interval and all."""
    return tuple(
        verdict
        for finding in chosen.findings
        for trial in finding.others
        if isinstance(verdict := trial.region_verdict, Verified) and verdict.speedup.low > 1.0
    )


def _of_stopped(end: Stopped, found: tuple[Verified, ...]) -> str:
    """A script that never came to its end has no output that could be compared."""
    limit = f"the script was stopped at the time limit of {end.limit:g} s"
    if not found:
        return f"{limit}; nothing to gain in what was seen of it"
    count = "1 rewrite is" if len(found) == 1 else f"{len(found)} rewrites are"
    return f"{limit}; {count} equal and faster on recorded calls, unverified as a whole script"


def _no_loops(profile: Profile) -> str:
    own = sum(function.share for function in profile.functions)
    if own < 0.5:
        return f"{1 - own:.0%} of the time is spent outside the script's own lines"
    return f"no loop of the script takes {MIN_SHARE:.0%} of its time"


def _why_none(verdicts: list[Verdict | None]) -> str:
    if any(isinstance(verdict, NotFaster) for verdict in verdicts):
        return "the rewrites that were tried do not make the whole script faster"
    if any(isinstance(verdict, Mismatch) for verdict in verdicts):
        return "the rewrites that were tried change the result"
    return "none of the rewrites could be verified"
