"""A loop that draws random numbers one by one, split: all draws first, then the loop as it is.

A call of a generator costs a microsecond, of which the number itself takes a few nanoseconds.
Where the loop may raise half-way, the generator would be left in another state; so nothing in it
may, by proof or under the tests in front.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...layout import reindent
from ...loopnest.ir import (
    Append,
    Assign,
    Dim,
    For,
    If,
    Len,
    Load,
    Nest,
    Stmt,
    Store,
    expressions,
    statements,
    walk,
)
from ...model import Basis, Condition, Edit, Match, Refusal, Region, Source
from ...names import free_name
from ...patch import PatchError, apply_edits, import_edit, replace_statement
from ..chained import condition_lines
from ..draws_array import Drawn, Stream
from ..draws_closed import check_closed
from ..draws_find import GENERATOR, LEGACY, PYTHON, Stop
from .calm import check_calm
from .guarding import guards
from .known import Facts
from .layout import wrapped
from .legality import index_range
from .normal import NotVectorisable
from .session import Session

BLOCK = 65536
"""Numbers drawn at once where the loop draws more than `MANY`: half a megabyte."""
MANY = 2**20


def add_generators(drawn: Drawn, tests: list[str], ledger: list[Condition]) -> None:
    """What must hold of the generators and of the number of draws, in front of the other tests."""
    known = set(tests)
    new = [t for t in drawn.tests if t not in known and t.replace(">= 0", "> 0") not in known]
    tests[:0] = new
    ledger[:0] = [Condition(test, Basis.OBSERVED, guarded=True) for test in new]
    ledger.append(
        Condition(
            "every iteration draws as many numbers as the others, in the same order",
            Basis.PROVED,
            f"line {drawn.streams[0].first.call.lineno}",
        )
    )


def emit_split(region: Region, drawn: Drawn) -> Match | Refusal:
    """The loop with all its numbers drawn before it, or why not.

    Never raises on any region.
    """
    if any(s.called or (s.first.kind, s.first.below) == (PYTHON, None) for s in drawn.streams):
        return Refusal("these numbers are drawn as fast one by one", region.loop.lineno)
    try:
        return _split(region, drawn)
    except NotVectorisable as refusal:
        return Refusal(refusal.reason, refusal.line or region.loop.lineno)
    except Stop as stop:
        return Refusal(stop.reason, stop.line)
    except PatchError as error:
        return Refusal(str(error), region.loop.lineno)


def _split(region: Region, drawn: Drawn) -> Match:
    above = region.loop.lineno if region.function is None else None
    np, import_ = import_edit(region.source, "numpy", "np", above=above)
    tests: list[str] = []
    ledger: list[Condition] = []
    taken = set(drawn.names)
    before: list[str] = []
    reading: Reading = _plain(region, drawn)
    try:
        tests, ledger = _calm_tests(region, drawn, np)
    except NotVectorisable:
        check_closed(region, drawn)
        save, reading = _restoring(region, drawn, taken)
        before = [save]
    add_generators(drawn, tests, ledger)
    first = [*before, *(part for s in drawn.streams for part in _drawing(region, s, np, taken))]
    if tests:
        lines = [*condition_lines(tests), *("    " + line for line in first)]
        lines += [*reading(1), "else:", reindent(region.source, region.loop, 1)]
    else:
        lines = [*first, *reading(0)]
    edits: list[Edit] = [replace_statement(region.source, region.loop, lines)]
    uses_numpy = any(f"{np}." in line for line in (*tests, *first))
    if import_ is not None and uses_numpy:
        edits.insert(0, import_)
    edits[:0] = drawn.imports(region.source)
    generators = " and ".join(stream.first.function for stream in drawn.streams)
    return Match(
        edits=tuple(edits),
        why=f"Every number costs a call of {generators}() of its own, which checks its "
        "arguments and takes a lock.",
        change="All numbers are drawn at once, before the loop.",
        needs=frozenset({"numpy"}),
        ledger=tuple(ledger),
    )


Reading = Callable[[int], list[str]]
"""The loop that reads the numbers, so many levels to the right."""


def _plain(region: Region, drawn: Drawn) -> Reading:
    return lambda by: [_reading(region, drawn, by)]


def _restoring(region: Region, drawn: Drawn, taken: set[str]) -> tuple[str, Reading]:
    """How the state is kept, and the loop that sets it right if it raises half-way."""
    if len(drawn.streams) > 1:
        raise Stop("a statement may raise, with two generators at work", region.loop.lineno)
    (stream,) = drawn.streams
    draw = stream.first
    state = free_name(region.source, "state", taken)
    taken.add(state)
    owner = draw.generator or region.source.text(draw.call.func)
    if draw.kind == GENERATOR:
        save = f"{state} = {owner}.bit_generator.state"
        restore = f"{owner}.bit_generator.state = {state}"
    elif draw.kind == LEGACY and draw.generator:
        save, restore = f"{state} = {owner}.get_state()", f"{owner}.set_state({state})"
    else:
        raise Stop("a statement may raise", region.loop.lineno)
    used = free_name(region.source, "used", taken)
    taken.add(used)
    positional = () if draw.method in ("rand", "randn") else draw.args
    size = used if draw.method in ("rand", "randn") else f"size={used}"
    left = f"len(list({stream.name}))"
    total = stream.count if stream.count.isidentifier() else f"({stream.count})"

    again = f"{draw.function}({', '.join((*positional, size))})"

    def lines(by: int) -> list[str]:
        lead = "    " * by
        return [
            f"{lead}try:",
            _reading(region, drawn, by + 1),
            f"{lead}except BaseException:",
            f"{lead}    # only the numbers that were used count as drawn",
            f"{lead}    {used} = {total} - {left}",
            f"{lead}    {restore}",
            f"{lead}    {again}",
            f"{lead}    raise",
        ]

    return save, lines


def _calm_tests(region: Region, drawn: Drawn, np: str) -> tuple[list[str], list[Condition]]:
    """The tests under which nothing in the loop raises. Raises NotVectorisable."""
    nest = drawn.nest
    if isinstance(nest, Refusal):
        raise NotVectorisable(nest.reason, nest.line)
    session = _calm_session(region, nest, np)
    grown = _only_grown(nest)
    tests, ledger = guards(session, drawn.arrays | grown)
    for name in sorted(grown):
        if nest.arrays[name].allocation is None:
            tests.append(f"type({name}) is list")
            ledger.append(Condition(tests[-1], Basis.OBSERVED, guarded=True))
    return tests, ledger


def _calm_session(region: Region, nest: Nest, np: str) -> Session:
    """A session with the tests under which nothing in the loop raises. Raises NotVectorisable."""
    if not isinstance(nest.root, For):
        raise NotVectorisable("a while loop", nest.root.line)
    for name in sorted(nest.made):
        raise NotVectorisable(f"the loop makes the list {name}")
    session = Session(nest, nest.root, region.source, np, frozenset(), {}, Facts(nest))
    _check(session, (nest.root,))
    return session


def _only_grown(nest: Nest) -> frozenset[str]:
    """Lists that the loop appends to and does not look at: what they hold does not matter."""
    body = tuple(statements((nest.root,)))
    grown = {s.array for s in body if isinstance(s, Append)}
    used = {s.array for s in body if isinstance(s, Store)}
    for statement in body:
        for expr in expressions(statement):
            used |= {part.array for part in walk(expr) if isinstance(part, Load | Dim | Len)}
    return frozenset(grown - used)


def _check(session: Session, body: tuple[Stmt, ...]) -> None:
    for statement in body:
        match statement:
            case For():
                bounds = index_range(statement)
                if bounds is None or statement.values is not None:
                    raise NotVectorisable("the bounds of a loop are not simple", statement.line)
                session.facts.ranges[statement.index] = bounds
                _check(session, statement.body)
                del session.facts.ranges[statement.index]
            case If(then=then, orelse=orelse):
                check_calm(session, statement)
                _check(session, then)
                _check(session, orelse)
            case Assign() | Store() | Append():
                check_calm(session, statement)
            case _:
                raise NotVectorisable("a statement may raise", statement.line)


# ---------------------------------------------------------------------- text
def _drawing(region: Region, stream: Stream, np: str, taken: set[str]) -> list[str]:
    """The numbers as an iterator, drawn at once or block by block."""
    draw, count = stream.first, stream.count
    if draw.kind == PYTHON:
        flat = "" if len(stream.shape) == 1 else ".ravel()"
        lines = stream.lines(np, region.source, taken)
        return [*lines, f"{stream.name} = iter({stream.name}{flat}.tolist())"]
    listed = "" if draw.method == "integers" else ".tolist()"
    given = () if draw.method in ("rand", "randn") else draw.args
    keyword = "" if draw.method in ("rand", "randn") else "size="

    def call(size: str) -> str:
        return f"{draw.function}({', '.join((*given, keyword + size))}){listed}"

    if not _many(region, stream):
        return wrapped(f"{stream.name} = iter({call(count)})", 4)
    start = free_name(region.source, "start", {stream.name})
    value = free_name(region.source, "value", {stream.name})
    total = count if count.isidentifier() else f"({count})"
    return [
        f"{stream.name} = (",
        f"    {value}",
        f"    for {start} in range(0, {count}, {BLOCK})",
        f"    for {value} in {call(f'min({BLOCK}, {total} - {start})')}",
        ")",
    ]


def _many(region: Region, stream: Stream) -> bool:
    """More numbers were drawn than a list should hold."""
    values = region.observation.values if region.observation else {}
    total = float(len(stream.draws))
    for text in stream.trips:
        seen = values.get(text)
        most = int(text) if text.isdigit() else (seen.maximum if seen is not None else None)
        total *= 1000 if most is None else most
    return total > MANY


def _reading(region: Region, drawn: Drawn, by: int) -> str:
    """The loop's own text with the next number in place of each draw."""
    edits = []
    for stream in drawn.streams:
        for draw in stream.draws:
            new = f"next({stream.name})"
            if draw.method == "choice":
                new = f"{region.source.text(draw.call.args[0])}[{new}]"
            edits.append(Edit(*region.source.span(draw.call), new))
    source = Source(region.source.path, apply_edits(region.source, edits))
    place = region.loop.lineno, region.loop.col_offset
    loop = next(
        n for n in source.nodes if isinstance(n, ast.For) and (n.lineno, n.col_offset) == place
    )
    return reindent(source, loop, by)
