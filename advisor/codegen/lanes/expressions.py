"""IR expressions over the lanes as NumPy text: the same operations in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...loopnest.ir import (
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    Kind,
    Load,
    Nest,
    Select,
    Unary,
    Var,
)
from ..numpy_backend.functions import rounds_differently
from ..numpy_backend.normal import NotVectorisable
from ..numpy_backend.values import ATOM
from . import complexes
from .values import (
    LEVELS,
    Num,
    Pair,
    Val,
    as_float,
    as_int,
    binary,
    both,
    called,
    compared,
    either,
    number,
    opposite,
)

_SAME = {
    "math.sqrt": "sqrt", "numpy.sqrt": "sqrt", "math.sin": "sin", "math.cos": "cos",
    "numpy.sin": "sin", "numpy.cos": "cos", "math.fabs": "fabs", "numpy.abs": "abs",
    "numpy.exp": "exp", "numpy.log": "log", "numpy.tanh": "tanh", "numpy.arctan": "arctan",
    "math.isnan": "isnan", "math.isinf": "isinf", "math.copysign": "copysign",
}  # fmt: skip
_LAST_DIGIT = {
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "expm1": "expm1", "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "hypot": "hypot",
}  # fmt: skip
_PERIODIC = ("sin", "cos", "tan")
_TRUTHS = ("isnan", "isinf")
_POWERS_OF_TWO = {2**bits: bits for bits in range(1, 63)}


class Lanes(Protocol):
    """What an expression is asked in: the names of one set of lanes."""

    def value(self, name: str, line: int) -> Val:
        """What a scalar stands for."""

    def array(self, name: str) -> str:
        """The name of an array's parameter."""

    def extent(self, name: str, axis: int) -> str:
        """How long an array is."""


class Writing:
    """What the text of a function rests on, and lines that expressions need in front."""

    def __init__(
        self, nest: Nest, np: str, fresh: Callable[[str], str], known: Callable[[str], bool]
    ) -> None:
        self.known = known
        """Whether a name has a value in the module, where the function will stand."""
        self.nest = nest
        self.np = np
        self.fresh = fresh
        self.lines: list[str] = []
        self.level = 0
        self.raising: set[str] = set()
        """What NumPy must raise for, of ``divide``, ``over`` and ``invalid``."""
        self.floats = False
        self.last_digit = False

    def line(self, text: str) -> None:
        """One more line."""
        self.lines.append("    " * self.level + text)


class Expressions:
    """Evaluates expressions in one set of lanes."""

    def __init__(self, writing: Writing, lanes: Lanes) -> None:
        self.w = writing
        self.np = writing.np
        self.lanes = lanes
        self.mask: Num | None = None
        """Where the expression is evaluated at all; None everywhere."""

    def under(self, mask: Num, expr: Expr) -> Val:
        """A value that counts where the mask holds only."""
        before, self.mask = self.mask, mask if self.mask is None else both(self.mask, mask)
        try:
            return self.of(expr)
        finally:
            self.mask = before

    def number(self, expr: Expr) -> Num:
        """A value that is not complex. Raises NotVectorisable."""
        value = self.of(expr)
        if isinstance(value, Pair):
            raise NotVectorisable("a complex number in this place", expr.line)
        return value

    def truth(self, expr: Expr) -> Num:
        """A value as a condition."""
        value = self.number(expr)
        return value if value.kind is Kind.BOOL else _nonzero(value)

    def of(self, expr: Expr) -> Val:
        """The value. Raises NotVectorisable."""
        if expr.type.dtype not in (None, "float64", "int64", "bool", "bool_", "complex128"):
            raise NotVectorisable(f"numbers of the type {expr.type}", expr.line)
        match expr:
            case Const():
                return self._constant(expr)
            case Var(name=name):
                return self.lanes.value(name, expr.line)
            case Dim(array=array, axis=axis):
                return number(self.lanes.extent(array, axis), Kind.INT)
            case Load():
                return self._load(expr)
            case Unary():
                return self._unary(expr)
            case Binary():
                return self._binary(expr)
            case Compare():
                return self._compare(expr)
            case Bool():
                return self._bool(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
        raise NotVectorisable("an expression has no array form", expr.line)

    def _constant(self, expr: Const) -> Val:
        value = expr.value
        if isinstance(value, complex):
            if expr.name:
                return complexes.parts(number(expr.name, Kind.COMPLEX))
            return Pair(self._real(value.real), self._real(value.imag))
        if expr.name:
            return number(expr.name, expr.type.kind)
        return (
            self._real(value) if isinstance(value, float) else number(repr(value), expr.type.kind)
        )

    @staticmethod
    def _real(value: float) -> Num:
        text = repr(value)
        return number(f'float("{text}")' if "n" in text else text, Kind.FLOAT)

    def _load(self, expr: Load) -> Val:
        if expr.type.kind is Kind.COMPLEX:
            raise NotVectorisable("arrays of complex numbers", expr.line)
        index = [as_int(self.safe(self.number(e), "0"), self.np) for e in expr.index]
        text = f"{self.lanes.array(expr.array)}[{', '.join(i.text for i in index)}]"
        return Num(text, ATOM, expr.type.kind, any(i.vector for i in index))

    def safe(self, value: Num, instead: str) -> Num:
        """The operand where it counts, and elsewhere one that raises nothing."""
        if self.mask is None or not (value.vector or self.mask.vector):
            return value
        text = f"{self.np}.where({self.mask.text}, {value.text}, {instead})"
        return Num(text, ATOM, value.kind, True)

    # ------------------------------------------------------------- arithmetic
    def _unary(self, expr: Unary) -> Val:
        if expr.op == "not":
            return opposite(self.truth(expr.operand))
        value = self.of(expr.operand)
        if isinstance(value, Pair):
            return complexes.negative(value) if expr.op == "-" else value
        if expr.op == "-" and isinstance(expr.operand, Var):
            self._check_sign(expr.operand)
        value = as_int(value, self.np)
        level = LEVELS["*"] + 1
        if expr.op == "+":
            return value
        return Num(f"{expr.op}{value.at(level)}", level, value.kind, value.vector)

    def _check_sign(self, operand: Var) -> None:
        """The integer 0 has no sign, and ``-s`` of ``s = 0`` is not -0.0."""
        kinds = {t.kind for t in self.w.nest.joined.get(operand.name, ())}
        if len(kinds) > 1:
            raise NotVectorisable("a value that is an integer on one path", operand.line)

    def _binary(self, expr: Binary) -> Val:
        left, right = self.of(expr.left), self.of(expr.right)
        if isinstance(left, Pair) or isinstance(right, Pair):
            self.w.floats = True
            return complexes.arithmetic(self.w, expr, left, right)
        op = expr.op
        if not (left.vector or right.vector):
            return binary(op, left, right, expr.type.kind)
        if op in "&|^" and left.kind is right.kind is Kind.BOOL:
            return binary(op, left, right, Kind.BOOL)
        left, right = as_int(left, self.np), as_int(right, self.np)
        self.w.floats |= expr.type.kind is Kind.FLOAT
        if op in ("/", "//", "%"):
            return self._quotient(expr, left, right)
        if op == "**":
            return self._power(expr, left, right)
        return binary(op, left, right, expr.type.kind)

    def _quotient(self, expr: Binary, left: Num, right: Num) -> Num:
        """Zero divisors raise; halving integers is shifting them."""
        whole = expr.type.kind is Kind.INT
        if whole and isinstance(expr.right, Const) and expr.right.value in _POWERS_OF_TWO:
            value = int(expr.right.value.real)
            if expr.op == "//":
                return binary(">>", left, number(str(_POWERS_OF_TWO[value]), Kind.INT))
            return binary("&", left, number(str(value - 1), Kind.INT))
        if not (isinstance(expr.right, Const) and expr.right.value):
            self.w.raising |= {"divide", "invalid"}
            right = self.safe(right, "1")
        return binary(expr.op, left, right, expr.type.kind)

    def _power(self, expr: Binary, left: Num, right: Num) -> Num:
        exponent = expr.right.value if isinstance(expr.right, Const) else None
        if expr.type.kind is Kind.INT and exponent in (2, 3) and isinstance(exponent, int):
            result = left
            for _ in range(exponent - 1):
                result = binary("*", result, left)
            return result
        if expr.type.kind is not Kind.FLOAT:
            raise NotVectorisable("an integer to a varying power", expr.line)
        # pow(x, 2) of the C library is not x * x for one double in a thousand, which `**` gives
        self.w.raising |= {"over", "divide", "invalid"}
        base, power = self.safe(left, "1.0"), self.safe(right, "1.0")
        return called(f"{self.np}.float_power", base, power, kind=Kind.FLOAT)

    # ------------------------------------------------------------- conditions
    def _compare(self, expr: Compare) -> Num:
        beyond = complexes.beyond(self, expr)
        if beyond is not None:
            return beyond
        left, right = self.of(expr.left), self.of(expr.right)
        if isinstance(left, Pair) or isinstance(right, Pair):
            return complexes.equal(expr, left, right)
        return compared(expr.op, left, right)

    def _bool(self, expr: Bool) -> Num:
        result = self.truth(expr.operands[0])
        for operand in expr.operands[1:]:
            known = result if expr.op == "and" else opposite(result)
            value = self.under(known, operand) if known.vector else self.of(operand)
            if isinstance(value, Pair):
                raise NotVectorisable("a complex number as a condition", operand.line)
            value = value if value.kind is Kind.BOOL else _nonzero(value)
            result = both(result, value) if expr.op == "and" else either(result, value)
        return result

    def _select(self, expr: Select) -> Val:
        test = self.truth(expr.test)
        then = self.under(test, expr.then) if test.vector else self.of(expr.then)
        other = opposite(test)
        orelse = self.under(other, expr.orelse) if test.vector else self.of(expr.orelse)
        return self.chosen(test, then, orelse, expr.line)

    def chosen(self, test: Num, then: Val, orelse: Val, line: int) -> Val:
        """``then if test else orelse``. Raises NotVectorisable."""
        if isinstance(then, Pair) or isinstance(orelse, Pair):
            a, b = complexes.complete(then), complexes.complete(orelse)
            real, imag = (
                self.chosen(test, x, y, line) for x, y in ((a.real, b.real), (a.imag, b.imag))
            )
            assert isinstance(real, Num) and isinstance(imag, Num)
            return Pair(real, imag)
        if then == orelse:
            return then
        if then.kind is not orelse.kind:
            raise NotVectorisable("a value that is an integer on one path", line)
        if not (test.vector or then.vector or orelse.vector):
            text = f"{then.at(4)} if {test.at(4)} else {orelse.at(4)}"
            return Num(text, 3, then.kind, False)
        return called(f"{self.np}.where", test, then, orelse, kind=then.kind)

    # ------------------------------------------------------------------ calls
    def _call(self, expr: Call) -> Val:
        found = complexes.call(self, expr)
        if found is not None:
            return found
        args = [self.number(a) for a in expr.args]
        if not any(a.vector for a in args):
            return self._scalar_call(expr, args)
        name = expr.function
        if name in ("min", "max"):
            return self._extreme(expr, args)
        if name == "abs":
            return called(f"{self.np}.abs", as_int(args[0], self.np), kind=expr.type.kind)
        if name in ("float", "numpy.float64"):
            return as_float(args[0], self.np)
        if name == "bool":
            return self.truth(expr.args[0])
        if name in ("int", "math.floor", "math.ceil", "math.trunc"):
            return self._whole(expr, args[0])
        if name in ("math.radians", "math.degrees"):
            function = f"{self.np}.{name.removeprefix('math.')}"
            return called(function, as_float(args[0], self.np), kind=Kind.FLOAT)
        return self._function(expr, [as_float(a, self.np) for a in args])

    def _scalar_call(self, expr: Call, args: list[Num]) -> Num:
        module, _, name = expr.function.rpartition(".")
        text = name
        if module:
            local = {full: local for local, full in self.w.nest.modules.items()}
            if expr.function in local:
                text = local[expr.function]
            elif module in local:
                text = f"{local[module]}.{name}"
            else:
                raise NotVectorisable(f"{expr.function} has no name here", expr.line)
            if not self.w.known(text.partition(".")[0]):
                raise NotVectorisable(f"{text} is a name of one function only", expr.line)
        return called(text, *args, kind=expr.type.kind)

    def _extreme(self, expr: Call, args: list[Num]) -> Num:
        """``min(a, b)`` keeps ``a`` unless ``b < a``: NaN and signed zeros follow from that."""
        op = "<" if expr.function == "min" else ">"
        if any(a.kind is not expr.type.kind for a in args):
            raise NotVectorisable("a value that is an integer on one path", expr.line)
        result = args[0]
        for other in args[1:]:
            test = compared(op, other, result)
            result = called(f"{self.np}.where", test, other, result, kind=result.kind)
        return result

    def _whole(self, expr: Call, value: Num) -> Num:
        """An integer of a float: what is too large for a double's digits is left to Python."""
        if value.kind is not Kind.FLOAT:
            return as_int(value, self.np)
        value = self.safe(value, "0.0")
        name = expr.function.removeprefix("math.")
        if name in ("floor", "ceil"):
            value = called(f"{self.np}.{name}", value, kind=Kind.FLOAT)
        held = self.hold(value, "whole")
        self.w.line(f"if not ({self.np}.abs({held.text}) < 2**53).all():")
        self.w.line('    raise OverflowError("not a small integer")')
        return Num(f"{held.text}.astype({self.np}.int64)", ATOM, Kind.INT, True)

    def hold(self, value: Num, wanted: str) -> Num:
        """The value under a name."""
        if value.text.isidentifier():
            return value
        name = self.w.fresh(wanted)
        self.w.line(f"{name} = {value.text}")
        return number(name, value.kind, value.vector)

    def _function(self, expr: Call, args: list[Num]) -> Num:
        module, _, short = expr.function.rpartition(".")
        name = _SAME.get(expr.function)
        if name is None and module == "math" and rounds_differently(expr.function):
            name = _LAST_DIGIT.get(short)
            self.w.last_digit = True
        if name is None or (name in _LAST_DIGIT and len(args) > 2) or (short == "log" and args[1:]):
            raise NotVectorisable(f"{expr.function}() has no array form", expr.line)
        self.w.floats = True
        if name in _TRUTHS:
            return called(f"{self.np}.{name}", *args, kind=Kind.BOOL)
        self.w.raising |= {"divide", "invalid", "over"}
        args = [self.safe(a, "1.0" if short.startswith("log") else "0.0") for a in args]
        if name in _PERIODIC:
            args = [self.hold(args[0], "angle")]
            head = f"if not {self.np}.isfinite({args[0].text}).all():"
            if not any(line.strip() == head for line in self.w.lines[-2:]):
                self.w.line(head)
                self.w.line('    raise OverflowError("an infinite angle")')
        return called(f"{self.np}.{name}", *args, kind=Kind.FLOAT)


def _nonzero(value: Num) -> Num:
    """A number as a condition: ``b & mask`` of an integer would look at its bits."""
    return compared("!=", value, number("0", Kind.INT))
