"""Ask every rule about every hot loop."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .diagnose.warnings_as_errors import raising_statement
from .model import Candidate, Match, Refusal, Refused, Region, Source
from .options import Options
from .patch import PatchError
from .registry import Rule, rules

_NUMERIC = frozenset({"numpy", "numba"})
"""Packages whose code meets overflow and division by zero otherwise than the loop does."""


@dataclass(frozen=True)
class Tried:
    """What the rules answered, for all hot loops."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Refused, ...]


def match_rules(
    chains: Sequence[tuple[Region, ...]], options: Options, sources: Iterable[Source] = ()
) -> Tried:
    """Every rule's first match in each chain of nested loops, from the outermost loop inwards.

    A rule that answers a loop with a refusal is asked again about the loop inside it. Rules and
    matches that need packages the user does not allow are left out. ``sources`` are all files of
    the program: one of them may turn NumPy's warnings into exceptions for all.
    """
    raising = raising_statement(sources)
    known = [rule for rule in rules() if rule.needs <= options.allow]
    candidates: dict[tuple[object, ...], Candidate] = {}
    refused: dict[tuple[object, ...], Refused] = {}
    for chain in chains:
        for refusal in _not_expressed(chain):
            refused.setdefault((refusal.region.site, None), refusal)
        for rule in known:
            for answer in _ask(rule, chain, options, raising):
                if isinstance(answer, Refused):
                    refused.setdefault((answer.region.site, rule.code), answer)
                else:
                    # Two chains can lead a rule to the same place, a function they both call.
                    key = (rule.code, answer.region.source.path, answer.match.edits)
                    candidates.setdefault(key, answer)
    numbered = [replace(c, id=f"c{n}") for n, c in enumerate(candidates.values(), start=1)]
    return Tried(tuple(numbered), tuple(refused.values()))


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
) -> Iterator[Candidate | Refused]:
    for region in chain:
        answer = _answer(rule, region)
        if isinstance(answer, Match) and raising is not None and answer.needs & _NUMERIC:
            answer = raising
        if isinstance(answer, Match) and answer.needs <= options.allow:
            yield Candidate("", rule.code, region, answer)
            return
        if isinstance(answer, Refusal):
            yield Refused(region, rule.code, answer)


def _answer(rule: Rule, region: Region) -> Match | Refusal | None:
    try:
        return rule.function(region)
    except PatchError as error:
        # The text cannot be edited there: two statements on one line, a line continued by "\\".
        return Refusal(str(error), region.loop.lineno)
    except Exception:  # one rule's bug must not cost the user the advice of the others
        trace = traceback.format_exc(limit=-4)
        return Refusal(
            f"rule {rule.code} failed; please report this with the loop's text:\n{trace}",
            region.loop.lineno,
        )
