"""Expressions: what each one is in the original program and in compiled code.

``Evaluator.value`` walks a Python expression with the types, ranges and symbolic bounds of its
operands. Where numba would compute something else than Python or NumPy do, it inserts a cast, notes
a condition or raises ``Unsupported``.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..loopnest.affine import Affine, constant
from ..loopnest.ir import CHAR, PY_BOOL, PY_INT, Kind, Nest, Scalar
from ..loopnest.scope import dotted
from ..loopnest.typing_rules import compare_type
from .nb_arith import EXACT_IN_FLOAT, Arithmetic
from .nb_calls import call
from .nb_chars import literal as text_literal
from .nb_chars import search
from .nb_scope import Scope
from .nb_state import State, fail
from .nb_values import (
    INT64_MAX,
    STEPS,
    Items,
    Num,
    Target,
    Unsupported,
    Value,
    View,
    compiled,
    hull,
    number,
)

OPERATORS: dict[type[ast.operator], str] = {
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
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class Evaluator(Arithmetic):
    """Values of expressions in one scope (the user's loop, or a helper called in it)."""

    def __init__(self, state: State, scope: Scope) -> None:
        self.state = state
        self.scope = scope

    # ------------------------------------------------------------ dispatch
    def value(self, node: ast.expr, sink: str | None = None) -> Value:
        """The value of any expression. ``sink``: the dtype it is stored to at once."""
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() as literal):
                return self.fits(number(literal), node)
            case ast.Constant(value=str()):
                return text_literal(self, node)
            case ast.Name() | ast.Attribute():
                return self._reference(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp(op=op, operand=operand):
                if isinstance(op, ast.Not):
                    self.test(operand)
                    return Num(PY_BOOL, 0, 1)
                return self.unary(node, op, self.number(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(
                    node, OPERATORS.get(type(op), "@"), left, right, self.number(left), None, sink
                )
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp(values=values):
                return self._logic([self.number(v) for v in values], node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.test(test)
                return self.join(self.number(body), self.number(orelse), node, "the value")
            case ast.Call():
                return call(self, node)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return Items(tuple(self.value(e) for e in elts))
        what = type(node).__name__.lower()
        raise Unsupported(f"compiled code cannot use this expression here ({what})", node.lineno)

    def number(self, node: ast.expr) -> Num:
        """The value of an expression that must be one number."""
        value = self.value(node)
        if isinstance(value, Num):
            return value
        text = ast.unparse(node)
        raise Unsupported(f"{text} is not a number here", node.lineno)

    def test(self, node: ast.expr) -> None:
        """A condition: only its truth counts, so ``and`` may take numbers."""
        match node:
            case ast.BoolOp(values=values):
                for value in values:
                    self.test(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.test(operand)
            case _:
                if self.number(node).type == CHAR:
                    text = f"the truth value of the text {ast.unparse(node)}"
                    raise Unsupported(text, node.lineno)

    # ---------------------------------------------------------- references
    def _reference(self, node: ast.Name | ast.Attribute) -> Value:
        path = dotted(node)
        if path is not None:
            found = self.scope.lookup(path, node)
            if found is not None:
                return found
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        raise Unsupported(f"nothing is known of {path}", node.lineno)

    def _attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        if isinstance(base, Target):
            return self.scope.module_attribute(base, node.attr, node.lineno)
        if (
            isinstance(base, Num)
            and base.type.kind is Kind.COMPLEX
            and node.attr in ("real", "imag")
        ):
            part = Scalar(Kind.FLOAT, base.type.dtype and "float64")
            low = None if base.high is None else -base.high
            return Num(part, low, base.high, nan=base.nan)
        if isinstance(base, View) and node.attr == "shape":
            return Items(tuple(self.extent(base, k) for k in range(base.ndim)))
        if isinstance(base, View) and node.attr == "size":
            if base.ndim == 1:
                return self.extent(base, 0)
            return Num(PY_INT, 0, STEPS)
        raise Unsupported(f"attribute .{node.attr} has no compiled form", node.lineno)

    def extent(self, view: View, axis: int) -> Num:
        """``len`` of an array along an open axis."""
        self.scope.need(view.array)
        if view.array in self.state.native:
            return Num(PY_INT, 0, STEPS)
        return Num(PY_INT, 0, STEPS, form=self.state.extent(view.array, view.axis + axis))

    # ---------------------------------------------------------- subscripts
    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, Items):
            return self._pick(base, node)
        if not isinstance(base, View):
            raise Unsupported(f"{ast.unparse(node.value)} cannot be indexed", node.lineno)
        view = self.indexed(base, node)
        if view.ndim:
            return view
        return self.scope.element(view)

    def _pick(self, base: Items, node: ast.Subscript) -> Value:
        index = self.number(node.slice)
        if index.low is not None and index.low == index.high:
            try:
                return base.items[int(index.low)]
            except IndexError:
                raise Unsupported("index out of range", node.lineno) from None
        items = [item for item in base.items if isinstance(item, Num)]
        if len(items) != len(base.items) or len({i.type for i in items}) != 1:
            raise Unsupported("a tuple of unlike items is indexed by a variable", node.lineno)
        if not index.within(-len(items), len(items) - 1):
            self.state.unchecked = self.state.unchecked or node
        return hull(items, items[0].type)

    def indexed(self, view: View, node: ast.Subscript) -> View:
        """The view after the indices of a subscript, each proved in bounds or noted."""
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        while len(nodes) > 1 and _is_whole(nodes[-1]) and self._is_ndarray(view):
            nodes = nodes[:-1]  # a[i, :] is the row a[i]
        if len(nodes) > view.ndim:
            raise Unsupported(f"{ast.unparse(node)}: too many indices", node.lineno)
        for index_node in nodes:
            if isinstance(index_node, ast.Slice):
                raise Unsupported(
                    f"the slice {ast.unparse(node)} is handled as a whole array",
                    node.lineno,
                    "write the inner loop out, or leave the whole-array form",
                )
            index = self.number(index_node)
            if index.type.kind is not Kind.INT:
                raise Unsupported(f"{ast.unparse(index_node)} is not an integer index", node.lineno)
            self.scope.need(view.array)
            if view.array in self.state.native:
                self.state.may_raise = True  # lists always look whether they have the index
            elif self.state.recording and not self._in_bounds(index, view):
                self.state.unchecked = self.state.unchecked or node
            view = replace(view, ndim=view.ndim - 1, axis=view.axis + 1)
        return view

    def _is_ndarray(self, view: View) -> bool:
        nest = self.state.region.nest
        return isinstance(nest, Nest) and nest.arrays[view.array].container == "ndarray"

    def _in_bounds(self, index: Num, view: View) -> bool:
        extent = self.state.extent(view.array, view.axis)
        forms = (index.form,) if index.form is not None else ()
        prove = self.state.prove_nonpositive
        below = any(prove(high - extent + 1) for high in (*forms, *index.highs))
        if not below and index.high is not None:
            below = isinstance(index.high, int) and prove(constant(index.high + 1) - extent)
        if not below:
            return False
        if index.low is not None and index.low >= 0:
            return True
        # a negative index wraps in both worlds: it must only not fall below -extent
        lows: tuple[Affine, ...] = (*forms, *index.lows)
        return any(prove(-low) or prove(-low - extent) for low in lows)

    # ---------------------------------------------------------- comparisons
    def _compare(self, node: ast.Compare) -> Num:
        searched = search(self, node)
        if searched is not None:
            return searched
        match node:
            case ast.Compare(
                left=ast.Tuple(elts=left),
                ops=[ast.Eq() | ast.NotEq()],
                comparators=[ast.Tuple(elts=right)],
            ) if len(left) == len(right):
                return self._compare_tuples(left, right, node)
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Tuple(elts=items)]):
                return self._search(node.left, items, node)
        nodes = [node.left, *node.comparators]
        values = [self.number(n) for n in nodes]
        result: Num | None = None
        for k, op in enumerate(node.ops):
            symbol = COMPARISONS.get(type(op))
            if symbol is None:
                text = f"`{ast.unparse(node)}` has no compiled form"
                raise Unsupported(text, node.lineno)
            self._compare_pair(symbol, nodes[k], nodes[k + 1], values[k], values[k + 1], node)
            one = self._truth(symbol, values[k], values[k + 1])
            result = one if result is None else self._logic([result, one], node)
        assert result is not None
        return result

    def _compare_tuples(
        self, left: list[ast.expr], right: list[ast.expr], node: ast.Compare
    ) -> Num:
        """``(di, dj) != (0, 0)`` of whole numbers; the nest has refused floats."""
        for one, two in zip(left, right, strict=True):
            self._compare_pair("==", one, two, self.number(one), self.number(two), node)
        return Num(PY_BOOL, 0, 1)

    def _search(self, left: ast.expr, items: list[ast.expr], node: ast.Compare) -> Num:
        """``s in (2, 3)``: numba's tuples of one type search as Python's."""
        value = self.number(left)
        found = [self.number(item) for item in items]
        if value.type.kind is not Kind.INT or {f.type for f in found} != {PY_INT}:
            text = f"`{ast.unparse(node)}` searches other than whole numbers"
            raise Unsupported(text, node.lineno)
        for item, one in zip(items, found, strict=True):
            self._compare_pair("==", left, item, value, one, node)
        return Num(PY_BOOL, 0, 1)

    @staticmethod
    def _truth(op: str, left: Num, right: Num) -> Num:
        """``s < k`` is a bool while s is a Python number, and numpy.bool once it is NumPy's."""
        pairs = [(a, b) for a in left.types for b in right.types]
        types = {found for a, b in pairs if (found := compare_type(op, a, b)) is not None}
        main = compare_type(op, left.type, right.type)
        assert main is not None
        return Num(main, 0, 1, also=frozenset(types - {main}))

    def _compare_pair(
        self, op: str, left_node: ast.expr, right_node: ast.expr, left: Num, right: Num, at: ast.AST
    ) -> None:
        type_ = compare_type(op, left.type, right.type)
        line = getattr(at, "lineno", None)
        if type_ is None:
            raise Unsupported(f"{left.type} {op} {right.type} is not defined", line)
        if op not in ("==", "!=") and Kind.COMPLEX in (left.type.kind, right.type.kind):
            # NumPy orders complex numbers, Python raises; numba knows neither
            raise Unsupported(f"{left.type} {op} {right.type} orders complex numbers", line)
        names = {compiled(left.type), compiled(right.type)}
        for node, side, other in ((left_node, left, right), (right_node, right, left)):
            if side.type.is_python and compiled(other.type) == "float32":
                # u[i] > 0.1 with float32 u compares with float32(0.1)
                self.state.cast(node, "float32")
                names = {"float32"}
            if "uint64" in names and len(names) > 1 and not side.within(0, INT64_MAX):
                fail(self.state, f"{left.type} {op} {right.type} has no exact compiled form", at)
            exact = side.within(-EXACT_IN_FLOAT, EXACT_IN_FLOAT)
            if side.type == PY_INT and other.type.kind is Kind.FLOAT and not exact:
                # Python compares ints and floats exactly
                fail(
                    self.state, f"{ast.unparse(node)} may be too large for an exact comparison", at
                )
        if "uint64" in names and len(names) > 1:
            raise Unsupported(f"{left.type} {op} {right.type} has no exact compiled form", line)

    def _logic(self, values: list[Num], node: ast.expr) -> Num:
        """``and``/``or`` return one of their operands."""
        if any(v.type.kind is not Kind.BOOL for v in values):
            text = f"`{ast.unparse(node)}` returns one of its operands"
            raise Unsupported(text, node.lineno, "write a conditional expression")
        result = values[0]
        for value in values[1:]:
            result = self.join(result, value, node, "the condition")
        return Num(result.type, 0, 1, also=result.also)


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None
