"""Whether a number that is an int where it is finite can be a float in all of a loop.

``dist[v] = dist[u] + w`` of ints and ``float("inf")``: sums, differences, the smallest and the
largest of such costs are costs again, and comparing them tells no int from its float. Anything else
may show which of both it is. Floats hold whole numbers up to 2**53, and what is kept is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from ...loopnest.ir import (
    Append,
    Assign,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    Kind,
    Len,
    Load,
    Nest,
    NewList,
    Scalar,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    children,
    expressions,
    statements,
)
from ..nb_values import Unsupported

BITS = 50
"""Whole numbers that are kept lie within ``[-2**50, 2**50]``: a sum of some is exact as a float."""
_MOST = 6
"""Numbers that one sum may have."""
_SMALL = 2**31


class Is(Enum):
    """What an expression is."""

    COST = "a cost"
    WHOLE = "an int"
    FLOAT = "a float"
    OTHER = "something else"


@dataclass(frozen=True)
class Found:
    """What an expression is, and of how many numbers it is made."""

    what: Is
    numbers: int = 1
    unknown: int = 0
    """Ints of any size among them: of two, one may cancel what the other has lost."""


_OTHER = Found(Is.OTHER)
_TWO = "a cost is added to or compared with two ints of any size"


@dataclass
class CostKinds:
    """The costs of one nest: lists that hold them, and variables."""

    nest: Nest
    lists: frozenset[str]
    variables: set[str] = field(default_factory=set)
    infinite: set[str] = field(default_factory=set)
    """Floats from before the loop that meet costs: infinities, which is asked."""

    def found(self) -> CostKinds:
        """The variables. Raises Unsupported where a cost is used as anything but a cost."""
        self.variables = {name for name, kind in self.nest.privates.items() if _is_float(kind)}
        assigned = [s for s in self._statements() if isinstance(s, Assign)]
        while True:
            other = {s.name for s in assigned if self._quiet(s.value).what is not Is.COST}
            if self.variables.isdisjoint(other):
                break
            self.variables -= other
        self.infinite.clear()
        for statement in self._statements():
            self._check(statement)
        self.infinite |= self.variables & self.nest.scalars.keys()
        mixed = self.variables & set(self.nest.joined)
        if mixed:
            raise Unsupported(f"{min(mixed)} is an int or a float from the start")
        return self

    def computed(self) -> Iterator[Assign]:
        """The assignments of variables that give them a new number."""
        for statement in self._statements():
            match statement:
                case Assign(name=name, value=value) if name in self.variables:
                    if not isinstance(value, Var | Load | Const):
                        yield statement

    def _statements(self) -> Iterator[Stmt]:
        return statements((self.nest.root,))

    def _quiet(self, value: Expr) -> Found:
        try:
            return self.of(value)
        except Unsupported:
            return _OTHER

    # ---------------------------------------------------------------- statements
    def _check(self, statement: Stmt) -> None:
        match statement:
            case Assign(name=name, value=value) if name in self.variables:
                self._kept(self.of(value), name, statement.line)
            case Store(array=array, index=index, value=value) if array in self.lists:
                for one in index:
                    self._plain(one, "an index")
                self._kept(self.of(value), array, statement.line)
            case Append(array=array) | NewList(array=array) if array in self.lists:
                raise Unsupported(f"{array} grows", statement.line)
            case _:
                for one in expressions(statement):
                    self._plain(one, "what the loop does")

    @staticmethod
    def _kept(found: Found, name: str, line: int) -> None:
        if found.what not in (Is.COST, Is.WHOLE):
            raise Unsupported(f"{name} gets {found.what.value}", line)

    def _plain(self, expr: Expr, what: str) -> None:
        if self.of(expr).what is Is.COST:
            raise Unsupported(f"{what} may show whether a cost is an int", expr.line)

    # --------------------------------------------------------------- expressions
    def of(self, expr: Expr) -> Found:
        """What an expression is. Raises Unsupported."""
        match expr:
            case Const(value=value):
                return _constant(value)
            case Var(name=name):
                return self._variable(name, expr.type)
            case Load(array=array, index=index):
                for one in index:
                    self._plain(one, "an index")
                return Found(Is.COST) if array in self.lists else _typed(expr.type)
            case Dim() | Len():
                return _typed(expr.type)
            case Unary(op="-" | "+", operand=operand):
                return self.of(operand)
            case Binary(op=op, left=left, right=right):
                return self._binary(op, self.of(left), self.of(right), expr)
            case Compare(left=left, right=right):
                self._together([self.of(left), self.of(right)], expr.line, floats=True)
                return _OTHER
            case Select(test=test, then=then, orelse=orelse):
                self._plain(test, "a condition")
                return self._either([self.of(then), self.of(orelse)], expr)
            case Call(function="min" | "max" | "abs" | "float", args=args):
                return self._call(expr.function, [self.of(a) for a in args], expr)
        what = "a condition" if isinstance(expr, Bool) else "a call or an operator"
        for part in children(expr):
            self._plain(part, what)
        return _typed(expr.type)

    def _variable(self, name: str, kind: Scalar) -> Found:
        if name in self.variables:
            return Found(Is.COST)
        if _is_float(kind) and name in self.nest.scalars and name not in self.nest.privates:
            self.infinite.add(name)
            return Found(Is.COST)
        return _typed(kind)

    def _binary(self, op: str, left: Found, right: Found, expr: Expr) -> Found:
        if Is.COST not in (left.what, right.what):
            return _typed(expr.type)
        if op not in ("+", "-"):
            raise Unsupported(f"{op} of a cost may show whether it is an int", expr.line)
        return self._together([left, right], expr.line)

    def _call(self, name: str, args: list[Found], expr: Expr) -> Found:
        if name == "float" and [a.what for a in args] == [Is.WHOLE]:
            return Found(Is.COST, args[0].numbers, args[0].unknown)  # put around what is stored
        if any(a.what is Is.COST for a in args):
            return self._together(args, expr.line)
        return _typed(expr.type)

    def _either(self, arms: list[Found], expr: Expr) -> Found:
        if not any(a.what is Is.COST for a in arms):
            return _typed(expr.type)
        if any(a.what is not Is.COST for a in arms):
            raise Unsupported("a cost in one case, and something else in the other", expr.line)
        return Found(Is.COST, max(a.numbers for a in arms), max(a.unknown for a in arms))

    def _together(self, parts: list[Found], line: int, floats: bool = False) -> Found:
        """Costs and ints in one sum or comparison. Raises Unsupported."""
        if not any(p.what is Is.COST for p in parts):
            return _OTHER
        if any(p.what is Is.OTHER or (p.what is Is.FLOAT and not floats) for p in parts):
            raise Unsupported("a cost meets a float", line)
        numbers, unknown = sum(p.numbers for p in parts), sum(p.unknown for p in parts)
        if unknown > 1 or numbers > _MOST:
            raise Unsupported(_TWO, line)
        return Found(Is.COST, numbers, unknown)


def _constant(value: bool | int | float | complex) -> Found:
    if isinstance(value, int):
        return Found(Is.WHOLE, 1, int(abs(value) > _SMALL))
    if isinstance(value, float) and math.isinf(value):
        return Found(Is.COST)
    return Found(Is.FLOAT) if isinstance(value, float) else _OTHER


def _typed(kind: Scalar) -> Found:
    whole = kind.is_python and kind.kind is Kind.INT
    return Found(Is.WHOLE, 1, 1) if whole else _OTHER


def _is_float(kind: Scalar) -> bool:
    return kind.is_python and kind.kind is Kind.FLOAT
