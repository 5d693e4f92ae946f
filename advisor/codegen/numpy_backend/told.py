"""Who could tell that a number is a float which was an int: ``0.0`` in the place of ``0``."""

from __future__ import annotations

from enum import IntEnum

from ...loopnest.fold import reads
from ...loopnest.ir import (
    PY_FLOAT,
    Append,
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    Kind,
    Load,
    Nest,
    Scalar,
    Select,
    Store,
    Unary,
    Var,
    children,
    expressions,
    statements,
)

_SMALL = 1024


class _Number(IntEnum):
    """What the original may have where the nest has a float."""

    FLOAT = 0
    EITHER = 1
    """A small int, or a float."""
    INT = 2


class _Told(Exception):
    """The value or type of an expression depends on which of the two it was."""


def is_told(nest: Nest, lists: frozenset[str]) -> bool:
    """Whether anything depends on the type that elements of these lists have."""
    try:
        _Types(nest, lists).check()
    except _Told:
        return True
    return False


class _Types:
    """The types that values may have in the original, by the variables they are in."""

    def __init__(self, nest: Nest, lists: frozenset[str]) -> None:
        self.nest = nest
        self.lists = lists
        self.either: dict[str, frozenset[str]] = {}
        """Variables that may be one of both -> what the values are made of that make them so."""
        assigned = [s for s in statements((nest.root,)) if isinstance(s, Assign)]
        count = -1
        while count < len(self.either):
            count = len(self.either)
            for statement in assigned:
                self._assign(statement)

    def _assign(self, statement: Assign) -> None:
        name, value = statement.name, statement.value
        if isinstance(value, Const) and name in self.nest.joined:
            return  # the lowering knows of it
        if _is_float(self.nest.privates[name]) and self.of(value) is not _Number.FLOAT:
            self.either[name] = self.either.get(name, frozenset()) | reads(value)

    def check(self) -> None:
        """Raises _Told."""
        if self.either.keys() & (self.nest.live_out | self.nest.joined.keys()):
            raise _Told
        if any(name in self._below(name) for name in self.either):
            raise _Told  # a sum of ints without bound
        for statement in statements((self.nest.root,)):
            for expr in expressions(statement):
                self.of(expr)
            if isinstance(statement, Store | Append):
                self._stored(statement)

    def _below(self, name: str) -> frozenset[str]:
        """All variables of both types that this one is made of."""
        found: frozenset[str] = frozenset()
        pending = [name]
        while pending:
            more = (self.either[pending.pop()] & self.either.keys()) - found
            found |= more
            pending += more
        return found

    def _stored(self, statement: Store | Append) -> None:
        info = self.nest.arrays[statement.array]
        if info.element.kind is not Kind.FLOAT:
            return
        match statement.value:
            case Var(name=name) if name in self.nest.joined:
                return  # settled where it is stored, or the lowering had refused
        if info.container != "ndarray" and self.of(statement.value) is not _Number.FLOAT:
            raise _Told

    # ----------------------------------------------------------- expressions
    def of(self, expr: Expr) -> _Number:
        """What the original may have for the expression. Raises _Told."""
        if expr.type.kind is not Kind.FLOAT:
            return self._whole(expr)
        match expr:
            case Const():
                return _Number.FLOAT
            case Var(name=name):
                both = name in self.either or name in self.nest.joined
                return _Number.EITHER if both else _Number.FLOAT
            case Load(array=array, index=index):
                for part in index:
                    self.of(part)
                return _Number.EITHER if array in self.lists else _Number.FLOAT
            case Unary(operand=operand):
                if self.of(operand) is not _Number.FLOAT:
                    raise _Told  # -0 is 0, and -0.0 is not 0.0
                return _Number.FLOAT
            case Binary(op=op, left=left, right=right):
                return self._binary(op, left, right)
            case Select(test=test, then=then, orelse=orelse):
                self.of(test)
                return max(self._small(then), self._small(orelse))
            case Call():
                return self._call(expr)
        raise _Told

    def _whole(self, expr: Expr) -> _Number:
        """Truth values and ints: comparisons and conversions do not tell."""
        for child in children(expr):
            kind = self.of(child)
            fine = isinstance(expr, Compare) or expr.type.kind is Kind.BOOL
            fine = fine or (isinstance(expr, Call) and expr.function in ("int", "math.floor"))
            if kind is _Number.EITHER and not fine:
                raise _Told
        return _Number.INT

    def _small(self, expr: Expr) -> _Number:
        """The same, of an int that is written there as one of both types."""
        found = self.of(expr)
        if found is not _Number.INT:
            return found
        if isinstance(expr, Const) and isinstance(expr.value, int) and abs(expr.value) <= _SMALL:
            return _Number.EITHER
        raise _Told

    def _binary(self, op: str, left: Expr, right: Expr) -> _Number:
        kinds = self.of(left), self.of(right)
        if _Number.FLOAT in kinds:
            # the other one is made a float, and was small where it was no int of the nest
            if op not in ("+", "-", "*", "/") and _Number.EITHER in kinds:
                raise _Told
            return _Number.FLOAT
        first, second = self._small(left), self._small(right)
        if op in ("+", "-"):
            return max(first, second)
        if op == "/":
            return _Number.FLOAT
        factor = left if kinds[0] is _Number.INT else right
        positive = isinstance(factor, Const) and isinstance(factor.value, int) and factor.value > 0
        if op != "*" or not positive:
            raise _Told  # 0 * -1 is 0, and 0.0 * -1.0 is -0.0
        return _Number.EITHER

    def _call(self, expr: Call) -> _Number:
        if expr.function in ("abs", "min", "max"):
            return max(map(self._small, expr.args))
        kinds = [self.of(argument) for argument in expr.args]
        if expr.function.startswith("math.") or expr.function == "float":
            return _Number.FLOAT
        if _Number.EITHER in kinds:
            raise _Told
        return _Number.FLOAT


def _is_float(kind: Scalar) -> bool:
    return kind == PY_FLOAT or kind.kind is Kind.FLOAT
