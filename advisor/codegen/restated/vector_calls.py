"""Calls in expressions over vectors: NumPy's makers and functions, and those of the module."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Mapping

from ...loopnest.scope import dotted, module_of
from ..nb_values import Unsupported
from .vector_expressions import Expressions
from .vector_values import FLOAT64, WIDEST, Function, Number, Object, Value, Vector, flat, is_atom

_ELEMENTWISE = frozenset(
    {"sqrt", "sin", "cos", "tan", "exp", "log", "abs", "absolute", "fabs", "square"}
)
_PURE = frozenset({"abs", "min", "max", "int", "float", "round", "len", "bool", "range"})
_MATH_INTS = frozenset(
    {"prod", "perm", "floor", "ceil", "trunc", "comb", "factorial", "gcd", "isqrt", "lcm"}
)
_MATH_BOOLS = frozenset({"isnan", "isinf", "isfinite", "isclose"})


class Calls(Expressions):
    """What calls are worth."""

    def call(self, node: ast.Call) -> Value:
        """A call: NumPy's, Python's own, or of a function of the module."""
        func = node.func
        name = self.numpy_name(func)
        if name is not None:
            return self.numpy_call(node, name)
        if isinstance(func, ast.Attribute):
            return self.method_call(node, func)
        if not isinstance(func, ast.Name):
            return self.other_call(node)
        callee = self.value(func)
        if isinstance(callee, Function):
            function = module_of(self.draft.source).functions[callee.name]
            return self.functions.called(self, node, function)
        if func.id in ("tuple", "list", "len") and self.is_builtin(func.id) and not node.keywords:
            found = self.value(node.args[0]) if len(node.args) == 1 else None
            if isinstance(found, Vector):
                if func.id == "len":
                    return Number(ast.Constant(len(found.items)), "int")
                return Vector(func.id, found.items)
        return self.other_call(node)

    def method_call(self, node: ast.Call, func: ast.Attribute) -> Value:
        """``v.copy()`` of a vector, ``model.step(v)`` of an object, or something else."""
        if not isinstance(func.value, ast.Name):
            return self.other_call(node)
        owner = self.env.get(func.value.id)
        if owner is None and not self.functions.is_helper(self.local):
            owner = self.functions.methods.object_named(func.value.id)
        if isinstance(owner, Object):
            function = self.functions.methods.method(owner, func.attr, node.lineno)
            if function is not None:
                return self.functions.called(self, node, function, owner)
        found = self.value(func.value)
        if isinstance(found, Vector):
            return self.method(node, func.attr, found)
        return self.other_call(node)

    def mapped(self, node: ast.expr) -> Vector | None:
        """``map(f, (a, b))`` where it is taken apart at once."""
        match node:
            case ast.Call(
                func=ast.Name(id="map"),
                args=[ast.Name() | ast.Attribute() as func, ast.Tuple() | ast.List() as items],
                keywords=[],
            ) if self.is_builtin("map") and all(map(is_atom, items.elts)):
                self.functions.maps += 1
                calls = (ast.copy_location(ast.Call(func, [i], []), node) for i in items.elts)
                return Vector(
                    "tuple", tuple(self.number(ast.fix_missing_locations(c)) for c in calls)
                )
        return None

    def numpy_name(self, func: ast.expr) -> str | None:
        """``"array"`` of ``np.array``."""
        path = dotted(func) or ""
        head, dot, rest = path.partition(".")
        imports = module_of(self.draft.source).imports
        if head in self.local or head not in imports:
            return None
        full = imports[head] + dot + rest
        return full.removeprefix("numpy.") if full.startswith("numpy.") else None

    def is_builtin(self, name: str) -> bool:
        """Whether the name means Python's own function."""
        return name not in self.local and self.draft.is_builtin(name)

    def other_call(self, node: ast.Call) -> Number:
        """A call that is given numbers only, with the type of its result where it is known."""
        path = dotted(node.func) or ""
        head, _, last = path.partition(".")
        imports = module_of(self.draft.source).imports
        module = imports.get(head, "") if head not in self.local else ""
        arguments = [self.number(a) for a in node.args if not isinstance(a, ast.Starred)]
        of_math = module == "math" or module.startswith("math.")
        known = of_math or (path in _PURE and self.is_builtin(path))
        if not known:
            self.impure.append(node)
        found = self.plain(node)
        last = last or module.removeprefix("math.")
        if of_math and last not in _MATH_INTS:
            return Number(found.node, "bool" if last in _MATH_BOOLS else "float")
        if known and path == "abs" and arguments:
            return Number(found.node, arguments[0].type)
        if known and path in ("min", "max") and len({a.type for a in arguments}) == 1:
            return Number(found.node, arguments[0].type)
        return Number(found.node, path if known and path in ("int", "float", "bool") else "")

    def numpy_call(self, node: ast.Call, name: str) -> Value:
        """A function of NumPy's."""
        maker = _MAKERS.get(name)
        if maker is not None:
            return maker(self, node)
        arguments = [self.value(a) for a in node.args]
        if not any(isinstance(a, Vector) for a in arguments):
            found = self.plain(node)
            simple = name in _ELEMENTWISE and len(arguments) == 1
            number = arguments[0] if simple else None
            if isinstance(number, Number) and number.type:
                return Number(found.node, FLOAT64)
            if not simple:
                self.impure.append(node)
            return found
        one = arguments[0] if len(arguments) == 1 and not node.keywords else None
        if name in _ELEMENTWISE and isinstance(one, Vector) and one.kind == "ndarray":
            self.functions.vectors += 1
            items = [ast.Call(copy.deepcopy(node.func), [n.node], []) for n in flat(one)]
            return Vector("ndarray", tuple(Number(i, FLOAT64) for i in items))
        if name == "sum" and isinstance(one, Vector):
            return self.total(one, node.lineno)
        if name == "cross" and len(arguments) == 2 and not node.keywords:
            return self.crossed(arguments[0], arguments[1], node.lineno)
        text = f"{ast.unparse(node.func)}() of a vector: its last digits hang on the library"
        raise Unsupported(text, node.lineno)

    def method(self, node: ast.Call, name: str, owner: Vector) -> Value:
        """``v.copy()``, ``v.sum()``, ``v.tolist()``."""
        if not node.args and not node.keywords:
            if name == "copy":
                return Vector(owner.kind, owner.items)
            if name == "sum" and owner.kind == "ndarray":
                return self.total(owner, node.lineno)
        raise Unsupported(f"{ast.unparse(node.func)}() of a vector", node.lineno)

    def total(self, owner: Vector, line: int) -> Number:
        """``v.sum()``: fewer than eight numbers are added one after the other, to 0.0."""
        numbers = list(flat(owner))
        if owner.kind != "ndarray" or len(numbers) >= 8:
            raise Unsupported("the sum of a long vector", line)
        self.functions.vectors += 1
        node = numbers[0].node
        for number in numbers[1:]:
            node = ast.BinOp(node, ast.Add(), number.node)
        return Number(ast.BinOp(node, ast.Add(), ast.Constant(0.0)), FLOAT64)

    def crossed(self, left: Value, right: Value, line: int) -> Vector:
        """``np.cross(u, v)`` in space."""
        pair = [v for v in (left, right) if isinstance(v, Vector) and v.kind == "ndarray"]
        if len(pair) != 2 or any(len(v.items) != 3 for v in pair):
            raise Unsupported("np.cross() of other than two arrays of three numbers", line)
        self.functions.vectors += 1
        a, b = ([self.atom(n, "part").node for n in flat(v)] for v in pair)
        items = []
        for i, j in ((1, 2), (2, 0), (0, 1)):
            one, two = ast.BinOp(a[i], ast.Mult(), b[j]), ast.BinOp(a[j], ast.Mult(), b[i])
            items.append(Number(ast.BinOp(one, ast.Sub(), two), FLOAT64))
        return Vector("ndarray", tuple(items))


# -------------------------------------------------------------------- makers
def _array(scope: Calls, node: ast.Call) -> Value:
    """``np.array([..])``, ``np.asarray(v)``."""
    match node:
        case ast.Call(args=[argument], keywords=[]):
            pass
        case ast.Call(args=[argument], keywords=[ast.keyword(arg="dtype", value=dtype)]) if (
            _is_float(scope, dtype)
        ):
            pass
        case _:
            raise Unsupported(f"{ast.unparse(node)}: with other arguments", node.lineno)
    found = scope.value(argument)
    made = scope.array(found, node.lineno)
    assert isinstance(found, Vector)
    same = scope.numpy_name(node.func) == "asarray" and found.kind == "ndarray"
    return found if same else made


def _is_float(scope: Calls, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "float" and scope.is_builtin("float")
    return scope.numpy_name(node) == "float64"


def _filled(value: float) -> Callable[[Calls, ast.Call], Value]:
    """``np.zeros(3)``, ``np.ones(3)``."""

    def make(scope: Calls, node: ast.Call) -> Value:
        match node:
            case ast.Call(args=[ast.Constant(value=int(width))], keywords=[]) if (
                1 <= width <= WIDEST
            ):
                number = scope.float64(Number(ast.Constant(value), "float"))
                scope.functions.vectors += 1
                return Vector("ndarray", (number,) * width)
        raise Unsupported(f"{ast.unparse(node)} is made in the loop", node.lineno)

    return make


def _zeros_like(scope: Calls, node: ast.Call) -> Value:
    found = scope.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if not isinstance(found, Vector) or found.kind != "ndarray":
        raise Unsupported(f"{ast.unparse(node)} is made in the loop", node.lineno)
    number = scope.float64(Number(ast.Constant(0.0), "float"))
    scope.functions.vectors += 1
    return Vector("ndarray", (number,) * len(found.items))


_MAKERS: Mapping[str, Callable[[Calls, ast.Call], Value]] = {
    "array": _array,
    "asarray": _array,
    "zeros": _filled(0.0),
    "ones": _filled(1.0),
    "zeros_like": _zeros_like,
}
assert not _PURE - set(dir(builtins))
