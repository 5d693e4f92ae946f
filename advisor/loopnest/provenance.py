"""What the statements before a loop prove about the values it starts with.

``n, m = grid.shape`` makes ``n`` an extent of ``grid``; ``new = np.zeros((n, m))`` gives ``new``
its extents, its fill, and an owner; ``s = 0.0`` gives ``s`` its value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..model import SiteObservation, Source
from . import typing_rules as typing
from .ir import PY_INT, Allocation, Binary, Const, Dim, Expr, Kind, Var, walk
from .mentions import mentioned, only_indexed, reshaped, stored, stored_paths
from .scope import Literal, declared, dotted, literal, local_names, module_of, own_nodes

_FILLS: dict[str, bool | int | float | None] = {
    "numpy.zeros": 0,
    "numpy.ones": 1,
    "numpy.empty": None,
    "numpy.full": None,
    "numpy.zeros_like": 0,
    "numpy.ones_like": 1,
    "numpy.empty_like": None,
    "numpy.full_like": None,
    "numpy.copy": None,
    "numpy.array": None,
}
_HARMLESS = frozenset(
    [
        "len",
        "range",
        "int",
        "float",
        "abs",
        "min",
        "max",
        "print",
        "round",
        "sum",
        "zip",
        "enumerate",
        "list",
        "tuple",
        "str",
    ]
)
"""Built-ins that do not bind attributes of the user's objects."""


@dataclass(frozen=True)
class _Definition:
    """The statement that gave a name the value it has when the loop starts."""

    statement: ast.stmt
    value: ast.expr
    position: int | None
    """Which part of the value, where a tuple is unpacked."""
    between: tuple[ast.stmt, ...]
    """All that may run between it and the loop."""
    same_trip: bool
    """No loop lies around the nest that does not also hold the definition."""


class Provenance:
    """Definitions that reach one loop."""

    def __init__(
        self,
        source: Source,
        function: ast.FunctionDef | None,
        loop: ast.For | ast.While,
        observation: SiteObservation,
    ) -> None:
        self.module = module_of(source)
        self.function = function
        self.loop = loop
        self.observation = observation
        self.local = local_names(function)
        scope: ast.FunctionDef | ast.Module = source.tree if function is None else function
        self.blocks = _blocks_around(scope.body, loop) or []
        self.rebound = {
            name
            for node in ast.walk(scope)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not scope
            for name in declared(node)
        }

    def definition(self, name: str) -> _Definition | None:
        """The one statement whose value reaches the loop's entry, None if not certain."""
        if "." in name or name in self.rebound:
            return None
        if self.function is not None and name not in self.local:
            return None
        between: list[ast.stmt] = []
        same_trip = True
        for block, position, owner in reversed(self.blocks):
            for statement in reversed(block[:position]):
                value = _defines(statement, name)
                if value is not None:
                    return _Definition(statement, *value, tuple(between), same_trip)
                if name in stored(statement):
                    return None
                between.append(statement)
            if isinstance(owner, ast.For | ast.While | ast.AsyncFor):
                # the value of the trip before flows around: the whole body must leave it alone
                if name in stored(owner):
                    return None
                between.append(owner)
                same_trip = False
        return None

    # ----------------------------------------------------------- questions
    def literal(self, name: str) -> Literal | None:
        """The number the name holds at entry."""
        found = self.definition(name)
        if found is None or found.position is not None:
            return None
        return literal(found.value)

    def equal_extents(self, name: str) -> tuple[tuple[str, int], ...]:
        """Extents that the name is known to equal."""
        found = self.definition(name)
        if found is None:
            return ()
        extent = self._extent_of(found.value, found.position)
        if extent is None or not self._same_array(extent[0], found.between):
            return ()
        return (extent,)

    def allocation(self, name: str) -> Allocation | None:
        """How the array was made, if nothing mentions it between there and the loop."""
        found = self.definition(name)
        if found is None or found.position is not None or not found.same_trip:
            return None
        if any(name in mentioned(statement) for statement in found.between):
            return None
        made = self._made_by(found.value)
        if made is None:
            return None
        return Allocation(made[0], found.statement.lineno, found.statement, made[1])

    def extents(self, name: str, ndim: int) -> tuple[Expr | None, ...]:
        """Extents of an array by its allocation, () if unknown."""
        found = self.definition(name)
        if found is None or found.position is not None or not self._same_shape(name, found):
            return ()
        shape = self._shape(found.value, ndim)
        if shape is None or len(shape) != ndim:
            return ()
        inside = (*found.between, self.loop)
        return tuple(e if e is not None and self._steady(e, inside) else None for e in shape)

    # ------------------------------------------------------------- details
    def _canonical(self, node: ast.expr) -> str | None:
        path = dotted(node)
        if path is None:
            return None
        head, _, rest = path.partition(".")
        if head in self.local:
            return None
        base = self.module.imports.get(head)
        if base is None:
            return None
        return f"{base}.{rest}" if rest else base

    def _extent_of(self, value: ast.expr, position: int | None) -> tuple[str, int] | None:
        match value:
            case ast.Attribute(value=owner, attr="shape") if position is not None:
                return self._axis(owner, position)
            case ast.Subscript(
                value=ast.Attribute(value=owner, attr="shape"),
                slice=ast.Constant(value=int() as axis),
            ) if position is None and axis >= 0:
                return self._axis(owner, axis)
            case ast.Attribute(value=owner, attr="size") if position is None:
                path = dotted(owner)
                info = self.observation.values.get(path or "")
                if info is not None and info.kind == "ndarray" and info.ndim == 1:
                    return self._axis(owner, 0)
            case ast.Call(func=ast.Name(id="len"), args=[owner]) if position is None:
                axis = 0
                while isinstance(owner, ast.Subscript):
                    # len(rows[0]) is an extent of a regular list of lists
                    owner, axis = owner.value, axis + 1
                return self._axis(owner, axis)
            case ast.Tuple(elts=elts) if position is not None and position < len(elts):
                return self._extent_of(elts[position], None)
        return None

    def _axis(self, owner: ast.expr, axis: int) -> tuple[str, int] | None:
        path = dotted(owner)
        return None if path is None else (path, axis)

    def _same_array(self, path: str, between: tuple[ast.stmt, ...]) -> bool:
        """Whether the path still names an array of the same shape."""
        info = self.observation.values.get(path)
        if info is None or info.kind not in ("ndarray", "list", "tuple", "bytearray"):
            return False
        head, dot, _ = path.partition(".")
        if self.function is not None and head not in self.local:
            return False  # a global may be bound anew by anybody
        for statement in (*between, self.loop):
            if head in stored(statement) or path in stored_paths(statement):
                return False
            if dot and not self._calm(statement):
                return False
            if info.kind != "ndarray" and not only_indexed(statement, path):
                return False
            if info.kind == "ndarray" and reshaped(statement, path):
                return False
        return True

    def _calm(self, statement: ast.stmt) -> bool:
        """No call that could bind an attribute: step() may replace self.u."""
        for node in (statement, *own_nodes(statement)):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Name) and node.func.id in _HARMLESS:
                continue
            canonical = self._canonical(node.func)
            if canonical is None or not canonical.startswith(("numpy.", "math.")):
                return False
        return True

    def _made_by(
        self, value: ast.expr, bound: frozenset[str] = frozenset()
    ) -> tuple[str, bool | int | float | None] | None:
        match value:
            case ast.Call(func=func, args=args):
                canonical = self._canonical(func)
                if canonical in _FILLS:
                    fill = _FILLS[canonical]
                    if canonical in ("numpy.full", "numpy.full_like") and len(args) > 1:
                        number = literal(args[1])
                        fill = None if isinstance(number, complex) else number
                    return canonical, fill
                match func:
                    case ast.Attribute(attr="copy", value=owner) if not args:
                        info = self.observation.values.get(dotted(owner) or "")
                        if info is not None and info.kind == "ndarray":
                            return "numpy.copy", None
                    case ast.Name(id="list") if not args:
                        return "list", None
            case ast.List(elts=[]):
                return "list", None
            case ast.BinOp(left=ast.List(elts=[element]), op=ast.Mult()):
                return "list", self._fill(element, bound)
            case ast.ListComp(elt=element, generators=generators):
                # [[k] * n for k in range(m)]: k is no constant of the module here
                bound |= {name for g in generators for name in stored(g.target)}
                inner = self._made_by(element, bound)
                if inner is not None and inner[0] == "list":
                    return "list", inner[1]
                if isinstance(element, ast.List):
                    return "list", self._one_fill(element.elts, bound)
                return "list", self._fill(element, bound)
        return None

    def _fill(self, element: ast.expr, bound: frozenset[str]) -> bool | int | float | None:
        """The number that every element has: a literal, or a constant of the module."""
        number = literal(element)
        if isinstance(element, ast.Name) and element.id not in self.local | bound:
            number = self.module.constant(element.id)
        return None if isinstance(number, complex) else number

    def _one_fill(
        self, elements: list[ast.expr], bound: frozenset[str]
    ) -> bool | int | float | None:
        """The number that all elements of ``[0.0, 0.0, 0.0]`` are."""
        numbers = [self._fill(element, bound) for element in elements]
        return numbers[0] if len(set(map(repr, numbers))) == 1 else None

    def _shape(self, value: ast.expr, ndim: int) -> tuple[Expr | None, ...] | None:
        match value:
            case ast.Call(func=ast.Attribute(attr="copy", value=owner), args=[]):
                return self._shape_like(owner, ndim)
            case ast.Call(func=func, args=[first, *_]):
                canonical = self._canonical(func) or ""
                if canonical.endswith("_like") or canonical == "numpy.copy":
                    return self._shape_like(first, ndim)
                if canonical in ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full"):
                    return self._shape_literal(first, ndim)
            case ast.BinOp(left=ast.List(elts=[_]), op=ast.Mult(), right=count) if ndim == 1:
                return (self._expr(count),)
            case ast.ListComp(elt=element, generators=[generator]) if not generator.ifs:
                outer = self._count(generator.iter)
                inner = self._shape(element, ndim - 1) if ndim > 1 else ()
                return None if inner is None else (outer, *inner)
        return None

    def _count(self, node: ast.expr) -> Expr | None:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[stop]):
                return self._expr(stop)
        return None

    def _shape_like(self, owner: ast.expr, ndim: int) -> tuple[Expr | None, ...] | None:
        path = dotted(owner)
        info = self.observation.values.get(path or "")
        if path is None or info is None or info.kind != "ndarray" or info.ndim != ndim:
            return None
        return tuple(Dim(PY_INT, owner.lineno, path, k) for k in range(ndim))

    def _shape_literal(self, node: ast.expr, ndim: int) -> tuple[Expr | None, ...] | None:
        match node:
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return tuple(self._expr(e) for e in elts)
            case ast.Attribute(attr="shape", value=owner):
                return self._shape_like(owner, ndim)
        return (self._expr(node),) if ndim == 1 else None

    def _expr(self, node: ast.expr) -> Expr | None:
        """A shape expression over scalars and extents."""
        line = node.lineno
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return Const(PY_INT, line, value)
            case ast.Name(id=name):
                if name not in self.local:
                    number = self.module.constant(name)
                    if isinstance(number, int):
                        return Const(PY_INT, line, number, name)
                info = self.observation.values.get(name)
                kind = typing.scalar_of(info) if info is not None else None
                return Var(kind, line, name) if kind is not None and kind.kind is Kind.INT else None
            case ast.BinOp(op=ast.Add() | ast.Sub() as op, left=left, right=right):
                one, two = self._expr(left), self._expr(right)
                if one is None or two is None:
                    return None
                return Binary(PY_INT, line, "+" if isinstance(op, ast.Add) else "-", one, two)
            case ast.Call() | ast.Subscript():
                extent = self._extent_of(node, None)
                return None if extent is None else Dim(PY_INT, line, *extent)
        return None

    def _steady(self, expr: Expr, statements: tuple[ast.stmt, ...]) -> bool:
        """Whether what the expression reads is bound by none of the statements."""
        for inner in walk(expr):
            if isinstance(inner, Var):
                if self.function is not None and inner.name not in self.local:
                    return False
                if inner.name in self.rebound or any(inner.name in stored(s) for s in statements):
                    return False
            elif isinstance(inner, Dim) and not self._same_array(inner.array, statements):
                return False
        return True

    def _same_shape(self, name: str, found: _Definition) -> bool:
        info = self.observation.values.get(name)
        if info is None:
            return False
        statements = (*found.between, self.loop)
        if info.kind == "ndarray":
            return not any(reshaped(s, name) for s in statements)
        return all(only_indexed(s, name) for s in statements)


def _blocks_around(
    body: list[ast.stmt], loop: ast.stmt, owner: ast.AST | None = None
) -> list[tuple[list[ast.stmt], int, ast.AST | None]] | None:
    """The blocks that hold the loop, outermost first: (block, position, owner of the block)."""
    for position, statement in enumerate(body):
        here = (body, position, owner)
        if statement is loop:
            return [here]
        for inner in _inner_blocks(statement):
            found = _blocks_around(inner, loop, statement)
            if found is not None:
                return [here, *found]
    return None


def _inner_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _defines(statement: ast.stmt, name: str) -> tuple[ast.expr, int | None] | None:
    """The value a statement certainly gives the name, and which part of it."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                match target:
                    case ast.Name(id=found) if found == name:
                        return value, None
                    case ast.Tuple(elts=elts):
                        names = [e.id if isinstance(e, ast.Name) else None for e in elts]
                        if names.count(name) == 1:
                            position = names.index(name)
                            if isinstance(value, ast.Tuple) and len(value.elts) == len(elts):
                                return value.elts[position], None
                            return value, position
        case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
            return value, None
    return None
