"""Loop nests as whole-array NumPy statements, bit for bit the same.

Loops become array axes where the dependence test allows; the others stay Python loops around array
statements. Conditions on indices narrow slices, conditions on data become masks, wrapped borders
become copies with a halo.
"""

from __future__ import annotations

import logging

from ...loopnest.ir import For, Nest, Store, statements
from ...model import Basis, Condition, Edit, Exactness, Match, Refusal, Region
from ...patch import PatchError, import_edit, reindent, replace_statement
from .emitter import attempt, narrow_types
from .guarding import guards
from .inexact import deciding_line, differences
from .known import Facts
from .layout import wrapped
from .normal import NotVectorisable, normalise
from .planning import Plan, Plans, plans
from .restructure import Variant, variants
from .session import Session
from .subscripts import propagate

__all__ = ["emit"]

log = logging.getLogger("gpuadvise.codegen")

MAX_TRIALS = 8
"""Choices of axes tried before giving up."""


def emit(region: Region) -> Match | Refusal:
    """The region's loop as array statements, or why not.

    Never raises on any region: a bug of ours is logged and becomes a Refusal.
    """
    nest = region.nest
    if isinstance(nest, Refusal):
        return nest
    try:
        return _emit(region)
    except NotVectorisable as refusal:
        return Refusal(refusal.reason, refusal.line or region.loop.lineno, refusal.suggestion)
    except PatchError as error:
        return Refusal(str(error), region.loop.lineno)
    except (AssertionError, LookupError, AttributeError, TypeError, ValueError) as error:
        log.warning("NumPy form of %s failed", region.site.key, exc_info=True)
        return Refusal(
            f"the array form could not be written ({type(error).__name__})", region.loop.lineno
        )


def _emit(region: Region) -> Match:
    nest = region.nest
    assert not isinstance(nest, Refusal)
    if not isinstance(nest.root, For):
        raise NotVectorisable("a while loop has no array form", nest.root.line)
    for name in sorted(nest.made | nest.grown):
        raise NotVectorisable(f"the loop makes or grows the list {name}")
    root = propagate(normalise(nest.root, nest.live_out), nest)
    above = region.loop.lineno if region.function is None else None
    np_name, import_ = import_edit(region.source, "numpy", "np", above=above)
    first: NotVectorisable | None = None
    for variant, plan in _choices(root, nest)[:MAX_TRIALS]:
        for narrow in (*narrow_types(nest, variant.root), {}):
            try:
                session = attempt(nest, variant, region.source, np_name, plan.axes, narrow)
                return _match(region, session, variant.root, import_)
            except NotVectorisable as refusal:
                log.debug("axes %s: %s", plan.axes, refusal.reason)
                if not narrow:
                    first = first or refusal
    assert first is not None
    raise first


def _choices(root: For, nest: Nest) -> list[tuple[Variant, Plan]]:
    """Every legal choice of axes in every order of the iterations, cheapest first.

    Raises NotVectorisable where there is none.
    """
    facts = Facts(nest)
    found = []
    obstacle: Plans | None = None
    for variant in variants(root, nest, facts):
        legal = plans(variant.root, nest, facts)
        obstacle = obstacle or legal
        found += [(variant, plan) for plan in legal.found]
    if not found:
        assert obstacle is not None
        raise NotVectorisable(
            obstacle.obstacle or "no loop can become an array axis", obstacle.line
        )
    return sorted(found, key=lambda choice: choice[1].seconds)


def _match(region: Region, session: Session, root: For, import_: Edit | None) -> Match:
    empty = all(line.endswith((":", "pass")) for line in session.lines)
    if empty and not session.epilogue:
        raise NotVectorisable("nothing that the loop computes is read", region.loop.lineno)
    tests, ledger = guards(session)
    indent = region.loop.col_offset + (4 if tests else 0)
    written = (*session.prologue, *session.lines, *session.epilogue)
    body = [part for line in written for part in wrapped(line, indent)]
    if tests:
        original = reindent(region.source, region.loop, 1)
        lines = [*_condition(tests), *("    " + line for line in body), "else:", original]
    else:
        lines = body
    edits = [replace_statement(region.source, region.loop, lines)]
    if import_ is not None:
        edits.insert(0, import_)
    line = deciding_line(root) if session.last_digit else None
    if line is not None:
        text = "no decision hangs on the last digit of a library function's result"
        ledger.append(Condition(text, Basis.ASSUMED, f"line {line}"))
    ledger.append(
        Condition(
            "no iteration of the vectorised loops needs what another one writes",
            Basis.PROVED,
            f"lines {region.lines[0]}-{region.lines[1]}",
        )
    )
    return Match(
        edits=tuple(edits),
        why="Every element is boxed into a Python object and every operation dispatched by the "
        "interpreter, iteration by iteration.",
        change=f"{_described(root, session)} as whole-array NumPy statements.",
        needs=frozenset({"numpy"}),
        ledger=tuple(ledger),
        exactness=Exactness.LAST_DIGIT if session.last_digit else Exactness.BITS,
        differences=differences(root, session.nest, module_level=region.function is None),
    )


def _condition(tests: list[str]) -> list[str]:
    text = " and ".join(tests)
    if len(text) <= 72:
        return [f"if {text}:"]
    return ["if (", f"    {tests[0]}", *(f"    and {test}" for test in tests[1:]), "):"]


def _described(root: For, session: Session) -> str:
    loops = [s.index for s in statements((root,)) if isinstance(s, For) and id(s) in session.axes]
    names = [n for n in dict.fromkeys(loops) if n not in session.nest.invented]
    over = f"The loops over {', '.join(names)}" if len(names) > 1 else "The loop"
    written = sorted({s.array for s in statements((root,)) if isinstance(s, Store)})
    return over + (f" that fills {', '.join(written)}" if written and len(names) <= 1 else "")
