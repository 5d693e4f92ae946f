"""Ask every rule about every hot loop."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .api import Answer
from .diagnose.identity import objection as identity_objection
from .diagnose.warnings_as_errors import raising_statement
from .model import (
    Advice,
    Basis,
    Candidate,
    Condition,
    Finding,
    Match,
    Mistake,
    Refusal,
    Refused,
    Region,
    Source,
)
from .options import Options
from .patch import PatchError, combine
from .registry import Rule, rules
from .rowcalls import is_row_call, statement_of
from .shadowed import unshadowed
from .verify.reach import objection

_NUMERIC = frozenset({"numpy", "numba"})
"""Packages whose code meets overflow and division by zero otherwise than the loop does."""


@dataclass(frozen=True)
class Tried:
    """What the rules answered, for all hot loops."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Refused, ...]
    advice: tuple[Advice, ...] = ()


def match_rules(
    chains: Iterable[tuple[Region, ...]], options: Options, sources: Iterable[Source] = ()
) -> Tried:
    """Every rule's first match in each chain of nested loops, from the outermost loop inwards.

    A rule that answers a loop with a refusal is asked again about the loop inside it. Rules and
    matches that need packages the user does not allow are left out. ``sources`` are all files of
    the program: one of them may turn NumPy's warnings into exceptions for all.
    """
    raising = raising_statement(sources)
    candidates: dict[tuple[object, ...], Candidate] = {}
    refused: dict[tuple[object, ...], Refused] = {}
    advice: dict[tuple[object, ...], Advice] = {}
    for chain in chains:
        # Asked for here: loading all rules takes a while, and there may be no time for any chain.
        known = [rule for rule in rules() if _allowed(rule.needs, options.allow)]
        for refusal in _not_expressed(chain):
            refused.setdefault((refusal.region.site, None), refusal)
        for rule in known:
            for answer in _ask(rule, chain, options, raising):
                if isinstance(answer, Advice):
                    place = (answer.region.source.path, answer.mistake.line)
                    advice.setdefault((rule.code, *place), answer)
                elif isinstance(answer, Refused):
                    refused.setdefault((answer.region.site, rule.code), answer)
                else:
                    # Two chains can lead a rule to the same place, a function they both call.
                    key = (rule.code, answer.region.source.path, answer.match.edits)
                    candidates.setdefault(key, answer)
    numbered = [replace(c, id=f"c{n}") for n, c in enumerate(candidates.values(), start=1)]
    costly = sorted(advice.values(), key=lambda a: -(a.mistake.cost or 0.0))
    return Tried(tuple(numbered), tuple(refused.values()), tuple(costly))


def _allowed(needs: frozenset[str], allow: frozenset[str]) -> bool:
    """Whether packages may be used: who allows numba.cuda alone need not allow numba on the CPU."""
    return needs <= (allow | {"numba"} if "cuda" in needs else allow)


def _not_expressed(chain: tuple[Region, ...]) -> Iterator[Refused]:
    """The reason why a loop is beyond the engine, where that is so for all loops of the chain.

    A time loop that prints and calls a function is no news if the nest inside it is understood.
    """
    if all(isinstance(region.nest, Refusal) for region in chain):
        innermost = chain[-1]
        assert isinstance(innermost.nest, Refusal)
        yield Refused(innermost, None, innermost.nest)


def _ask(
    rule: Rule, chain: tuple[Region, ...], options: Options, raising: Refusal | None
) -> Iterator[Candidate | Refused | Advice]:
    for region in _regions_for(rule, chain):
        answer = _answer(rule, region)
        if isinstance(answer, tuple):
            yield from _mistakes(rule, region, answer, options)
            continue
        if isinstance(answer, Match) and answer.needs & _NUMERIC:
            answer = raising or _identity(rule, region) or answer
        if isinstance(answer, Match) and _allowed(answer.needs, options.allow):
            yield Candidate("", rule.code, region, answer)
            return
        if isinstance(answer, Refusal):
            yield Refused(region, rule.code, answer)


def _regions_for(rule: Rule, chain: tuple[Region, ...]) -> Iterator[Region]:
    """What a rule is asked about: loop by loop, or loops that stand one after the other."""
    for region in chain:
        if region.function is None and region.site.qualname != "<module>":
            continue  # a coroutine: no rule can know what runs at its awaits
        if not rule.several:
            yield region
        elif region.beside:
            yield region.together


def _identity(rule: Rule, region: Region) -> Refusal | None:
    loops = region.beside if rule.several else (region,)
    return next((found for one in loops if (found := identity_objection(one))), None)


def _mistakes(
    rule: Rule, region: Region, mistakes: tuple[Mistake, ...], options: Options
) -> Iterator[Candidate | Advice]:
    """Those with a rewrite that may be tried become candidates; all others are advice."""
    for mistake in mistakes:
        match = mistake.match
        # What was not measured has no GPU here to be tried on.
        if match is None or not mistake.measured or not _allowed(match.needs, options.allow):
            yield Advice(region, rule.code, mistake)
        elif not _may_be_tried(region, match):
            yield Advice(region, rule.code, replace(mistake, match=None))
        elif not (match.safe or options.unsafe):
            yield Advice(region, rule.code, _told(mistake, match))
        else:
            why = f"{mistake.what}: {mistake.evidence}"
            found = replace(counted(match, region), why=why)
            yield Candidate("", rule.code, region, found, saves=mistake.cost or 0.0)


def _told(mistake: Mistake, match: Match) -> Mistake:
    """A mistake whose rewrite rests on something that only the user can allow."""
    conditions = " and ".join(c.text for c in match.unproved)
    remedy = f"{mistake.remedy}; tried under --unsafe only: it is right if {conditions}"
    return replace(mistake, match=None, remedy=remedy)


def still_there(advice: Iterable[Advice], findings: Iterable[Finding]) -> tuple[Advice, ...]:
    """Mistakes at lines that no rewrite in the patch replaces as a whole."""
    edits = [
        (winner.candidate.region.source.path, edit)
        for finding in findings
        if (winner := finding.winner) is not None
        for edit in winner.candidate.match.edits
    ]

    def replaced(one: Advice) -> bool:
        source, line = one.region.source, one.mistake.line
        start = source.line_starts[line - 1]
        text = source.data[start : source.line_starts[line]]
        first = start + len(text) - len(text.lstrip())
        last = start + len(text.rstrip())
        return any(
            path == source.path and edit.start <= first and last <= edit.end for path, edit in edits
        )

    return tuple(one for one in advice if not replaced(one))


def _may_be_tried(region: Region, match: Match) -> bool:
    try:
        return _beyond(region, match) is None
    except PatchError:  # the text cannot be edited there: the advice stands all the same
        return False


def _answer(rule: Rule, region: Region) -> Answer:
    if not looks_at(rule, region):
        return None
    try:
        answer = rule.function(region)
        if not isinstance(answer, Match):
            return answer
        answer = unshadowed(region, answer)
        beyond = _beyond(region, answer)
        if beyond is not None:
            why = f"rule {rule.code} is not used: {beyond}; please report this"
            return Refusal(why, region.loop.lineno)
        return counted(answer, region)
    except PatchError as error:
        # The text cannot be edited there: two statements on one line, a line continued by "\\".
        return Refusal(str(error), region.loop.lineno)
    except Exception:  # one rule's bug must not cost the user the advice of the others
        trace = traceback.format_exc(limit=-4)
        return Refusal(
            f"rule {rule.code} failed; please report this with the loop's text:\n{trace}",
            region.loop.lineno,
        )


def looks_at(rule: Rule, region: Region) -> bool:
    """Whether a rule knows regions of this kind: what holds a loop inside runs once itself."""
    hidden = statement_of(region.loop)
    if hidden is None:
        return True
    return rule.row_calls if is_row_call(hidden) else rule.comprehensions


def _beyond(region: Region, match: Match) -> str | None:
    """What the new text touches that no trial could judge; see ``verify.reach``."""
    new = combine(region.source, [match.edits])
    return objection(region.source.data, new, match.needs)


def counted(match: Match, region: Region) -> Match:
    """The match with the number of entries at which each observed condition was seen to hold.

    What was observed is what held at every entry that was looked at; the other entries were only
    counted. A rule that saw a condition elsewhere says so itself and keeps its own numbers.
    """
    seen = region.observation
    if seen is None:
        return match

    def with_count(condition: Condition) -> Condition:
        if condition.basis is not Basis.OBSERVED or condition.entries:
            return condition
        return replace(condition, seen=seen.observed, entries=seen.entries)

    return replace(match, ledger=tuple(map(with_count, match.ledger)))
