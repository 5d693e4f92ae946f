"""Every rewrite tried on a state of the program, none left out because another one is better.

What `choose` skips as it cannot win at the user's size may win at another one: ``gpuadvise
crossover`` asks for all, and compares whole runs itself, at every size. Nothing here is offered to
be applied, so that one state is enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..deadline import Deadline
from ..model import Candidate, Finding, Purpose, Trial, Unavailable
from .choose import Chosen, places
from .correcting import by_purpose
from .devices import missing
from .script import ScriptTrials
from .server import StateServer
from .trying import LEAST, OUT_OF_TIME, Progress, Trying


def survey(
    candidates: Sequence[Candidate],
    server: StateServer,
    trials: ScriptTrials,
    *,
    bare_wall: float,
    min_speedup: float,
    deadline: Deadline,
    unsafe: bool = False,
    runs: int = 1,
    progress: Progress = lambda text: None,
) -> Chosen:
    """All candidates with what the states say of them; nothing is chosen, no whole script runs.

    Arguments as for `choose`. Candidates that rest on something assumed are left out unless
    ``unsafe``.
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
    gains = by_purpose(candidates, Purpose.GAIN)
    admitted = [c for c in gains if c.match.safe or unsafe]
    findings = []
    # A time loop is replayed as a whole, the step that it calls a hundred times as quickly.
    for place in sorted(places(admitted), key=lambda p: trying.replay(p[0].region)):
        tried = tuple(_trial(candidate, trying) for candidate in place)
        findings.append(Finding(place[0].region, None, tried))
    findings.sort(key=lambda finding: -finding.region.share)
    return Chosen(findings=tuple(findings), notes=tuple(trying.notes), partial=trying.partial)


def _trial(candidate: Candidate, trying: Trying) -> Trial:
    obstacle = missing(candidate)
    if obstacle is not None:
        return Trial(candidate, Unavailable(obstacle))
    if trying.deadline.remaining() < LEAST:
        trying.partial = True
        return Trial(candidate, OUT_OF_TIME)
    return trying.on_states(candidate)
