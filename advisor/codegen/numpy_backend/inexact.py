"""Decisions that rest on values whose last digit may differ.

``np.exp`` of an array may round the last digit otherwise than ``math.exp``, ``x * x`` otherwise
than ``pow(x, 2)``, a product of complex arrays otherwise than one of complex scalars. A sum or a
picture can bear that within a tolerance; a comparison, an ``int()`` or a subscript cannot: for
some input it goes the other way, and then everything after it.
"""

from __future__ import annotations

from ...loopnest.ir import (
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Stmt,
    Store,
    Sum,
    Var,
    expressions,
    statements,
    walk,
)
from .functions import rounds_differently

_STEPS = frozenset(("int", "bool", "round", "math.floor", "math.ceil", "math.trunc"))
_NUMPY_STEPS = frozenset(("floor", "ceil", "trunc", "rint", "sign"))


def deciding_line(root: For) -> int | None:
    """Line of the first decision that a last digit could turn, None if there is none."""
    tainted = _tainted(root)
    for statement in statements((root,)):
        for expr in expressions(statement):
            if isinstance(statement, If) and expr is statement.test and _inexact(expr, tainted):
                return statement.line
            line = _decides(expr, tainted)
            if line is not None:
                return line
        if isinstance(statement, Store) and any(_inexact(e, tainted) for e in statement.index):
            return statement.line
    return None


def differences(root: For, nest: Nest, *, module_level: bool) -> tuple[str, ...]:
    """What can be noticed although all values are equal."""
    found = []
    own = sorted(nest.privates.keys() - nest.live_out - nest.invented)
    if module_level and own:
        names = ", ".join(own)
        found.append(f"nothing in this file reads {names} after the loop: not set as before")
    parts = [p for s in statements((root,)) for e in expressions(s) for p in walk(e)]
    computes = any(isinstance(p, Binary | Call) and p.type.kind is not Kind.BOOL for p in parts)
    if computes:
        found.append(
            "NumPy's warnings (overflow, division by zero, invalid value) name the array "
            "statement and come once for all its elements"
        )
    return tuple(found)


def _tainted(root: For) -> frozenset[str]:
    """Scalars and arrays that may hold such values at some point of the loop."""
    found: set[str] = set()
    while True:
        before = len(found)
        for statement in statements((root,)):
            if _assigned(statement, frozenset(found)):
                assert isinstance(statement, Assign | Store)
                found.add(statement.name if isinstance(statement, Assign) else statement.array)
        if len(found) == before:
            return frozenset(found)


def _assigned(statement: Stmt, tainted: frozenset[str]) -> bool:
    return isinstance(statement, Assign | Store) and _inexact(statement.value, tainted)


def _inexact(expr: Expr, tainted: frozenset[str]) -> bool:
    """The value may differ in its last digit."""
    if expr.type.kind in (Kind.INT, Kind.BOOL) and not isinstance(expr, Compare | Load | Var):
        return any(_inexact(part, tainted) for part in walk(expr) if part is not expr)
    for part in walk(expr):
        match part:
            case Var(name=name) | Load(array=name) if name in tainted:
                return True
            case Call(function=function) if rounds_differently(function):
                return True
            case Sum():
                return True
            case Binary(op="**", left=left) if left.type.kind is Kind.FLOAT:
                return True
            case Binary(op="*" | "/" | "**", left=left, right=right) if Kind.COMPLEX in (
                left.type.kind,
                right.type.kind,
            ) and not (isinstance(left, Const) or isinstance(right, Const)):
                return True
            case Call(function="abs", args=(one,)) if one.type.kind is Kind.COMPLEX:
                return True
    return False


def _decides(expr: Expr, tainted: frozenset[str]) -> int | None:
    """Line of a part that maps close values to different ones."""
    for part in walk(expr):
        match part:
            case Compare(left=left, right=right):
                operands: tuple[Expr, ...] = (left, right)
            case Binary(op="//" | "%", left=left, right=right):
                operands = (left, right)
            case Load(index=index):
                operands = index
            case Call(function=function, args=args) if function in _STEPS or (
                function.startswith("numpy.") and function.removeprefix("numpy.") in _NUMPY_STEPS
            ):
                operands = args
            case _:
                continue
        if any(_inexact(operand, tainted) for operand in operands):
            return part.line
    return None
