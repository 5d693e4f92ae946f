"""NumPy expressions as CuPy ones: which arrays and shapes they have, and the new text."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ...model import Exactness, Region
from .. import ast_tools as tools
from .. import rolls
from ..bf_values import (
    Array,
    Axis,
    Env,
    Scalar,
    chosen_arrays,
    copied_array,
    dotted,
    filled_array,
    operation,
    value_of,
)
from ..nb_values import Unsupported
from .exactness import REDUCTIONS, looser, of_operation, of_reduction

Shape = tuple[Axis, ...]
_SIZES = frozenset({"shape", "size", "ndim", "nbytes"})
_HARMLESS = frozenset({"print", "len", "range", "float", "int", "abs", "round", "min", "max"})
_PLAIN = frozenset({"int", "float", "complex", "bool", "str", "none", "numpy_scalar"})


@dataclass(frozen=True)
class OnDevice:
    """An expression over device arrays."""

    node: ast.expr
    shape: Shape
    dtype: str
    """Empty where it is not known."""
    view: bool = False
    """A name, or a part of one: not a new array."""


@dataclass
class Expressions:
    """Expressions of one loop; notes what it has met on the way."""

    region: Region
    cupy: str
    arrays: frozenset[str]
    """Names, and attributes by dotted path, that stand for an array somewhere in the loop."""
    device: dict[str, str]
    """What their copies on the device are called."""
    host: set[str] = field(default_factory=set)
    """Names that the loop binds to numbers."""
    used: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    """Names of numbers that arrays are computed with."""
    least: dict[tuple[str, int], int] = field(default_factory=dict)
    """Fewest elements along an axis of a representative array, so that every index exists."""
    parts: dict[int, str] = field(default_factory=dict)
    """Parts of bordered copies that equal rolled ones, by the identity of the call."""
    exactness: Exactness = Exactness.BITS
    operations: int = 0
    reduced: bool = False

    # ----------------------------------------------------------------- device
    def on_device(self, node: ast.expr, env: Env) -> OnDevice | None:
        """The expression over device arrays; None if it is one of the host's numbers.

        Raises Unsupported for anything whose result CuPy might give in another type.
        """
        match node:
            case ast.Constant():
                self._number(node, env)
                return None
            case ast.Name() | ast.Attribute():
                name = dotted(node) or ""
                known = env.get(name)
                if isinstance(known, Array):
                    self.used.add(name)
                    return OnDevice(self._name(name), known.shape, known.dtype, view=True)
                self._number(node, env)
                return None
            case ast.Subscript(value=base):
                array = self.on_device(base, env)
                if array is None:
                    raise self._stop(node)
                return self._part(array, node)
        copied = copied_array(self.region.source, node)
        if copied is not None and (array := self.on_device(copied, env)) is not None:
            method = ast.Attribute(array.node, "copy", ast.Load())
            return replace(array, node=ast.Call(method, [], []), view=False)
        made = self._made(node, env)
        if made is not None:
            return made
        reduced = self._reduced(node, env)
        return reduced if reduced is not None else self._elementwise(node, env)

    def _number(self, node: ast.expr, env: Env) -> None:
        if not isinstance(value_of(self.region.source, node, env), Scalar):
            raise self._stop(node)
        self.numbers |= {name for inner in ast.walk(node) if (name := dotted(inner)) in env}

    def _made(self, node: ast.expr, env: Env) -> OnDevice | None:
        """``np.zeros_like(u)``, ``np.roll(u, 1, axis=0)``."""
        source = self.region.source
        filled = filled_array(source, node)
        rolled = rolls.parse(source, node)
        known = value_of(source, node, env)
        if (filled is None and rolled is None) or not isinstance(known, Array):
            return None
        if id(node) in self.parts:
            part = ast.parse(self.parts[id(node)], mode="eval").body
            return OnDevice(part, known.shape, known.dtype)
        assert isinstance(node, ast.Call)
        name = str(tools.numpy_function(source, node))
        inner = node.args[0]
        shape_of = isinstance(inner, ast.Attribute) and inner.attr == "shape"
        array = self.on_device(inner.value if shape_of else inner, env)  # type: ignore[attr-defined]
        if array is None:
            raise self._stop(node)
        first = ast.Attribute(array.node, "shape", ast.Load()) if shape_of else array.node
        self.operations += 1
        call = ast.Call(self._function(name), [first, *node.args[1:]], node.keywords)
        return OnDevice(call, known.shape, known.dtype)

    def _reduced(self, node: ast.expr, env: Env) -> OnDevice | None:
        """``u.max()``, ``np.sum(u * v)``: a device array without axes."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]):
                inner = value
            case ast.Call(args=[inner], keywords=[]):
                name = str(tools.numpy_function(self.region.source, node))
            case _:
                return None
        if name not in REDUCTIONS or not self._mentions(inner):
            return None
        array = self.on_device(inner, env)
        if array is None or not array.shape:
            raise self._stop(node)
        if name in ("max", "min") and isinstance(node, ast.Call):
            for axis in array.shape:  # of nothing there is none, which is a ValueError
                self.need(axis, 1)
        self.exactness = looser(self.exactness, of_reduction(name, array.dtype))
        self.reduced = True
        self.operations += 1
        method = ast.Attribute(array.node, name, ast.Load())
        dtype = "bool" if name in ("any", "all") else array.dtype
        if name == "mean" and dtype in ("int64", "bool"):
            dtype = "float64"
        if name == "sum" and dtype == "bool":
            dtype = "int64"
        return OnDevice(ast.Call(method, [], []), (), dtype)

    def _elementwise(self, node: ast.expr, env: Env) -> OnDevice | None:
        source = self.region.source
        done = operation(source, node)
        chosen = chosen_arrays(source, node)
        if chosen is not None:
            operands, name = list(chosen), "where"
        elif done is not None:
            operands, name = list(done.operands), done.name
        else:
            raise self._stop(node)
        found = [self.on_device(operand, env) for operand in operands]
        arrays = [each for each in found if each is not None]
        if not arrays:
            self._number(node, env)
            return None
        shapes = {array.shape for array in arrays if array.shape}
        if len(shapes) > 1:
            raise Unsupported(f"`{ast.unparse(node)}`: shapes that may differ", node.lineno)
        if name == "where" and not isinstance(value_of(source, node, env), Array):
            raise self._stop(node)
        dtypes = {array.dtype for array in arrays}
        numbers = [value_of(source, o, env) for o, f in zip(operands, found, strict=True) if not f]
        # float32 array * np.float64 number: another dtype before NumPy 2
        if Scalar("float64") in numbers and not dtypes <= {"float64", "complex128"}:
            raise self._stop(node)
        if name != "where":
            self.exactness = looser(self.exactness, of_operation(name, dtypes))
        self.operations += 1
        known = value_of(source, node, env)
        dtype = known.dtype if isinstance(known, Array) else ""
        if not dtype and len(dtypes) == 1 and name in ("add", "subtract", "multiply", "negative"):
            dtype = next(iter(dtypes))
        new = [o if f is None else f.node for o, f in zip(operands, found, strict=True)]
        shape = next(iter(shapes), ())
        if name == "where" and found[1] is None and found[2] is None:
            return OnDevice(self._of_numbers(new, dtype), shape, dtype)
        return OnDevice(self._applied(node, name, new), shape, dtype)

    def _applied(self, node: ast.expr, name: str, operands: list[ast.expr]) -> ast.expr:
        """The operation on new operands, spelled as it was where that means the same."""
        match node:
            # u**2 is np.square(u) in NumPy, and a power in CuPy
            case ast.BinOp(op=ast.Pow()):
                return ast.Call(self._function(name), operands, [])
            case ast.BinOp(op=op):
                return ast.BinOp(operands[0], op, operands[1])
            case ast.UnaryOp(op=op):
                return ast.UnaryOp(op, operands[0])
            case ast.Compare(ops=ops):
                return ast.Compare(operands[0], ops, [operands[1]])
        return ast.Call(self._function(name), operands, [])

    def _of_numbers(self, operands: list[ast.expr], dtype: str) -> ast.expr:
        """``np.where(mask, 1, 0)``, whose dtype CuPy may choose otherwise."""
        match operands:
            case [mask, ast.Constant(value=int(1)), ast.Constant(value=int(0))]:
                made = mask
            case _:
                made = ast.Call(self._function("where"), operands, [])
        return ast.Call(ast.Attribute(made, "astype", ast.Load()), [self._function(dtype)], [])

    def _part(self, array: OnDevice, node: ast.Subscript) -> OnDevice:
        """``u[1:-1, 0]``. Raises Unsupported for indices that are no constants or slices."""
        index = node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(parts) > len(array.shape) or not array.view:
            raise self._stop(node)
        axes: list[Axis] = []
        for axis, part in zip(array.shape, parts, strict=False):
            number = rolls.integer(part)
            if number is not None:
                self.need(axis, number + 1 if number >= 0 else -number)
                continue
            cut = _cut(part)
            if cut is None:
                raise self._stop(node)
            axes.append(replace(axis, cut=axis.cut + cut))
        axes += array.shape[len(parts) :]
        return replace(array, node=ast.Subscript(array.node, index, ast.Load()), shape=tuple(axes))

    def need(self, axis: Axis, elements: int) -> None:
        """Note that there must be so many elements along the axis."""
        key = (axis.base, axis.axis)
        self.least[key] = max(self.least.get(key, 0), axis.cut + elements)

    # ------------------------------------------------------------------- host
    def on_host(self, node: ast.expr, env: Env) -> ast.expr:
        """An expression of the host, in which arrays occur only through their sizes or reduced.

        Raises Unsupported.
        """
        return _Host(self, env).visit(node)  # type: ignore[no-any-return]

    def _name(self, name: str) -> ast.Name:
        return ast.Name(self.device[name], ast.Load())

    def _function(self, name: str) -> ast.Attribute:
        return ast.Attribute(ast.Name(self.cupy, ast.Load()), name, ast.Load())

    def _mentions(self, node: ast.AST) -> bool:
        return any(dotted(inner) in self.arrays for inner in ast.walk(node))

    def _stop(self, node: ast.expr) -> Unsupported:
        text = f"`{ast.unparse(node)}` is not known to be the same in CuPy"
        return Unsupported(text, getattr(node, "lineno", self.region.loop.lineno))


class _Host(ast.NodeTransformer):
    """Numbers that the host computes, some of them from what is on the device."""

    def __init__(self, expressions: Expressions, env: Env) -> None:
        self.all, self.env = expressions, env

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.all.arrays:
            raise self.all._stop(node)
        observation = self.all.region.observation
        assert observation is not None
        known = observation.values.get(node.id)
        plain = isinstance(self.env.get(node.id), Scalar) or node.id in self.all.host
        if not plain and (known is None or known.kind not in _PLAIN):
            raise self.all._stop(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = dotted(node.value)
        if node.attr in _SIZES and name in self.all.arrays:
            self.all.used.add(str(name))
            return ast.Attribute(self.all._name(str(name)), node.attr, ast.Load())
        if isinstance(self.env.get(dotted(node) or ""), Scalar):
            return node
        raise self.all._stop(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Name(id="float" | "int" as name), args=[inner], keywords=[]):
                reduced = self._reduced(inner)
                if reduced is not None and tools.is_builtin(self.all.region.source, name):
                    return ast.Call(node.func, [reduced.node], [])
            case ast.Call(func=ast.Name(id="len"), args=[inner], keywords=[]):
                if dotted(inner) in self.all.arrays:
                    self.all.used.add(str(dotted(inner)))
                    return ast.Call(node.func, [self.all._name(str(dotted(inner)))], [])
        reduced = self._reduced(node)
        if reduced is not None:
            # NumPy's number, which [()] takes out of an array without axes
            fetched = ast.Call(self.all._function("asnumpy"), [reduced.node], [])
            return ast.Subscript(fetched, ast.Tuple([], ast.Load()), ast.Load())
        return self._harmless(node)

    def _reduced(self, node: ast.expr) -> OnDevice | None:
        return self.all._reduced(node, self.env)

    def _harmless(self, node: ast.Call) -> ast.expr:
        match node.func:
            case ast.Name(id=name) if name in _HARMLESS:
                if tools.is_builtin(self.all.region.source, name):
                    args = [self.visit(argument) for argument in node.args]
                    named = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
                    return ast.Call(node.func, args, named)
        raise Unsupported(f"the loop calls `{ast.unparse(node.func)}`", node.lineno)


def _cut(part: ast.expr) -> int | None:
    """Elements that ``start:-stop`` leaves out; None for other slices, steps and indices."""
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    start = 0 if part.lower is None else rolls.integer(part.lower)
    stop = 0 if part.upper is None else rolls.integer(part.upper)
    # u[1:5] counts from the front, u[:0] is empty
    if start is None or stop is None or start < 0 or stop > 0:
        return None
    return None if part.upper is not None and stop == 0 else start - stop
