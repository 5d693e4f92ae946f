"""Ranges of single expressions, given those of names and elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from . import intervals as arithmetic
from .fold import loads
from .intervals import add, hull, meet, multiply, negate, of_type, wrapped_to
from .ir import (
    UNBOUNDED,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    Interval,
    Kind,
    Len,
    Load,
    Select,
    Unary,
    Var,
)

_MONOTONE = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "atan": math.atan,
    "arctan": math.atan,
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x),
}
_ROUNDING: dict[str, Callable[[float], float]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "rint": round,
}
_CASTS = frozenset(
    [
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
        "double",
        "intp",
    ]
)


class Evaluator:
    """Interval arithmetic over expressions; the leaves are filled in by ``Ranges``."""

    def of(self, expr: Expr, env: Mapping[str, Interval] | None = None) -> Interval:
        """The range of one expression."""
        env = env or {}
        match expr:
            case Const(value=bool() | int() as value):
                return Interval(int(value), int(value))
            case Const(value=float() as value) if math.isfinite(value):
                return Interval(value, value)
            case Var(name=name):
                return env[name] if name in env else self._scalar(name)
            case Dim(array=array, axis=axis):
                return self._extent(array, axis)
            case Len():
                return Interval(0, None)
            case Load(array=array):
                return env[f"{array}[]"] if f"{array}[]" in env else self._element(array)
            case Compare() | Bool():
                return Interval(0, 1)
            case Select(test=test, then=then, orelse=orelse):
                return hull((self.of(then, self._where(test, then, env)), self.of(orelse, env)))
            case Unary():
                return self._unary(expr, env)
            case Binary():
                return wrapped_to(self._binary(expr, env), expr.type)
            case Call():
                return meet(self._call(expr, env), of_type(expr.type))
        return of_type(expr.type)

    def _where(self, test: Expr, then: Expr, env: Mapping[str, Interval]) -> Mapping[str, Interval]:
        """What a test against constants says of what ``then`` reads, where it holds."""
        match test:
            case Bool(op="and", operands=operands):
                for operand in operands:
                    env = self._where(operand, then, env)
            case Compare(op="<=" | ">=" | "==" as op, left=Var() | Load() as left, right=Const()):
                bound = self.of(test.right)
                low = bound.low if op in (">=", "==") else None
                high = bound.high if op in ("<=", "==") else None
                name = left.name if isinstance(left, Var) else f"{left.array}[]"
                others = [x for x in loads(then) if x.array == getattr(left, "array", "")]
                if all(other == left for other in others):
                    return {**env, name: meet(self.of(left, env), Interval(low, high))}
        return env

    def _scalar(self, name: str) -> Interval:
        raise NotImplementedError

    def _extent(self, array: str, axis: int) -> Interval:
        raise NotImplementedError

    def _element(self, array: str) -> Interval:
        raise NotImplementedError

    def _unary(self, expr: Unary, env: Mapping[str, Interval]) -> Interval:
        if expr.op == "not":
            return Interval(0, 1)
        inner = self.of(expr.operand, env)
        if expr.op == "-":
            return wrapped_to(negate(inner), expr.type)
        if expr.op == "~":
            return wrapped_to(add(negate(inner), Interval(-1, -1)), expr.type)
        return inner

    def _binary(self, expr: Binary, env: Mapping[str, Interval]) -> Interval:
        left, right = self.of(expr.left, env), self.of(expr.right, env)
        if expr.type.kind is Kind.COMPLEX:
            return UNBOUNDED
        match expr.op:
            case "+":
                return add(left, right)
            case "-":
                return add(left, negate(right))
            case "*":
                if expr.left == expr.right:  # a square, also of a variable around zero
                    return arithmetic.power(left, Interval(2, 2))
                return multiply(left, right)
            case "/":
                return arithmetic.divide(left, right)
            case "//":
                return arithmetic.floor_divide(left, right)
            case "%":
                return arithmetic.modulo(left, right)
            case "**":
                return arithmetic.power(left, right)
            case "<<":
                return arithmetic.shift_left(left, right)
            case ">>":
                return arithmetic.shift_right(left, right)
            case "&" | "|" | "^":
                return arithmetic.bits(expr.op, left, right)
        return UNBOUNDED

    def _call(self, expr: Call, env: Mapping[str, Interval]) -> Interval:
        if expr.type.kind is Kind.COMPLEX:
            return UNBOUNDED
        args = [self.of(a, env) for a in expr.args]
        name = expr.function.rpartition(".")[2]
        if expr.function in ("complex.real", "real", "imag", "conjugate"):
            return UNBOUNDED
        if any(a.type.kind is Kind.COMPLEX for a in expr.args):
            return Interval(0, None) if name in ("abs", "absolute") else UNBOUNDED
        match name:
            case "min" | "minimum" | "fmin":
                highs = [a.high for a in args if a.high is not None]
                return Interval(hull(args).low, min(highs) if highs else None)
            case "max" | "maximum" | "fmax":
                lows = [a.low for a in args if a.low is not None]
                return Interval(max(lows) if lows else None, hull(args).high)
            case "abs" | "absolute" | "fabs":
                return arithmetic.absolute(args[0])
            case "sqrt" | "exp" | "log" | "log1p" | "expm1" | "atan" | "arctan" | "cbrt":
                found = arithmetic.monotone(args[0], _MONOTONE[name])
                nonnegative = name in ("sqrt", "exp")
                return meet(found, Interval(0, None)) if nonnegative else found
            case "sin" | "cos" | "tanh" | "erf":
                return Interval(-1.0, 1.0)
            case "floor" | "ceil" | "trunc" | "rint":
                return arithmetic.monotone(args[0], _ROUNDING[name])
            case "int" | "round" if len(args) == 1:
                return arithmetic.monotone(args[0], _ROUNDING["trunc" if name == "int" else "rint"])
            case "bool":
                return Interval(0, 1)
            case "hypot" | "cosh" | "square":
                return Interval(0, None)
        if name == "float" or (expr.function.startswith("numpy.") and name in _CASTS):
            return wrapped_to(args[0], expr.type) if len(args) == 1 else UNBOUNDED
        return UNBOUNDED
