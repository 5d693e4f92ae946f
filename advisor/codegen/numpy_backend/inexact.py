"""Decisions that rest on values whose last digit may differ.

``np.exp`` of an array may round the last digit otherwise than ``math.exp``, ``x * x`` otherwise
than ``pow(x, 2)``, a product of complex arrays otherwise than one of complex scalars. A sum or a
picture can bear that within a tolerance; a comparison, an ``int()`` or a subscript cannot: for
some input it goes the other way, and then everything after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from .checks import is_exact_power
from .functions import rounds_differently
from .reduced import term

_STEPS = frozenset(("int", "bool", "round", "math.floor", "math.ceil", "math.trunc"))
_STEEP = frozenset(("asin", "acos", "atanh", "acosh", "arcsin", "arccos", "arctanh", "arccosh"))
_NUMPY_STEPS = frozenset(("floor", "ceil", "trunc", "rint", "sign"))


@dataclass(frozen=True)
class _Doubt:
    """What may differ in its last digit."""

    functions: bool = True
    """Library functions, sums in another order, products of complex numbers."""
    powers: bool = True
    """Powers of floats: squares are products, other powers NumPy's own."""
    names: frozenset[str] = frozenset()
    """Scalars and arrays that may hold such values at some point of the loop."""


def deciding_line(root: For, *, exact_powers: bool = False) -> int | None:
    """Line of the first decision that a last digit could turn, None if there is none."""
    return _deciding_line(root, _with_names(root, _Doubt(powers=not exact_powers)))


def need_exact_powers(root: For) -> bool:
    """Whether powers have to be those of the C library, digit for digit.

    Where a decision hangs on one, where one varies in its exponent, where one goes into the next
    step of a loop or into a sum in which terms may cancel, and where a function magnifies what is
    last of its digits. A sum of squares hardly ever shows it.
    """
    parts = [p for s in statements((root,)) for e in expressions(s) for p in walk(e)]
    powers = [p for p in parts if isinstance(p, Binary) and p.op == "**" and is_exact_power(p)]
    if not powers or any(isinstance(p, Sum) for p in parts):
        return False
    if any(not isinstance(p.right, Const) for p in powers):
        return True
    doubt = _with_names(root, _Doubt(functions=False))
    if _deciding_line(root, doubt) is not None or any(_magnifies(p, doubt) for p in parts):
        return True
    return any(_carries(s, doubt) for s in statements((root,)))


def _magnifies(part: Expr, doubt: _Doubt) -> bool:
    """A function that is steep near the ends of its domain, of such a value."""
    match part:
        case Call(function=function, args=args):
            name = function.rpartition(".")[2]
            return name in _STEEP and any(_inexact(a, doubt) for a in args)
    return False


def _carries(statement: Stmt, doubt: _Doubt) -> bool:
    """Whether a value is made from the one before: a step of a loop."""
    match statement:
        case Assign(name=name, value=value) if not _adds_a_square(value, name):
            return _inexact(value, doubt) and any(
                isinstance(p, Var) and p.name == name for p in walk(value)
            )
        case Store(array=array, value=value):
            return _inexact(value, doubt) and any(
                isinstance(p, Load) and p.array == array for p in walk(value)
            )
    return False


def _adds_a_square(value: Expr, name: str) -> bool:
    """``s + x ** 2``, of which nothing cancels."""
    match term(value, name):
        case "+", Binary(op="**", right=Const(value=int() as power)):
            return power % 2 == 0
    return False


def _deciding_line(root: For, doubt: _Doubt) -> int | None:
    for statement in statements((root,)):
        for expr in expressions(statement):
            if isinstance(statement, If) and expr is statement.test and _inexact(expr, doubt):
                return statement.line
            line = _decides(expr, doubt)
            if line is not None:
                return line
        if isinstance(statement, Store) and any(_inexact(e, doubt) for e in statement.index):
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


def _with_names(root: For, doubt: _Doubt) -> _Doubt:
    """With all that is computed from such values."""
    while True:
        found = {
            s.name if isinstance(s, Assign) else s.array
            for s in statements((root,))
            if isinstance(s, Assign | Store) and _inexact(s.value, doubt)
        }
        if found <= doubt.names:
            return doubt
        doubt = replace(doubt, names=doubt.names | found)


def _inexact(expr: Expr, doubt: _Doubt) -> bool:
    """The value may differ in its last digit."""
    if expr.type.kind in (Kind.INT, Kind.BOOL) and not isinstance(expr, Compare | Load | Var):
        return any(_inexact(part, doubt) for part in walk(expr) if part is not expr)
    for part in walk(expr):
        match part:
            case Var(name=name) | Load(array=name) if name in doubt.names:
                return True
            case Binary(op="**", left=left) if left.type.kind is Kind.FLOAT:
                if doubt.powers or (doubt.functions and not is_exact_power(part)):
                    return True
            case _ if not doubt.functions:
                continue
            case Call(function=function) if rounds_differently(function):
                return True
            case Sum():
                return True
            case Binary(op="*" | "/" | "**", left=left, right=right) if Kind.COMPLEX in (
                left.type.kind,
                right.type.kind,
            ) and not (isinstance(left, Const) or isinstance(right, Const)):
                return True
            case Call(function="abs", args=(one,)) if one.type.kind is Kind.COMPLEX:
                return True
    return False


def _decides(expr: Expr, doubt: _Doubt) -> int | None:
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
        if any(_inexact(operand, doubt) for operand in operands):
            return part.line
    return None
