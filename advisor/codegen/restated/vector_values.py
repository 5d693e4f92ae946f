"""What an expression over vectors of a few numbers is worth: one expression for each component."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...model import ValueInfo
from ..nb_values import Unsupported

WIDEST = 8
"""Components that a vector may have."""
FLOAT64 = "float64"
"""Type of a NumPy number; Python's are "float", "int", "bool", and "" is one that is not known."""
CALLER = ""
"""Among the owners of a vector: somebody outside."""
_NUMERIC = ("bool", "int", "float", FLOAT64)


@dataclass(frozen=True)
class Number:
    """One number."""

    node: ast.expr
    type: str = ""


@dataclass(frozen=True)
class Vector:
    """An array, list or tuple of a few numbers, or a tuple of vectors."""

    kind: str
    items: tuple[Number | Vector, ...]
    place: bool = False
    """The components are elements of an object that is there: ``row[0]``, not ``row_0``."""
    owners: frozenset[str] = frozenset()
    """Variables that may stand for the same object; empty for a new one."""


@dataclass(frozen=True)
class Function:
    """A function of the module, as a value."""

    name: str


@dataclass(frozen=True)
class Other:
    """Anything else, a large array among them."""

    node: ast.expr
    info: ValueInfo | None = None
    rank: int = 0
    """Axes that are left, of an array or a list of lists."""


@dataclass(frozen=True)
class Object:
    """An object whose methods are called."""

    path: str
    """What it is called in the loop."""


Value = Number | Vector | Function | Object | Other
Env = Mapping[str, Value]


def owners_of(value: Value) -> frozenset[str]:
    """Variables that may stand for the vector, or for one in it."""
    if not isinstance(value, Vector):
        return frozenset()
    return value.owners.union(*(owners_of(item) for item in value.items))


def flat(value: Number | Vector) -> Iterator[Number]:
    """The numbers of a vector, those of the vectors in it included."""
    if isinstance(value, Number):
        yield value
        return
    for item in value.items:
        yield from flat(item)


def shape_of(value: Value) -> object:
    """What two values must share for one variable to hold either."""
    match value:
        case Vector(kind=kind, items=items):
            return (kind, tuple(shape_of(item) for item in items))
        case Function(name=name):
            return name
        case Object(path=path):
            return f"object {path}"
        case Number():
            return "number"
    return "other"


def typed_shape(value: Value) -> object:
    """As `shape_of`, with the types of the numbers: functions are looked at once for each."""
    match value:
        case Vector(kind=kind, items=items):
            return (kind, tuple(typed_shape(item) for item in items))
        case Number(type=type_):
            return type_ or "number"
        case Other(rank=rank):
            return ("other", rank)
    return shape_of(value)


def join(name: str, one: Value, other: Value, line: int) -> Value:
    """The value of a variable behind two ways. Raises Unsupported."""
    if one == other:
        return one
    match one, other:
        case Number(), Number():
            return replace(one, type=one.type if one.type == other.type else "")
        case Vector(), Vector() if shape_of(one) == shape_of(other) and one.place == other.place:
            pairs = zip(one.items, other.items, strict=True)
            items = [join(name, a, b, line) for a, b in pairs]
            numbers = tuple(i for i in items if isinstance(i, Number | Vector))
            return replace(one, items=numbers, owners=one.owners | other.owners)
        case Other(), Other():
            return one
    if isinstance(one, Vector) or isinstance(other, Vector) or isinstance(one, Function):
        raise Unsupported(f"{name} is a vector of another kind, or none, on some paths", line)
    return Other(ast.Name(name, ast.Load()))


def joined(one: Env, other: Env, line: int) -> dict[str, Value]:
    """Both environments; what only one of them knows is as it is there."""
    result = {**one, **other}
    for name in one.keys() & other.keys():
        result[name] = join(name, one[name], other[name], line)
    return result


def result_type(op: ast.operator, left: str, right: str, right_node: ast.expr) -> str:
    """The type of ``left op right`` for numbers; empty where it is not known."""
    if left not in _NUMERIC or right not in _NUMERIC:
        return ""
    if FLOAT64 in (left, right):
        return FLOAT64
    if isinstance(op, ast.Div):
        return "float"
    if isinstance(op, ast.Pow):
        # (-0.5) ** 0.5 is complex, 2 ** -1 a float
        whole = isinstance(right_node, ast.Constant) and isinstance(right_node.value, int)
        return "float" if whole and left == "float" else ""
    if isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod):
        return "float" if "float" in (left, right) else "int"
    return ""


def seen_number(info: ValueInfo) -> str | None:
    """The type of a number that was seen; None if it is no number."""
    if info.kind in ("bool", "int", "float"):
        return info.kind
    if info.kind == "numpy_scalar":
        return FLOAT64 if info.dtype == "float64" else ""
    return None


def seen_width(info: ValueInfo) -> int | None:
    """How many components a value seen has as a vector; None if it is none, or varies."""
    number = element_type(info)
    if info.ndim != 1 or number is None or info.shape is None or info.shape[0] is None:
        return None
    return info.shape[0] if 1 <= info.shape[0] <= WIDEST else None


def element_type(info: ValueInfo) -> str | None:
    """The type of the elements of an array, list or tuple; None if they cannot be components."""
    if info.kind == "ndarray":
        return FLOAT64 if info.dtype == "float64" else None
    if info.kind in ("list", "tuple") and info.element is not None:
        return info.element.kind if info.element.kind in ("int", "float") else None
    return None


def element(owner: ast.expr, place: int) -> ast.expr:
    """``owner[place]``."""
    return ast.Subscript(owner, ast.Constant(place), ast.Load())


def is_atom(node: ast.expr) -> bool:
    """Whether writing it twice costs nothing: ``x``, ``2.0``, ``-x``, ``row[i, 0]``."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return is_atom(operand)
        case ast.Attribute(value=value):
            return is_atom(value)
        case ast.Subscript(value=value, slice=index):
            return is_atom(value) and is_atom(index)
        case ast.Tuple(elts=elts):
            return all(map(is_atom, elts))
        case ast.BinOp(left=ast.Name(), op=ast.Add() | ast.Sub(), right=ast.Constant()):
            return True
    return False
