"""What names stand for: locals of the loop, values from before it, modules, constants."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..loopnest.affine import extent_symbol, variable
from ..loopnest.ir import CHAR, PY_FLOAT, PY_INT, Const, Dim, Kind, Nest, Scalar, Var
from ..loopnest.scope import (
    FunctionNode,
    Literal,
    dotted,
    local_names,
    parameters,
    stored_names,
)
from ..loopnest.typing_rules import scalar_of, scalar_of_dtype
from ..model import Region, ValueInfo
from .ast_tools import parents
from .nb_bytes import LARGEST, holds_bytes
from .nb_chars import character, entry_text
from .nb_state import Assumption, State
from .nb_values import (
    Items,
    Num,
    Target,
    Unsupported,
    Value,
    View,
    compiled,
    dtype_range,
    free,
    number,
)

SUPPORTED = frozenset(
    [
        "bool",
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
        "complex128",
    ]
)
_MODULE_CONSTANTS: Mapping[str, float] = {
    "math.pi": math.pi,
    "math.e": math.e,
    "math.tau": math.tau,
    "numpy.pi": math.pi,
    "numpy.e": math.e,
}
_UNBOUNDED = frozenset({"math.inf", "numpy.inf", "math.nan", "numpy.nan"})


def constant_value(literal: Literal | tuple[object, ...]) -> Value:
    """A literal number or a table of them."""

    if isinstance(literal, tuple):
        return Items(tuple(constant_value(item) for item in literal))  # type: ignore[arg-type]
    return number(literal)


class Scope:
    """Names of the user's loop, or of a helper; ``env`` changes statement by statement."""

    def __init__(
        self,
        state: State,
        function: ast.FunctionDef | None,
        env: dict[str, Value],
        helper: bool = False,
    ) -> None:
        self.state = state
        self.function = function
        self.env = env
        self.helper = helper
        self.maybe: set[str] = set()
        self.stack: tuple[str, ...] = ()
        """Helpers under way, outermost first."""
        self.objects: dict[str, str] = {}
        """Parameters of a method that stand for an object of the caller: path there."""
        self.attributes: dict[str, None] = {}
        """Attributes of such objects and globals that are used, by the loop's path."""
        self.outer: dict[str, Value] = {}
        """Helpers: globals that were seen at the loop's entry."""
        self.locals = local_names(function)
        self.unbound: frozenset[str] = frozenset()
        """Names of the loop's scope that may have no value when it is reached."""

    # ------------------------------------------------------------- reading
    def lookup(self, path: str, node: ast.expr) -> Value | None:
        """What a name or an attribute path stands for; None for an attribute of something else."""
        head, dot, rest = path.partition(".")
        if head in self.objects:
            path = self.objects[head] + dot + rest
            parts = path.split(".")
            prefixes = (".".join(parts[:k]) for k in range(2, len(parts) + 1))
            known = next((p for p in prefixes if p in self.env), None)
            if known is None:
                raise Unsupported(f"nothing was observed of {path}", node.lineno)
            self.attributes.setdefault(known)
            if known != path:
                return None  # self.u.shape: an attribute of something known
        if path in self.env:
            value = self.env[path]
            if path in self.maybe:
                text = f"{path} may be read before it is assigned"
                raise Unsupported(text, node.lineno, "assign it before the loop")
            if isinstance(value, Num) and value.entry:
                self.need(path)
            return value
        root = path.partition(".")[0]
        if path == root and root in (self.locals | self.unbound):
            seen = self.state.region.observation
            if not self.helper and seen and path in seen.values and path not in self.unbound:
                kind = _in_words(seen.values[path])
                raise Unsupported(
                    f"{path} is {kind}, which the compiled loop cannot take", node.lineno
                )
            text = f"{path} may be read before it is assigned"
            raise Unsupported(text, node.lineno, "assign it before the loop")
        if root in self.locals or root in self.env:
            parts = path.split(".")
            prefixes = (".".join(parts[:k]) for k in range(1, len(parts)))
            if any(isinstance(self.env.get(p), Num | View | Items) for p in prefixes):
                return None  # self.u.shape: an attribute of something known
            raise Unsupported(f"nothing was observed of {path}", node.lineno)
        return self._global(path, node)

    def _global(self, path: str, node: ast.expr) -> Value | None:
        module = self.state.module
        if "." in path:
            return None
        if (fixed := module.constant(path)) is not None:
            return constant_value(fixed)
        if (rows := module.constant_table(path)) is not None:
            if not self._is_tuple(path):
                self._copy_table(path, node)
            return constant_value(rows)
        if path in module.imports:
            return self.module_target(module.imports[path])
        if path in module.functions:
            return Target(f"user.{path}", path)
        if not module.bound(path) and hasattr(builtins, path):
            return Target(path)
        if path in self.outer:
            self.attributes.setdefault(path)
            self.need(path)
            return self.outer[path]
        if self.helper:
            text = f"the helper reads the global {path}, which the program may change"
            raise Unsupported(text, node.lineno, f"pass {path} as an argument")
        raise Unsupported(f"nothing was observed of {path}", node.lineno)

    def _is_tuple(self, name: str) -> bool:
        for statement in self.state.source.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                    return not any(isinstance(n, ast.List) for n in ast.walk(value))
        return False

    def _copy_table(self, name: str, node: ast.expr) -> None:
        """numba cannot use a global list: the kernel gets the defining statement."""
        if self.helper:
            raise Unsupported(f"the helper reads the list {name}", node.lineno, "make it a tuple")
        for statement in self.state.source.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=found)]) if found == name:
                    self.state.preamble[name] = statement

    def module_target(self, name: str) -> Value:
        """A module, or what was imported from one."""
        if name in _MODULE_CONSTANTS:
            return Num(PY_FLOAT, _MODULE_CONSTANTS[name], _MODULE_CONSTANTS[name])
        if name in _UNBOUNDED:
            return Num(PY_FLOAT, nan=name.endswith("nan"))
        return Target(name)

    def module_attribute(self, base: Target, attribute: str, line: int) -> Value:
        """``math.pi``, ``np.sqrt``, ``np.random.rand``."""
        if base.user is not None:
            raise Unsupported(f"attribute of the function {base.user}", line)
        return self.module_target(f"{base.name}.{attribute}")

    def need(self, path: str) -> None:
        """An input is used: it becomes an argument of the kernel."""
        if self.state.recording:
            self.state.read.setdefault(path)

    def element(self, view: View) -> Num:
        """Any element of an array."""
        self.need(view.array)
        value = free(view.element)
        state = self.state
        if view.element == CHAR:
            return character(state, view)
        if holds_bytes(state, view):
            return replace(value, low=0, high=LARGEST)
        if view.element == PY_INT:
            limit = 2**state.assumption.list_bits
            nest = state.region.nest
            if isinstance(nest, Nest) and nest.arrays[view.array].written:
                limit = state.assumption.content
            value = replace(value, low=-limit, high=limit)
        if view.array not in state.assumption.arrays:
            return value
        low, high = rounded_range(observed(state.region, view.array), view.element)
        if state.recording:
            state.used_ranges.add(view.array)
        return replace(value, low=low, high=high, nan=False)


def in_closure(region: Region, name: str) -> bool:
    """Whether a function around the region's function binds the name."""
    return any(
        name in stored_names(outer) | set(parameters(outer)) for outer in functions_around(region)
    )


def functions_around(region: Region) -> Iterator[FunctionNode]:
    """The functions that contain the region's function."""
    above = parents(region.source)
    node: ast.AST | None = region.function and above.get(region.function)
    while node is not None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
        node = above.get(node)


def sibling(region: Region, name: str) -> ast.FunctionDef | None:
    """The function under a name that stands beside the region's, in the one around both.

    It sees the same variables. None where the name may stand for something else.
    """
    for outer in functions_around(region):
        if name not in stored_names(outer) | set(parameters(outer)):
            continue
        binding = [n for n in ast.walk(outer) if _binds(n, name)]
        match binding:
            case [ast.FunctionDef(decorator_list=[]) as found]:
                direct = isinstance(outer, ast.FunctionDef) and found in outer.body
                return found if direct else None
        return None
    return None


def is_inside(scope: Scope) -> bool:
    """Whether the code of a scope sees the variables of the functions around the region's."""
    function = scope.function
    return function is not None and (not scope.helper or is_sibling(scope.state.region, function))


def is_sibling(region: Region, function: ast.FunctionDef) -> bool:
    """Whether a function stands beside the region's, in the one around both."""
    return sibling(region, function.name) is function


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node gives the name a value, in whichever scope."""
    match node:
        case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found):
            return found == name
        case ast.ClassDef(name=found) | ast.arg(arg=found) | ast.ExceptHandler(name=found):
            return found == name
        case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
            return found == name
        case ast.alias(name=found, asname=other):
            return name in (found, other)
        case ast.Nonlocal(names=names):
            return name in names
    return False


# ------------------------------------------------------------------- inputs
def observed(region: Region, path: str) -> ValueInfo:
    """What was seen of an input."""
    assert region.observation is not None
    return region.observation.values[path]


def _in_words(info: ValueInfo) -> str:
    """What a value is, for a reason: of an array, what it holds."""
    if info.type_name == "numpy.ndarray":
        return f"an array of {info.dtype}"
    return info.type_name.removeprefix("builtins.")


def rounded_range(info: ValueInfo, type_: Scalar) -> tuple[int | float | None, int | float | None]:
    """The observed range, outwards to powers of two; what is not negative stays so."""
    low, high = info.minimum, info.maximum
    if low is None or high is None or type_.kind not in (Kind.INT, Kind.FLOAT):
        return None, None
    if isinstance(low, float) and not (math.isfinite(low) and math.isfinite(high)):
        return None, None
    bits = max(1, math.ceil(math.log2(max(abs(low), abs(high), 1))) + 1)
    if bits > 62:
        return None, None
    top: int | float = 2**bits if type_.kind is Kind.INT else float(2**bits)
    limits = dtype_range(compiled(type_)) if type_.kind is Kind.INT else None
    bottom: int | float = -top if low < 0 else 0 * top
    if limits:
        return max(bottom, limits[0]), min(top, limits[1])
    return bottom, top


def entry_value(path: str, region: Region, assumption: Assumption, state: State) -> Value | None:
    """The value of a name at the loop's entry; None where it is nothing a kernel takes."""
    info = observed(region, path)
    match info.kind:
        case "ndarray":
            element = scalar_of_dtype(info.dtype)
            if info.dtype not in SUPPORTED or element is None or not info.ndim:
                return None
            return View(path, element, info.ndim)
        case "list" | "tuple":
            if info.element is None or not info.regular or info.shape is None:
                return None
            element = scalar_of(info.element)
            if element is None or element.dtype is not None:
                return None
            return View(path, element, len(info.shape))
        case "bytearray" | "bytes":
            return View(path, PY_INT, 1)
        case "str":
            return entry_text(region, path)
        case "bool" | "int" | "float" | "complex" | "numpy_scalar":
            return _entry_number(path, info, region, assumption, state)
    return None


def _entry_number(
    path: str, info: ValueInfo, region: Region, assumption: Assumption, state: State
) -> Num | None:
    type_ = scalar_of(info)
    if type_ is None or compiled(type_) not in SUPPORTED:
        return None
    value = replace(free(type_), entry=True)
    known = literal_of(region, path)
    if known is not None:
        value = replace(number(known), entry=True)
    elif type_ == PY_INT:
        limit = 2**assumption.int_bits
        value = replace(value, low=-limit, high=limit)
        if _extents_of(region, path):
            value = replace(value, low=0, high=2**46)
        elif info.minimum is not None and info.minimum >= 0:
            value = replace(value, low=0)
    elif path in assumption.floats:
        low, high = rounded_range(info, type_)
        value = replace(value, low=low, high=high, nan=low is None)
    if type_.kind is Kind.INT and compiled(type_) == "int64":
        symbol = state.find(path)
        if value.form is None:
            value = replace(value, form=variable(symbol))
        low, high = value.low, value.high
        state.intervals[symbol] = (
            int(low) if low is not None else None,
            int(high) if high is not None else None,
        )
    return value


def literal_of(region: Region, path: str) -> Literal | None:
    """The value the code proves a scalar to have at entry."""
    nest = region.nest
    if isinstance(nest, Nest) and path in nest.scalars:
        return nest.scalars[path].literal
    return None


def _extents_of(region: Region, path: str) -> tuple[tuple[str, int], ...]:
    nest = region.nest
    if isinstance(nest, Nest) and path in nest.scalars:
        return nest.scalars[path].equals
    return ()


def proved_size(region: Region, path: str) -> bool:
    """The scalar is an extent of an array, by the code."""
    return bool(_extents_of(region, path))


def declare_equalities(region: Region, state: State) -> None:
    """Feed what the code proves, and what was seen, about extents and sizes."""
    nest = region.nest
    if not isinstance(nest, Nest):
        return
    for name, scalar in nest.scalars.items():
        for array, axis in scalar.equals:
            state.union(name, extent_symbol(array, axis))
    for name, array_ in nest.arrays.items():
        for axis, expr in enumerate(array_.extents):
            if isinstance(expr, Var):
                state.union(expr.name, extent_symbol(name, axis))
            elif isinstance(expr, Const) and isinstance(expr.value, int):
                state.fixed[extent_symbol(name, axis)] = expr.value
            elif isinstance(expr, Dim):
                state.union(extent_symbol(expr.array, expr.axis), extent_symbol(name, axis))
    state.seen_equal = frozenset(_seen_pairs(nest, state))
    _seen_sizes(region, nest, state)


def _seen_sizes(region: Region, nest: Nest, state: State) -> None:
    for name, array in nest.arrays.items():
        assert region.observation is not None
        info = region.observation.values.get(name)
        if info is None or info.min_shape is None or info.max_shape is None:
            continue
        for axis in range(min(array.ndim, len(info.min_shape))):
            symbol = state.find(extent_symbol(name, axis))
            state.seen_sizes[symbol] = (info.min_shape[axis], info.max_shape[axis])
    for name, scalar in nest.scalars.items():
        low, high = scalar.interval.low, scalar.interval.high
        symbol = state.find(name)
        if scalar.type.kind is Kind.INT and isinstance(low, int) and isinstance(high, int):
            state.seen_sizes.setdefault(symbol, (low, high))


def _seen_pairs(nest: Nest, state: State) -> list[frozenset[str]]:
    pairs = []
    for name, scalar in nest.scalars.items():
        for array, axis in scalar.seen_equal:
            pairs.append(frozenset((state.find(name), state.find(extent_symbol(array, axis)))))
    extents = [
        (extent_symbol(name, axis), size)
        for name, array_ in nest.arrays.items()
        for axis, size in enumerate(array_.shape)
        if size is not None
    ]
    for k, (first, size) in enumerate(extents):
        for second, other in extents[k + 1 :]:
            if size == other and state.find(first) != state.find(second):
                pairs.append(frozenset((state.find(first), state.find(second))))
    return pairs


__all__ = ["Scope", "declare_equalities", "dotted", "entry_value", "literal_of", "observed"]
