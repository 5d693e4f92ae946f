"""Variables that start as one type and become another, where nobody can tell.

``z = 0`` above ``while abs(z) <= 2: z = z * z + c``: an int at first, a complex number later. Each
use of the first value meets a complex number, or is compared; so ``z`` may be complex throughout.
"""

from __future__ import annotations

from dataclasses import replace

from .fold import reads
from .ir import (
    PY_FLOAT,
    PY_INT,
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    For,
    If,
    Kind,
    Nest,
    Stmt,
    Store,
    Var,
    While,
    children,
    expressions,
    statements,
)

_NONE: frozenset[str] = frozenset()


def settled(nest: Nest) -> Nest:
    """The nest in which such variables have one type from the start."""
    names = frozenset(n for n in nest.joined if _is_candidate(nest, n))
    while names:
        told = _Early(nest, names).told_anywhere()
        if not told:
            break
        names -= told
    if not names:
        return nest
    body = _started(nest.root.body, nest, names)
    joined = {n: types for n, types in nest.joined.items() if n not in names}
    return replace(nest, root=replace(nest.root, body=body), joined=joined)


def _is_candidate(nest: Nest, name: str) -> bool:
    """A private of the nest alone, an int or Python float first, a float or complex later."""
    if name in nest.live_out or name in nest.scalars or name not in nest.privates:
        return False
    later = nest.privates[name]
    earlier = set(nest.joined[name]) - {later}
    wide = later.dtype in (None, "float64", "complex128")
    return later.kind in (Kind.FLOAT, Kind.COMPLEX) and wide and earlier <= {PY_INT, PY_FLOAT}


def _started(body: tuple[Stmt, ...], nest: Nest, names: frozenset[str]) -> tuple[Stmt, ...]:
    """The statements with ``z = 0`` in the type that ``z`` has later."""
    result: list[Stmt] = []
    for statement in body:
        match statement:
            case Assign(name=name, value=Const() as first) if name in names:
                type_ = nest.privates[name]
                zero = 0j if type_.kind is Kind.COMPLEX else 0.0
                start = replace(first, type=type_, value=zero, name=None)
                statement = replace(statement, value=start)
            case If(then=then, orelse=orelse):
                arms = _started(then, nest, names), _started(orelse, nest, names)
                statement = replace(statement, then=arms[0], orelse=arms[1])
            case For(body=inner) | While(body=inner):
                statement = replace(statement, body=_started(inner, nest, names))
            case _:
                pass
        result.append(statement)
    return tuple(result)


class _Early:
    """Where variables may have the type that they start with, and who could tell."""

    def __init__(self, nest: Nest, names: frozenset[str]) -> None:
        self.nest = nest
        self.names = names

    def told_anywhere(self) -> frozenset[str]:
        """The variables whose first type shows at some statement."""
        return _NONE.union(*map(self._told, statements((self.nest.root,))))

    def _told(self, statement: Stmt) -> frozenset[str]:
        match statement:
            case Assign(name=name, value=value) if name in self.names:
                return self._told_by_value(name, value)
            case Store(array=array, index=index, value=value):
                element = self.nest.arrays[array]
                kept = element.container == "ndarray" and element.element.kind is value.type.kind
                found = _NONE.union(*map(self._seen, index))
                return found | (self._inside(value) if kept else self._seen(value))
        return _NONE.union(*map(self._seen, expressions(statement)))

    def _told_by_value(self, name: str, value: Expr) -> frozenset[str]:
        """What ``name = value`` shows: nothing if it is zero, or surely of the later type."""
        later = self.nest.privates[name]
        match value:
            case Const(value=0) if value.type in (PY_INT, PY_FLOAT):
                return _NONE
            case Var(name=other) if other in self.names and self.nest.privates[other] == later:
                return _NONE
        found = self._seen(value)
        return found | {name} if found or value.type != later else found

    def may_be(self, expr: Expr) -> bool:
        """Whether the value may have an earlier type than the nest says."""
        match expr:
            case Var(name=name):
                return name in self.names
            case Binary(op="+" | "-" | "*", left=left, right=right):
                early = [self.may_be(side) for side in (left, right)]
                # what meets the later type has it from then on
                sides = zip((left, right), early, strict=True)
                return any(early) and not any(s.type == expr.type and not e for s, e in sides)
            case Binary() | Call():
                return any(map(self.may_be, children(expr)))
        return False

    def _seen(self, expr: Expr) -> frozenset[str]:
        """Variables told where everybody may see the type of an expression's value."""
        here = reads(expr) & self.names if self.may_be(expr) else _NONE
        return here | self._inside(expr)

    def _inside(self, expr: Expr) -> frozenset[str]:
        """Variables told by the operations that make an expression's value."""
        match expr:
            case Compare() | Call(function="abs"):
                safe = True
            case Binary(op=op, left=left, right=right):
                safe = self._same_value(op, left, right)
            case _:
                safe = False
        return _NONE.union(*map(self._inside if safe else self._seen, children(expr)))

    def _same_value(self, op: str, left: Expr, right: Expr) -> bool:
        """Whether an operation gives the same number whichever type its operands have."""
        early = [side for side in (left, right) if self.may_be(side)]
        if op == "**":  # 0 ** 2 is 0, and -0 is no sum of zeros
            return isinstance(left, Var) and isinstance(right, Const) and right.value == 2
        if not early or op not in ("+", "-", "*"):
            return False
        if len(early) == 2:
            # 0 * -1 is 0, and 0.0 * -1.0 is -0.0: of products, squares alone are the same
            return left.type == right.type and (op != "*" or left == right)
        other = right if early[0] is left else left
        if other.type.kind is early[0].type.kind:
            return True
        # z - 1 of ints is exact; 0 * k may be -0.0 where k is a float
        small = isinstance(other, Const) and isinstance(other.value, int) and abs(other.value) < 99
        return op != "*" and small and early[0].type.kind is Kind.FLOAT
