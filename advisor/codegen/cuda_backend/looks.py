"""Statements of a time loop that look at its arrays: a mean printed every hundred steps.

Their arrays come to the host right before them. They may read elements and compute new values, but
leave nothing behind that shares memory with an array, which the device's next step would not reach.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...layout import LEVEL
from ...loopnest.scope import module_of
from ...model import Source, ValueInfo

_BUILT_INS = frozenset(
    ("abs", "bool", "float", "format", "int", "len", "max", "min", "print", "round", "str", "range")
)
_READING = frozenset(
    {
        *("all", "any", "argmax", "argmin", "copy", "item", "max", "mean", "min", "round"),
        *("std", "sum", "tolist", "trace", "var"),
    }
)
"""Methods of arrays that give something new."""
_NUMPY = frozenset(
    {
        *("abs", "all", "allclose", "amax", "amin", "any", "argmax", "argmin", "array_equal"),
        *("copy", "count_nonzero", "exp", "isfinite", "isnan", "linalg.norm", "log", "max"),
        *("maximum", "mean", "median", "min", "minimum", "round", "sqrt", "std", "sum", "var"),
    }
)
_KEYWORDS = frozenset(("axis", "decimals", "ddof", "end", "flush", "keepdims", "ord", "sep"))
"""Arguments by name: ``out=`` would write to an array, ``key=`` call a function."""
_TWO = frozenset(
    {
        *("all", "allclose", "amax", "amin", "any", "argmax", "argmin", "array_equal"),
        *("linalg.norm", "max", "maximum", "mean", "median", "min", "minimum", "round"),
        *("std", "sum", "var"),
    }
)
"""NumPy's functions whose second argument is no array to be written to."""
_SHAPES = frozenset(("shape", "size", "ndim"))
_DATA = frozenset(("ndarray", "bool", "int", "float", "numpy_scalar", "str", "none"))
_PURE = (
    *(ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp),
    *(ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.List, ast.Slice, ast.keyword),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context),
)


@dataclass(frozen=True)
class Looker:
    """Which statements only look. ``numpy``: what the file calls it."""

    source: Source
    numpy: str | None
    arrays: frozenset[str]
    stored: frozenset[str]
    """Names that the steps bind."""
    seen: Callable[[str], ValueInfo | None]
    """What was observed of a variable when the loop was entered."""

    def may(self, statement: ast.stmt) -> bool:
        """Whether a statement reads arrays at most, and keeps no part of one."""
        match statement:
            case ast.Pass() | ast.Break():
                return True
            case ast.If(test=test, body=body, orelse=orelse):
                return self._reads(test) and all(map(self.may, (*body, *orelse)))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return name not in self.arrays and self._reads(value) and self._new(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                return name not in self.arrays and self._reads(value)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call):
                return self._reads(call)
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=holder), attr="append"),
                    args=[value],
                    keywords=[],
                )
            ):
                return self._is_list(holder) and self._reads(value) and self._new(value)
        return False

    def _reads(self, value: ast.expr) -> bool:
        """Whether computing it changes nothing."""
        return all(self._is_pure(node) and not self._divides(node) for node in _own(value))

    def _is_pure(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name):
                seen = self.seen(name)  # print(report)   may look at whatever it holds
                return seen is None or seen.kind in _DATA
            case ast.keyword(arg=name):
                return name in _KEYWORDS
            case ast.Call(func=ast.Name(id=name)):
                return name in _BUILT_INS and not module_of(self.source).bound(name)
            case ast.Call(func=ast.Attribute() as function):
                return self._is_known(function, len(node.args))
            case ast.Attribute(value=base, attr=attr):
                return attr in _SHAPES and isinstance(base, ast.Name) and base.id in self.arrays
            case ast.Subscript(value=base):
                return isinstance(base, ast.Name) and base.id in self.arrays
        return isinstance(node, _PURE)

    def _divides(self, node: ast.AST) -> bool:
        """Whether it may divide by zero: what Python raises, NumPy does not."""
        if not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            return False
        if isinstance(node.op, ast.Pow):
            return not _is_positive(node.right)
        return (
            not _is_positive(node.right)
            and self.steady_divisor(node) is None
            and not (
                isinstance(node.right, ast.Subscript)
                or (isinstance(node.right, ast.Call) and isinstance(node.right.func, ast.Attribute))
            )
        )

    def steady_divisor(self, node: ast.AST) -> str | None:
        """A number that no step changes, and that something is divided by."""
        match node:
            case ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=ast.Name(id=name)):
                seen = self.seen(name)
                number = seen is not None and seen.kind in ("int", "float")
                return name if number and name not in self.stored else None
        return None

    def _is_known(self, function: ast.Attribute, given: int) -> bool:
        """``u.mean``, ``np.linalg.norm``, ``(u - v).max``, ``abs(u).sum``."""
        path = ast.unparse(function)
        if _is_path(function) and path.startswith(f"{self.numpy}."):
            name = path.removeprefix(f"{self.numpy}.")
            return name in _NUMPY and given <= (2 if name in _TWO else 1)
        base = function.value
        if isinstance(base, ast.Name) and base.id not in self.arrays:
            return False  # whatever it is, the method may change it
        known = function.attr in _READING and not isinstance(base, ast.Constant)
        return known and given <= 1

    def _new(self, value: ast.expr) -> bool:
        """Whether the value shares no memory with an array: no array itself, and no part of one."""
        match value:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return all(map(self._new, parts))
            case ast.Name(id=name):
                return name not in self.arrays
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                seen = self.seen(name)
                return (
                    seen is not None
                    and len(parts) == seen.ndim
                    and not any(
                        isinstance(part, ast.Slice) or self._has_array(part) for part in parts
                    )
                )
            case ast.IfExp(body=one, orelse=other):
                return self._new(one) and self._new(other)
            case ast.BoolOp(values=values):
                return all(map(self._new, values))
        return isinstance(
            value, ast.Call | ast.Constant | ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr
        )

    def _is_list(self, name: str) -> bool:
        seen = self.seen(name)
        return seen is not None and seen.kind == "list"

    def _has_array(self, node: ast.expr) -> bool:
        return bool(arrays_read(node, self.arrays))


def _own(value: ast.expr) -> Iterator[ast.AST]:
    """The nodes of an expression; of a method that is called, what it is called on."""
    todo: list[ast.AST] = [value]
    while todo:
        node = todo.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Call) and child is node.func:
                if isinstance(child, ast.Attribute) and not _is_path(child):
                    todo.append(child.value)
            else:
                todo.append(child)


def _is_positive(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def arrays_read(node: ast.AST, arrays: frozenset[str]) -> list[str]:
    """The arrays named in it, whose elements it needs."""
    found: dict[str, None] = {}
    shapes = {
        id(part.value)
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr in _SHAPES
    }
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in arrays and id(part) not in shapes:
            found.setdefault(part.id)
    return list(found)


def appended(statement: ast.stmt) -> Iterator[str]:
    """Lists that the statement appends to."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=holder), attr="append")):
                yield holder


def look_lines(
    statement: ast.stmt, arrays: frozenset[str], fetched: Callable[[str], str | None]
) -> Iterator[str]:
    """The statement, with the arrays that it looks at fetched as late as can be.

    ``fetched``: the line that does it; None for arrays that the host has.
    """
    if isinstance(statement, ast.If) and not arrays_read(statement.test, arrays):
        yield f"if {ast.unparse(statement.test)}:"
        yield from (LEVEL + line for line in _block(statement.body, arrays, fetched))
        if statement.orelse:
            yield "else:"
            yield from (LEVEL + line for line in _block(statement.orelse, arrays, fetched))
    else:
        yield from _block([statement], arrays, fetched)


def _block(
    body: Sequence[ast.stmt], arrays: frozenset[str], fetched: Callable[[str], str | None]
) -> Iterator[str]:
    names = [name for statement in body for name in arrays_read(statement, arrays)]
    for line in map(fetched, dict.fromkeys(names)):
        if line is not None:
            yield line
    for statement in body:
        yield from ast.unparse(statement).split("\n")
