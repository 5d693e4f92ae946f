"""Loops that were entered with different types: which of the type signatures a rewrite is for."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from ..loopnest.ir import Nest
from ..loopnest.liveness import read_before_assigned
from ..model import Refusal, SiteObservation
from ..observe.values import merge, same_kind

Lower = Callable[[SiteObservation], Nest | Refusal]

MIN_WORK = 0.05
"""A signature with a smaller part of the work than this is not worth a rewrite."""


def with_one_signature(
    observation: SiteObservation, lower: Lower, loop: ast.For | ast.While
) -> tuple[SiteObservation, Nest | Refusal]:
    """The observation that the loop is lowered with, and what came of it.

    All entries together where that can be expressed: what differs may be a name that the loop
    assigns before it reads it, or one that no rule looks at. Else the type signature with most
    work that can be expressed: the guards of the rewrite send the others to the original loop.
    """
    whole = replace(observation, signatures=())
    nest = lower(whole)
    if isinstance(nest, Nest) or not observation.signatures:
        return whole, nest
    parts = joined(observation.signatures, read_before_assigned(loop))
    for part in parts:
        if part.work < MIN_WORK * observation.work or len(parts) == 1:
            break
        others = max(0, observation.entries - part.entries)
        alone = replace(part, others=others, kinds=len(parts))
        answer = lower(alone)
        if isinstance(answer, Nest):
            return alone, answer
        if part is parts[0]:
            # The types are not all: a list of one type only would not help a loop that prints.
            nest = answer
    return whole, nest


def joined(
    signatures: tuple[SiteObservation, ...], names: frozenset[str]
) -> tuple[SiteObservation, ...]:
    """Signatures that differ in other names only, put together; most work first.

    ``x = None`` before the first entry and a float from the last one is no difference if the loop
    assigns ``x`` before it reads it. ``names``: roots of those that it may read first.
    """
    found: list[SiteObservation] = []
    for part in signatures:
        for number, other in enumerate(found):
            if _agree(part, other, names):
                found[number] = _together(other, part)
                break
        else:
            found.append(part)
    return tuple(sorted(found, key=lambda part: -part.work))


def _agree(a: SiteObservation, b: SiteObservation, names: frozenset[str]) -> bool:
    common = [n for n in a.values.keys() & b.values.keys() if n.partition(".")[0] in names]
    return all(
        same_kind(a.values[name], b.values[name]) or a.values[name] == b.values[name]
        for name in common
    )


def _together(a: SiteObservation, b: SiteObservation) -> SiteObservation:
    values = dict(a.values)
    for name, info in b.values.items():
        values[name] = merge(values[name], info) if name in values else info
    return SiteObservation(
        entries=a.entries + b.entries,
        observed=a.observed + b.observed,
        values=values,
        aliases=tuple(sorted({*a.aliases, *b.aliases})),
        work=a.work + b.work,
    )
