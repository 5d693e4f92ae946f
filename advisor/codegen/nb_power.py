"""Powers, whose compiled form differs most from Python's.

LLVM turns ``x ** 2.0`` into ``x * x``, which differs from libm's ``pow`` (what CPython and NumPy
call for scalars) in the last digit of about one result in a thousand; numba multiplies out
``x ** 3``. An exponent that comes as an argument is not folded.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ..loopnest.ir import PY_FLOAT, PY_INT, Kind
from ..loopnest.scope import literal
from ..loopnest.typing_rules import binary_type
from .nb_state import ARGUMENT, fail
from .nb_values import Num, Unsupported, compiled

if TYPE_CHECKING:
    from .nb_arith import Arithmetic

_WORDS = {2: "two", 3: "three", 4: "four", 0.5: "half", -1: "minus_one", -2: "minus_two"}


def power(
    self: Arithmetic,
    node: ast.expr | None,
    left_node: ast.expr,
    right_node: ast.expr,
    left: Num,
    at: ast.AST,
) -> Num:
    """``left ** right``."""
    right = self.number(right_node)
    line = getattr(at, "lineno", None)
    if Kind.COMPLEX in (left.type.kind, right.type.kind):
        return _complex_power(self, node, left_node, right_node, left, at)
    if Kind.BOOL in (left.type.kind, right.type.kind):
        raise Unsupported("a power of truth values", line)
    if left.type.kind is Kind.INT and right.type.kind is Kind.INT:
        return _int_power(self, left, right, at)
    exponent = literal(right_node)
    type_ = binary_type("**", left.type, right.type)
    if type_ is None or left.also:
        raise Unsupported(f"{left.type} ** {right.type} has no compiled form", line)
    if compiled(type_) == "float32":
        # k ** x[i] with k = 2.5: NumPy's float32 power and libm's differ in the last digit
        raise Unsupported("a power of float32 numbers", line, "compute it in float64")
    counted = exponent is None and right.type == PY_INT and right.within(-(2**53), 2**53)
    if exponent is None and type_.is_python and not counted:
        # x[i] ** k with k = nan or inf: what raises in Python and what does not follows other rules
        raise Unsupported("a power of Python floats whose exponent is no literal", line)
    whole = exponent is not None and not isinstance(exponent, complex) and exponent == int(exponent)
    if type_.is_python and not (whole or counted) and not (left.low is not None and left.low >= 0):
        # (-8.0) ** (1 / 3) is a complex number in Python
        fail(self.state, f"the base of `{ast.unparse(at)}` may be negative", at)
    _as_argument(self, node, left, right_node, right, compiled(type_), at)
    result = Num(type_, nan=not left.bounded)
    if exponent is not None and not isinstance(exponent, complex) and left.bounded:
        result = _bounded_power(left, float(exponent), result)
    if type_.is_python and result.high is None:
        _checked(self, node, left_node, right_node, at)
        result = replace(result, nan=left.nan)
    if (whole and int(exponent) % 2 == 0) or (left.low is not None and left.low >= 0):  # type: ignore[arg-type]
        low = 0.0 if result.low is None else max(0.0, result.low)
        result = replace(result, low=low)
    return result


def _bounded_power(left: Num, exponent: float, result: Num) -> Num:
    size = max(abs(left.low or 0), abs(left.high or 0))
    if exponent < 0:
        return result
    try:
        top = float(size) ** exponent
    except OverflowError:
        return result
    return replace(result, low=-top, high=top, nan=False)


def _as_argument(
    self: Arithmetic,
    node: ast.expr | None,
    left: Num,
    right_node: ast.expr,
    right: Num,
    dtype: str,
    at: ast.AST,
) -> None:
    """Constant exponents become arguments of the kernel, integer ones become floats."""
    line = getattr(at, "lineno", None)
    exponent = literal(right_node)
    if exponent is None:
        if right.low is not None and right.low == right.high:
            raise Unsupported("a named constant as an exponent", line, "write the number")
        if right.type.kind is Kind.INT:
            self.state.wrap(right_node, "float(")
        elif dtype == "float32" and right.type == PY_FLOAT:
            self.state.cast(right_node, "float32")
        return
    if left.type == PY_INT and not left.within(-(2**53), 2**53):
        fail(self.state, f"the base of `{ast.unparse(at)}` may be too large for a float", at)
    assert isinstance(exponent, int | float)
    name = _WORDS.get(exponent, "exponent")
    text = repr(float(exponent))
    if dtype == "float32":
        name, text = f"{name}_32", f"\0np.float32({text})"
    while self.state.exponents.get(name, text) != text:
        name += "_"
    if self.state.recording:
        self.state.exponents[name] = text
        self.state.replace(right_node, f"\0arg.{name}")
        if self.scope.helper:
            self.scope.attributes.setdefault(ARGUMENT + name)


def _checked(
    self: Arithmetic, node: ast.expr | None, left_node: ast.expr, right_node: ast.expr, at: ast.AST
) -> None:
    """``x ** 2`` of Python floats raises OverflowError: so does ``power(x, two)``."""
    if node is None:
        raise Unsupported(
            "an in-place power of a float that may overflow", getattr(at, "lineno", None)
        )
    if not self.state.recording:
        return
    state = self.state
    state.checked["power"] = "**"
    state.may_raise = True
    state.infix_call(node, left_node, right_node, "\0fn.power")


def _int_power(self: Arithmetic, left: Num, right: Num, at: ast.AST) -> Num:
    type_ = binary_type("**", left.type, right.type)
    if type_ is None or compiled(type_) != "int64":
        raise Unsupported("a power of narrow integers", getattr(at, "lineno", None))
    if right.low is None or right.low < 0:
        # 2 ** -1 is 0.5 in Python, and 0 in compiled code
        fail(self.state, f"the exponent of `{ast.unparse(at)}` may be negative", at)
    result = Num(type_)
    if left.low is not None and left.high is not None and right.high is not None:
        size = max(abs(left.low), abs(left.high), 1)
        if right.high * (int(size).bit_length()) < 4096:
            top = int(size) ** int(right.high)
            low = 0 if left.low >= 0 or (right.low == right.high and right.high % 2 == 0) else -top
            result = Num(type_, low, top)
    if type_ != PY_INT and (result.high is None or result.high >= 2**63):
        raise Unsupported("a power of NumPy integers that may wrap", getattr(at, "lineno", None))
    return self.fits(result, at)


def _complex_power(
    self: Arithmetic,
    node: ast.expr | None,
    left_node: ast.expr,
    right_node: ast.expr,
    left: Num,
    at: ast.AST,
) -> Num:
    line = getattr(at, "lineno", None)
    if literal(right_node) != 2 or node is None:
        raise Unsupported("a power of complex numbers other than the square", line)
    high = None if left.high is None else float(left.high) ** 2 * (1 + 1e-9)
    if left.type.is_python and self.state.recording:
        # CPython squares in its own way, and raises OverflowError
        self.state.checked["complex_square"] = "**"
        self.state.may_raise = True
        self.state.infix_call(node, left_node, right_node, "\0fn.complex_square", drop=True)
    return Num(left.type, 0.0, high, nan=high is None)
