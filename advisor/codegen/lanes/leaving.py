"""Loops that lanes leave one by one.

Those that are left stay together: ``active`` says which they are, and whoever leaves writes what it
has into its place of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...loopnest.ir import (
    PY_BOOL,
    PY_INT,
    Assign,
    Binary,
    Compare,
    Const,
    Expr,
    For,
    Stmt,
    Var,
    While,
)
from ..numpy_backend.normal import NotVectorisable, negate
from .expressions import Expressions
from .flow import LaneLoop, Leave, assigned, exposed, risky
from .names import Names, elements, is_named, plain, vector_texts
from .spread import at_head, varies
from .values import Val

if TYPE_CHECKING:
    from .writer import Writer


class Leaving:
    """A loop that lanes leave one by one."""

    def __init__(self, writer: Writer, loop: LaneLoop, names: Names, live: frozenset[str]) -> None:
        self.writer = writer
        self.w = writer.w
        self.loop = loop
        self.outside = names
        self.live = live
        self.active = self.w.fresh("active")
        self.left = ""
        self.outputs = sorted(assigned((loop,)) & live)
        self.full: dict[str, Val] = {}

    def write(self) -> None:
        """The loop, and what all lanes have behind it. Raises NotVectorisable."""
        writer, names, loop = self.writer, self.outside, self._counted()
        self.loop = loop
        self._check_index(loop)
        head = at_head(loop, names.vectors())
        local = Names(dict(names.values), f"{self.active}.size", names.arrays, names.nest)
        self._carry(local, head)
        before = dict(local.values)
        for name in self.outputs:
            self.full[name] = writer.room(names, name, None)
        self.w.line(f"{self.active} = {writer.np}.arange({names.size})")
        match loop.loop:
            case While():
                self.w.line(f"while {self.active}.size:")
            case _:
                self.w.line(writer.header(loop, local))
        self.w.level += 1
        self._body(local)
        writer.as_before(local, before, assigned(loop.body) & self._needed(), loop.line)
        self.w.level -= 1
        if isinstance(loop.loop, For) and (self.outputs or loop.otherwise):
            self.w.line("else:")
            self.w.level += 1
            self._ends(local)
            self.w.level -= 1
        for name in self.outputs:
            names.values[name] = self.full[name]
            names.python.pop(name, None)
        for name in assigned((loop,)) - frozenset(self.outputs):
            names.values.pop(name, None)

    def _check_index(self, loop: LaneLoop) -> None:
        """Behind the loop its index is that of the last iteration."""
        if not isinstance(loop.loop, For) or loop.loop.index not in self.live:
            return
        if loop.otherwise or loop.loop.index in assigned(loop.body):
            raise NotVectorisable(f"{loop.loop.index} is read behind its loop", loop.line)

    def _counted(self) -> LaneLoop:
        """A loop with its own bounds in each lane counts by itself."""
        loop = self.loop
        head = at_head(loop, self.outside.vectors())
        if not isinstance(loop.loop, For):
            return loop
        counted = loop.loop

        if not (varies(counted.start, head) or varies(counted.stop, head)):
            return loop
        if (
            counted.index in self.live
            or counted.index in assigned(loop.body)
            or counted.values is not None
        ):
            raise NotVectorisable(f"{counted.index} counts to another end in each lane", loop.line)
        return counting(self.writer, loop, counted, self.outside)

    def _carry(self, local: Names, head: frozenset[str]) -> None:
        """Names for what is compressed with the lanes: all arrays that the loop reads."""
        writer, names = self.writer, self.outside
        inside = (self.loop.loop, *self.loop.body, *self.loop.otherwise)
        changing = assigned(self.loop.body)
        used = exposed(inside) | frozenset(self.outputs)
        needed_later = self.live - frozenset(self.outputs)
        for name in sorted(used & (head | changing) & names.values.keys()):
            value = names.values[name]
            if name in head:
                value = writer.wide(value, names.size)
            elif name not in changing:
                continue
            own = names.python.get(name)
            if own is None or name in needed_later or not is_named(value, own):
                own = self.w.fresh(plain(name))
                local.values[name] = writer.put(own, value)
            local.python[name] = own
        for name in names.python:
            if name in changing and name not in local.python and name not in needed_later:
                local.python[name] = names.python[name]

    def _body(self, local: Names) -> None:
        loop, writer, rest = self.loop, self.writer, self._needed()
        writer.test_integers(loop, local)
        if isinstance(loop.loop, While) and loop.loop.test != Const(loop.loop.test.type, 0, True):
            self._leave(negate(loop.loop.test), loop.otherwise, local, rest)
        for position, statement in enumerate(loop.body):
            after = exposed(loop.body[position + 1 :]) | rest
            if isinstance(statement, Leave):
                self._leave(statement.test, statement.arm, local, after)
            else:
                writer.sequence((statement,), local, after)

    def _zero(self, name: str) -> None:
        """Elements without a value yet are numbers all the same, with which arithmetic is calm."""
        for text in vector_texts(self.full[name]):
            for k, line in enumerate(self.w.lines):
                if line.strip().startswith(f"{text} = {self.writer.np}.empty("):
                    self.w.lines[k] = line.replace(".empty(", ".zeros(")

    def _needed(self) -> frozenset[str]:
        """What the next iteration, or the end of the loop, reads."""
        loop = self.loop
        rest = exposed((loop.loop,)) | exposed(loop.body) | exposed(loop.otherwise)
        return rest | frozenset(self.outputs)

    def _leave(
        self, test: Expr, arm: tuple[Stmt, ...], local: Names, after: frozenset[str]
    ) -> None:
        """Lanes that leave write what they have; the others close ranks."""
        writer = self.writer
        mask = Expressions(self.w, local).truth(test)
        if not mask.vector:
            mask = writer.wide(mask, local.size)  # type: ignore[assignment]
        if mask.text.isidentifier():
            self.left = mask.text
        else:
            self.left = self.w.fresh("left")
            self.w.line(f"{self.left} = {mask.text}")
        self.w.line(f"if {self.left}.any():")
        self.w.level += 1
        self._write_out(arm, local)
        vectors = [name for name in sorted(local.vectors()) if name in after]
        texts = [t for name in vectors for t in vector_texts(local.values[name])]
        stay = self.w.fresh("stay")
        self.w.line(f"{stay} = ~{self.left}")
        shorter = list(dict.fromkeys((self.active, *texts)))
        self.w.line(f"{', '.join(shorter)} = {', '.join(f'{t}[{stay}]' for t in shorter)}")
        self.w.line(f"if not {self.active}.size:")
        self.w.line("    break")
        self.w.level -= 1
        for name in local.vectors() - frozenset(vectors):
            del local.values[name]

    def _write_out(self, arm: tuple[Stmt, ...], local: Names) -> None:
        """What the lanes that leave have, into their places."""
        if not self.outputs:
            return
        out = self.w.fresh("gone")
        self.w.line(f"{out} = {self.active}[{self.left}]")
        leaving = Names(dict(local.values), f"{out}.size", local.arrays, local.nest)
        for name in sorted((exposed(arm) | frozenset(self.outputs)) & local.vectors()):
            leaving.values[name] = elements(local.values[name], self.left)
        self._settle(arm, leaving, out)

    def _settle(self, arm: tuple[Stmt, ...], leaving: Names, out: str) -> None:
        """The last statements of lanes, and what they have then into their places."""
        writer = self.writer
        plain_arm = all(isinstance(s, Assign) for s in arm) and not (chained(arm) or risky(arm))
        if not plain_arm:
            for name in sorted(exposed(arm) & leaving.vectors()):
                leaving.values[name] = writer.put(self.w.fresh(plain(name)), leaving.values[name])
            writer.sequence(arm, leaving, frozenset(self.outputs))
        else:
            new = {}
            for statement in arm:
                assert isinstance(statement, Assign)
                value = Expressions(self.w, leaving).of(statement.value)
                new[statement.name] = writer.fitting(statement.name, value)
            leaving.values.update(new)
        for name in self.outputs:
            if name not in leaving.values:  # it gets its value behind the loop
                self._zero(name)
                continue
            writer.store(self.full[name], out, writer.fitting(name, leaving.values[name]))

    def _ends(self, local: Names) -> None:
        """The lanes that ran all iterations."""
        behind = Names(dict(local.values), f"{self.active}.size", local.arrays, local.nest)
        self._settle(self.loop.otherwise, behind, self.active)


def counting(writer: Writer, loop: LaneLoop, head: For, names: Names) -> LaneLoop:
    """``for d in range(1, n)`` as ``while d < n``, with another ``n`` in each lane."""

    asking = Expressions(writer.w, names)
    index, line = head.index, head.line
    stop: Expr = head.stop
    if exposed((loop,)) & assigned(loop.body) & exposed((Assign(line, head.node, "", stop),)):
        end = f"{index}_end"
        writer.assign(names, end, asking.number(stop))
        stop = Var(PY_INT, line, end)
    writer.assign(names, index, asking.number(head.start))
    at = Var(PY_INT, line, index)
    test = Compare(PY_BOOL, line, "<" if head.step > 0 else ">", at, stop)
    step = Const(PY_INT, line, abs(head.step))
    move = Assign(
        line, head.node, index, Binary(PY_INT, line, "+" if head.step > 0 else "-", at, step)
    )
    new = LaneLoop(
        loop.line, loop.node, While(line, head.node, test, ()), (*loop.body, move), loop.otherwise
    )
    if id(loop) in writer.bounds.tests:
        writer.bounds.tests[id(new)] = writer.bounds.tests[id(loop)]
    return new


def chained(arm: Sequence[Stmt]) -> bool:
    """Some statement needs what one before it assigned."""
    return any(exposed(arm[k + 1 :]) & assigned((statement,)) for k, statement in enumerate(arm))
