"""The loop over the distinct elements, as text, with what must hold for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..loopnest.liveness import live_after
from ..loopnest.provenance import Provenance
from ..loopnest.scope import declared, module_of
from ..model import Basis, Condition, Edit, Match, Refusal, Region, Source
from ..names import free_name, import_edit
from ..patch import apply_edits, reindent, replace_statement
from . import ast_tools as tools
from .distinct_body import COUNTERS, Body, Unfit
from .distinct_elements import elements_of
from .nb_text import functions_block, top_level_statement

WHY = "the loop does the same work again for every element that was there before"


def once_for_each(region: Region) -> Match | Refusal | None:
    """One pass for each distinct element; None where the loop does not count elements."""
    elements = elements_of(region)
    if elements is None or not elements.body:
        return None
    body = Body(region, elements, free_name(region.source, "times"))
    try:
        body.check()
        if not (body.sums or body.counters or body.sets):
            return None
        _check_surroundings(body)
        tests = [*elements.tests, *_tests(body)]
        return _match(body, tests)
    except Unfit as unfit:
        return unfit.refusal


# ------------------------------------------------------------------ conditions
def _check_surroundings(body: Body) -> None:
    """What the loop leaves besides its counts must not be seen. Raises Unfit."""
    region, loop = body.region, body.region.loop
    after = live_after(region.source, region.function, loop)
    own = {body.elements.element, *body.elements.unused, *body.assigned}
    for name in sorted(own):
        if after is None or name in after:
            raise Unfit(f"{name} is read after the loop", loop)
    if body.may_raise is None:
        return
    # an exception half way leaves other counts than the loop had by then
    scope = region.source.tree if region.function is None else region.function
    handler = tools.handlers_around(region.source, scope, loop)
    if handler is not None:
        raise Unfit("an exception in the loop may be caught, with half of the counts", handler)
    shared = declared(scope) & set(body.sums)
    if region.function is not None:
        provenance = _provenance(region)
        made = {n for n in (*body.counters, *body.sets) if provenance.definition(n) is not None}
        shared |= {*body.counters, *body.sets} - made
    for name in sorted(shared):
        raise Unfit(f"an exception in the loop leaves {name} half way, for others to see", loop)


def _provenance(region: Region) -> Provenance:
    assert region.observation is not None
    assert isinstance(region.loop, ast.For)
    return Provenance(region.source, region.function, region.loop, region.observation)


def _tests(body: Body) -> Iterator[str]:
    provenance = _provenance(body.region)
    for name in body.sums:
        if type(provenance.literal(name)) is not int:
            yield f"type({name}) is int"
    for name in body.counters:
        yield from _counter_tests(body, name, provenance)
    for name in body.sets:
        found = provenance.definition(name)
        if found is None or found.position is not None or ast.unparse(found.value) != "set()":
            yield f"type({name}) is set"
    constant = module_of(body.region.source).definition
    for name in body.given:
        definition = None if name in provenance.local else constant(name)
        if definition is None or not isinstance(definition, ast.Constant):
            yield from _given_tests(body, name)


def _counter_tests(body: Body, name: str, provenance: Provenance) -> Iterator[str]:
    """A dictionary of ints, and what it does with a key that is not there."""
    found = provenance.definition(name)
    fresh = found is not None and found.position is None and _fresh(found.value)
    between = () if found is None else found.between
    if fresh and not any(n.id == name for s in between for n in tools.names_in(s)):
        return
    kind = COUNTERS[body.type_of(name)]
    if kind != "dict":
        text = f"{name} may be a {kind} of another kind at another time"
        raise Unfit(text, body.region.loop)
    yield f"type({name}) is dict"
    yield f"all(type(v) is int for v in {name}.values())"


def _fresh(node: ast.expr) -> bool:
    """``{}``, ``{"A": 0}``, ``dict()``, ``Counter()``, ``defaultdict(int)``."""
    match node:
        case ast.Dict(values=values):
            return all(isinstance(v, ast.Constant) and type(v.value) is int for v in values)
        case ast.Call(func=function, args=[], keywords=[]):
            return ast.unparse(function).rpartition(".")[2] in ("dict", "Counter")
        case ast.Call(func=function, args=[ast.Name(id="int")], keywords=[]):
            return ast.unparse(function).rpartition(".")[2] == "defaultdict"
    return False


def _given_tests(body: Body, name: str) -> Iterator[str]:
    """What is read is of the type seen: others may compare and hash as they like."""
    info = body.seen(name)
    assert info is not None
    if info.kind == "none":
        yield f"{name} is None"
        return
    kind = info.type_name.removeprefix("builtins.")
    yield f"type({name}) is {kind}"
    if info.kind in ("list", "tuple") and info.element is not None:
        item = info.element.type_name.removeprefix("builtins.")
        yield f"set(map(type, {name})) <= {{{item}}}"
    for other in (*body.counters, *body.sets):
        if body.type_of(other) == info.type_name:
            yield f"{name} is not {other}"


# ------------------------------------------------------------------------ text
def _match(body: Body, tests: list[str]) -> Match:
    region, elements = body.region, body.elements
    source = region.source
    helper = free_name(source, elements.stem)
    above = region.loop.lineno if region.function is None else None
    numpy, import_ = import_edit(source, "numpy", "np", above=above)
    text = elements.helper.format(name=helper, np=numpy)
    offset, block = functions_block(source, top_level_statement(source, region.loop), [text])
    new = _loop_text(body, helper)
    if len(tests) > 2:
        head = ["if (", f"    {tests[0]}", *(f"    and {t}" for t in tests[1:]), "):"]
    else:
        head = [f"if {' and '.join(tests)}:"]
    lines = [*head, new, "else:", reindent(source, region.loop, 1)]
    edits = [Edit(offset, offset, block), replace_statement(source, region.loop, lines)]
    if import_ is not None:
        edits.insert(0, import_)
    return Match(
        edits=tuple(edits),
        why=WHY,
        change=f"one pass for each distinct {elements.element} of {elements.string}, which NumPy "
        "counts",
        needs=frozenset({"numpy"}),
        ledger=(
            *(Condition(test, Basis.OBSERVED, guarded=True, test=test) for test in tests),
            Condition(
                f"what an iteration adds hangs on {elements.element} alone, and it adds ints",
                Basis.PROVED,
                f"lines {region.lines[0]}-{region.lines[1]}",
            ),
        ),
    )


def _loop_text(body: Body, helper: str) -> str:
    """The user's loop over the distinct elements, one level deeper."""
    source, loop, elements = body.region.source, body.region.loop, body.elements
    assert isinstance(loop, ast.For)
    target, over = source.span(loop.target), source.span(loop.iter)
    edits = [
        Edit(*target, f"{elements.element}, {body.times}"),
        Edit(*over, f"{helper}({elements.call})"),
        *body.edits,
    ]
    if elements.body[0] is not loop.body[0]:
        start, end = source.span(loop.body[0])[0], source.span(elements.body[0])[0]
        edits.append(Edit(start, end, ""))
    copy = Source(source.path, apply_edits(source, edits))
    place = (loop.lineno, loop.col_offset)
    found = next(
        n for n in copy.nodes if isinstance(n, ast.For) and (n.lineno, n.col_offset) == place
    )
    return reindent(copy, found, 1)
