"""Python expressions to typed IR expressions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product

from . import typing_rules as typing
from .bindings import Binding, Given, Gone, Private, Stop, Table, View
from .ir import (
    CHAR,
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
    Scalar,
    Select,
    Unary,
    Var,
)
from .lower_text import TextLowering, negated
from .text import Text

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


class ExpressionLowering(TextLowering):
    """Operators, comparisons, conditions."""

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
            case ast.Subscript(
                value=ast.Call(
                    func=ast.Name(id="sorted"),
                    args=[ast.Tuple(elts=items) | ast.List(elts=items)],
                    keywords=[],
                ),
                slice=ast.Constant(value=int() as place),
            ) if self.is_builtin("sorted") and place in range(len(items)):
                return self.in_order(items, place, line)
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
            case ast.Constant(value=str() as text):
                return Text(CHAR, line, text)
            case ast.Constant(value=bytes()) | ast.JoinedStr():
                raise Stop("text inside the loop", line)
            case ast.Tuple() | ast.List() | ast.Dict() | ast.Set():
                raise Stop(f"a {type(node).__name__.lower()} made inside the loop", line)
            case ast.Lambda():
                raise Stop("a lambda inside the loop", line)
            case _:
                raise Stop(f"{ast.unparse(node)!s} inside the loop", line)

    def is_builtin(self, name: str) -> bool:
        """Whether the name means Python's built-in here."""
        raise NotImplementedError

    def in_order(self, items: Sequence[ast.expr], place: int, line: int) -> Expr:
        """``sorted((a, b, c))[1]``."""
        values = [self.settled(self.expr(item)) for item in items]
        kind = values[0].type
        if any(v.type != kind for v in values) or kind.kind not in (Kind.INT, Kind.FLOAT):
            raise Stop("numbers of different types are sorted", line)
        return Call(kind, line, "sorted", (Const(PY_INT, line, place), *values))

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
                    stop = Stop(f"{text} may be read before it is assigned", line)
                    stop.unsettled = True
                    raise stop
                kind = self.joined(types, text, line)
                if entry:
                    info = self.observation.values.get(path)
                    seen = self.scalar_type(path, info) if info is not None else None
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
            case ast.Compare(
                left=ast.Tuple(elts=left_items),
                ops=[ast.Eq() | ast.NotEq() as relation],
                comparators=[ast.Tuple(elts=right_items)],
            ):
                return self.tuples(left_items, relation, right_items, line)
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

    def tuples(self, left: list[ast.expr], op: ast.cmpop, right: list[ast.expr], line: int) -> Expr:
        """``(di, dj) != (0, 0)``: element by element."""
        starred = any(isinstance(e, ast.Starred) for e in (*left, *right))
        if starred or not left or len(left) != len(right):
            raise Stop("a comparison of tuples of different lengths", line)
        parts: list[Expr] = []
        for one, two in zip(left, right, strict=True):
            a, b = self.settled(self.expr(one)), self.settled(self.expr(two))
            if Kind.FLOAT in (a.type.kind, b.type.kind) or a.type.kind is Kind.COMPLEX:
                # (x, 1) == (x, 1) is true for a NaN x: tuples look for identity first
                raise Stop("a comparison of tuples with floats, where NaN may equal itself", line)
            part = self.compare("==", a, b, line)
            parts.append(part if part.type == PY_BOOL else Call(PY_BOOL, line, "bool", (part,)))
        equal: Expr = Bool(PY_BOOL, line, "and", tuple(parts)) if len(parts) > 1 else parts[0]
        return equal if isinstance(op, ast.Eq) else Unary(PY_BOOL, line, "not", equal)

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
        self.ordered(op, left, right)
        found = self.joined(frozenset(kinds), "the comparison", line)
        return self.spread(Compare(found, line, op, left, right), frozenset(kinds))

    def membership(self, left: ast.expr, op: ast.cmpop, right: ast.expr, line: int) -> Expr:
        """``x in (1, 2)`` as comparisons; the constants hold no NaN, so identity is no matter."""
        text = self.text_search(left, right, line)
        if text is not None:
            return negated(text) if isinstance(op, ast.NotIn) else text
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
        return self.tested(self.expr(node))

    def bool_value(self, node: ast.BoolOp) -> Expr:
        """``a or b`` as a value: one of the operands itself."""
        line = node.lineno
        values = [self.expr(node.values[0])]
        values = [self.tested(v) for v in (*values, *map(self.guarded, node.values[1:]))]
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
