"""Loops in a plainer form as NumPy statements: windows, columns of records, lists that grow."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...model import Around, Basis, Condition, Match, Refusal, Region, Restated
from ...names import import_edit
from ...patch import composed
from ..answers import answer
from ..nb_values import Unsupported
from ..numpy_backend import emit
from .begun import begun
from .columns import without_records
from .draft import Draft
from .exchanged import with_exchanged_rows
from .joined import with_filled_rows
from .mixed import check_mixed, without_ints_among_floats
from .nonempty import without_empty_extremes
from .order_statistics import with_written_windows
from .peeled import with_peeled_start
from .plain_helpers import with_plain_helpers
from .restate import asking_sums, without_folds
from .slices import without_slices
from .starts import with_fitting_starts
from .stored import Stored, with_stores
from .stored_rows import with_stored_rows
from .windows import without_windows

PASSES = (
    with_exchanged_rows,
    with_filled_rows,
    with_written_windows,
    without_windows,
    with_plain_helpers,
    without_folds,
    without_slices,
    without_records,
    without_empty_extremes,
    without_ints_among_floats,
)


def emit_restated_arrays(region: Region) -> Match | Refusal | None:
    """The loop written more plainly, as array statements; None where nothing is to be restated."""
    if region.observation is None:
        return None
    return answer(_restated, region, "a plainer form")


def _restated(region: Region) -> Match | None:
    base = draft = with_peeled_start(begun(region))
    for one in PASSES:
        draft = one(draft)
    draft = with_fitting_starts(draft)
    stored = with_stores(draft) or with_stored_rows(draft)
    if stored is None and (not draft.edits or isinstance(emit(region), Match)):
        return None
    nest = draft.restated().nest
    if isinstance(nest, Refusal):
        raise _of_the_loop(nest, draft)
    check_mixed(draft, nest)
    draft = asking_sums(draft, nest, own_loop=_only_the_loop(base, draft))
    alone = _only_the_loop(base, draft)
    first, around = _around(base if alone else draft, draft, stored)
    last = stored.draft if stored is not None else draft
    match = emit(replace(last.restated(), around=around))
    if isinstance(match, Refusal):
        raise _of_the_loop(match, last)
    if alone and any("version_info" in test for test in draft.tests):
        import_ = import_edit(first.source, "sys")[1]  # the draft with it is not what is edited
        match = replace(match, edits=(*filter(None, (import_,)), *match.edits))
    return replace(
        match,
        edits=composed(region.source, first.edits, match.edits),
        ledger=_ledger(draft, match, around),
        differences=(*draft.differences, *match.differences),
        restated=Restated(first.edits, (base if alone else draft).tests) if first.edits else None,
    )


def _of_the_loop(refusal: Refusal, draft: Draft) -> Unsupported:
    """At the user's loop where the text was rewritten: its lines are not the user's."""
    return Unsupported(refusal.reason, None if draft.edits else refusal.line, refusal.suggestion)


def _around(base: Draft, draft: Draft, stored: Stored | None) -> tuple[Draft, Around]:
    """The text that the array statements are put into, and what belongs to them there.

    ``base``: the draft whose loop runs where they do not.
    """
    first = base.guarded()
    asked = [test for test in draft.tests if test not in base.tests]
    tests = tuple(dict.fromkeys((*asked, *(stored.tests if stored is not None else ()))))
    known = tuple(f"type({name}) is list" for name in sorted(base.names))
    if stored is None:
        return first, Around(first.source, first.loop, tests, known=known)
    return first, Around(
        first.source, first.loop, tests, stored.ahead, stored.behind, stored.made, known
    )


def _only_the_loop(base: Draft, draft: Draft) -> bool:
    """Whether nothing but the loop itself is another one than in the base."""
    return _lines_around(base) == _lines_around(draft)


def _lines_around(draft: Draft) -> tuple[bytes, bytes]:
    """The new lines above the loop and below it."""
    start, end = draft.source.span(draft.loop)
    return draft.source.data[draft.extent[0] : start], draft.source.data[end : draft.extent[1]]


def _ledger(draft: Draft, match: Match, around: Around) -> tuple[Condition, ...]:
    """What equality rests on, without what holds of arrays that the new text makes."""
    known = {*around.known, *(c.test or c.text for c in draft.ledger)}
    found = [c for c in match.ledger if not c.guarded or (c.test or c.text) not in known]
    more = (t for t in around.tests if t not in known)
    asked = [Condition(test, Basis.OBSERVED, guarded=True, test=test) for test in more]
    return (
        *draft.ledger,
        *asked,
        *(c for c in found if not _is_about(c.test or c.text, around.made)),
    )


def _is_about(text: str, names: frozenset[str]) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return any(word in names for word in text.split())
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(tree))
