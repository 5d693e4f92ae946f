"""Python expressions to typed IR expressions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product

from ..model import SiteObservation, Source, ValueInfo
from . import typing_rules as typing
from .bindings import Binding, Env, Frame, Given, Gone, Private, Stop, Table, View
from .ir import (
    PY_BOOL,
    PY_INT,
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    Kind,
    Load,
    Scalar,
    Select,
    Stmt,
    Unary,
    Var,
)
from .scope import Module, dotted

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_CONTAINERS = ("ndarray", "list", "tuple", "bytearray")
_EXACT = {
    "ndarray": "numpy.ndarray",
    "list": "builtins.list",
    "tuple": "builtins.tuple",
    "bytearray": "builtins.bytearray",
}
UINT8 = Scalar(Kind.INT)  # bytearray elements are read as Python ints


class ExpressionLowering:
    """State of one lowering, and the expression half of it."""

    def __init__(self, source: Source, observation: SiteObservation, local: frozenset[str]) -> None:
        self.observation = observation
        self.module = Module(source)
        self.local = local
        """Names local to the user's function: not to be taken for globals."""
        self.assigned: frozenset[str] = frozenset()
        """Names (dotted for attributes) that the loop's own text assigns."""
        self.env: Env | None = {}
        self.frame = Frame(None)
        self.hoist: list[Stmt] | None = None
        """Where statements go that must run before the expression; None: nowhere."""
        self.mixed: dict[int, tuple[Expr, frozenset[Scalar]]] = {}
        """Expressions with several possible types, by identity (kept alive here)."""
        self.used_arrays: dict[str, ValueInfo] = {}
        self.used_scalars: dict[str, Scalar] = {}
        self.modules: dict[str, str] = {}
        self.helpers: list[str] = []
        self.relies: list[Expr] = []

    # ------------------------------------------------------------- types
    def types_of(self, expr: Expr) -> frozenset[Scalar]:
        """All types the value may have."""
        found = self.mixed.get(id(expr))
        return found[1] if found and found[0] is expr else frozenset((expr.type,))

    def spread(self, expr: Expr, types: frozenset[Scalar]) -> Expr:
        """Record that the value may have several types."""
        if len(types) > 1:
            self.mixed[id(expr)] = (expr, types)
        return expr

    def joined(self, types: frozenset[Scalar], what: str, line: int) -> Scalar:
        """One type that stands for all; for narrow dtypes the NumPy one, to be absorbed."""
        ordered = sorted(types, key=str)
        result = ordered[0]
        for other in ordered[1:]:
            found = typing.join(result, other)
            if found is None:
                return self._narrow(types, what, line)
            result = found
        return result

    def _narrow(self, types: frozenset[Scalar], what: str, line: int) -> Scalar:
        numpy_types = [t for t in types if not t.is_python]
        if len(numpy_types) == 1 and all(
            t.kind is not Kind.BOOL and t.kind is not Kind.COMPLEX for t in types
        ):
            return numpy_types[0]
        names = " on one path and ".join(sorted(str(t) for t in types))
        raise Stop(
            f"{what} is {names} on another", line, "give the variable one type from the start"
        )

    def settled(self, expr: Expr) -> Expr:
        """Refuse a value whose type depends on the path, where that could be told."""
        types = self.types_of(expr)
        if len(types) > 1:
            self.joined(types, "the value", expr.line)
            names = " or ".join(sorted(str(t) for t in types))
            raise Stop(
                f"a value is of type {names}, depending on the path, where it can be told",
                expr.line,
                "start the variable with a value of its final type",
            )
        return expr

    def wide(self, expr: Expr, what: str) -> Expr:
        """Refuse a value that is narrow on one path only (``0`` and uint8)."""
        types = self.types_of(expr)
        if len(types) > 1:
            found = None
            for one in types:
                found = one if found is None else typing.join(found, one)
                if found is None:
                    raise Stop(
                        f"{what} is {' or '.join(sorted(map(str, types)))}, depending on the path",
                        expr.line,
                        "start the variable with a value of its final type",
                    )
        return expr

    # ------------------------------------------------------------- names
    def key(self, name: str) -> str:
        """The IR name of a name in the current text."""
        return self.frame.names.get(name, name)

    def path(self, node: ast.expr) -> str | None:
        """The dotted path in the user's text; parameters of methods mapped to the object."""
        text = dotted(node)
        if text is None:
            return None
        head, dot, rest = text.partition(".")
        if head in self.frame.objects:
            return self.frame.objects[head] + dot + rest
        if head in self.frame.names:
            return self.frame.names[head] + dot + rest
        return text

    def lookup(self, node: ast.Name | ast.Attribute) -> Binding | Expr:
        """What a name or attribute chain stands for."""
        path = self.path(node)
        if path is None:
            raise Stop(f"attribute of {ast.unparse(node)}", node.lineno)
        env = self.env if self.env is not None else {}
        if path in env:
            return env[path]
        return self.external(path, node.lineno)

    def external(self, path: str, line: int) -> Binding | Expr:
        """A value that nobody assigns in the nest."""
        if "." in path:
            constant = self.module_constant(path, line)
            if constant is not None:
                return constant
        if "." not in path and path not in self.local:
            value = self.module.constant(path)
            if value is not None:
                kind = typing.type_of_value(value)
                if kind is not None:
                    return Const(kind, line, value, path)
            rows = self.module.constant_table(path)
            if rows is not None:
                return Table(rows)
        info = self.observation.values.get(path)
        if info is None:
            constant = self.module_constant(path, line)
            if constant is not None:
                return constant
            raise Stop(f"{path} was not seen at the loop's entry", line)
        if info.kind in _CONTAINERS:
            self.check_array(path, info, line)
            return View(path)
        kind = typing.scalar_of(info)
        if kind is None:
            constant = self.module_constant(path, line)
            if constant is not None:
                return constant
            raise Stop(f"{path} is {described(info)}, not a number or an array", line)
        self.used_scalars[path] = kind
        return Var(kind, line, path)

    def check_array(self, path: str, info: ValueInfo, line: int) -> None:
        """Refuse containers that are not plain regular arrays of numbers."""
        if info.type_name not in (_EXACT[info.kind], info.kind, "ndarray"):
            raise Stop(f"{path} is {described(info)}, a subclass with its own operators", line)
        if self.element_of(info) is None:
            raise Stop(self.why_no_element(path, info), line, self.how_to_element(info))
        if info.ndim is None or info.shape is None:
            raise Stop(f"{path} has a different number of axes from entry to entry", line)
        self.used_arrays[path] = info

    @staticmethod
    def element_of(info: ValueInfo) -> Scalar | None:
        """Type of an element as the program reads it."""
        if info.kind == "ndarray":
            return typing.scalar_of_dtype(info.dtype) if info.ndim else None
        if info.kind == "bytearray":
            return UINT8
        if not info.regular or info.element is None:
            return None
        return typing.scalar_of(info.element)

    @staticmethod
    def why_no_element(path: str, info: ValueInfo) -> str:
        """Words for a container that cannot be treated as an array."""
        if info.kind == "ndarray":
            return f"{path} is an array of {info.dtype or 'varying dtype'}"
        if not info.regular:
            return f"the {info.kind} {path} holds rows of different lengths, or one row twice"
        if info.element is None:
            return f"the {info.kind} {path} was empty at the loop's entry"
        return f"the {info.kind} {path} holds {described(info.element)}"

    @staticmethod
    def how_to_element(info: ValueInfo) -> str | None:
        """What the user could do about it."""
        if info.kind == "list" and not info.regular:
            return "make all rows equally long, or use a flat array and offsets"
        if info.element is not None and info.element.kind == "mixed":
            return "store one type only: 0.0 instead of 0"
        return None

    def module_constant(self, path: str, line: int) -> Const | None:
        """``math.pi``, ``np.inf`` and the like."""
        canonical = self.canonical(path)
        if canonical is None:
            return None
        value = typing.MODULE_CONSTANTS.get(canonical)
        if value is None:
            return None
        kind = typing.type_of_value(value)
        assert kind is not None
        self.note_module(path)
        return Const(kind, line, value, path)

    def canonical(self, path: str) -> str | None:
        """``"np.sqrt"`` to ``"numpy.sqrt"``, ``"sqrt"`` to ``"math.sqrt"``; None if unknown."""
        head, _, rest = path.partition(".")
        if head in self.frame.names:
            return None
        info = self.observation.values.get(path)
        if info is not None and info.target and info.kind != "mixed":
            return _canonical_target(info.target)
        info = self.observation.values.get(head)
        base: str | None = None
        if info is not None and info.kind in ("module", "function", "class"):
            base = info.target
        elif info is None and head not in self.local:
            base = self.module.imports.get(head)
        if base is None:
            return None
        return _canonical_target(f"{base}.{rest}" if rest else base)

    def note_module(self, path: str) -> None:
        """Remember the local name of a module or imported function."""
        head = path.partition(".")[0]
        canonical = self.canonical(head)
        if canonical is not None:
            self.modules[head] = canonical

    # ------------------------------------------------------- expressions
    def expr(self, node: ast.expr) -> Expr:
        """A scalar expression. Raises Stop."""
        line = node.lineno
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() as value):
                kind = typing.type_of_value(value)
                assert kind is not None
                return Const(kind, line, value)
            case ast.Name() | ast.Attribute():
                return self.name_or_attribute(node)
            case ast.Subscript():
                return self.element(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(_operator(op, line), self.expr(left), self.expr(right), line)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, operand, line)
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp():
                return self.bool_value(node)
            case ast.IfExp():
                return self.conditional(node)
            case ast.Call():
                return self.call(node)
            case ast.NamedExpr():
                raise Stop(
                    "assignment inside an expression (:=)", line, "assign it on its own line"
                )
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                raise Stop("a comprehension inside the loop", line, "write it as a loop")
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
                raise Stop("text inside the loop", line)
            case ast.Tuple() | ast.List() | ast.Dict() | ast.Set():
                raise Stop(f"a {type(node).__name__.lower()} made inside the loop", line)
            case ast.Lambda():
                raise Stop("a lambda inside the loop", line)
            case _:
                raise Stop(f"{ast.unparse(node)!s} inside the loop", line)

    def name_or_attribute(self, node: ast.Name | ast.Attribute) -> Expr:
        """A scalar by name, ``z.real``, ``a.size``."""
        if isinstance(node, ast.Attribute):
            special = self.attribute(node)
            if special is not None:
                return special
        found = self.lookup(node)
        return self.scalar(found, ast.unparse(node), node.lineno, self.path(node))

    def scalar(self, found: Binding | Expr, text: str, line: int, path: str | None) -> Expr:
        """The scalar a binding stands for."""
        match found:
            case Expr():
                return found
            case Given(expr=expr):
                return expr
            case Private(types=types, defined=defined, entry=entry):
                assert path is not None
                if not defined:
                    raise Stop(f"{text} may be read before it is assigned", line)
                kind = self.joined(types, text, line)
                if entry:
                    info = self.observation.values.get(path)
                    seen = typing.scalar_of(info) if info is not None else None
                    assert seen is not None
                    self.used_scalars[path] = seen
                return self.spread(Var(kind, line, path), types)
            case Gone(why=why):
                raise Stop(f"{text} {why}", line)
            case View():
                raise Stop(f"a whole array operation on {text}", line, "the loop is array code")
            case Table():
                raise Stop(f"{text} used as a whole", line)

    def attribute(self, node: ast.Attribute) -> Expr | None:
        """Attributes that are computed, not stored: ``z.real``, ``a.size``."""
        if node.attr in ("real", "imag", "size", "shape", "ndim", "T"):
            view = self.view(node.value)
            if view is not None and self.rank(view):
                rank = self.rank(view)
                if node.attr == "size" and rank == 1:
                    return Dim(PY_INT, node.lineno, view.array, len(view.prefix))
                if node.attr == "ndim":
                    return Const(PY_INT, node.lineno, rank)
                raise Stop(f"{ast.unparse(node)} inside the loop", node.lineno)
        if node.attr in ("real", "imag"):
            path = self.path(node.value)
            if path is not None and self.canonical(path) is not None:
                return None
            if self.path(node) in self.observation.values:
                return None
            value = self.expr(node.value)
            kind = typing.call_type(node.attr, (value.type,))
            if kind is None:
                raise Stop(f"attribute {node.attr} of {value.type}", node.lineno)
            self.settled(value)
            return Call(kind, node.lineno, node.attr, (value,))
        return None

    def unary(self, op: ast.unaryop, operand: ast.expr, line: int) -> Expr:
        """``-x``, ``~x``, ``not x``."""
        sign = _UNARY[type(op)]
        if sign == "not":
            return Unary(PY_BOOL, line, "not", self.test(operand))
        value = self.expr(operand)
        if isinstance(value, Const) and sign == "-" and value.name is None:
            kind = typing.unary_type("-", value.type)
            if kind == value.type:
                return Const(value.type, line, -value.value)
        types = frozenset(
            t for one in self.types_of(value) if (t := typing.unary_type(sign, one)) is not None
        )
        self.wide(value, "the operand")
        kind = typing.unary_type(sign, value.type)
        if kind is None:
            raise Stop(f"operator {sign} on {value.type}", line)
        return self.spread(Unary(kind, line, sign, value), types)

    def binary(self, op: str, left: Expr, right: Expr, line: int) -> Expr:
        """An arithmetic operation, typed by what Python and NumPy do."""
        types: set[Scalar] = set()
        for one, two in product(self.types_of(left), self.types_of(right)):
            kind = typing.binary_type(op, one, two)
            if kind is None:
                raise Stop(f"operator {op} on {one} and {two}", line)
            types.add(kind)
        for value, other in ((left, right), (right, left)):
            if not typing.is_weak_use(value.type, other.type, op):
                self.wide(value, "an operand")
        if op == "**":
            self.check_power(left, right, line)
        result = self.joined(frozenset(types), "the result", line)
        return self.spread(Binary(result, line, op, left, right), frozenset(types))

    def check_power(self, left: Expr, right: Expr, line: int) -> None:
        """Python's int ** negative is a float: the sign of the exponent must show."""
        if left.type.kind not in (Kind.INT, Kind.BOOL) or right.type.kind is not Kind.INT:
            return
        if isinstance(right, Const) and isinstance(right.value, int) and right.value >= 0:
            return
        if not left.type.is_python or not right.type.is_python:
            return  # NumPy integers raise ValueError: no other type can come out
        raise Stop(
            "an integer power whose exponent could be negative, which gives a float",
            line,
            "write a float base, or a constant exponent",
        )

    def comparison(self, node: ast.Compare) -> Expr:
        """A comparison, chained or not; ``in`` a tuple of numbers."""
        line = node.lineno
        match node:
            case ast.Compare(
                left=left, ops=[ast.In() | ast.NotIn() as within], comparators=[right]
            ):
                return self.membership(left, within, right, line)
        operands = [self.expr(node.left)]
        parts: list[Expr] = []
        for position, (op, item) in enumerate(zip(node.ops, node.comparators, strict=True)):
            if type(op) not in _COMPARE:
                raise Stop(f"comparison {ast.unparse(node)}", line)
            # What follows a false first part is not evaluated: nothing may be hoisted.
            operands.append(self.expr(item) if position == 0 else self.guarded(item))
            parts.append(self.compare(_COMPARE[type(op)], operands[-2], operands[-1], line))
        if len(parts) == 1:
            return parts[0]
        kinds = {p.type for p in parts}
        kind = parts[0].type if len(kinds) == 1 else Scalar(Kind.BOOL, "bool")
        return self.spread(Bool(kind, line, "and", tuple(parts)), frozenset(kinds))

    def compare(self, op: str, left: Expr, right: Expr, line: int) -> Expr:
        """One comparison."""
        kinds: set[Scalar] = set()
        for one, two in product(self.types_of(left), self.types_of(right)):
            kind = typing.compare_type(op, one, two)
            if kind is None:
                raise Stop(f"comparison {op} of {one} and {two}", line)
            kinds.add(kind)
        self.wide(left, "a compared value")
        self.wide(right, "a compared value")
        found = self.joined(frozenset(kinds), "the comparison", line)
        return self.spread(Compare(found, line, op, left, right), frozenset(kinds))

    def membership(self, left: ast.expr, op: ast.cmpop, right: ast.expr, line: int) -> Expr:
        """``x in (1, 2)`` as comparisons; the constants hold no NaN, so identity is no matter."""
        rows = self.table(right)
        if rows is None or any(isinstance(r, tuple) for r in rows.rows):
            raise Stop(f"search {ast.unparse(left)} in {ast.unparse(right)}", line)
        value = self.expr(left)
        self.wide(value, "the searched value")
        parts: list[Expr] = []
        for item in rows.rows:
            assert not isinstance(item, tuple)
            kind = typing.type_of_value(item)
            assert kind is not None
            part = self.compare("==", value, Const(kind, line, item), line)
            parts.append(part)
        found: Expr = Bool(PY_BOOL, line, "or", tuple(parts)) if len(parts) > 1 else parts[0]
        if isinstance(op, ast.NotIn):
            return Unary(PY_BOOL, line, "not", found)
        if found.type != PY_BOOL:
            found = Call(PY_BOOL, line, "bool", (found,))
        return found

    def test(self, node: ast.expr) -> Expr:
        """An expression of which only the truth value counts."""
        match node:
            case ast.BoolOp(op=op, values=values):
                parts = [self.test(values[0])]
                parts += [self.guarded(v, test=True) for v in values[1:]]
                name = "and" if isinstance(op, ast.And) else "or"
                return Bool(PY_BOOL, node.lineno, name, tuple(parts))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Unary(PY_BOOL, node.lineno, "not", self.test(operand))
        return self.expr(node)

    def bool_value(self, node: ast.BoolOp) -> Expr:
        """``a or b`` as a value: one of the operands itself."""
        line = node.lineno
        values = [self.expr(node.values[0])]
        values += [self.guarded(v) for v in node.values[1:]]
        types = frozenset(t for v in values for t in self.types_of(v))
        kind = self.joined(types, "the value of and/or", line)
        if all(v.type.kind is Kind.BOOL for v in values):
            name = "and" if isinstance(node.op, ast.And) else "or"
            return self.spread(Bool(kind, line, name, tuple(values)), types)
        result = values[-1]
        for value in reversed(values[:-1]):
            if isinstance(node.op, ast.And):
                result = Select(kind, line, value, result, value)
            else:
                result = Select(kind, line, value, value, result)
        return self.spread(result, types)

    def conditional(self, node: ast.IfExp) -> Expr:
        """``a if test else b``."""
        test = self.test(node.test)
        then, orelse = self.guarded(node.body), self.guarded(node.orelse)
        types = self.types_of(then) | self.types_of(orelse)
        kind = self.joined(types, "the conditional expression", node.lineno)
        return self.spread(Select(kind, node.lineno, test, then, orelse), types)

    def guarded(self, node: ast.expr, *, test: bool = False) -> Expr:
        """An expression that is not always evaluated: nothing may be hoisted out of it."""
        saved, self.hoist = self.hoist, None
        try:
            return self.test(node) if test else self.expr(node)
        finally:
            self.hoist = saved

    # ------------------------------------------------------------ arrays
    def rank(self, view: View) -> int:
        """Axes that are left."""
        info = self.used_arrays[view.array]
        assert info.ndim is not None
        return info.ndim - len(view.prefix)

    def view(self, node: ast.expr) -> View | None:
        """The array or row an expression stands for; None if it is no array."""
        match node:
            case ast.Name() | ast.Attribute():
                path = self.path(node)
                if path is None:
                    return None
                env = self.env if self.env is not None else {}
                found = env.get(path)
                if found is None and path in self.observation.values:
                    info = self.observation.values[path]
                    if info.kind in _CONTAINERS:
                        if self._is_table(path):
                            return None
                        self.check_array(path, info, node.lineno)
                        return View(path)
                if isinstance(found, Gone):
                    raise Stop(f"{ast.unparse(node)} {found.why}", node.lineno)
                return found if isinstance(found, View) else None
            case ast.Subscript(value=value):
                base = self.view(value)
                if base is None:
                    return None
                indices = self.indices(base, node)
                prefix = (*base.prefix, *indices)
                info = self.used_arrays[base.array]
                assert info.ndim is not None
                if len(prefix) > info.ndim:
                    raise Stop(f"{ast.unparse(node)} has too many indices", node.lineno)
                return View(base.array, prefix)
        return None

    def _is_table(self, path: str) -> bool:
        if "." in path or path in self.local:
            return False
        return self.module.constant_table(path) is not None

    def table(self, node: ast.expr) -> Table | None:
        """A tuple of numbers known from the text."""
        from .scope import table as literal_table

        rows = literal_table(node)
        if rows is not None:
            return Table(rows)
        if isinstance(node, ast.Name):
            path = self.key(node.id)
            env = self.env if self.env is not None else {}
            if path in env:
                found = env[path]
                return found if isinstance(found, Table) else None
            if self._is_table(path):
                rows = self.module.constant_table(path)
                return None if rows is None else Table(rows)
        return None

    def indices(self, base: View, node: ast.Subscript) -> tuple[Expr, ...]:
        """The index expressions of one subscript, negative constants made positive."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        info = self.used_arrays[base.array]
        if isinstance(node.slice, ast.Tuple) and info.kind != "ndarray":
            raise Stop(f"{ast.unparse(node)} indexes a {info.kind} with a tuple", node.lineno)
        result: list[Expr] = []
        for offset, part in enumerate(parts):
            if isinstance(part, ast.Slice):
                raise Stop(
                    f"the slice {ast.unparse(node)} inside the loop", node.lineno, "loop over it"
                )
            if isinstance(part, ast.Constant) and part.value in (None, ...):
                raise Stop(f"the index {ast.unparse(node)} makes an array", node.lineno)
            index = self.settled(self.expr(part))
            if index.type.kind is not Kind.INT:
                raise Stop(f"index of type {index.type} in {ast.unparse(node)}", node.lineno)
            axis = len(base.prefix) + offset
            if isinstance(index, Const) and isinstance(index.value, int) and index.value < 0:
                # a[-1] and a[n - 1] are one place: only one spelling may reach the analysis
                dim = Dim(PY_INT, index.line, base.array, axis)
                index = Binary(
                    PY_INT, index.line, "-", dim, Const(PY_INT, index.line, -index.value)
                )
            result.append(index)
        return tuple(result)

    def element(self, node: ast.Subscript) -> Expr:
        """One element, or an extent (``a.shape[0]``)."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner = self.view(node.value.value)
            if owner is not None:
                return self.extent(owner, node)
        constant = self.table_item(node)
        if constant is not None:
            return constant
        view = self.view(node)
        if view is None:
            raise Stop(f"{ast.unparse(node)}: not an array or list of numbers", node.lineno)
        return self.load(view, node.lineno, ast.unparse(node))

    def load(self, view: View, line: int, text: str) -> Expr:
        """The element under a complete index."""
        left = self.rank(view)
        if left:
            raise Stop(f"{text} is a whole row used as a value", line, "loop over its elements")
        kind = self.element_of(self.used_arrays[view.array])
        assert kind is not None
        return Load(kind, line, view.array, view.prefix)

    def table_item(self, node: ast.Subscript) -> Expr | None:
        """``OFFSETS[2]`` of a tuple known from the text, with a constant index."""
        rows = self.table(node.value)
        if rows is None:
            return None
        index = self.expr(node.slice)
        if not (isinstance(index, Const) and isinstance(index.value, int)):
            path = self.path(node.value) if isinstance(node.value, ast.Name) else None
            if path is not None and path in self.observation.values:
                info = self.observation.values[path]
                if info.kind in _CONTAINERS:
                    self.check_array(path, info, node.lineno)
                    return self.load(
                        View(path, self.indices(View(path), node)), node.lineno, ast.unparse(node)
                    )
            raise Stop(f"{ast.unparse(node)}: a tuple with a varying index", node.lineno)
        try:
            value = rows.rows[index.value]
        except IndexError:
            raise Stop(f"{ast.unparse(node)} is out of range", node.lineno) from None
        if isinstance(value, tuple):
            raise Stop(f"{ast.unparse(node)} is a tuple used as a value", node.lineno)
        kind = typing.type_of_value(value)
        assert kind is not None
        return Const(kind, node.lineno, value)

    def extent(self, owner: View, node: ast.Subscript) -> Expr:
        """``a.shape[k]`` for a constant k."""
        if self.used_arrays[owner.array].kind != "ndarray":
            raise Stop(f"{ast.unparse(node)}: a list has no shape", node.lineno)
        index = self.expr(node.slice)
        if not (isinstance(index, Const) and isinstance(index.value, int)):
            raise Stop(f"{ast.unparse(node)} with a varying axis", node.lineno)
        rank = self.rank(owner)
        axis = index.value + rank if index.value < 0 else index.value
        if not 0 <= axis < rank:
            raise Stop(f"{ast.unparse(node)}: no such axis", node.lineno)
        return Dim(PY_INT, node.lineno, owner.array, len(owner.prefix) + axis)

    def call(self, node: ast.Call) -> Expr:
        """A call; the rest of it is in ``inline``."""
        raise NotImplementedError

    def exprs(self, nodes: Sequence[ast.expr]) -> list[Expr]:
        """Several expressions in order of evaluation."""
        return [self.expr(n) for n in nodes]


def _operator(op: ast.operator, line: int) -> str:
    found = _BINARY.get(type(op))
    if found is None:
        raise Stop("matrix product inside the loop", line)
    return found


def binary_operator(op: ast.operator, line: int) -> str:
    """The spelling of an AST operator. Raises Stop for ``@``."""
    return _operator(op, line)


def _canonical_target(target: str) -> str:
    """``numpy.linalg.norm`` stays; private C module names become the public ones."""
    for private, public in (("builtins.", ""), ("numpy.core.umath.", "numpy.")):
        if target.startswith(private):
            return public + target.removeprefix(private)
    return target


def described(info: ValueInfo) -> str:
    """What was seen, in words."""
    if info.kind == "mixed":
        return "of different types"
    return info.type_name.removeprefix("builtins.")
