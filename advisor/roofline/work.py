"""How many operations a loop nest does, and how many bytes it has to move.

Operations are counted as the source has them: ``+ - * / // % **`` and function calls on numbers
count one each (complex ``*`` six, ``/`` eleven, ``+ -`` two); comparisons, and arithmetic in
subscripts and loop bounds, count nothing. Of two branches the one with more operations counts.

Bytes are those that no cache can save: every element of an array that is read comes once from
memory, every element that is written goes there once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..loopnest.ir import (
    Append,
    Assign,
    Binary,
    Break,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    For,
    If,
    Kind,
    Load,
    Nest,
    Scalar,
    Stmt,
    Store,
    Unary,
    UserCall,
    Var,
    While,
    children,
)
from ..model import Refusal

SIZES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2}
SIZES |= {"int32": 4, "uint32": 4, "float32": 4, "complex64": 8, "complex128": 16}
PYTHON = 8
"""Bytes of a Python number once it is an array's element: float64, int64."""
COMPLEX_COST = {"*": 6.0, "/": 11.0, "+": 2.0, "-": 2.0}
ARITHMETIC = frozenset(["+", "-", "*", "/", "//", "%", "**"])
CYCLES = {"/": 5.0, "//": 20.0, "%": 20.0, "**": 20.0}
CALL_CYCLES = {"sqrt": 6.0, "abs": 1.0, "fabs": 1.0, "min": 1.0, "max": 1.0, "floor": 1.0}
FUNCTION = 20.0
LOAD, STORE, TEST = 0.5, 1.0, 1.0
"""Cycles of a division and of calls as the tables of x86 instructions have them, between latency
and throughput; ``exp``, ``sin`` and their like, and calls of functions, are ``FUNCTION``; loads are
two a cycle; every other operation is one."""
CASTS = frozenset(["int", "float", "bool", "complex", "round"])


@dataclass(frozen=True)
class Work:
    """Of one entry of a loop nest."""

    flops: float = 0.0
    """Operations on floating-point numbers."""
    integer: float = 0.0
    """Operations on whole numbers that are data, not subscripts."""
    bytes: float = 0.0
    dtype: str = "float64"
    """The widest floating-point type that is computed in."""
    at_most: bool = False
    """Branches, or bounds that vary, made it an upper bound or an estimate."""
    cycles: float = 0.0
    """What one core takes for it, about, if it does one thing after the other: see ``CYCLES``."""

    @property
    def operations(self) -> float:
        """Both kinds."""
        return self.flops + self.integer

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.operations / self.bytes if self.bytes else float("inf")


class Unknown(Exception):
    """The amount of work depends on data; the text says where."""


Known = Mapping[str, float]


def work_of(nest: Nest) -> Work | Refusal:
    """The work of one entry, or why it cannot be told beforehand."""
    try:
        counted = _statement(nest.root, _constants(nest), nest)
        moved = sum(_bytes(nest, name) for name in nest.arrays)
    except Unknown as reason:
        return Refusal(str(reason))
    wide = any(_wide(scalar.dtype) for scalar in _types(nest))
    return replace(counted, bytes=moved, dtype="float64" if wide else "float32")


def trips_of(loop: For, nest: Nest) -> float | None:
    """How often a loop runs at each entry; None where what was observed does not say."""
    known = _constants(nest)
    start, stop = (_value(end, known, nest) for end in (loop.start, loop.stop))
    return None if start is None or stop is None else _trips(start, stop, loop)


def _trips(start: float, stop: float, loop: For) -> float:
    return max(0.0, (stop - start) / loop.step)


def _constants(nest: Nest) -> Known:
    """Scalars that had one value in the whole run."""
    return {
        name: float(scalar.interval.low)
        for name, scalar in nest.scalars.items()
        if scalar.interval.low is not None and scalar.interval.low == scalar.interval.high
    }


def _types(nest: Nest) -> Sequence[Scalar]:
    elements = [array.element for array in nest.arrays.values()]
    return [s for s in (*elements, *nest.privates.values()) if s.kind in (Kind.FLOAT, Kind.COMPLEX)]


def _wide(dtype: str | None) -> bool:
    return dtype not in ("float32", "float16", "complex64")


def _bytes(nest: Nest, name: str) -> float:
    array = nest.arrays[name]
    if any(extent is None for extent in array.shape):
        raise Unknown(f"the extents of {name} differ between entries")
    size = SIZES.get(array.element.dtype or "", PYTHON)
    elements = prod(extent for extent in array.shape if extent is not None)
    return float(elements * size * (array.read + array.written))


# --------------------------------------------------------------- statements
def _body(statements: Sequence[Stmt], known: Known, nest: Nest) -> Work:
    total = Work()
    for statement in statements:
        total = _plus(total, _statement(statement, known, nest))
    return total


def _statement(statement: Stmt, known: Known, nest: Nest) -> Work:
    match statement:
        case For():
            return _loop(statement, known, nest)
        case While(line=line):
            raise Unknown(f"how often the loop in line {line} runs depends on the data")
        case Break(line=line):
            raise Unknown(f"the break in line {line} depends on the data")
        case If(test=test, then=then, orelse=orelse):
            one, other = _body(then, known, nest), _body(orelse, known, nest)
            more = one if one.operations >= other.operations else other
            unequal = one.operations != other.operations
            return _plus(_of(test), replace(more, at_most=more.at_most or unequal))
        case Assign(value=value) | Append(value=value):
            return _of(value)
        case Store(value=value):
            return _plus(_of(value), Work(cycles=STORE))
        case _:
            return Work()


def _loop(loop: For, known: Known, nest: Nest) -> Work:
    start, stop = (_value(end, known, nest) for end in (loop.start, loop.stop))
    if start is None or stop is None:
        raise Unknown(f"how often the loop in line {loop.line} runs is not known beforehand")
    trips = _trips(start, stop, loop)
    # A triangular loop, over range(i): its bound is taken at the mean of i, which is exact for one.
    middle = start + (trips - 1.0) / 2.0 * loop.step
    inside = _body(loop.body, {**known, loop.index: middle}, nest)
    return replace(
        inside,
        flops=trips * inside.flops,
        integer=trips * inside.integer,
        cycles=trips * inside.cycles,
    )


def _value(expr: Expr, known: Known, nest: Nest) -> float | None:
    """The value of a loop bound, from what was observed; None if it is not known."""
    match expr:
        case Const(value=value):
            return None if isinstance(value, complex) else float(value)
        case Var(name=name):
            return known.get(name)
        case Dim(array=array, axis=axis):
            extent = nest.arrays[array].shape[axis] if array in nest.arrays else None
            return None if extent is None else float(extent)
        case Unary(op="-", operand=operand):
            inner = _value(operand, known, nest)
            return None if inner is None else -inner
        case Binary(op=op, left=left, right=right):
            one, other = _value(left, known, nest), _value(right, known, nest)
            return None if one is None or other is None else _apply(op, one, other)
        case Call(function="min" | "max" as name, args=args):
            values = [_value(arg, known, nest) for arg in args]
            present = [value for value in values if value is not None]
            if len(present) < len(values):
                return None
            return min(present) if name == "min" else max(present)
        case _:
            return None


def _apply(op: str, one: float, other: float) -> float | None:
    match op:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
        case "//" if other:
            return one // other
        case "%" if other:
            return one % other
        case _:
            return None


# -------------------------------------------------------------- expressions
def _of(expr: Expr) -> Work:
    """The operations of one evaluation; those in subscripts are addresses, not work."""
    if isinstance(expr, Load):
        return Work(cycles=LOAD)
    own = _own(expr)
    for child in children(expr):
        own = _plus(own, _of(child))
    return own


def _own(expr: Expr) -> Work:
    cost = 0.0
    if isinstance(expr, Binary) and expr.op in ARITHMETIC:
        cost = COMPLEX_COST.get(expr.op, 1.0) if expr.type.kind is Kind.COMPLEX else 1.0
    elif isinstance(expr, UserCall) or (isinstance(expr, Call) and not _is_cast(expr.function)):
        cost = 1.0
    if not cost:
        return Work(cycles=TEST if isinstance(expr, Compare) else 0.0)
    floating = expr.type.kind in (Kind.FLOAT, Kind.COMPLEX)
    counted = Work(flops=cost) if floating else Work(integer=cost)
    return replace(counted, at_most=isinstance(expr, UserCall), cycles=cost * _cycles(expr))


def _cycles(expr: Expr) -> float:
    if isinstance(expr, Binary):
        return CYCLES.get(expr.op, 1.0)
    name = expr.function.rpartition(".")[2] if isinstance(expr, Call) else ""
    return CALL_CYCLES.get(name, FUNCTION)


def _is_cast(function: str) -> bool:
    name = function.rpartition(".")[2]
    return name in CASTS or name in SIZES or name in ("int64", "float64", "uint64")


def _plus(one: Work, other: Work) -> Work:
    return Work(
        flops=one.flops + other.flops,
        integer=one.integer + other.integer,
        at_most=one.at_most or other.at_most,
        cycles=one.cycles + other.cycles,
    )
