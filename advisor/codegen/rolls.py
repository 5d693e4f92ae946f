"""Calls of ``np.roll`` in the text: what they shift, by how much, and what is done with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model import Source
from . import ast_tools as tools

_ELEMENTWISE = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.BitXor)
_UFUNCS = frozenset(
    {
        "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "equal", "greater",
        "greater_equal", "less", "less_equal", "logical_and", "logical_or", "logical_xor",
        "maximum", "minimum", "multiply", "not_equal", "subtract", "where",
    }
)  # fmt: skip
PURE_NUMPY = _UFUNCS | frozenset(
    {
        "abs", "all", "any", "array", "arange", "ceil", "clip", "copy", "count_nonzero", "cos",
        "dot", "empty", "exp", "floor", "full", "isnan", "log", "max", "mean", "min", "ones",
        "power", "roll", "round", "sign", "sin", "sqrt", "sum", "tanh", "zeros", "zeros_like",
        "float64", "float32", "int64", "int32", "uint8", "logical_not", "square",
    }
)  # fmt: skip
PURE_BUILTINS = frozenset({"abs", "float", "int", "len", "max", "min", "range", "sum"})
PURE_METHODS = frozenset({"all", "any", "astype", "copy", "max", "mean", "min", "sum"})


@dataclass(frozen=True)
class Shift:
    """How far along one axis: a constant, and at most one name with a sign."""

    constant: int = 0
    name: str | None = None
    sign: int = 1


@dataclass(frozen=True)
class Roll:
    """``np.roll(np.roll(u, 1, axis=0), -1, axis=1)`` as one shift of ``u``."""

    node: ast.Call
    base: ast.expr
    shifts: Mapping[int | None, Shift]
    """By axis as written; None where no axis is given (then the array is flattened)."""

    def values(self, names: Mapping[str, Sequence[int]]) -> dict[int | None, tuple[int, int]]:
        """Smallest and largest shift by axis. Raises KeyError for a name not in ``names``."""
        ranges = {}
        for axis, shift in self.shifts.items():
            low = high = shift.constant
            if shift.name is not None:
                moved = [shift.sign * value for value in names[shift.name]]
                low, high = low + min(moved), high + max(moved)
            ranges[axis] = (low, high)
        return ranges


def parse(source: Source, node: ast.expr) -> Roll | None:
    """The call as a roll of a name or attribute, nested rolls taken together."""
    if not isinstance(node, ast.Call) or tools.numpy_function(source, node) != "roll":
        return None
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    given = dict(zip(("a", "shift", "axis"), node.args, strict=False)) | named
    if set(given) - {"a", "shift", "axis"} or not {"a", "shift"} <= set(given):
        return None
    own = _shifts(given["shift"], given.get("axis"))
    inner = parse(source, given["a"])
    if own is None:
        return None
    if inner is None:
        return Roll(node, given["a"], own) if dotted(given["a"]) else None
    total = dict(inner.shifts)
    for axis, shift in own.items():
        before = total.get(axis, Shift())
        if before.name is not None and shift.name is not None:
            return None
        name = before.name or shift.name
        sign = before.sign if before.name else shift.sign
        total[axis] = Shift(before.constant + shift.constant, name, sign)
    return Roll(node, inner.base, total)


def dotted(node: ast.expr) -> str | None:
    """``"self.u"`` for names and attributes of names."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            base = dotted(value)
            return f"{base}.{attr}" if base else None
    return None


def _shifts(shift: ast.expr, axis: ast.expr | None) -> dict[int | None, Shift] | None:
    if axis is None or (isinstance(axis, ast.Constant) and axis.value is None):
        one = _shift(shift)
        return None if one is None else {None: one}
    if isinstance(shift, ast.Tuple) and isinstance(axis, ast.Tuple):
        pairs = list(zip(shift.elts, axis.elts, strict=False))
        if len(shift.elts) != len(axis.elts):
            return None
    else:
        pairs = [(shift, axis)]
    found: dict[int | None, Shift] = {}
    for amount, along in pairs:
        one, where = _shift(amount), integer(along)
        if one is None or where is None or where in found:
            return None
        found[where] = one
    return found


def _shift(node: ast.expr) -> Shift | None:
    constant = integer(node)
    match node:
        case _ if constant is not None:
            return Shift(constant)
        case ast.Name(id=name):
            return Shift(0, name)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id=name)):
            return Shift(0, name, -1)
    return None


def integer(node: ast.expr) -> int | None:
    """The value of an integer literal, with a sign or without."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))) if not isinstance(
            value, bool
        ):
            return -value
    return None


def constants(source: Source, node: ast.expr) -> tuple[int, ...] | None:
    """The integers of ``(-1, 0, 1)`` or ``range(-1, 2)``."""
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            values = [integer(element) for element in elts]
            return tuple(v for v in values if v is not None) if None not in values else None
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            bounds = [integer(argument) for argument in args]
            known = [v for v in bounds if v is not None]
            if len(known) != len(bounds) or not 1 <= len(known) <= 3 or known[-1:] == [0]:
                return None
            values_in = tuple(range(*known)) if tools.is_builtin(source, "range") else ()
            return values_in if 0 < len(values_in) <= 64 else None
    return None


def outermost(source: Source, statement: ast.stmt) -> Iterator[Roll]:
    """The rolls of a simple statement that are in no other roll and in no nested function."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        found = parse(source, node) if isinstance(node, ast.Call) else None
        if found is not None:
            yield found
        elif not isinstance(node, tools.SCOPES):
            todo.extend(ast.iter_child_nodes(node))


def only_elementwise(source: Source, node: ast.expr) -> bool:
    """Whether the value goes into arithmetic only, which copies it: ``roll + 1``, not ``f(roll)``.

    A slice of a larger array gives the same elements there; but ``roll.sum()`` may add a slice's
    floats in another order, and ``out.append(roll)`` would keep the larger array alive.
    """
    holder = tools.parents(source)[node]
    match holder:
        case ast.BinOp(op=op):
            return isinstance(op, _ELEMENTWISE)
        case ast.Compare(ops=operators):
            odd = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            return not any(isinstance(operator, odd) for operator in operators)
        case ast.UnaryOp(op=op):
            return isinstance(op, ast.USub | ast.Invert)
        case ast.AugAssign(op=op, value=value):
            return value is node and isinstance(op, _ELEMENTWISE)
        case ast.GeneratorExp(elt=element):
            return element is node and _summed(source, holder)
        case ast.Call():
            return tools.numpy_function(source, holder) in _UFUNCS and node in holder.args
    return False


def _summed(source: Source, node: ast.GeneratorExp) -> bool:
    holder = tools.parents(source)[node]
    return (
        isinstance(holder, ast.Call)
        and isinstance(holder.func, ast.Name)
        and holder.func.id == "sum"
        and len(holder.args) == 1
        and tools.is_builtin(source, "sum")
    )


def unknown_call(source: Source, node: ast.AST) -> ast.AST | None:
    """The first call (or await, yield) that might change an array behind our back."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return inner
        if not isinstance(inner, ast.Call):
            continue
        if any(keyword.arg == "out" for keyword in inner.keywords):
            return inner
        known = tools.numpy_function(source, inner) in PURE_NUMPY
        match inner.func:
            case ast.Name(id=name):
                known = name in PURE_BUILTINS and tools.is_builtin(source, name)
            case ast.Attribute(attr=attr) if not known:
                known = attr in PURE_METHODS
        if not known:
            return inner
    return None
