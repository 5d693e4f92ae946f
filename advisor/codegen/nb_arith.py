"""Arithmetic: where numba's result could differ from Python's and NumPy's, and its range."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import replace

from ..loopnest.affine import Affine, constant
from ..loopnest.ir import PY_FLOAT, PY_INT, Kind, Scalar
from ..loopnest.typing_rules import binary_type, join, unary_type
from .nb_scope import Scope
from .nb_state import State, fail
from .nb_values import (
    INT64_MAX,
    INT64_MIN,
    Num,
    Outgrown,
    Unsupported,
    absolute,
    add,
    binary_compiled,
    compiled,
    divide,
    dtype_range,
    floor_divide,
    free,
    hull,
    modulo,
    multiply,
    negate,
)

EXACT_IN_FLOAT = 2**53


class Arithmetic(ABC):
    """Operators on numbers, in one scope."""

    state: State
    scope: Scope

    @abstractmethod
    def number(self, node: ast.expr) -> Num:
        """The value of an expression that must be one number."""

    def unary(self, node: ast.UnaryOp, op: ast.unaryop, operand: Num) -> Num:
        """``-x``, ``+x``, ``~x``."""
        symbol = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(op)]
        type_ = unary_type(symbol, operand.type)
        others = {unary_type(symbol, t) for t in operand.also}
        if type_ is None or None in others:
            raise Unsupported(f"{symbol}{operand.type} is not defined", node.lineno)
        also = frozenset(t for t in others if t is not None) - {type_}
        if type_.kind is Kind.COMPLEX:
            return Num(type_, operand.low, operand.high, nan=operand.nan, also=also)
        if symbol == "+":
            return replace(operand, type=type_, also=also, entry=False)
        if symbol == "~":
            if operand.type.kind is Kind.BOOL:
                return Num(type_, 0, 1)
            # ~x is -x - 1
            result = add(negate(operand, type_), Num(PY_INT, -1, -1), type_)
        else:
            result = negate(operand, type_)
            if operand.form is not None and compiled(type_) == "int64":
                result = replace(result, form=-operand.form)
        result = replace(result, nan=operand.nan, also=also)
        if symbol == "-":
            self._no_signed_zero(result, node)
        if compiled(type_) not in ("int64", "float64", "float32"):
            self.state.cast(node, compiled(type_))
            return free(type_) if not _fits_dtype(result) else result
        return self.fits(result, node)

    def binary(
        self,
        node: ast.expr | None,
        op: str,
        left_node: ast.expr,
        right_node: ast.expr,
        left: Num,
        right: Num | None = None,
        sink: str | None = None,
        owner: ast.AST | None = None,
    ) -> Num:
        """``left op right``. ``node`` is None where no text can be put around the result."""
        at: ast.AST = node or owner or right_node
        if op == "**":
            from .nb_power import power

            return power(self, node, left_node, right_node, left, at)
        right = self.number(right_node) if right is None else right
        types: set[Scalar] = set()
        for a in left.types:
            for b in right.types:
                type_ = binary_type(op, a, b)
                if type_ is None:
                    raise Unsupported(f"{a} {op} {b} is not defined", getattr(at, "lineno", None))
                types.add(type_)
        main = self._joined(types, at)
        if op == "*" and self.state.recording:
            self.state.note_product(at, compiled(main), left_node, right_node)
        if op == "%" and node is not None and self.state.recording:
            self.state.note_remainder(node, left_node, right_node, left.form, right.form)
        self._same_width(node, op, left_node, right_node, left, right, main, sink, at)
        result = self._range(op, left, right, main, node, left_node, right_node, at)
        result = replace(_rounded(result), also=frozenset(types - {main}))
        if op in ("*", "//", "%"):
            self._no_signed_zero(result, at)
        return self.fits(result, at)

    def _no_signed_zero(self, result: Num, at: ast.AST) -> None:
        """``t = 0`` before ``t += 0.5``: an int that compiled code keeps as a float.

        ``0 * -3`` is 0, and ``0.0 * -3.0`` is -0.0.
        """
        kinds = {t.kind for t in result.types}
        unsigned = result.low is not None and result.low >= 0 and not result.nan
        if {Kind.INT, Kind.FLOAT} <= kinds and not (unsigned or result.nonzero):
            fail(self.state, "the sign of a zero hangs on whether a value is an int or a float", at)

    def _joined(self, types: set[Scalar], at: ast.AST) -> Scalar:
        ordered = sorted(types, key=str)
        main = ordered[0]
        for other in ordered[1:]:
            found = join(main, other)
            if found is None:
                fail_text = f"a value is {main} on one path and {other} on another"
                raise Unsupported(fail_text, getattr(at, "lineno", None))
            main = found
        return main

    def _same_width(
        self,
        node: ast.expr | None,
        op: str,
        left_node: ast.expr,
        right_node: ast.expr,
        left: Num,
        right: Num,
        main: Scalar,
        sink: str | None,
        at: ast.AST,
    ) -> None:
        """Casts where numba would compute in another width than the original."""
        line = getattr(at, "lineno", None)
        want = compiled(main)
        sides = [(left_node, left), (right_node, right)]
        got = binary_compiled(op, compiled(left.type), compiled(right.type))
        if want == "float32":
            for side_node, side in sides:
                if side.type.is_python:
                    # 0.1 * u[i] with float32 u: the literal is rounded to float32 first
                    self.state.cast(side_node, "float32")
                    got = "float32"
        if got == want:
            return
        limits = dtype_range(want)
        if limits is None or want == "bool" or op == "<<":
            text = f"{left.type} {op} {right.type} is computed in another width by numba"
            raise Unsupported(text, line)
        for side_node, side in sides:
            if side.type.is_python and not side.within(*limits):
                fail(self.state, f"{ast.unparse(side_node)} may not fit {want}", side_node)
        if got is None or got.startswith("float"):
            raise Unsupported(f"{left.type} {op} {right.type} has no compiled form", line)
        if sink == want and op in "+-*&|^":
            return  # the store wraps as NumPy does
        if node is None:
            raise Unsupported(f"an in-place operation in {want} has no compiled form", line)
        self.state.cast(node, want)

    def _range(
        self,
        op: str,
        left: Num,
        right: Num,
        type_: Scalar,
        node: ast.expr | None,
        left_node: ast.expr,
        right_node: ast.expr,
        at: ast.AST,
    ) -> Num:
        if type_.kind is Kind.COMPLEX:
            return self._complex_range(op, left, right, type_, at)
        nan = type_.kind is Kind.FLOAT and not (left.bounded and right.bounded)
        if op in ("/", "//", "%"):
            if not right.nonzero and not self._proved_positive(right):
                self._zero_divisor(op, left, right, node, left_node, right_node, at)
                nan = nan or type_.kind is Kind.FLOAT
            if op == "/" and left.type == PY_INT and right.type == PY_INT:
                # (2**60 + 1) / 3 rounds once in Python, twice in compiled code
                for side, side_node in ((left, left_node), (right, right_node)):
                    exact = side.within(-EXACT_IN_FLOAT, EXACT_IN_FLOAT)
                    if not exact and self.state.recording:
                        text = f"{ast.unparse(side_node)} may be too large for an exact division"
                        raise Outgrown(text, getattr(at, "lineno", None))
            if op == "//" and compiled(type_) == "int64" and not type_.is_python:
                lowest = left.low is None or left.low <= INT64_MIN
                if lowest and (right.low is None or right.low <= -1):
                    # numpy.int64(-2**63) // -1 stays -2**63; compiled code gives 0
                    fail(self.state, "the smallest 64-bit integer may be divided by -1", at)
            functions = {"/": divide, "//": floor_divide, "%": modulo}
            result = functions[op](left, right, type_)
            if op == "%" and type_.kind is Kind.INT and right.form is not None:
                result = self._wrapped(result, right)
            return replace(result, nan=nan)
        match op:
            case "+":
                result = add(left, right, type_)
            case "-":
                result = add(left, negate(right, right.type), type_)
            case "*":
                result = multiply(left, right, type_)
                if ast.dump(left_node) == ast.dump(right_node):
                    low = 0 if result.low is None or result.low < 0 else result.low
                    result = replace(result, low=low)
            case _:
                return self._bits(op, left, right, type_, at)
        if type_.kind is Kind.INT and compiled(type_) == "int64":
            result = replace(result, form=_form(op, left.form, right.form))
        return replace(result, nan=nan)

    def _proved_positive(self, value: Num) -> bool:
        """In ``for i in range(n)`` the ``n`` of ``(i + 1) % n`` is at least 1."""
        prove = self.state.prove_without_guard
        return value.form is not None and prove(constant(1) - value.form)

    def _wrapped(self, result: Num, modulus: Num) -> Num:
        if modulus.low is None or modulus.low < 0 or modulus.form is None:
            return result
        # i % n with n == 0 raises before anything is indexed by it
        return replace(result, low=0, lows=(constant(0),), highs=(modulus.form - 1,))

    def _complex_range(self, op: str, left: Num, right: Num, type_: Scalar, at: ast.AST) -> Num:
        sizes = [absolute(side, PY_FLOAT).high for side in (left, right)]
        high = None
        if None not in sizes:
            a, b = float(sizes[0] or 0), float(sizes[1] or 0)
            high = {"+": a + b, "-": a + b, "*": a * b * (1 + 1e-9)}.get(op)
            high = None if high is None else high * (1 + 1e-9)
        if op == "/" and not (right.type.kind is not Kind.COMPLEX and right.nonzero):
            fail(self.state, "a complex division whose divisor may be zero", at)
        elif op not in "+-*/":
            raise Unsupported(f"{left.type} {op} {right.type} is not defined", None)
        return Num(type_, 0.0, high, nan=high is None)

    def _bits(self, op: str, left: Num, right: Num, type_: Scalar, at: ast.AST) -> Num:
        if type_.kind is Kind.BOOL:
            return Num(type_, 0, 1)
        if op in ("<<", ">>"):
            if not right.within(0, 62):
                fail(self.state, "the shift count may be negative or beyond 62", at)
            if op == ">>":
                values = (left.low, left.high, 0)
                if None in values:
                    return Num(type_)
                return Num(type_, min(left.low, 0), max(left.high, 0))  # type: ignore[type-var]
            power = Num(PY_INT, 1, None if right.high is None else 2 ** int(min(right.high, 63)))
            return multiply(left, power, type_)
        lows, highs = (left.low, right.low), (left.high, right.high)
        if op == "&" and any(low is not None and low >= 0 for low in lows):
            tops = [
                high
                for low, high in zip(lows, highs, strict=True)
                if low is not None and low >= 0 and high is not None
            ]
            return Num(type_, 0, min(tops) if tops else None)
        if None in lows or None in highs:
            return Num(type_)
        limit = max(abs(int(b or 0)) for b in (*lows, *highs)).bit_length()
        low = 0 if all(b is not None and b >= 0 for b in lows) else -(2**limit)
        return Num(type_, low, 2**limit - 1)

    def _zero_divisor(
        self,
        op: str,
        left: Num,
        right: Num,
        node: ast.expr | None,
        left_node: ast.expr,
        right_node: ast.expr,
        at: ast.AST,
    ) -> None:
        """Python numbers raise ZeroDivisionError, NumPy's give inf, nan or 0 and a warning."""
        if not self.state.recording:
            return
        pairs = [(a, b) for a in left.types for b in right.types]
        python = [a.is_python and b.is_python for a, b in pairs]
        if any(python) and not all(python):
            text = "a division whose operands are NumPy numbers in some iterations only"
            raise Unsupported(text, getattr(at, "lineno", None))
        open_kinds = any({Kind.INT, Kind.FLOAT} <= {t.kind for t in v.types} for v in (left, right))
        if op != "/" and open_kinds and not all(python):
            # numpy.int64(7) % 0 is 0, and numpy.float64(7) % 0.0 is NaN
            text = "a division by zero whose operands are ints in some iterations only"
            raise Unsupported(text, getattr(at, "lineno", None))
        if all(python):
            self.state.division.python.append(right_node)
        else:
            self.state.division.numpy.append((node, left_node, right_node, op))

    def fits(self, value: Num, at: ast.AST) -> Num:
        """Python ints must stay within 64 bits; NumPy's wrap in both worlds."""
        ints = any(t.kind is Kind.INT for t in value.also)
        if value.type.kind is Kind.FLOAT and ints:
            if not value.within(-EXACT_IN_FLOAT, EXACT_IN_FLOAT):
                fail(self.state, "a variable is an int first and a float later", at)
            return value
        if value.type == PY_INT or PY_INT in value.also:
            if not value.within(INT64_MIN, INT64_MAX):
                text = ast.unparse(at) if isinstance(at, ast.expr) else "a Python int"
                suggestion = "Python ints have no limit; compiled code has 64 bits"
                if self.state.recording:
                    line = getattr(at, "lineno", None)
                    raise Outgrown(f"{text} may outgrow 64 bits", line, suggestion)
                low = INT64_MIN if value.low is None else max(value.low, INT64_MIN)
                high = INT64_MAX if value.high is None else min(value.high, INT64_MAX)
                if value.type == PY_INT:
                    value = replace(value, low=low, high=high)
            return value
        limits = dtype_range(compiled(value.type)) if value.type.kind is Kind.INT else None
        if limits and not value.within(*limits):
            return replace(free(value.type), also=value.also)
        return value

    def join(self, left: Num, right: Num, at: ast.AST, name: str) -> Num:
        """The value where two paths meet."""
        type_ = join(left.type, right.type)
        line = getattr(at, "lineno", None)
        if type_ is None:
            text = f"{name} is {left.type} on one path and {right.type} on another"
            raise Unsupported(text, line, "give it one type from the start (0.0 instead of 0)")
        if type_.kind is Kind.COMPLEX:
            # the range of a complex number is that of its size: -5 is of size 5
            result = hull([_sized(left), _sized(right)], type_)
        else:
            result = hull([left, right], type_)
        both = [v.form for v in (left, right)]
        if both[0] is not None and both[0] == both[1]:
            result = replace(result, form=both[0])
        result = replace(
            result,
            lows=tuple(b for b in left.lows if b in right.lows),
            highs=tuple(b for b in left.highs if b in right.highs),
        )
        if type_.kind in (Kind.FLOAT, Kind.COMPLEX):
            for side in (left, right):
                # an int that is a float elsewhere is kept as float64: exact up to 2**53 only
                if side.type.kind is Kind.INT and not side.within(-EXACT_IN_FLOAT, EXACT_IN_FLOAT):
                    text = f"{name} is an int on one path and a {type_.kind} on another"
                    fail(self.state, text, at, "give it one type from the start")
        return result


def _rounded(value: Num) -> Num:
    """Bounds of a float as floats: 2**63 - 1 in an int64 array less 0.0 is 2**63."""
    if value.type.kind is not Kind.FLOAT:
        return value
    try:
        low = None if value.low is None else float(value.low)
        high = None if value.high is None else float(value.high)
    except OverflowError:
        return replace(value, low=None, high=None)
    return replace(value, low=low, high=high)


def _sized(value: Num) -> Num:
    if value.type.kind is Kind.COMPLEX:
        return value
    sized = absolute(value, value.type)
    return replace(value, low=sized.low, high=sized.high)


def _form(op: str, left: Affine | None, right: Affine | None) -> Affine | None:
    if left is None or right is None:
        return None
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if right.is_const:
        return left.scale(right.const)
    return right.scale(left.const) if left.is_const else None


def _fits_dtype(value: Num) -> bool:
    limits = dtype_range(compiled(value.type))
    return limits is None or value.within(*limits)
