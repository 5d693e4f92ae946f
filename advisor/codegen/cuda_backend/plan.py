"""What runs where: loops that become kernels, and loops around them that stay on the host.

A loop whose iterations are independent becomes a kernel with one thread an iteration. A loop around
it that carries a dependence (a time loop) stays a loop, and launches the kernel each time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...loopnest.accesses import Exposure, accesses_in, scalar_writes
from ...loopnest.dependence import Parallel, analyse
from ...loopnest.fold import loads, reads
from ...loopnest.ir import (
    Assign,
    Expr,
    For,
    Nest,
    Stmt,
    Store,
    expressions,
    statements,
)
from ...loopnest.ranges import Observed, ranges_of
from ...loopnest.text import STRINGS
from ..nb_values import Unsupported
from .relaxed import pair_of, relaxes

MOST_AXES = 3


@dataclass(frozen=True)
class Axis:
    """One dimension of a launch grid: a loop whose iterations are threads."""

    loop: For
    """In the rearranged nest; its bounds can be computed on the host."""

    @property
    def index(self) -> str:
        """The loop variable."""
        return self.loop.index


@dataclass(frozen=True)
class Launch:
    """One kernel: a thread for each combination of its loops' indices."""

    root: For
    """The loop as the program has it."""
    axes: tuple[Axis, ...]
    """Slowest first: the last one runs along neighbouring elements in memory."""
    unrolled: frozenset[ast.stmt]
    """The ``for`` statements whose indices come from the grid."""
    body: tuple[Stmt, ...]
    """What one thread does."""


@dataclass(frozen=True)
class Repeat:
    """A loop on the host around launches."""

    loop: For
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class OnHost:
    """An assignment of a scalar that needs no element of an array."""

    statement: Assign


Step = Launch | Repeat | OnHost


def plan(nest: Nest) -> Step:
    """The loop statement of a nest as launches. Raises Unsupported with the reason."""
    root = nest.root
    if not isinstance(root, For):
        raise Unsupported("a while loop decides on the host, after each step, whether to go on")
    for name in sorted(n for n, array in nest.arrays.items() if array.container in STRINGS):
        raise Unsupported(f"{name} is a {nest.arrays[name].container}, and no array on the device")
    planned = _Planner(nest).loop(root, frozenset())
    _check_private(planned, nest)
    return planned


def launches(step: Step) -> Iterator[Launch]:
    """All kernels of a plan, in the order of the program."""
    match step:
        case Launch():
            yield step
        case Repeat(steps=steps):
            for inner in steps:
                yield from launches(inner)


def threads(launch: Launch, nest: Nest) -> int | None:
    """How many iterations the loops of a launch have, by the sizes seen at entry."""
    trips = ranges_of(nest, Observed.EVERYTHING).trips
    known = {s.node: trips.get(id(s)) for s in statements((nest.root,)) if isinstance(s, For)}
    total = 1
    for axis in launch.axes:
        count = known.get(axis.loop.node)
        if count is None:
            return None
        total *= count
    return total


class _Planner:
    """Decides for one nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.analysis = analyse(nest)
        self.nodes = frozenset(ast.walk(nest.root.node))

    def loop(self, loop: For, host: frozenset[str]) -> Step:
        """A kernel if the loop is parallel, else a loop around what is in it."""
        why = self._no_axis(loop, host)
        verdict = self.analysis.verdict(loop)
        if isinstance(verdict, Parallel) and why is None:
            return self._launch(loop, host)
        relaxed = self._relaxed(loop, host)
        if relaxed is not None:
            return relaxed
        reason = self.analysis.why_not(loop) or why or ""
        if not _counts(loop):
            raise Unsupported(reason, loop.line)
        inside = host | {loop.index}
        steps: list[Step] = []
        for statement in loop.body:
            step = self._step(statement, inside, reason)
            if isinstance(step, OnHost):
                inside |= {step.statement.name}
            steps.append(step)
        if not any(True for step in steps for _ in launches(step)):
            raise Unsupported(reason, loop.line)
        return Repeat(loop, tuple(steps))

    def _step(self, statement: Stmt, host: frozenset[str], reason: str) -> Step:
        match statement:
            case For():
                return self.loop(statement, host)
            case Assign(value=value) if self._on_host(value, host):
                return OnHost(statement)
        # for t in range(n): u[0] = f(t)   would copy one element a step
        raise Unsupported(f"{reason}; and line {statement.line} runs between its kernels")

    # ------------------------------------------------------------- one kernel
    def _launch(self, loop: For, host: frozenset[str]) -> Launch:
        """The kernel of a parallel loop, with as many axes as are parallel together."""
        nest, outer, axes = self.nest, loop, [loop]
        unrolled: set[ast.stmt] = {loop.node}
        while len(axes) < MOST_AXES:
            found = self._another_axis(nest, outer, axes, host)
            if found is None:
                break
            nest, outer, added, nodes = found
            axes.append(added)
            unrolled |= nodes
        body = _innermost(outer, len(axes))
        ordered = sorted(axes, key=lambda axis: _neighbours(body, axis.index, self.nest))
        return Launch(loop, tuple(map(Axis, ordered)), frozenset(unrolled), body)

    def _relaxed(self, loop: For, host: frozenset[str]) -> Repeat | None:
        """Shortest paths: a kernel over all pairs for each node on the way."""
        if loop is not self.nest.root or relaxes(self.nest) is None or not _counts(loop):
            return None
        outer, inner = pair_of(loop)
        inside = host | {loop.index}
        if any(self._no_axis(one, inside) is not None for one in (outer, inner)):
            return None
        body = _flattened(outer.body, [inner])
        pair = sorted((outer, inner), key=lambda one: _neighbours(body, one.index, self.nest))
        nodes = frozenset((outer.node, inner.node))
        return Repeat(loop, (Launch(outer, tuple(map(Axis, pair)), nodes, body),))

    def _another_axis(
        self, nest: Nest, outer: For, axes: list[For], host: frozenset[str]
    ) -> tuple[Nest, For, For, frozenset[ast.stmt]] | None:
        """One more loop to run as threads: moved outwards, so that it encloses the whole body.

        ``for i: s = b[i]; for j: c[i, j] *= s; for k: for j: c[i, j] += a[i, k] * d[k, j]``
        becomes ``for i: for j: ..`` around all of it. What is written there for one j must not be
        touched for another: then each thread does its own accesses in the order they had.
        """
        body = _innermost(outer, len(axes))
        for inner in _loops(body):
            if self._no_axis(inner, host) is not None:
                continue
            matching = [one for one in _loops(body) if _same_header(one, inner)]
            if any(one.index == inner.index and one not in matching for one in _loops(body)):
                continue  # two loops of one name and other bounds
            if not _may_return(body, matching) or not _scalars_stay(body, matching, nest):
                continue
            flat = _flattened(body, matching)
            moved = replace(inner, body=flat)
            new_outer = _with_innermost(outer, len(axes), moved)
            root = _replaced(nest.root, outer, new_outer)
            assert isinstance(root, For)
            new = replace(nest, root=root)
            analysis = analyse(new)
            chain = _chain(new_outer, len(axes) + 1)
            if all(isinstance(analysis.verdict(one), Parallel) for one in chain):
                return new, new_outer, moved, frozenset(one.node for one in matching)
        return None

    def _no_axis(self, loop: For, host: frozenset[str]) -> str | None:
        """Why the loop's indices cannot come from a grid."""
        if not _counts(loop):
            return "the loop does not count with range()"
        if loop.node not in self.nodes:
            return "the loop stands in a function that is called"
        if any(isinstance(node, ast.For) and node.orelse for node in ast.walk(loop.node)):
            return "a loop has an else branch"
        for bound in (loop.start, loop.stop):
            if not self._on_host(bound, host):
                return "the loop's bounds are known inside the kernel only"
        return None

    def _on_host(self, expr: Expr, host: frozenset[str]) -> bool:
        """Whether the host can compute it: from scalars and extents, not from elements."""
        assigned = frozenset(self.nest.privates) - host
        return not loads(expr) and reads(expr).isdisjoint(assigned)


def _counts(loop: For) -> bool:
    """``for i in range(..)``, as written."""
    match loop.node:
        case ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range")), orelse=[]):
            return loop.values is None
    return False


# ------------------------------------------------------------- rearranging
def _loops(body: tuple[Stmt, ...]) -> Iterator[For]:
    """The loops that run in every iteration, those inside them included."""
    for statement in body:
        if isinstance(statement, For):
            yield statement
            yield from _loops(statement.body)


def _same_header(one: For, two: For) -> bool:
    fields = ("index", "start", "stop", "step", "values")
    return all(getattr(one, name) == getattr(two, name) for name in fields)


def _flattened(body: tuple[Stmt, ...], away: list[For]) -> tuple[Stmt, ...]:
    """The statements with the bodies of some loops in the place of the loops."""
    found: list[Stmt] = []
    for statement in body:
        if any(statement is loop for loop in away):
            assert isinstance(statement, For)
            found += _flattened(statement.body, away)
        elif isinstance(statement, For):
            found.append(replace(statement, body=_flattened(statement.body, away)))
        else:
            found.append(statement)
    return tuple(found)


def _may_return(body: tuple[Stmt, ...], away: list[For]) -> bool:
    """Whether ``continue`` of a loop that goes away may end the thread: nothing follows it."""
    for position, statement in enumerate(body):
        if not isinstance(statement, For):
            continue
        gone = any(statement is loop for loop in away)
        last = position == len(body) - 1
        if gone and not last and _continues(statement.body):
            return False
        if not gone and any(_continues(loop.body) for loop in away if _is_inside(loop, statement)):
            return False
        if gone and not _may_return(statement.body, away):
            return False
    return True


def _scalars_stay(body: tuple[Stmt, ...], away: list[For], nest: Nest) -> bool:
    """Whether no scalar goes from one trip of these loops to another, or out of them.

    ``last = 0.0; for j: c[j] = last; last = b[j]`` may not become threads with a ``last`` each.
    """
    written = frozenset(name for loop in away for name in scalar_writes(loop)) - {away[0].index}
    for loop in away:
        exposure = Exposure()
        exposure.block(loop.body, frozenset((loop.index,)))
        # what a called function returned is set on every path on which it is read
        if not (written - nest.invented).isdisjoint(exposure.exposed):
            return False
    inside = {id(s) for loop in away for s in statements(loop.body)} | {id(loop) for loop in away}
    for statement in statements(body):
        if id(statement) in inside:
            continue
        for top in expressions(statement):
            if not (written | {away[0].index}).isdisjoint(reads(top)):
                return False
    return True


def _continues(body: tuple[Stmt, ...]) -> bool:
    """Whether a ``continue`` of the loop itself is among the statements."""
    nodes = [node for statement in body for node in _own(statement.node)]
    return any(isinstance(node, ast.Continue) for node in nodes)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and all in it but loops."""
    if isinstance(node, ast.For | ast.While):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _own(child)


def _is_inside(loop: For, around: For) -> bool:
    return any(one is loop for one in statements(around.body))


def _chain(outer: For, depth: int) -> list[For]:
    """The outermost loops of a perfect nest."""
    found = [outer]
    while len(found) < depth:
        inner = found[-1].body[0]
        assert isinstance(inner, For)
        found.append(inner)
    return found


def _innermost(outer: For, depth: int) -> tuple[Stmt, ...]:
    return _chain(outer, depth)[-1].body


def _with_innermost(outer: For, depth: int, new: For) -> For:
    """The first ``depth`` loops around another body, which is one loop."""
    if depth == 1:
        return replace(outer, body=(new,))
    inner = outer.body[0]
    assert isinstance(inner, For)
    return replace(outer, body=(_with_innermost(inner, depth - 1, new),))


def _replaced(statement: Stmt, old: For, new: For) -> Stmt:
    if statement is old:
        return new
    if isinstance(statement, For):
        return replace(statement, body=tuple(_replaced(s, old, new) for s in statement.body))
    return statement


def _neighbours(body: tuple[Stmt, ...], index: str, nest: Nest) -> int:
    """How many accesses run along memory with the index: those that have it in the last place.

    Stores count most: each is one to main memory, while loads may be found in a cache.
    """
    count = 0
    for access in accesses_in(nest, body):
        if access.index and index in reads(access.index[-1]):
            count += 4 if access.writes else 1
    return count


# ----------------------------------------------------------------- checks
def _check_private(step: Step, nest: Nest) -> None:
    """Raise Unsupported where a scalar leaves a kernel: threads hand nothing to what follows."""
    written = {name: launch.root.line for launch in launches(step) for name in _written(launch)}
    exposed = set(nest.live_out) | _exposed(step)
    # what a called function returned is set on every path on which it is read
    for name in sorted((set(written) & exposed) - nest.invented):
        text = f"{name}, which iterations of a parallel loop assign, is read after it"
        raise Unsupported(text, written[name])


def _written(launch: Launch) -> frozenset[str]:
    own = frozenset(axis.index for axis in launch.axes)
    return own | frozenset(name for s in launch.body for name in scalar_writes(s))


def _exposed(step: Step) -> set[str]:
    """Scalars that a step may read before it has assigned them."""
    match step:
        case Launch(axes=axes, body=body):
            exposure = Exposure()
            exposure.block(body, frozenset(axis.index for axis in axes))
            return set(exposure.exposed) | _in_headers(*(axis.loop for axis in axes))
        case OnHost(statement=statement):
            return {name for top in expressions(statement) for name in reads(top)}
        case Repeat(loop=loop, steps=steps):
            inner = set[str]().union(*map(_exposed, steps))
            return (inner - {loop.index}) | _in_headers(loop)


def _in_headers(*loops: For) -> set[str]:
    return {name for loop in loops for b in (loop.start, loop.stop) for name in reads(b)}


def stores(step: Step) -> frozenset[str]:
    """Arrays that a plan's kernels write."""
    return frozenset(
        s.array
        for launch in launches(step)
        for s in statements(launch.body)
        if isinstance(s, Store)
    )
