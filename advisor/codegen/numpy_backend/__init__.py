"""Loop nests as whole-array NumPy statements, bit for bit the same.

Loops become array axes where the dependence test allows; the others stay Python loops around array
statements. Conditions on indices narrow slices, conditions on data become masks, wrapped borders
become copies with a halo.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Sequence
from dataclasses import replace

from ...loopnest.ir import For, Nest, Store, Sum, statements
from ...loopnest.specialised import specialised
from ...model import Around, Basis, Condition, Edit, Exactness, Match, Refusal, Region
from ...patch import PatchError, import_edit, reindent, replace_statement
from ..chained import condition_lines
from ..draws_array import Drawn
from ..nb_text import functions_block, top_level_statement
from .ahead import counted_ahead
from .bordered import bordered
from .chosen import with_choices
from .either import with_either
from .emitter import attempt, factorised, narrow_types
from .expansion import expanded
from .first_row import shifted_rows
from .folded import folded
from .guarding import guards
from .held import held_elements
from .inexact import deciding_line, differences
from .known import Facts
from .layout import wrapped
from .lists import asked_afterwards
from .mirrored import mirrored
from .normal import NotVectorisable, normalise
from .planning import Plan, Plans, all_loops, beside, plans, seconds_of_loops, terms_added
from .reduced import sums_of_rows
from .restructure import Variant, variants
from .rolled import rolled
from .searches import without_breaks
from .session import Session
from .sizes import rows_fit
from .split import add_generators
from .subscripts import propagate
from .summing import summed, sums_of
from .trapped import trapping
from .turned import turned
from .unwrapped import unwrapped
from .wavefront import waves

__all__ = ["emit", "emit_drawn", "emit_products"]

log = logging.getLogger("gpuadvise.codegen")

NO_SUMS = "no loop adds up products of floats"
MAX_TRIALS = 8
"""Choices of axes tried before giving up."""


def emit(region: Region) -> Match | Refusal:
    """The region's loop as array statements, or why not.

    Never raises on any region: a bug of ours is logged and becomes a Refusal.
    """
    answer = _emitted(region, reassociate=False)
    if isinstance(answer, Refusal) and isinstance(region.nest, Refusal):
        return _emitted_either(region, answer, reassociate=False)
    if isinstance(answer, Match) or isinstance(region.nest, Refusal):
        return answer
    small = specialised(region.nest)
    if small is None:
        return answer
    other = _emitted(replace(region, nest=small), reassociate=False)
    return other if isinstance(other, Match) else answer


def _emitted_either(region: Region, answer: Refusal, *, reassociate: bool) -> Match | Refusal:
    """The same with lists of ints and floats as lists of floats; else the answer there was."""
    try:
        floats = with_either(region)
    except (AssertionError, LookupError, AttributeError, TypeError, ValueError):
        log.warning("lists of ints and floats in %s", region.site.key, exc_info=True)
        return answer
    if floats is None:
        return answer
    other = _emitted(floats, reassociate=reassociate)
    return other if isinstance(other, Match) else answer


def emit_products(region: Region) -> Match | Refusal | None:
    """The same with sums as products of arrays, in an order of NumPy's own; None without a sum.

    Never raises on any region.
    """
    answer = _emitted(region, reassociate=True)
    if isinstance(answer, Refusal) and isinstance(region.nest, Refusal):
        return _emitted_either(region, answer, reassociate=True)
    return None if isinstance(answer, Refusal) and answer.reason == NO_SUMS else answer


def emit_drawn(region: Region, drawn: Drawn) -> Match | Refusal:
    """Array statements for a loop whose random numbers are drawn before it.

    Never raises on any region.
    """
    return _emitted(replace(region, nest=drawn.nest), reassociate=False, drawn=drawn)


def _emitted(region: Region, *, reassociate: bool, drawn: Drawn | None = None) -> Match | Refusal:
    nest = region.nest
    if isinstance(nest, Refusal):
        return nest
    try:
        return _emit(region, reassociate=reassociate, drawn=drawn)
    except NotVectorisable as refusal:
        return Refusal(refusal.reason, refusal.line or region.loop.lineno, refusal.suggestion)
    except PatchError as error:
        return Refusal(str(error), region.loop.lineno)
    except (AssertionError, LookupError, AttributeError, TypeError, ValueError) as error:
        log.warning("NumPy form of %s failed", region.site.key, exc_info=True)
        return Refusal(
            f"the array form could not be written ({type(error).__name__})", region.loop.lineno
        )


def _emit(region: Region, *, reassociate: bool, drawn: Drawn | None) -> Match:
    assert not isinstance(region.nest, Refusal)
    nest = rolled(region.nest, region)
    if not isinstance(nest.root, For):
        raise NotVectorisable("a while loop has no array form", nest.root.line)
    for name in sorted(nest.made | nest.grown):
        raise NotVectorisable(f"the loop makes or grows the list {name}")
    for name in sorted(nest.text & (nest.live_out | nest.arrays.keys())):
        raise NotVectorisable(f"the loop leaves text in {name}")
    root, nest = bordered(without_breaks(nest.root, nest), nest, region)
    root = propagate(unwrapped(normalise(root, nest.live_out)), nest)
    root, nest = bordered(root, nest, region)  # of windows that are written out by now
    root = with_choices(root, nest)
    root, nest = shifted_rows(counted_ahead(root, nest.live_out), nest, region)
    rows = None if reassociate else folded(root, nest)
    if rows is not None:
        try:
            return _written(region, *rows, reassociate=False, drawn=drawn)
        except NotVectorisable as refusal:
            log.debug("as rows: %s", refusal.reason)
            try:
                return _written(region, root, nest, reassociate=False, drawn=drawn)
            except NotVectorisable:
                raise refusal from None
    return _written(region, root, nest, reassociate=reassociate, drawn=drawn)


def _written(
    region: Region, root: For, nest: Nest, *, reassociate: bool, drawn: Drawn | None
) -> Match:
    """The best form of the nest in its normal form. Raises NotVectorisable."""
    above = region.loop.lineno if region.function is None else None
    source = region.around.source if region.around else region.source
    np_name, import_ = import_edit(source, "numpy", "np", above=above)
    if reassociate and (session := factorised(root, nest, region, np_name)) is not None:
        return _match(region, session, session.root, import_, drawn)
    first: NotVectorisable | None = None
    roots = [root]
    rows = expanded(root, nest, region)
    if rows is not None:
        roots, nest = [rows[0], root], rows[1]
    held = None if reassociate else _held(root, nest, region)
    if held is not None:
        nest = held[1]
    scalars = held[0] if held is not None else None
    choices = _products(roots, nest) if reassociate else _choices(roots, nest, region, scalars)
    for variant, plan in choices[:MAX_TRIALS]:
        if (copies := turned(nest, variant, plan.axes, region)) is not None:
            try:
                session = attempt(copies.nest, copies.variant, region, np_name, copies.axes, {})
                return _match(region, session, copies.variant.root, import_, drawn)
            except NotVectorisable as refusal:
                log.debug("columns as rows: %s", refusal.reason)
        narrower = () if reassociate else narrow_types(nest, variant.root)
        for narrow in (*narrower, {}):
            try:
                session = attempt(nest, variant, region, np_name, plan.axes, narrow)
                return _match(region, session, variant.root, import_, drawn)
            except NotVectorisable as refusal:
                log.debug("axes %s: %s", plan.axes, refusal.reason)
                if not narrow:
                    first = first or refusal
    assert first is not None
    raise first


def _held(root: For, nest: Nest, region: Region) -> tuple[For, Nest] | None:
    """The nest with scalars for elements, of pairs that are looked at from both sides."""
    whole = mirrored(root, nest)
    found = held_elements(whole, nest, region) if whole is not None else None
    return found or held_elements(root, nest, region)


def _choices(
    roots: Sequence[For], nest: Nest, region: Region, held: For | None
) -> list[tuple[Variant, Plan]]:
    """Every legal choice of axes in every order of the iterations, cheapest first.

    ``held``: the nest with scalars for elements, for when no loop becomes an axis without, and
    where the scalars are sums that can be added row by row.
    Raises NotVectorisable where there is none.
    """
    facts = Facts(nest)
    found = []
    waved = []
    instead: list[tuple[Variant, Plan]] = []
    beside_others: list[tuple[Variant, Plan]] = []
    obstacle: Plans | None = None
    for variant in (v for root in roots for v in variants(root, nest, facts)):
        legal = plans(variant.root, nest, facts)
        obstacle = obstacle or legal
        found += [(variant, plan) for plan in legal.found]
        waved += _by_waves(variant, nest, facts, region)
    adds = held is not None and any(map(sums_of_rows, all_loops(held)))
    for variant in variants(held, nest, facts) if held is not None and (adds or not found) else ():
        more = [(variant, plan) for plan in plans(variant.root, nest, facts).found]
        instead += more
        # estimates are rough: what keeps the elements is left for a clear gain only
        doubled = ((v, replace(plan, seconds=2 * plan.seconds)) for v, plan in more)
        beside_others += [choice for choice in doubled if _has_row_sums(*choice, nest)]
    found += beside_others if found else instead
    found += waved
    if not found:
        assert obstacle is not None
        raise NotVectorisable(
            obstacle.obstacle or "no loop can become an array axis", obstacle.line
        )
    return sorted(found, key=lambda choice: choice[1].seconds)


def _has_row_sums(variant: Variant, plan: Plan, nest: Nest) -> bool:
    """Whether a loop that stays one has its sums added row by row."""
    inside = {
        id(loop)
        for one in all_loops(variant.root)
        for loop in all_loops(one)[1:]
        if id(one) in plan.axes
    }
    around = (one for one in all_loops(variant.root) if id(one) in plan.axes - inside)
    pairs = ((inner, one) for one in around for inner in one.body if isinstance(inner, For))
    return any(id(inner) not in plan.axes and rows_fit(inner, one, nest) for inner, one in pairs)


def _by_waves(
    variant: Variant, nest: Nest, facts: Facts, region: Region
) -> list[tuple[Variant, Plan]]:
    """The nest with one of its sweeps by waves, and axes for the loops beside it."""
    found = waves(variant, nest, region)
    if found is None:
        return []
    rest = beside(variant.root, nest, facts, found.sweep.loops)
    seconds = found.seconds + max(0.0, rest.seconds - found.replaced_seconds)
    plan = Plan(rest.axes | found.along.keys(), seconds)
    return [(Variant(found.root, variant.moved, waves=found), plan)]


def _products(roots: Sequence[For], nest: Nest) -> list[tuple[Variant, Plan]]:
    """As `_choices`, of the nests with sums in place of the loops that only add up."""
    facts = Facts(nest)
    found = []
    obstacle: Plans | None = None
    for variant in (v for root in roots for v in variants(root, nest, facts)):
        new = summed(variant, nest, facts)
        if new is None:
            continue
        legal = plans(new.root, nest, facts, seconds_of_loops(roots[-1], nest))
        obstacle = obstacle or legal
        found += [(new, plan) for plan in legal.found]
    if obstacle is None:
        raise NotVectorisable(NO_SUMS, roots[-1].line)
    if not found:
        raise NotVectorisable(obstacle.obstacle or "the sums are too short to gain", obstacle.line)
    return sorted(found, key=lambda choice: choice[1].seconds)


def _match(
    region: Region, session: Session, root: For, import_: Edit | None, drawn: Drawn | None
) -> Match:
    empty = all(line.endswith((":", "pass")) for line in session.lines)
    if empty and not session.epilogue:
        raise NotVectorisable("nothing that the loop computes is read", region.loop.lineno)
    tests, ledger = guards(session, drawn.arrays if drawn else frozenset())
    _before_copies(session, tests)
    if drawn is not None:
        _before_drawing(drawn, tests, ledger)
    first = drawn.lines(session.np, region.source) if drawn else ()
    checked = asked_afterwards(session)
    around = region.around or Around(region.source, region.loop)
    if checked and around.behind:
        raise NotVectorisable("what is stored is looked at before it counts", region.loop.lineno)
    if (session.trapped or session.stops) and drawn is not None:
        raise NotVectorisable("whether the loop raises depends on the numbers drawn")
    asked = (t for t in tests if t not in around.known and not _mentions(t, around.made))
    tests = list(dict.fromkeys((*around.tests, *asked)))
    last = [*(checked or session.epilogue), *around.behind]
    computed = [*session.lines, *last]
    if session.trapped or session.stops:
        computed = trapping(session, session.lines, last)
    written = (*around.ahead, *first, *session.prologue, *computed)
    indent = around.loop.col_offset + (4 if tests else 0)
    body = [part for line in written for part in wrapped(line, indent)]
    if session.stored:
        original = reindent(around.source, around.loop, 1)
        tried = [*condition_lines(tests), *("    " + line for line in body)]
        lines = [f"{session.stored} = False", *tried, f"if not {session.stored}:", original]
    elif tests:
        original = reindent(around.source, around.loop, 1)
        lines = [*condition_lines(tests), *("    " + line for line in body), "else:", original]
    else:
        lines = body
    edits = [replace_statement(around.source, around.loop, lines)]
    if import_ is not None:
        edits.insert(0, import_)
    if session.helpers:
        top = top_level_statement(around.source, around.loop)
        offset, block = functions_block(around.source, top, session.helpers)
        edits.insert(0, Edit(offset, offset, block))
    edits[:0] = drawn.imports(region.source) if drawn else ()
    sums = sums_of(root)
    inexact = session.last_digit or sums
    line = deciding_line(root, exact_powers=session.exact_powers) if inexact else None
    if line is not None:
        what = "a sum" if sums else "a library function's result"
        text = f"no decision hangs on the last digit of {what}"
        ledger.append(Condition(text, Basis.ASSUMED, f"line {line}"))
    ledger.append(
        Condition(
            "no iteration of the vectorised loops needs what another one writes",
            Basis.PROVED,
            f"lines {around.loop.lineno}-{around.loop.end_lineno}",  # the user's, not a draft's
        )
    )
    return Match(
        edits=tuple(edits),
        why="Every element is boxed into a Python object and every operation dispatched by the "
        "interpreter, iteration by iteration.",
        change=f"{_described(root, session)} as whole-array NumPy statements.",
        needs=frozenset({"numpy"}),
        ledger=tuple(ledger),
        exactness=_exactness(session, sums),
        reduction_length=terms_added(root, session.nest),
        differences=differences(root, session.nest, module_level=region.function is None),
    )


def _mentions(test: str, names: frozenset[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(ast.parse(test)))


def _before_copies(session: Session, tests: list[str]) -> None:
    """No test in front may ask for what is made behind it. Raises NotVectorisable."""
    later = {*session.turned, *session.flats.values()}
    later |= session.waves.names if session.waves is not None else set()
    if later and any(_mentions(test, frozenset(later)) for test in tests):
        line = session.root.line
        raise NotVectorisable("whether the loop raises shows while it runs only", line)


def _before_drawing(drawn: Drawn, tests: list[str], ledger: list[Condition]) -> None:
    """The tests come before the numbers are drawn: else the old loop would draw them again.

    Raises NotVectorisable.
    """
    for test in tests:
        names = {n.id for n in ast.walk(ast.parse(test)) if isinstance(n, ast.Name)}
        if names & drawn.arrays:
            raise NotVectorisable("whether the loop raises depends on the numbers drawn")
    add_generators(drawn, tests, ledger)


def _exactness(session: Session, sums: tuple[Sum, ...]) -> Exactness:
    if sums:
        return Exactness.REASSOCIATED
    return Exactness.LAST_DIGIT if session.last_digit else Exactness.BITS


def _described(root: For, session: Session) -> str:
    loops = [s.index for s in statements((root,)) if isinstance(s, For) and id(s) in session.axes]
    names = [n for n in dict.fromkeys(loops) if n not in session.nest.invented]
    over = f"The loops over {', '.join(names)}" if len(names) > 1 else "The loop"
    written = sorted({s.array for s in statements((root,)) if isinstance(s, Store)})
    return over + (f" that fills {', '.join(written)}" if written and len(names) <= 1 else "")
