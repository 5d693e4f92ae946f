"""What the values of CuPy code are, as far as the text alone tells: on the device, on the host.

A small abstract interpretation of one scope: every binding of a name is looked at, in any order,
and the name is what all of them agree on. Calls of the file's own functions are followed with
what they are given. What is not known is `OTHER`, which no rule builds on.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ..codegen import ast_tools as tools
from ..model import Source
from .basics import meaning
from .cupy_names import (
    Scope,
    arguments_of,
    bindings,
    every_argument,
    own_function,
    parameters,
    replaced,
    returns,
)
from .cupy_tables import (
    CONSTRUCTORS,
    DEVICE_METHODS,
    ELEMENTWISE,
    FLOATING,
    NUMBER_CALLS,
    REDUCTIONS,
    SAME_KIND,
)

DEPTH = 4
"""How many calls of own functions are followed one inside the other."""
ROUNDS = 8
"""Passes over the bindings; what has not settled by then is not known."""


@dataclass(frozen=True)
class Value:
    """What an expression is: ``what`` and, for arrays and numbers, the kind of its elements."""

    what: str
    """device, host, number, list, kernel, pool, generator, function, other."""
    kind: str = ""
    """b, i, f or c as in ``dtype.kind`` (u counts as i); empty: not known."""


OTHER = Value("other")
DEVICE = Value("device")
HOST = Value("host")


def joined(left: Value | None, right: Value | None) -> Value | None:
    """What is true of both; None is no value yet."""
    if left is None or right is None:
        return left or right
    if left.what != right.what:
        return OTHER
    return left if left.kind == right.kind else Value(left.what)


class Types:
    """The values of the names of one scope; parameters as given, else not known."""

    def __init__(
        self,
        source: Source,
        scope: Scope,
        given: Mapping[str, Value] | None = None,
        depth: int = 0,
        module: Types | None = None,
    ) -> None:
        """``module``: the top of the file, where its values are being settled through calls."""
        self.source = source
        self.scope = scope
        self.depth = depth
        self.module = self if isinstance(scope, ast.Module) else module
        self.names: dict[str, Value | None] = {}
        self._parameters = parameters(scope)
        self._given = dict(given or {})
        self._settle()

    def _settle(self) -> None:
        every = list(bindings(self.scope))
        for name, _ in every:
            self.names[name] = None
        for name in self._parameters:
            self.names[name] = self._given.get(name, OTHER)
        # x = cp.asarray(x), first of all: from there on the parameter is what it became
        anew = replaced(self.scope, self._parameters)
        self.names |= dict.fromkeys(anew)
        for _ in range(ROUNDS):
            before = dict(self.names)
            for name, bound in every:
                value = OTHER if bound is None else self._first(name, bound, anew)
                self.names[name] = joined(self.names[name], value)
            if self.names == before:
                return
        self.names = dict.fromkeys(self.names, OTHER)

    def _first(self, name: str, bound: ast.expr, anew: Mapping[str, ast.expr]) -> Value | None:
        """What a binding gives; in the one that replaces a parameter, that is what was given."""
        if anew.get(name) is not bound:
            return self._eval(bound)
        now = self.names[name]
        self.names[name] = self._given.get(name, OTHER)
        value = self._eval(bound)
        self.names[name] = now
        return value

    # ------------------------------------------------------------ expressions
    def of(self, node: ast.expr) -> Value:
        """What an expression of this scope is."""
        return self._eval(node) or OTHER

    def on_device(self, node: ast.expr) -> bool:
        """Whether the expression is certainly a CuPy array."""
        return self.of(node).what == "device"

    def _eval(self, node: ast.expr) -> Value | None:
        match node:
            case ast.Constant(value=bool()):
                return Value("number", "b")
            case ast.Constant(value=int()):
                return Value("number", "i")
            case ast.Constant(value=float()):
                return Value("number", "f")
            case ast.Name(id=name):
                return self._name(name)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(self._eval(left), self._eval(right), op)
            case ast.UnaryOp(op=ast.Not()):
                return Value("number", "b")
            case ast.UnaryOp(operand=operand):
                return self._eval(operand)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(body=body, orelse=orelse):
                return joined(self._eval(body), self._eval(orelse))
            case ast.List() | ast.ListComp():
                return Value("list")
            case ast.Subscript(value=value):
                base = self._eval(value)
                return base if base is None or base.what == "device" else OTHER
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.NamedExpr(value=value):
                return self._eval(value)
        return OTHER

    def _name(self, name: str) -> Value | None:
        if name in self.names:
            return self.names[name]
        if isinstance(self.scope, ast.Module):
            return OTHER
        # a name of the module: what it is there, if nothing else ever binds it
        if tools.bound_names(self.source).get(name, 0) != 1:
            return OTHER
        if self.module is not None:  # not settled yet: the next pass knows more
            return self.module.names.get(name, OTHER)
        return module_types(self.source).names.get(name) or OTHER

    def _compare(self, node: ast.Compare) -> Value | None:
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return Value("number", "b")
        result: Value | None = self._eval(node.left)
        for part in node.comparators:
            result = self._binary(result, self._eval(part), ast.Add())
        return result and (OTHER if result == OTHER else replace(result, kind="b"))

    def _binary(self, left: Value | None, right: Value | None, op: ast.operator) -> Value | None:
        result = _arithmetic(left, right, op)
        known = left is not None and right is not None and OTHER not in (left, right)
        # a sparse matrix, and what other libraries add to an array, is an object of their own
        return result if known or result is None or not _foreign(self.source) else OTHER

    def _attribute(self, node: ast.Attribute) -> Value | None:
        base = self._eval(node.value)
        if base is None:
            return None
        if base.what in ("device", "host") and node.attr in ("T", "real", "imag"):
            return base if node.attr == "T" else Value(base.what)
        if base.what in ("device", "host") and node.attr in ("size", "ndim", "nbytes", "itemsize"):
            return Value("number", "i")
        if meaning(self.source, node) in ("numpy.pi", "cupy.pi", "math.pi", "math.e"):
            return Value("number", "f")
        return OTHER

    # ------------------------------------------------------------------ calls
    def _call(self, node: ast.Call) -> Value | None:
        called = meaning(self.source, node.func)
        if called is not None:
            package, _, name = called.partition(".")
            if package == "cupy":
                return self._cupy(node, name)
            if package == "numpy":
                return self._numpy(node, name)
            return Value("number", "f") if package in ("math", "time") else OTHER
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if isinstance(node.func, ast.Name):
            return self._plain(node, node.func.id)
        return OTHER

    def _plain(self, node: ast.Call, name: str) -> Value | None:
        if name in NUMBER_CALLS and tools.is_builtin(self.source, name):
            if name not in ("abs", "round"):
                return Value("number", NUMBER_CALLS[name])
            return self._eval(node.args[0]) if len(node.args) == 1 else OTHER
        if name in ("list", "sorted") and tools.is_builtin(self.source, name):
            return Value("list")
        function = own_function(self.source, name)
        if function is not None:
            return self._own(node, function)
        known = self._name(name)
        if known is not None and known.what == "kernel":
            return DEVICE
        return OTHER

    def _own(self, node: ast.Call, function: ast.FunctionDef) -> Value | None:
        if any(self._eval(argument) is None for argument in every_argument(node)):
            return None  # not settled yet: the next pass knows more
        inner = self.inside(node, function)
        if inner is None:
            return OTHER
        result: Value | None = None
        for statement in returns(function):
            value = OTHER if statement.value is None else inner.of(statement.value)
            result = joined(result, value)
        return result or OTHER

    def inside(self, node: ast.Call, function: ast.FunctionDef) -> Types | None:
        """The values in a function of the file at one of its calls; None if that is too deep."""
        bound = arguments_of(node, function)
        if bound is None or self.depth >= DEPTH:
            return None
        given = {name: self.of(argument) for name, argument in bound.items()}
        return Types(self.source, function, given, self.depth + 1, self.module)

    def _cupy(self, node: ast.Call, name: str) -> Value | None:
        if name in ("asarray", "array", "asanyarray") and node.args:
            inner = self._eval(node.args[0])
            if inner is None:
                return None
            return Value("device", self._dtype(node) or inner.kind)
        if name == "asnumpy" and len(node.args) == 1 and not node.keywords:
            inner = self._eval(node.args[0])
            return inner and Value("host", inner.kind)
        if name in CONSTRUCTORS:
            default = "f" if name in FLOATING and len(node.args) == 1 else ""
            return Value("device", self._dtype(node) or ("" if _has_dtype(node) else default))
        if name in ("get_default_memory_pool", "get_default_pinned_memory_pool"):
            return Value("pool")
        if name in ("RawKernel", "ElementwiseKernel", "ReductionKernel"):
            return Value("kernel")
        if name == "fuse" or not node.args:
            return OTHER
        return self._array_function(node, name, [self._eval(a) for a in node.args], "device")

    def _numpy(self, node: ast.Call, name: str) -> Value | None:
        if name == "random.default_rng":
            return Value("generator")
        if name in ("hanning", "hamming", "blackman"):
            return Value("host", "f")
        if name in CONSTRUCTORS or name in ("array", "asarray"):
            default = "f" if name in FLOATING and len(node.args) == 1 else ""
            return Value("host", self._dtype(node) or ("" if _has_dtype(node) else default))
        values = [self._eval(a) for a in node.args]
        # numpy.sqrt(x) of a CuPy array is a CuPy array
        if not values or any(v is None or v.what != "host" for v in values):
            return OTHER if None not in values else None
        if name in REDUCTIONS:
            return OTHER  # a NumPy scalar, or an array
        return self._array_function(node, name, values, "host")

    def _array_function(
        self, node: ast.Call, name: str, values: list[Value | None], what: str
    ) -> Value | None:
        if any(value is None for value in values):
            return None
        kinds = [value.kind for value in values if value is not None]
        if name in ELEMENTWISE:
            kind = ELEMENTWISE[name][1] or _widest(kinds)
            return Value(what, "" if node.keywords else kind)
        if name == "where" and len(node.args) == 3:
            return Value(what, _widest(kinds[1:]))
        if name in REDUCTIONS:
            return Value(what, "" if _has_dtype(node) else _reduced(name, kinds[0]))
        if name in SAME_KIND:
            return Value(what, self._dtype(node) or ("" if _has_dtype(node) else kinds[0]))
        return Value(what) if name in ("dot", "matmul", "einsum", "outer", "diff") else OTHER

    def _method(self, node: ast.Call, func: ast.Attribute) -> Value | None:
        base = self._eval(func.value)
        if base is None:
            return None
        if base.what == "generator":
            size = len(node.args) + len(node.keywords)
            return HOST if size and func.attr != "shuffle" else OTHER
        if base.what not in ("device", "host"):
            return OTHER
        if func.attr == "get" and base.what == "device":
            return Value("host", base.kind) if not node.args and not node.keywords else OTHER
        if func.attr == "astype" and node.args:
            return Value(base.what, self.dtype_of(node.args[0]))
        if func.attr == "item":
            return Value("number", base.kind)
        if func.attr in DEVICE_METHODS:
            return base
        if func.attr in REDUCTIONS and base.what == "device":
            return Value("device", "" if _has_dtype(node) else _reduced(func.attr, base.kind))
        return Value("device") if func.attr == "dot" and base.what == "device" else OTHER

    # ------------------------------------------------------------------ dtypes
    def _dtype(self, node: ast.Call) -> str:
        return next((self.dtype_of(k.value) for k in node.keywords if k.arg == "dtype"), "")

    def dtype_of(self, node: ast.expr) -> str:
        """The kind that a dtype written down stands for; empty where that is not known."""
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            value = self.of(node.value)
            return value.kind if value.what in ("device", "host") else ""
        text = node.value if isinstance(node, ast.Constant) else meaning(self.source, node)
        if isinstance(node, ast.Name) and tools.is_builtin(self.source, node.id):
            text = node.id
        if not isinstance(text, str):
            return ""
        name = text.rpartition(".")[2].rstrip("_").rstrip("0123456789")
        return {"bool": "b", "int": "i", "uint": "i", "float": "f", "complex": "c"}.get(name, "")


@lru_cache(maxsize=8)
def _foreign(source: Source) -> bool:
    """Whether the file uses objects that decide themselves what arithmetic with an array gives."""
    for node in source.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names.append(getattr(node, "module", None) or "")
            if any("sparse" in name or name in ("torch", "cudf", "dask") for name in names):
                return True
        if isinstance(node, ast.FunctionDef) and node.name.startswith("__r"):
            return node.name != "__repr__"
        if isinstance(node, ast.Attribute) and node.attr == "sparse":
            return True
    return False


@lru_cache(maxsize=8)
def module_types(source: Source) -> Types:
    """The values of the names at the top of a file."""
    return Types(source, source.tree)


def types_in(source: Source, scope: Scope) -> Types:
    """The values of the names in a scope whose parameters are not known."""
    return module_types(source) if isinstance(scope, ast.Module) else Types(source, scope)


# ----------------------------------------------------------------------- kinds
def _arithmetic(left: Value | None, right: Value | None, op: ast.operator) -> Value | None:
    if left is None or right is None:
        return None
    both = {left.what, right.what}
    if "device" in both and "host" not in both and OTHER.what in both:
        # x > limit: CuPy makes an array of whatever it can be added to, or raises
        return DEVICE
    if not both <= {"device", "number"} and not both <= {"host", "number"}:
        return OTHER
    what = next(iter(both - {"number"}), "number")
    if isinstance(op, ast.Div):
        return Value(what, "" if "c" in (left.kind, right.kind) else "f")
    return Value(what, _widest([left.kind, right.kind]))


def _widest(kinds: list[str]) -> str:
    if not kinds or "" in kinds:
        return ""
    return max(kinds, key="bifc".index)


def _reduced(name: str, kind: str) -> str:
    rule = REDUCTIONS[name]
    if rule != "add":
        return rule or kind
    return "i" if kind == "b" else kind


def _has_dtype(node: ast.Call) -> bool:
    return any(k.arg in ("dtype", "out") for k in node.keywords)
