"""Rewrites that complement one another: several mistakes of one GPU program, mended together.

Rewrites of one loop are usually rivals: vectorised, or compiled, of which one wins. Those of
mistakes in GPU code are not: a fetch that waits, a copy that is repeated and a needless
synchronisation are three lines of one loop, and each alone may gain nothing, as the CPU then waits
at the next one. So they are tried as one patch, and taken apart only if that is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..model import Candidate, Inconclusive, NotFaster, Trial, Unavailable, Verdict, Verified
from ..patch import PatchError
from .compose import Composer, Whole, patch_of, wrong
from .trying import OutOfTime, reason

LEFT, MOSTLY = 0.2, 0.8
"""Part of a script that remains at least, and part of a mistake's cost that mending it saves; used
only to see whether a run fits into the budget."""
WHOLE_RUNS = Unavailable("compared as a whole script, together with the other mistakes' rewrites")


@dataclass
class Mending:
    """What became of the rewrites of mistakes."""

    trials: list[Trial]
    """Every one of them, in the order given."""
    whole: Whole | None = None
    """The patch with them; None if nothing with them is both right and faster."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """What whole runs said of the rewrites that are not in the patch, by candidate."""


def complementary(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Candidates that mend mistakes, most costly first, and all others."""
    parts = [c for c in candidates if c.saves is not None]
    others = [c for c in candidates if c.saves is None]
    return sorted(parts, key=lambda c: -(c.saves or 0.0)), others


def mend(composer: Composer, parts: Sequence[Candidate], base: Whole | None) -> Mending:
    """All mistakes mended at once, on top of ``base``, the patch found so far.

    ``parts``: most costly first. Where two want the same text, the costlier one has it; where all
    of them together are wrong, the culprits are found by halving. What may change digits comes
    after what is safe, which finding the culprits among it must not cost.
    """
    safe = [part for part in parts if part.match.safe]
    risky = [part for part in parts if not part.match.safe]
    if not safe or not risky:
        return _mend(composer, parts, base)
    first = _mend(composer, safe, base)
    second = _mend(composer, risky, first.whole or _with_what_is_right(first, base))
    known = {trial.candidate.id: trial for trial in (*first.trials, *second.trials)}
    return Mending(
        [known[part.id] for part in parts],
        second.whole or first.whole,
        first.verdicts | second.verdicts,
    )


def _with_what_is_right(found: Mending, base: Whole | None) -> Whole | None:
    """What gains nothing by itself may yet gain with others: it stays where it is right."""
    told = found.verdicts
    right = [t for t in found.trials if not wrong(told.get(t.candidate.id, WHOLE_RUNS))]
    known = base or _NOTHING
    return Whole((*known.trials, *right), known.patched, known.verdict) if right else base


def _mend(composer: Composer, parts: Sequence[Candidate], base: Whole | None) -> Mending:
    bare = composer.trying.bare_wall
    trials = [
        Trial(candidate, WHOLE_RUNS, predicted_script_seconds=_expected(candidate, bare))
        for candidate in parts
    ]
    found = Mending(trials)
    present = list(base.trials) if base is not None else []
    try:
        chosen = _fitting(composer, present, trials)
        whole = composer.together([*present, *chosen])
        if wrong(whole.verdict):
            found.verdicts |= {t.candidate.id: whole.verdict for t in chosen}
            chosen = _sound(composer, found, present, chosen, whole.verdict)
            if not chosen:
                return found
            whole = composer.together([*present, *chosen])
        if len(chosen) > 1 and isinstance(whole.verdict, NotFaster | Inconclusive):
            found.verdicts |= {t.candidate.id: whole.verdict for t in chosen}
            whole = _part_that_gains(composer, present, chosen, whole)
    except OutOfTime:
        composer.trying.partial = True
        return found
    found.verdicts |= {t.candidate.id: whole.verdict for t in whole.trials if t not in present}
    if chosen and isinstance(whole.verdict, Verified) and whole.wall < (base or _NOTHING).wall:
        found.whole = whole
    return found


_NOTHING = Whole((), {}, Inconclusive("nothing was tried"))


def _part_that_gains(
    composer: Composer, present: Sequence[Trial], chosen: Sequence[Trial], whole: Whole
) -> Whole:
    """One half, or the costliest mistake alone: another one may cost what these gain."""
    half = (len(chosen) + 1) // 2
    for part in (chosen[:half], chosen[half:], chosen[:1] if half > 1 else ()):
        tried = composer.together([*present, *part]) if part else whole
        if isinstance(tried.verdict, Verified):
            return tried
    return whole


def _expected(candidate: Candidate, bare: float) -> float:
    """Seconds of the whole script, if the rewrite saves most of what its mistake took."""
    return max(LEFT * bare, bare - MOSTLY * (candidate.saves or 0.0))


def _fitting(composer: Composer, present: Sequence[Trial], trials: Sequence[Trial]) -> list[Trial]:
    """The ones whose text goes together, first come, first served."""
    chosen: list[Trial] = []
    for trial in trials:
        try:
            patch_of([*present, *chosen, trial])
        except PatchError as problem:
            composer.reasons[trial.candidate.id] = str(problem)
        else:
            chosen.append(trial)
    return chosen


def _sound(
    composer: Composer,
    found: Mending,
    present: Sequence[Trial],
    failing: Sequence[Trial],
    why: Verdict,
) -> list[Trial]:
    """Those that are right together, of some that are not; raises OutOfTime."""
    if len(failing) < 2:
        for trial in failing:
            composer.reasons[trial.candidate.id] = reason(why)
            found.verdicts[trial.candidate.id] = why  # its own, not that of all together
        return []
    half = (len(failing) + 1) // 2
    kept: list[Trial] = []
    for part in (failing[:half], failing[half:]):
        problem = composer.problem([*present, *kept, *part])
        if problem is not None:
            part = _sound(composer, found, [*present, *kept], part, problem)
        kept += part
    return kept
