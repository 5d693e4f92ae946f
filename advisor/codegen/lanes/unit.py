"""What an iteration computes by itself: the loops whose iterations are lanes, and their program.

``for i in range(n): steps = collatz(i); histogram[steps] += 1``: the histogram ties the iterations
together, but ``collatz(i)`` needs nothing of those before. So all its values can be computed first,
for many ``i`` at once, and the loop takes one after the other.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.fold import reads
from ...loopnest.ir import (
    Assign,
    Break,
    Continue,
    For,
    If,
    Len,
    Nest,
    Stmt,
    UserCall,
    While,
    statements,
)
from ...model import Region
from ..numpy_backend.normal import NotVectorisable, negate
from .flow import (
    Selected,
    assigned,
    breaks,
    certain,
    exposed,
    flat,
    parts_of,
    risky,
    without_continue,
)

_PURE = (Assign, If, For, While, Break, Continue)


@dataclass(frozen=True)
class Unit:
    """A computation that every iteration does for itself."""

    loops: tuple[For, ...]
    """The loops whose iterations are the lanes, outermost first."""
    steps: tuple[Stmt, ...]
    """The statements of one lane."""
    outputs: tuple[str, ...]
    """The scalars that the rest of the loop takes from it."""
    place: ast.Call | ast.stmt
    """The user's text that the next values take the place of."""

    @property
    def name(self) -> str:
        """Of the function that is called, or of the first value."""
        if isinstance(self.place, ast.Call):
            return ast.unparse(self.place.func).rpartition(".")[2].strip("_")
        return self.outputs[0].rpartition(".")[2].strip("_")


@dataclass(frozen=True)
class _Level:
    """One body on the way to the unit: the statements up to it, those behind it, and its owner."""

    before: tuple[Stmt, ...]
    after: tuple[Stmt, ...]
    owner: For | Selected


def units(region: Region, nest: Nest) -> tuple[list[Unit], NotVectorisable | None]:
    """Every computation that can be taken out, most lanes first, and why the first other cannot."""
    if not isinstance(nest.root, For):
        return [], NotVectorisable("a while loop has no iterations to go side by side")
    root = replace(nest.root, body=without_continue(nest.root.body))
    own = frozenset(id(node) for node in ast.walk(region.loop))
    found: list[Unit] = []
    first: NotVectorisable | None = None
    for place, names, levels in _places(region, root, own, nest):
        try:
            found.append(_unit(own, nest, place, names, levels))
        except NotVectorisable as refusal:
            first = first or refusal
    return found, first


_Place = tuple[ast.Call | ast.stmt, tuple[str, ...], list[_Level]]


def _places(region: Region, root: For, own: frozenset[int], nest: Nest) -> Iterator[_Place]:
    own = own - _evaluated_often(region) - _evaluated_late(region)
    for names, call in nest.calls:
        levels = _way_to(root, frozenset(names), own) if id(call) in own else None
        if levels is not None:
            yield call, names, levels
    seen = Counter(id(s.node) for s in flat(root.body) if isinstance(s, For | While))
    for place, names, levels in _inner_loops(root.body, root, own, ()):
        if seen[id(place)] == 1:  # one behind a `continue` may stand in two branches
            yield place, names, levels


def _evaluated_often(region: Region) -> frozenset[int]:
    """What a comprehension evaluates, which is no statement of the loop."""
    inner = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    found = (node for node in ast.walk(region.loop) if isinstance(node, inner))
    return frozenset(id(part) for node in found for part in ast.walk(node))


def _evaluated_late(region: Region) -> frozenset[int]:
    """What some iterations do not evaluate without a branch of the loop's own.

    Counter-example: ``if free[i] and near(i) > 1:`` takes a value where ``free[i]`` holds, and the
    lanes would have one for every ``i``.
    """
    late: list[ast.expr] = []
    for node in ast.walk(region.loop):
        match node:
            case ast.BoolOp(values=[_, *others]):
                late += others
            case ast.Compare(comparators=[_, *others]):
                late += others
            case ast.IfExp(body=body, orelse=orelse):
                late += body, orelse
            case ast.Assert(msg=ast.expr() as message):
                late.append(message)
    return frozenset(id(part) for node in late for part in ast.walk(node))


def _way_to(root: For, names: frozenset[str], own: frozenset[int]) -> list[_Level] | None:
    """The bodies around the statements that came from a call; None if a loop stays around them."""
    levels: list[_Level] = []
    owner: For | Selected = root
    body = root.body
    while True:
        there = [k for k, s in enumerate(body) if names & assigned((s,))]
        if not there:
            return None
        last = there[-1] + 1
        levels.append(_Level(body[:last], body[last:], owner))
        users = [body[k] for k in there if id(body[k].node) in own]
        match users:
            case []:
                return levels
            case [For() as loop] if len(there) == 1:
                owner, body = loop, loop.body
            case [If(then=then, orelse=orelse) as test] if len(there) == 1:
                arms = [arm for arm in (then, orelse) if names & assigned(arm)]
                if len(arms) != 1:
                    return None
                owner, body = _branch(test, arms[0]), arms[0]
            case _:
                return None
        levels[-1] = replace(levels[-1], before=body_before(levels[-1]))


def body_before(level: _Level) -> tuple[Stmt, ...]:
    """The statements in front of the one that the way goes on into."""
    return level.before[:-1]


def _branch(statement: If, arm: tuple[Stmt, ...]) -> Selected:
    test = statement.test if arm is statement.then else negate(statement.test)
    return Selected(statement.line, statement.node, test)


def _inner_loops(
    body: tuple[Stmt, ...], owner: For | Selected, own: frozenset[int], around: tuple[_Level, ...]
) -> Iterator[_Place]:
    """Each loop of the user's text inside the root, with those further inside first."""
    for position, statement in enumerate(body):
        if id(statement.node) not in own:
            continue
        before, after = body[:position], body[position + 1 :]
        here = (*around, _Level(before, after, owner))
        match statement:
            case For(body=inner):
                yield from _inner_loops(inner, statement, own, here)
            case If(then=then, orelse=orelse):
                for arm in (then, orelse):
                    yield from _inner_loops(arm, _branch(statement, arm), own, here)
        if isinstance(statement, For | While) and isinstance(statement.node, ast.For | ast.While):
            whole = _Level((*before, statement), after, owner)
            yield statement.node, (), [*around, whole]


# --------------------------------------------------------------------- slices
def _unit(
    own: frozenset[int],
    nest: Nest,
    place: ast.Call | ast.stmt,
    names: tuple[str, ...],
    levels: list[_Level],
) -> Unit:
    """The unit at a place. Raises NotVectorisable."""
    if isinstance(place, ast.For | ast.While):
        names = _taken(levels, nest)
        if place.orelse or not names:
            raise NotVectorisable("the inner loop computes nothing by itself", place.lineno)
    for name in names:
        if name in nest.joined:
            raise NotVectorisable(f"the type of {name} differs between paths", place.lineno)
    loops, steps = _slice(
        frozenset(names), levels, nest.invented, own if isinstance(place, ast.Call) else None
    )
    _check_bounds(loops)
    if not any(isinstance(s, For | While) for s in flat(steps)):
        raise NotVectorisable("no loop inside an iteration", place.lineno)
    return Unit(loops, steps, names, place)


def _taken(levels: list[_Level], nest: Nest) -> tuple[str, ...]:
    """What the user's inner loop assigns and someone reads later."""
    loop = levels[-1].before[-1]
    later = nest.live_out
    for level in levels:
        later |= exposed(level.after)
        if isinstance(level.owner, For):
            later |= exposed(level.owner.body)
    wanted = assigned((loop,)) & later
    order = [s.index if isinstance(s, For) else s.name for s in flat((loop,))
             if isinstance(s, For | Assign)]  # fmt: skip
    return tuple(name for name in dict.fromkeys(order) if name in wanted)


def _slice(
    needed: frozenset[str],
    levels: list[_Level],
    fresh: frozenset[str],
    own: frozenset[int] | None,
) -> tuple[tuple[For, ...], tuple[Stmt, ...]]:
    """The statements that the names hang on, from the outermost loop on. Raises NotVectorisable.

    ``fresh``: variables of functions that are called, which have no values before. ``own``: the
    user's loop where a call is taken out of it, with all that may raise in the function.
    """
    loops: list[For] = []
    steps: list[Stmt] = []
    for level in reversed(levels):
        for statement in reversed(level.before):
            if own is not None and id(statement.node) in own:
                own = None  # here the function ends
            raises = own is not None and risky((statement,))
            if raises or assigned((statement,)) & needed:
                _check_pure(statement)
                steps.append(statement)
                needed = (needed - certain(statement)) | exposed((statement,))
        own = None
        match level.owner:
            case Selected(test=test) as selected:
                steps.append(selected)
                needed |= reads(test)
            case For() as loop:
                needed = _outside(loop, needed - fresh)
                loops.append(loop)
    return tuple(reversed(loops)), tuple(reversed(steps))


def _outside(loop: For, needed: frozenset[str]) -> frozenset[str]:
    """What an iteration needs from outside the loop. Raises NotVectorisable if the one before."""
    inside = {s.name: s.line for s in statements(loop.body) if isinstance(s, Assign)}
    if loop.index in inside or loop.values is not None:
        raise NotVectorisable("the loop does not count", loop.line)
    if breaks(loop.body):
        raise NotVectorisable("the loop may end before its last iteration", loop.line)
    needed -= {loop.index}
    indices = {s.index for s in statements(loop.body) if isinstance(s, For)}
    for name in sorted(needed & (inside.keys() | indices)):
        line = inside.get(name, loop.line)
        raise NotVectorisable(f"each iteration needs the {name} of the one before", line)
    return needed


def _check_pure(statement: Stmt) -> None:
    for inner in flat((statement,)):
        if not isinstance(inner, _PURE):
            raise NotVectorisable("arrays or lists change on the way", inner.line)
    for part in parts_of((statement,)):
        if isinstance(part, UserCall | Len):
            raise NotVectorisable("a call or a length that the arrays do not know", part.line)


def _check_bounds(loops: tuple[For, ...]) -> None:
    """How many lanes there are is known before the first of them."""
    changing = assigned(loops)
    for loop in loops:
        if (reads(loop.start) | reads(loop.stop)) & changing:
            raise NotVectorisable("the number of iterations changes on the way", loop.line)
