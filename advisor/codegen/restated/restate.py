"""The passes, one after the other, and the compiled form of what they leave."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace

from ...loopnest.ir import Kind, Nest
from ...model import Edit, Match, Refusal, Region, Restated
from ...patch import composed
from ..answers import answer
from ..nb_values import Unsupported
from ..numba_cpu import emit
from .appends import with_split_appends
from .begun import begun
from .calls import without_calls
from .columns import without_records
from .conditions import without_called_conditions
from .costs import has_costs, with_costs
from .dict_tables import without_dicts
from .draft import Draft
from .draws import without_draws
from .ends import with_ends
from .exits import without_else, without_returns
from .filled import without_filled
from .generators import without_generators
from .in_order import with_named_operands
from .keyed import without_keyed_dicts
from .letters import without_letters
from .mixed import check_mixed, without_ints_among_floats
from .optional import without_none
from .plain_draws import with_plain_draws
from .plain_helpers import asking_version, with_plain_helpers, without_unused
from .prints import without_prints
from .queues import without_queues
from .ragged import without_ragged_rows
from .recursions import without_recursions
from .recursive_methods import without_recursive_methods
from .row_swaps import without_row_swaps
from .slices import is_slice, with_named_slices, without_slices
from .sorts import with_sorts
from .starts import with_fitting_starts, with_starts
from .swaps import without_swaps
from .tabled import with_tables
from .twister import with_twister
from .unpacked import with_unpacked_rows
from .vectors import with_components
from .whole_sums import asking_whole_numbers
from .windows import without_windows

_ROUNDS = 20


def without_folds(draft: Draft) -> Draft:
    """Slices named and what is made of them as loops: ``max(xs[i:j]) - min(xs[i:j])``."""
    for _ in range(_ROUNDS):
        new = without_generators(with_named_slices(draft))
        if new is draft:
            new = with_named_operands(draft, is_slice)
        if new is draft:
            break
        draft = new
    return draft


PASSES = (
    without_recursions,
    without_dicts,
    without_draws,
    without_prints,
    without_filled,
    with_unpacked_rows,
    without_windows,
    without_swaps,
    without_row_swaps,
    without_ints_among_floats,
    without_called_conditions,
    with_plain_helpers,
    without_folds,
    with_twister,
    without_slices,
    without_letters,
    without_else,
    without_returns,
    without_none,
    without_calls,
    without_records,
    without_queues,
    without_ragged_rows,
    without_returns,  # of what the passes above check
    without_recursive_methods,
    without_keyed_dicts,
)


def emit_restated(region: Region) -> Match | Refusal | None:
    """The loop written more plainly and compiled; None where there is nothing to restate."""
    if region.observation is None:
        return None
    return answer(_restated, region, "a plainer form")


def _restated(region: Region) -> Match | None:
    """The first form that can be compiled. Raises Unsupported with what is wrong with the first."""
    if not isinstance(region.nest, Refusal):
        return _passed(region, Draft.of(region)) or _sorting(region)
    try:
        found = _passed(region, begun(region))
    except Unsupported as error:
        found = _rarer(region)
        if found is None:
            raise error from None
    return found or _rarer(region)


def _rarer(region: Region) -> Match | None:
    """The loop in one of the forms that leave Python the user's own; None where there is none."""
    return _sorting(region) or _in_components(region) or _in_costs(region)


def _sorting(region: Region) -> Match | None:
    """The loop that sorts short lists itself; None where none are sorted. Raises Unsupported."""
    plain = begun(region)
    draft = with_sorts(plain)
    return None if draft is plain else _compiled(without_slices(without_folds(draft)))


def _in_components(region: Region) -> Match | None:
    """The loop without small vectors; None where there are none. Raises Unsupported."""
    plain = without_slices(begun(region))
    draft = with_components(plain)
    if draft is plain:
        return None
    return _compiled(draft) if draft.in_python else _passed(region, draft)


def _in_costs(region: Region) -> Match | None:
    """The loop with ints and infinities as floats; None without such. Raises Unsupported."""
    draft = begun(region)
    if not has_costs(draft):
        return None
    for one in PASSES:
        draft = draft if one is without_ints_among_floats else one(draft)
        if draft.in_python:
            return None
    new = with_costs(draft)
    return None if new is draft else _compiled(new)


def _passed(region: Region, draft: Draft) -> Match | None:
    """The loop behind all passes, compiled. Raises Unsupported."""
    for one in PASSES:
        draft = one(draft)
        if draft.in_python:
            return _compiled(draft)  # what the other passes write would not suit that loop
    if not draft.edits or _compiles_as_it_is(region):
        same = isinstance(region.nest, Refusal)
        other = with_split_appends(draft) if same else _with_ends_only(draft)
        return _compiled(other) if other is not draft else None
    try:
        return _compiled(draft)
    except Unsupported as error:
        try:
            split = with_split_appends(draft)
        except Unsupported:
            raise error from None
        if split is draft:
            raise
        return _compiled(split)


def _with_ends_only(draft: Draft) -> Draft:
    """The user's own loop where nothing but the values behind it is in the way."""
    nest = draft.region.nest
    if draft.edits or not isinstance(nest, Nest) or _compiles_as_it_is(draft.region):
        return draft
    return with_ends(draft, nest)


def _compiles_as_it_is(region: Region) -> bool:
    """Whether the user's own text can be compiled, which then is the better one."""
    return isinstance(region.nest, Nest) and isinstance(emit(region, parallel=False), Match)


def _compiled(draft: Draft) -> Match:
    draft = with_fitting_starts(draft)
    nest = draft.restated().nest
    if isinstance(nest, Refusal):
        raise Unsupported(nest.reason, None, nest.suggestion)
    if (tabled := with_tables(draft, nest)) is not draft:
        return _compiled(tabled)
    check_mixed(draft, nest)
    loop = ast.unparse(draft.loop)
    draft = with_ends(with_starts(draft, nest), nest)
    if draft.in_python and ast.unparse(draft.loop) != loop:
        raise Unsupported("variables that only the loop of vectors sets are read behind it")
    draft = asking_sums(draft, nest).guarded()
    match = emit(draft.restated(), parallel=False)
    if isinstance(match, Refusal):
        raise Unsupported(match.reason, None, match.suggestion)
    edits = without_unused(draft, composed(draft.region.source, draft.edits, match.edits))
    if draft.plain:
        edits = with_plain_draws(draft.region.source, edits, draft.plain)
    # what the plainer text asks already need not be said twice
    asked = (c for c in match.ledger if not c.guarded or (c.test or c.text) not in draft.tests)
    ledger = (*draft.ledger, *asked)
    return replace(
        match,
        edits=edits,
        ledger=ledger,
        differences=(*draft.differences, *match.differences),
        restated=Restated(_first_step(draft), draft.tests),
    )


def _first_step(draft: Draft) -> tuple[Edit, ...]:
    """From the user's text to the one that Python runs where the loop is not compiled."""
    if not draft.in_python:
        return draft.edits
    changes = draft.instead(draft.loop, draft.in_python)
    edits = composed(draft.region.source, draft.edits, changes)
    return with_plain_draws(draft.region.source, edits, draft.plain)


def asking_sums(draft: Draft, nest: Nest, *, own_loop: bool = False) -> Draft:
    """``sum`` adds floats one after the other up to Python 3.11, and compensated from 3.12 on.

    ``own_loop``: where the new form does not suit, the user's own loop runs.
    """
    floats = [n for n in draft.sums if nest.privates[n].is_python]
    if not any(nest.privates[n].kind is Kind.FLOAT for n in floats):
        whole = draft if own_loop else asking_whole_numbers(draft, nest)
        if whole is not None:
            return whole
    if sys.version_info >= (3, 12):
        raise Unsupported("sum() of floats, which this Python compensates", None, "add in a loop")
    return asking_version(draft)
