"""The statements of one lane: ways out of loops as `Leave`, and what they read and assign.

A lane is one iteration of the loops that run side by side. ``break`` under a condition becomes the
exit of those lanes for which it holds; ``continue`` becomes an ``else`` around what follows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...loopnest.fold import reads
from ...loopnest.ir import (
    PY_BOOL,
    Assign,
    Bool,
    Break,
    Const,
    Continue,
    Expr,
    For,
    If,
    Stmt,
    Unary,
    Var,
    While,
    expressions,
    walk,
)
from ..numpy_backend.normal import may_raise, negate

_FEW = 2
"""Statements that may be written twice."""
TRUE = Const(PY_BOOL, 0, True)


@dataclass(frozen=True)
class Selected(Stmt):
    """Only the lanes for which the test holds go on from here."""

    test: Expr


@dataclass(frozen=True)
class Leave(Stmt):
    """The lanes for which the test holds leave the loop; they run the arm first."""

    test: Expr
    arm: tuple[Stmt, ...]


@dataclass(frozen=True)
class LaneLoop(Stmt):
    """A loop inside the lanes."""

    loop: For | While
    """Its head; the body is the one below."""
    body: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()
    """What lanes run that leave it at its head."""


# ------------------------------------------------------------------- reading
def nested(statement: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The bodies inside a statement."""
    match statement:
        case If(then=then, orelse=orelse):
            return then, orelse
        case For(body=body) | While(body=body):
            return (body,)
        case Leave(arm=arm):
            return (arm,)
        case LaneLoop(body=body, otherwise=otherwise):
            return body, otherwise
    return ()


def flat(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """All statements, nested ones included."""
    for statement in body:
        yield statement
        for inner in nested(statement):
            yield from flat(inner)


def own_expressions(statement: Stmt) -> tuple[Expr, ...]:
    """What a statement evaluates itself."""
    match statement:
        case Leave(test=test) | Selected(test=test):
            return (test,)
        case LaneLoop(loop=loop):
            return expressions(loop)
    return expressions(statement)


def assigned(body: Sequence[Stmt]) -> frozenset[str]:
    """Scalars that the statements may give a value."""
    found: set[str] = set()
    for statement in flat(body):
        match statement:
            case Assign(name=name):
                found.add(name)
            case For(index=index) | LaneLoop(loop=For(index=index)):
                found.add(index)
    return frozenset(found)


def has_loop(body: Sequence[Stmt]) -> bool:
    """Whether there is a loop in it."""
    return any(isinstance(s, For | While | LaneLoop) for s in flat(body))


def risky(body: Sequence[Stmt]) -> bool:
    """Whether evaluating it may raise: it counts even where nobody reads the result."""
    return any(may_raise(e) for s in flat(body) for e in own_expressions(s))


def exposed(body: Sequence[Stmt]) -> frozenset[str]:
    """Scalars that the statements may read before they assign them."""
    return _exposed(body, frozenset())[0]


def _exposed(
    body: Sequence[Stmt], done: frozenset[str]
) -> tuple[frozenset[str], frozenset[str] | None]:
    """What is read, and what has a value behind the statements; None if nothing gets there."""
    found: frozenset[str] = frozenset()
    for statement in body:
        for expr in own_expressions(statement):
            found |= reads(expr) - done
        match statement:
            case Assign(name=name):
                done |= {name}
            case Break() | Continue():
                return found, None
            case If(then=then, orelse=orelse):
                sides = [_exposed(arm, done) for arm in (then, orelse)]
                found |= sides[0][0] | sides[1][0]
                ends = [end for _, end in sides if end is not None]
                if not ends:
                    return found, None
                done = frozenset.intersection(*ends)
            case Leave(arm=arm):
                found |= _exposed(arm, done)[0]
            case For() | While() | LaneLoop():
                found |= _in_loop(statement, done)
                done |= certain(statement)
    return found, done


def _in_loop(statement: For | While | LaneLoop, done: frozenset[str]) -> frozenset[str]:
    loop = statement.loop if isinstance(statement, LaneLoop) else statement
    inner = done | {loop.index} if isinstance(loop, For) else done
    found = _exposed(statement.body, inner)[0]
    if isinstance(statement, LaneLoop):
        found |= _exposed(statement.otherwise, inner)[0]
    return found


def certain(statement: Stmt) -> frozenset[str]:
    """Scalars that have a value of this statement's behind it, whatever happens."""
    match statement:
        case Assign(name=name):
            return frozenset((name,))
        case If(then=then, orelse=orelse):
            return _all(then) & _all(orelse)
        case For(index=index, start=Const(value=int() as low), stop=Const(value=int() as high)):
            return frozenset((index,)) if low < high else frozenset()
        case LaneLoop(loop=For() as loop):
            return certain(loop)
        case (
            While(test=Const(value=True), body=body)
            | LaneLoop(loop=While(test=Const(value=True)), body=body)
        ):
            found: frozenset[str] = frozenset()
            for inner in body:
                if not isinstance(inner, Assign):
                    break
                found |= {inner.name}
            return found
    return frozenset()


def _all(body: Sequence[Stmt]) -> frozenset[str]:
    return frozenset().union(*(certain(s) for s in body))


# ---------------------------------------------------------------- arranging
def without_continue(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """``continue`` as the end of a branch, with what follows in the other one."""
    result: list[Stmt] = []
    for position, statement in enumerate(body):
        match statement:
            case Continue():
                return tuple(result)
            case Break():
                return (*result, statement)
            case If(then=then, orelse=orelse) if _jumps(statement, Continue):
                rest = body[position + 1 :]
                then, orelse = (without_continue((*arm, *rest)) for arm in (then, orelse))
                return (*result, replace(statement, then=then, orelse=orelse))
            case If(then=then, orelse=orelse):
                then, orelse = without_continue(then), without_continue(orelse)
                result.append(replace(statement, then=then, orelse=orelse))
            case For() | While():
                result.append(replace(statement, body=without_continue(statement.body)))
            case _:
                result.append(statement)
    return tuple(result)


def _jumps(statement: Stmt, kind: type[Break] | type[Continue]) -> bool:
    """Out of the loop around the statement, not out of one inside it."""
    if isinstance(statement, If):
        return any(_jumps(s, kind) for s in (*statement.then, *statement.orelse))
    return isinstance(statement, kind)


def breaks(body: Sequence[Stmt]) -> bool:
    """Whether the loop that this is the body of may end early."""
    return any(_jumps(statement, Break) for statement in body)


class Arranger:
    """Makes `Leave` and `LaneLoop` of ``break`` and loops; numbers the flags it needs."""

    def __init__(self) -> None:
        self.flags: list[str] = []

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements outside of loops."""
        result: list[Stmt] = []
        for statement in body:
            match statement:
                case For() | While():
                    result.append(LaneLoop(*_where(statement), statement, self.inside(statement)))
                case If(then=then, orelse=orelse):
                    arms = self.body(then), self.body(orelse)
                    result.append(replace(statement, then=arms[0], orelse=arms[1]))
                case _:
                    result.append(statement)
        return _without_flags(tuple(result))

    def inside(self, loop: For | While) -> tuple[Stmt, ...]:
        """The body of a loop, with its exits."""
        return _without_flags(tuple(self._leaving(loop.body)))

    def _leaving(self, body: tuple[Stmt, ...]) -> list[Stmt]:
        result: list[Stmt] = []
        for statement in body:
            match statement:
                case Break():
                    return [*result, Leave(*_where(statement), TRUE, ())]
                case If(test=test, then=then, orelse=orelse) if _jumps(statement, Break):
                    if _leaves(then):
                        result.append(Leave(*_where(statement), test, self.body(then[:-1])))
                        result += self._leaving(orelse)
                    elif _leaves(orelse):
                        arm = self.body(orelse[:-1])
                        result.append(Leave(*_where(statement), negate(test), arm))
                        result += self._leaving(then)
                    else:
                        result += self._under(statement)
                case _:
                    result += self.body((statement,))
        return result

    def _under(self, statement: If) -> list[Stmt]:
        """``if a: s = ..; if b: break``: leave where both hold."""
        where = _where(statement)
        name = f"flag_{len(self.flags)}"
        self.flags.append(name)
        flag = Var(PY_BOOL, statement.line, name)
        result: list[Stmt] = [Assign(*where, name, statement.test)]
        for test, arm in ((flag, statement.then), (negate(flag), statement.orelse)):
            for inner in self._leaving(arm):
                if isinstance(inner, Leave):
                    both = Bool(PY_BOOL, inner.line, "and", (test, inner.test))
                    result.append(replace(inner, test=both))
                else:
                    result.append(If(*where, test, (inner,), ()))
        return result


def _where(statement: Stmt) -> tuple[int, ast.stmt]:
    return statement.line, statement.node


def _leaves(arm: tuple[Stmt, ...]) -> bool:
    return bool(arm) and isinstance(arm[-1], Break) and not breaks(arm[:-1])


def _without_flags(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """``done`` of a ``return`` in a loop: what runs if it is not set runs at the loop's head."""
    for position, (loop, then) in enumerate(pairwise(body)):
        match loop, then:
            case (
                LaneLoop(otherwise=()),
                If(test=Unary(op="not", operand=Var(name=flag)), then=rest, orelse=()),
            ) if not has_loop(rest) and len(list(flat(rest))) <= _FEW:
                pass
            case _:
                continue
        new = _with_rest(loop, flag, rest)
        others = (*body[:position], *body[position + 2 :])
        if new is None or any(flag in _read(s) for s in flat((*others, new))):
            continue
        kept = [_unset(s, flag) for s in (*body[:position], new, *body[position + 2 :])]
        return _without_flags(tuple(s for s in kept if s is not None))
    return body


def _read(statement: Stmt) -> frozenset[str]:
    return frozenset().union(*(reads(e) for e in own_expressions(statement)))


def _with_rest(loop: LaneLoop, flag: str, rest: tuple[Stmt, ...]) -> LaneLoop | None:
    """The loop with the rest where the flag is not set; None if it is set elsewhere."""
    body: list[Stmt] = []
    for statement in loop.body:
        if isinstance(statement, Leave):
            sets = [isinstance(s, Assign) and s.name == flag for s in statement.arm]
            arm = tuple(s for s, one in zip(statement.arm, sets, strict=True) if not one)
            statement = replace(statement, arm=arm if any(sets) else (*arm, *rest))
        body.append(statement)
    if flag in assigned(body):
        return None
    return replace(loop, body=tuple(body), otherwise=rest)


def _unset(statement: Stmt, flag: str) -> Stmt | None:
    return None if isinstance(statement, Assign) and statement.name == flag else statement


def parts_of(body: Sequence[Stmt]) -> Iterator[Expr]:
    """Every expression below."""
    for statement in flat(body):
        for expr in own_expressions(statement):
            yield from walk(expr)
