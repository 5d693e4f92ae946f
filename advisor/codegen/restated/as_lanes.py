"""Loops in a plainer form whose iterations are computed side by side: records, filled dicts."""

from __future__ import annotations

from dataclasses import replace

from ...model import Match, Refusal, Region, Restated
from ...patch import composed
from ..answers import answer
from ..lanes import emit_lanes
from ..nb_values import Unsupported
from .begun import begun
from .calls import without_calls
from .columns import without_records
from .comprehensions import without_comprehensions
from .filled import without_filled
from .plain_helpers import with_plain_helpers, without_unused
from .prints import without_prints

PASSES = (
    without_comprehensions,
    without_prints,
    without_filled,
    with_plain_helpers,
    without_calls,
    without_records,
)


def emit_lanes_restated(region: Region) -> Match | Refusal | None:
    """As `emit_lanes`, of a plainer form where the loop itself cannot be analysed.

    Never raises on any region.
    """
    first = emit_lanes(region)
    if region.observation is None or not isinstance(region.nest, Refusal):
        return first
    other = answer(_restated, region, "a plainer form")
    return other if isinstance(other, Match) else first


def _restated(region: Region) -> Match | None:
    """The plainer form as lanes; None where there is none. Raises Unsupported."""
    draft = begun(region)
    for one in PASSES:
        draft = one(draft)
    if not draft.edits:
        return None
    draft = draft.guarded()
    match = emit_lanes(draft.restated())
    if not isinstance(match, Match):
        reason = match.reason if match is not None else "no loop stands inside"
        raise Unsupported(reason, region.loop.lineno)
    asked = (c for c in match.ledger if not c.guarded or (c.test or c.text) not in draft.tests)
    return replace(
        match,
        edits=without_unused(draft, composed(region.source, draft.edits, match.edits)),
        ledger=(*draft.ledger, *asked),
        differences=(*draft.differences, *match.differences),
        restated=Restated(draft.edits, draft.tests),
    )
