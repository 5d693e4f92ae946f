"""Loops iterated to a fix point.

Ranges of variables assigned in a loop are widened to infinity, except for counters: a variable that
only ever gets ``x += e`` stays within ``STEPS`` times the range of ``e``, since no process executes
more steps.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ..loopnest.ir import PY_INT
from ..loopnest.scope import dotted
from ..loopnest.typing_rules import join
from .nb_paths import LoopExits, Paths, Snapshot, assigned_paths, is_augmented
from .nb_values import INT64_MAX, INT64_MIN, STEPS, Num, Unsupported, add, compiled, intersect


class Loops(Paths):
    """Fix points and what leaves a loop."""

    def run_loop(
        self,
        node: ast.For | ast.While,
        head: Callable[[bool], bool],
        leave: Callable[[], bool],
        *,
        sure: bool,
        endless: bool = False,
    ) -> bool:
        """Fix point, then one recorded pass. ``sure``: the body runs at least once."""
        entry = self.snapshot()
        assigned = assigned_paths(node)
        invariant = self.stripped(entry, assigned)
        self.state.quiet += 1
        try:
            invariant = self._fixpoint(node, invariant, head, assigned)
        finally:
            self.state.quiet -= 1
        facts = len(self.state.facts)
        self.restore(invariant)
        ends, exits = self._pass(node, head)
        outs: list[Snapshot] = []
        finished = [*ends, *([] if sure or endless else [entry])]
        if isinstance(node, ast.While):
            # the test is evaluated on all that reaches the head
            finished = [] if endless else [invariant]
        normal = self.merged([self.stripped(s, assigned) for s in finished], node)
        if normal is not None:
            self._one_width(entry, normal, assigned, node)
            self.restore(normal)
            if leave() and self.block(node.orelse):
                outs.append(self.snapshot())
        outs += [self.stripped(s, assigned) for s in exits.breaks]
        del self.state.facts[facts:]
        after = self.merged(outs, node)
        if after is None:
            return False
        self.restore(after)
        return True

    @staticmethod
    def _one_width(
        entry: Snapshot, after: Snapshot, assigned: set[str], node: ast.For | ast.While
    ) -> None:
        """Refuse what compiled code would keep in a wider type behind a loop that surely runs.

        ``s = 0.5`` and ``for j in range(3): s = j``: Python has an int then, but compiled code
        has one variable for both, a float, and computes with that from there on.
        """
        for name in sorted(assigned):
            first, last = entry.env.get(name), after.env.get(name)
            if not isinstance(first, Num) or not isinstance(last, Num):
                continue
            common = join(first.type, last.type)
            if common is None or compiled(common) != compiled(last.type):
                text = f"{name} is {first.type} before a loop and {last.type} after it"
                raise Unsupported(text, node.lineno, "give it one type from the start")

    def _pass(
        self, node: ast.For | ast.While, head: Callable[[bool], bool]
    ) -> tuple[list[Snapshot], LoopExits]:
        """The body once, from the present environment."""
        self.exits.append(LoopExits())
        try:
            ends = []
            if head(True) and self.block(node.body):
                ends.append(self.snapshot())
        finally:
            exits = self.exits.pop()
        return [*ends, *exits.continues], exits

    def _fixpoint(
        self,
        node: ast.For | ast.While,
        start: Snapshot,
        head: Callable[[bool], bool],
        assigned: set[str],
    ) -> Snapshot:
        current, wider = start, False
        steps = self._thresholds(node)
        for round_ in range(12):
            self.restore(current)
            ends, _ = self._pass(node, head)
            stripped = [self.stripped(s, assigned) for s in ends]
            merged = self.merged([start, *stripped], node)
            assert merged is not None
            merged.maybe -= {n for n in merged.maybe if n not in start.env}
            merged.env = {n: v for n, v in merged.env.items() if n in start.env}
            if merged.env == current.env:
                break
            wider = round_ > 0 or wider
            if round_ > 2:
                steps = []
            current = merged if round_ < 1 else self._widened(current, merged, steps)
        if not wider:
            return current
        current = self._bounded_counters(node, start, current, assigned)
        for _ in range(2):
            self.restore(current)
            ends, _ = self._pass(node, head)
            merged = self.merged([start, *(self.stripped(s, assigned) for s in ends)], node)
            assert merged is not None
            current = self._met(current, merged)
        return current

    def _thresholds(self, node: ast.AST) -> list[int]:
        """Ends that a range may have: ``x = (10 * x + d) % 1000`` never leaves 0 to 999."""
        found: set[int] = set()
        for inner in ast.walk(node):
            value: object = None
            if isinstance(inner, ast.Constant):
                value = inner.value
            elif isinstance(inner, ast.Name):
                value = self.state.module.constant(inner.id)
            if type(value) is int:
                found |= {abs(value) - 1, abs(value)}
        return sorted(found)

    def _widened(self, old: Snapshot, new: Snapshot, steps: list[int]) -> Snapshot:
        """Ends that still grow move to the next of ``steps``, or are given up."""
        env = dict(new.env)
        for name, value in new.env.items():
            before = old.env.get(name)
            if isinstance(value, Num) and isinstance(before, Num):
                # every Python int that is assigned is shown to fit 64 bits
                whole = value.types == {PY_INT}
                if value.low != before.low:
                    below = self._next_step(None if value.low is None else -value.low, ())
                    low = INT64_MIN if below is None else -below
                    value = replace(value, low=low if whole else None)
                if value.high != before.high:
                    above = self._next_step(value.high, steps)
                    high = INT64_MAX if above is None else above
                    value = replace(value, high=high if whole else None)
                env[name] = value
        return Snapshot(env, new.maybe)

    def _next_step(self, end: int | float | None, steps: Sequence[int]) -> int | None:
        """The first place at or above an end that still grows where it may stand still."""
        bits = self.state.assumption.checked
        # where stores are looked at, that is the largest number that is stored
        largest = 2 ** (bits + 1) if self.state.assumption.roomy else 2**bits
        places = (*steps, 2**bits, largest) if bits else steps
        return None if end is None else next((s for s in places if s >= end), None)

    def _bounded_counters(
        self, node: ast.AST, start: Snapshot, current: Snapshot, assigned: set[str]
    ) -> Snapshot:
        env = dict(current.env)
        for name in assigned:
            first, value = start.env.get(name), env.get(name)
            if not isinstance(first, Num) or not isinstance(value, Num):
                continue
            total = self._added(node, name)
            if total is not None:
                bound = add(first, total, value.type)
                env[name] = intersect(value, bound.low, bound.high)
        return Snapshot(env, current.maybe)

    def _added(self, node: ast.AST, name: str) -> Num | None:
        """All that ``name += e`` can add up to; None if it is also assigned otherwise."""
        low: int | float = 0
        high: int | float = 0
        largest: int | float = 0
        found = False
        for inner, times in _with_counts(node, self.state.trips):
            match inner:
                case ast.AugAssign(target=target) if dotted(target) == name:
                    step = self.state.increments.get((id(inner), name))
                    if step is None or step.low is None or step.high is None:
                        return None
                    low += times * min(0, step.low)
                    high += times * max(0, step.high)
                    largest = max(largest, abs(step.low), abs(step.high))
                    found = True
                case ast.Name(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()) if dotted(
                    inner
                ) == name and not is_augmented(node, inner):
                    return None
        if not found:
            return None
        limit = STEPS * largest
        low, high = max(low, -limit), min(high, limit)
        # twice: the rounding errors of a float sum add up too
        slack = 1 if isinstance(low + high, int) else 2
        return Num(PY_INT, slack * low, slack * high)

    def _met(self, old: Snapshot, new: Snapshot) -> Snapshot:
        env = dict(old.env)
        for name, value in old.env.items():
            other = new.env.get(name)
            if isinstance(value, Num) and isinstance(other, Num):
                low = value.low if other.low is None else other.low
                high = value.high if other.high is None else other.high
                if value.low is not None and low is not None:
                    low = max(low, value.low)
                if value.high is not None and high is not None:
                    high = min(high, value.high)
                env[name] = replace(value, low=low, high=high)
        return Snapshot(env, old.maybe)

    def stripped(self, snapshot: Snapshot, names: set[str]) -> Snapshot:
        """Without symbolic forms of variables that change in the loop."""
        env = dict(snapshot.env)
        for name in names:
            value = env.get(name)
            if (
                isinstance(value, Num) and not (value.form is not None and value.form.is_const)
            ) or (isinstance(value, Num) and value.low != value.high):
                env[name] = replace(value, form=None, lows=(), highs=())
        return Snapshot(env, set(snapshot.maybe))


def _with_counts(
    node: ast.AST, trips: Mapping[int, int], times: int = 1
) -> Iterator[tuple[ast.AST, int]]:
    """Everything below a loop, with how often it runs at most in one run of the loop."""
    yield node, times
    if isinstance(node, ast.For | ast.While):
        times = min(STEPS, times * trips.get(id(node), STEPS))
    for child in ast.iter_child_nodes(node):
        yield from _with_counts(child, trips, times)
