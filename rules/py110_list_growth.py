"""Append to a list instead of making a longer copy of it in every pass of a loop.

Why it is slow: ``items = items + [x]`` copies all that was collected so far, so n items cost about
n * n / 2 copied references.
Why it may differ: ``items + [x]`` leaves the old list alone, ``append`` changes it; so the list has
to be made just before the loop and known under no other name, or else the new items are collected
apart and added once.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gpuadvise.api import (
    Basis,
    Condition,
    Edit,
    Ignores,
    Match,
    Refusal,
    Region,
    Rewrites,
    Source,
    rule,
)
from gpuadvise.codegen import ast_tools as tools
from gpuadvise.codegen import list_uses as lists
from gpuadvise.names import free_name

CASES: tuple[Rewrites | Ignores, ...] = (
    Rewrites(
        before="""\
def digits(n, base):
    found = []
    while n:
        found = found + [n % base]  # least significant first
        n //= base
    return found
""",
        inputs="args = (2**70 + 12345, 7)",
        function="digits",
        contains=("found.append(n % base)  # least significant first",),
    ),
    Rewrites(
        before="""\
def primes(limit):
    known = [2]
    for n in range(3, limit, 2):
        for p in known:
            if n % p == 0:
                break
        else:
            known = known + [n]
    return known, len(known)
""",
        inputs="args = (60,)",
        function="primes",
        contains=("known.append(n)",),
    ),
    Rewrites(
        before="""\
def both_ends(n):
    start = [0]
    left = right = start
    for i in range(n):
        left = [i] + left
        right = right + [i, -i]
    return start, left, right
""",
        inputs="args = (5,)",
        function="both_ends",
    ),
    Ignores(
        before="""\
def snapshots(n):
    items = []
    history = []
    for i in range(n):
        items = items + [i]
        history.append(items)
    return history
""",
        because="each pass keeps the list of that moment",
        inputs="args = (4,)",
        function="snapshots",
        reason="someone else may hold items",
    ),
    Ignores(
        before="""\
def doubled(items, n):
    for i in range(n):
        items = items + [i]
    return items
""",
        because="items may be an array, where + adds numbers",
        inputs="args = (np.array([1.0]), 3)",
        function="doubled",
        reason="may be something other than a list",
    ),
    Ignores(
        before="""\
def spread(n):
    items = [1, 2, 3]
    for x in items:
        if len(items) < n:
            items = items + [x]
    return items
""",
        because="the loop walks along the old list; an append would make it walk on",
        inputs="args = (9,)",
        function="spread",
        reason="walks along items",
    ),
)


@dataclass(frozen=True)
class Growth:
    """One statement ``items = items + [x]``, or ``items = [x] + items``."""

    statement: ast.Assign
    name: str
    read: ast.Name
    added: ast.List | ast.ListComp
    in_front: bool


@rule(cases=CASES)
def list_growth(region: Region) -> Match | Refusal | None:
    """The hot loop grows a list by making a new one."""
    grown = _growths(region)
    if not grown:
        return None
    refusal: Refusal | None = None
    edits: list[Edit] = []
    ledger: list[Condition] = []
    done: list[str] = []
    for name in dict.fromkeys(growth.name for growth in grown):
        growths = [growth for growth in grown if growth.name == name]
        answer = _one(region, name, growths)
        if isinstance(answer, Refusal):
            refusal = refusal or answer
            continue
        edits += answer[0]
        ledger.append(answer[1])
        done.append(name)
    if not done:
        return refusal
    names = " and ".join(done)
    return Match(
        edits=tuple(edits),
        why=f"{names} is copied as a whole in every pass",
        change=f"append to {names} instead of copying it",
        ledger=tuple(ledger),
    )


def _one(
    region: Region, name: str, growths: list[Growth]
) -> tuple[list[Edit], Condition] | Refusal:
    source, loop = region.source, region.loop
    scope: tools.Scope = region.function or source.tree
    added = {id(growth.statement.value) for growth in growths}
    for value in lists.values_bound(source, scope, name):
        if id(value) not in added and not lists.makes_list(source, value):
            # def doubled(items): items = items + [1]    adds one to each number of an array
            value_line = getattr(value, "lineno", loop.lineno)
            known = isinstance(value, ast.Name) and _is_list_name(source, scope, value.id)
            if not known:
                return Refusal(f"{name} may be something other than a list", value_line)
    seen = tools.deferred_uses(source, scope, name) or tools.reads_frames(scope)
    if seen is not None:
        # def report(): print(items)    called in the loop
        line = getattr(seen, "lineno", loop.lineno)
        return Refusal(f"code that may run at any moment can see {name}", line)
    objection = _not_in_place(region, name, growths)
    if objection is None:
        return _in_place(source, growths), Condition(
            f"{name} is made just before the loop and known under no other name",
            Basis.PROVED,
            f"lines {loop.lineno}-{loop.end_lineno}",
        )
    if _collected_apart(region, scope, name, growths):
        return _apart(region, name, growths), Condition(
            f"nothing else in the loop reads or changes {name}",
            Basis.PROVED,
            f"lines {loop.lineno}-{loop.end_lineno}",
        )
    return objection


def _is_list_name(source: Source, scope: tools.Scope, name: str) -> bool:
    bound = lists.values_bound(source, scope, name)
    return bool(bound) and all(lists.makes_list(source, value) for value in bound)


# ------------------------------------------------------------------ detection
def _growths(region: Region) -> list[Growth]:
    found = []
    for node in tools.own_nodes(region.loop):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            growth = _growth(node, node.targets[0])
            if growth is not None:
                found.append(growth)
    return sorted(found, key=lambda growth: growth.statement.lineno)


def _growth(node: ast.Assign, target: ast.expr) -> Growth | None:
    match target, node.value:
        case (
            ast.Name(id=name),
            ast.BinOp(
                left=ast.Name(id=read) as old,
                op=ast.Add(),
                right=ast.List() | ast.ListComp() as new,
            ),
        ) if name == read:
            return Growth(node, name, old, new, in_front=False)
        case (
            ast.Name(id=name),
            ast.BinOp(
                left=ast.List(elts=[item]) as new, op=ast.Add(), right=ast.Name(id=read) as old
            ),
        ) if name == read and not isinstance(item, ast.Starred):
            return Growth(node, name, old, new, in_front=True)
    return None


# --------------------------------------------------------------------- guards
def _not_in_place(region: Region, name: str, growths: list[Growth]) -> Refusal | None:
    """Why ``append`` on the list itself could be noticed."""
    source, loop = region.source, region.loop
    fresh = lists.fresh_before(source, loop, name)
    if fresh is None:
        # a = b = []    or a list that came from outside: the other name would see it grow
        return Refusal(f"someone else may hold {name}: it is not made here", loop.lineno)
    if any(growth.in_front for growth in growths):
        return Refusal(f"{name} grows at the front, which append does not", loop.lineno)
    own = {id(growth.read) for growth in growths}
    for use in lists.uses_between(source, fresh, loop, name):
        if id(use) not in own and not lists.keeps_no_reference(source, use):
            # history.append(items)    keeps the list of that moment
            return Refusal(f"someone else may hold {name} (line {use.lineno})", use.lineno)
    for walk in lists.iterates_over(loop, name):
        if any(_within(walk.body, growth.statement) for growth in growths):
            # for x in items: items = items + [x]    walks along the list it began with
            return Refusal(f"the loop walks along {name} while it grows", walk.lineno)
    return None


def _within(body: list[ast.stmt], statement: ast.stmt) -> bool:
    return any(node is statement for part in body for node in ast.walk(part))


def _collected_apart(region: Region, scope: tools.Scope, name: str, growths: list[Growth]) -> bool:
    """Whether the loop could do without the list until it has ended."""
    loop = region.loop
    own = {id(growth.read) for growth in growths}
    untouched = all(id(use) in own for use in tools.loads(loop, name))
    return (
        untouched
        and len(tools.stores(loop, name)) == len(growths)
        and len({growth.in_front for growth in growths}) == 1
        # for .. else: print(items)    comes before the items are put together
        and not loop.orelse
        # try: for w in words: items = items + [int(w)]    except ValueError: print(items)
        and tools.handlers_around(region.source, scope, loop) is None
        and tools.stands_alone(region.source, loop)
    )


# ---------------------------------------------------------------------- edits
def _in_place(source: Source, growths: list[Growth]) -> list[Edit]:
    edits = []
    for growth in growths:
        start, end = source.span(growth.statement)
        edits.append(Edit(start, end, _added(source, growth, growth.name)))
    return edits


def _added(source: Source, growth: Growth, to: str) -> str:
    text = source.text(growth.added)
    match growth.added:
        case ast.List(elts=[item]) if not isinstance(item, ast.Starred) and "\n" not in text:
            # From bracket to bracket: an item in parentheses keeps them.
            return f"{to}.append({text[1:-1].strip().rstrip(',')})"
        case _:
            return f"{to} += {text}"


def _apart(region: Region, name: str, growths: list[Growth]) -> list[Edit]:
    source, loop = region.source, region.loop
    apart = free_name(source, f"new_{name}")
    unit = tools.indent_unit(source)
    joined = f"{name} = {name} + {apart}"
    if growths[0].in_front:
        joined = f"{name} = {apart}[::-1] + {name}"
    edits = [
        tools.insert_before(source, loop, [f"{apart} = []"]),
        tools.insert_after(source, loop, [f"if {apart}:", f"{unit}{joined}"]),
    ]
    for growth in growths:
        start, end = source.span(growth.statement)
        edits.append(Edit(start, end, _added(source, growth, apart)))
    return edits
