"""What is known of a value in a loop over whole arrays: kind, dtype, and a symbolic shape.

An extent is ``max(0, n - cut)`` for the extent ``n`` of one axis of a representative array, so two
extents with the same axis and the same cut are equal whatever ``n`` is, also where it is 0 or 1.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, replace

import numpy as np

from ..model import Source, ValueInfo
from . import ast_tools as tools
from . import rolls

DTYPES = frozenset({"float64", "float32", "complex128", "complex64", "int64", "bool"})
"""Dtypes whose promotion with Python numbers is the same in all versions of NumPy."""
_FLOATS = frozenset({"float64", "float32"})
ELEMENTARY = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.USub: "negative",
    ast.Invert: "invert",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
UNARY = frozenset(
    [
        "negative",
        "absolute",
        "abs",
        "fabs",
        "sqrt",
        "square",
        "reciprocal",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "tanh",
        "sinh",
        "cosh",
        "arctan",
        "floor",
        "ceil",
        "sign",
    ]
)
BINARY = frozenset(
    ["add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "power", "hypot"]
)
_SCALARS = {"float": 1.5, "int": 2, "complex": 1.5j, "float64": np.float64(1.5)}


@dataclass(frozen=True)
class Axis:
    """An extent: of one axis of the representative array, less a constant."""

    base: str
    axis: int
    cut: int = 0


@dataclass(frozen=True)
class Array:
    """An array of exactly the type ``numpy.ndarray`` whose strides fall from axis to axis."""

    shape: tuple[Axis, ...]
    dtype: str
    made: frozenset[tuple[int, int]] = frozenset()
    """``(statement, age)``: the array may be the one made so many executions of it ago."""
    whole: bool = True
    """Not a view of a part: C-contiguous."""


@dataclass(frozen=True)
class Scalar:
    """A number of exactly this type: ``float``, ``int``, ``complex`` or NumPy's ``float64``."""

    kind: str


@dataclass(frozen=True)
class Other:
    """Nothing is known but that it may be one of these arrays."""

    made: frozenset[tuple[int, int]]


Value = Array | Scalar | Other
Env = dict[str, Value]


def dotted(node: ast.AST) -> str | None:
    """``"self.u"`` for a name or a chain of attributes on a name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            base = dotted(value)
            return f"{base}.{attr}" if base is not None else None
    return None


# ------------------------------------------------------------------- at entry
def from_observation(values: dict[str, ValueInfo]) -> Env:
    """The values at the entry of the loop, as far as the emitted guard can test for them."""
    found: Env = {}
    families: list[tuple[str, tuple[int, ...]]] = []
    for name, info in values.items():
        if info.kind in ("float", "int", "complex") and info.type_name == f"builtins.{info.kind}":
            found[name] = Scalar(info.kind)
        elif info.kind == "numpy_scalar" and info.type_name == "numpy.float64":
            found[name] = Scalar("float64")
        elif _is_plain(info):
            found[name] = Array(_axes(name, info.max_shape or (), families), info.dtype or "")
    return found


def _is_plain(info: ValueInfo) -> bool:
    return (
        info.kind == "ndarray"
        and info.type_name == "numpy.ndarray"
        and info.dtype in DTYPES
        and bool(info.max_shape)
        and info.c_contiguous
    )


def _axes(
    name: str, extents: tuple[int, ...], families: list[tuple[str, tuple[int, ...]]]
) -> tuple[Axis, ...]:
    """Extents as those of a known array of nearly this size, as on a staggered grid."""
    for base, known in families:
        near = len(known) == len(extents)
        if near and all(abs(a - b) <= 2 for a, b in zip(known, extents, strict=True)):
            pairs = enumerate(zip(known, extents, strict=True))
            return tuple(Axis(base, axis, a - b) for axis, (a, b) in pairs)
    families.append((name, extents))
    return tuple(Axis(name, axis) for axis in range(len(extents)))


# ---------------------------------------------------------------- expressions
@dataclass(frozen=True)
class Operation:
    """An element-wise function of NumPy, with its operands."""

    name: str
    operands: tuple[ast.expr, ...]


def operation(source: Source, node: ast.expr) -> Operation | None:
    """The function a node stands for, as ``u + v`` stands for ``np.add(u, v)``."""
    match node:
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(left, right)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ELEMENTARY:
            return Operation(ELEMENTARY[type(op)], (left, right))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in ELEMENTARY:
            return Operation(ELEMENTARY[type(op)], (operand,))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in ELEMENTARY:
            return Operation(ELEMENTARY[type(op)], (left, right))
        case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
            return Operation("absolute", (inner,)) if tools.is_builtin(source, "abs") else None
        case ast.Call(args=args, keywords=[]) if not any(_starred(a) for a in args):
            name = tools.numpy_function(source, node)
            wanted = 1 if name in UNARY else 2 if name in BINARY else None
            return Operation(str(name), tuple(args)) if wanted == len(args) else None
    return None


def _starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _power(left: ast.expr, right: ast.expr) -> Operation | None:
    """``u**2`` is ``np.square(u)`` in NumPy itself, ``u**0.5`` its square root."""
    match right:
        case ast.Constant(value=int() | float() as exponent) if exponent in (2, 0.5):
            return Operation("square" if exponent == 2 else "sqrt", (left,))
        # u**n with n = 2 is np.square(u), which np.power(u, n) is not; u**1 and u**-1 likewise
        case ast.Constant(value=int() | float() as exponent) if exponent > 2:
            return Operation("power", (left, right))
    return None


def value_of(source: Source, node: ast.expr, env: Env) -> Value | None:
    """What is known of an expression's value; None: nothing."""
    match node:
        case ast.Constant(value=float() | complex() as number) if not isinstance(number, int):
            return Scalar(type(number).__name__)
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return Scalar("int") if abs(number) < 2**53 else None
        case ast.Name() | ast.Attribute():
            return env.get(dotted(node) or "")
        case ast.Subscript(value=base, slice=index):
            array = value_of(source, base, env)
            return _view(array, index) if isinstance(array, Array) else None
    copied = copied_array(source, node)
    filled = filled_array(source, node)
    if copied is not None or filled is not None:
        known = value_of(source, copied or filled[0], env)  # type: ignore[index]
        if filled is not None and filled[0] is not _model(node) and isinstance(known, Array):
            known = replace(known, dtype="float64")
        return replace(known, made=frozenset(), whole=True) if isinstance(known, Array) else None
    rolled = rolled_array(source, node, env)
    if rolled is not None:
        return rolled
    chosen = chosen_arrays(source, node)
    if chosen is not None:
        mask, *others = [value_of(source, each, env) for each in chosen]
        return _chosen(mask, others)
    done = operation(source, node)
    if done is None:
        return None
    operands = [value_of(source, operand, env) for operand in done.operands]
    certain = [operand for operand in operands if isinstance(operand, Array | Scalar)]
    return _result(done, certain, node) if len(certain) == len(operands) else None


def copied_array(source: Source, node: ast.expr) -> ast.expr | None:
    """``u`` in ``u.copy()`` and ``np.copy(u)``: C-contiguous copies, as ``u`` is."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="copy"), args=[], keywords=[]):
            return value
        case ast.Call(args=[value], keywords=[]):
            return value if tools.numpy_function(source, node) == "copy" else None
    return None


def chosen_arrays(source: Source, node: ast.expr) -> tuple[ast.expr, ...] | None:
    """``mask, u, v`` in ``np.where(mask, u, v)``."""
    match node:
        case ast.Call(args=[_, _, _], keywords=[]):
            return tuple(node.args) if tools.numpy_function(source, node) == "where" else None
    return None


def _chosen(mask: Value | None, values: list[Value | None]) -> Array | None:
    """The result of ``np.where`` over arrays of one shape, and numbers of the arrays' own kind."""
    arrays = [each for each in (mask, *values) if isinstance(each, Array)]
    dtypes = {each.dtype for each in values if isinstance(each, Array)}
    numbers = {each.kind for each in values if isinstance(each, Scalar)}
    if not isinstance(mask, Array) or len({each.shape for each in arrays}) != 1:
        return None
    if None in values or len(dtypes) > 1:
        return None
    if not dtypes:
        # np.where(mask, 1, 0)
        kinds = {frozenset({"int"}): "int64", frozenset({"float"}): "float64"}
        dtype = kinds.get(frozenset(numbers))
        return Array(mask.shape, dtype) if dtype else None
    # np.where(mask, u, 0.5) of a float64 array; of another one, promotion is a matter of versions
    if numbers and (dtypes != {"float64"} or not numbers <= {"float", "int", "float64"}):
        return None
    return Array(mask.shape, dtypes.pop())


def filled_array(source: Source, node: ast.expr) -> tuple[ast.expr, int] | None:
    """``u`` and 0 in ``np.zeros_like(u)`` and ``np.zeros(u.shape)``, which makes float64."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    match tools.numpy_function(source, node), node.args[0]:
        case "zeros_like" | "ones_like" as name, array:
            return array, int(name == "ones_like")
        case "zeros" | "ones" as name, ast.Attribute(value=array, attr="shape"):
            return array, int(name == "ones")
    return None


def rolled_array(source: Source, node: ast.expr, env: Env) -> Array | None:
    """A copy of an array shifted by constants along its axes, each at most once and not far."""
    roll = rolls.parse(source, node)
    known = env.get(dotted(roll.base) or "") if roll is not None else None
    if roll is None or not isinstance(known, Array):
        return None
    ndim = len(known.shape)
    if any(shift.name is not None or abs(shift.constant) > 8 for shift in roll.shifts.values()):
        return None
    # Without an axis, np.roll shifts the flattened array.
    if None in roll.shifts and (ndim != 1 or len(roll.shifts) != 1):
        return None
    axes = [axis for axis in roll.shifts if axis is not None]
    # np.roll(np.roll(u, 1, axis=0), 1, axis=-2)    shifts one axis twice
    if any(not -ndim <= axis < ndim for axis in axes) or len({a % ndim for a in axes}) < len(axes):
        return None
    return replace(known, made=frozenset(), whole=True)


def _model(node: ast.expr) -> ast.expr | None:
    return node.args[0] if isinstance(node, ast.Call) else None


def is_made(source: Source, node: ast.expr) -> bool:
    """Whether evaluating the node makes a new array, if its value is one."""
    makers = (copied_array, filled_array, chosen_arrays, operation)
    return any(maker(source, node) is not None for maker in makers)


def _view(array: Array, index: ast.expr) -> Array | None:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if len(parts) > len(array.shape):
        return None
    axes = list(array.shape)
    for number, part in enumerate(parts):
        cut = _cut(part)
        if cut is None:
            return None
        axes[number] = replace(axes[number], cut=axes[number].cut + cut)
    return replace(array, shape=tuple(axes), whole=False)


def _cut(part: ast.expr) -> int | None:
    """Cells that ``start:-stop`` leaves out."""
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    total = 0
    match part.lower:
        case None:
            pass
        case ast.Constant(value=int() as start) if not isinstance(start, bool):
            total += start
        case _:
            return None
    match part.upper:
        case None:
            return total
        # u[:-0] is empty, u[1:5] counts from the front
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as stop)) if stop > 0:
            return total + stop
    return None


def _result(done: Operation, operands: list[Array | Scalar], node: ast.expr) -> Value | None:
    arrays = [operand for operand in operands if isinstance(operand, Array)]
    if not arrays:
        return _number(done, [o.kind for o in operands if isinstance(o, Scalar)], node)
    # u + u[0]: the result's shape is not the first operand's
    if len({array.shape for array in arrays}) != 1:
        return None
    dtypes = {array.dtype for array in arrays}
    kinds = {operand.kind for operand in operands if isinstance(operand, Scalar)}
    # float32 array * np.float64 number: float64 in NumPy 2, float32 before
    if "float64" in kinds and not dtypes <= {"float64", "complex128"}:
        return None
    # Of int64 arrays, u**0.5 is no square root in all versions of NumPy.
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and dtypes - _FLOATS:
        return None
    dtype = _dtype(done.name, operands)
    return Array(arrays[0].shape, dtype) if dtype in DTYPES else None


def _dtype(name: str, operands: list[Array | Scalar]) -> str | None:
    """The dtype NumPy gives, found by asking it."""
    samples = [
        np.ones(2, operand.dtype) if isinstance(operand, Array) else _SCALARS[operand.kind]
        for operand in operands
    ]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(getattr(np, name)(*samples).dtype)
    except TypeError:
        return None


def _number(done: Operation, kinds: list[str], node: ast.expr) -> Scalar | None:
    """The type of an operation on numbers."""
    if isinstance(node, ast.Call):
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        # 2 ** -1 is a float, (-2.0) ** 0.5 complex
        match node.right:
            case ast.Constant(value=int() as exponent) if 0 <= exponent <= 8:
                return Scalar(kinds[0])
        return None
    # np.float64 with complex: a NumPy scalar of another type
    if "complex" in kinds:
        simple = done.name in ("add", "subtract", "multiply", "divide", "negative")
        return Scalar("complex") if simple and "float64" not in kinds else None
    if done.name == "divide":
        return Scalar("float64" if "float64" in kinds else "float")
    if done.name in ("add", "subtract", "multiply", "negative"):
        order = [kind for kind in ("float64", "float", "int") if kind in kinds]
        return Scalar(order[0])
    return None


def join(a: Env, b: Env) -> Env:
    """What holds on both of two ways through the program."""
    found: Env = {}
    for name in {**a, **b}:
        x, y = a.get(name), b.get(name)
        if isinstance(x, Array) and isinstance(y, Array) and _alike(x, y):
            found[name] = replace(x, made=x.made | y.made, whole=x.whole and y.whole)
        elif x == y and x is not None:
            found[name] = x
        elif made := made_by(x) | made_by(y):
            found[name] = Other(made)
    return found


def _alike(x: Array, y: Array) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype


def made_by(value: Value | None) -> frozenset[tuple[int, int]]:
    """The arrays of the loop that the value may be."""
    return value.made if isinstance(value, Array | Other) else frozenset()
