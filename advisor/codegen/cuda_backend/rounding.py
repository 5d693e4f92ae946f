"""Arithmetic that CUDA rounds otherwise than the CPU, and what is done about it.

The CUDA compiler fuses ``a * b + c`` into one multiply-add, which rounds once where Python rounds
twice; numba has no switch for that. ``dmul_rn(a, b)`` is a product that is never fused.
Additions, subtractions, divisions and square roots are rounded as IEEE 754 says in both worlds;
``exp``, ``sin``, ``pow`` and their like come from NVIDIA's libdevice and may differ in the last
digit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ...loopnest.fold import loads
from ...loopnest.ir import Stmt, expressions, statements
from ...loopnest.scope import dotted
from ...model import Source
from ..nb_state import Product, State, TextEdit
from ..nb_values import Unsupported
from .plan import Launch

EXACT = frozenset(
    {
        *("range", "len", "abs", "min", "max", "int", "float", "bool"),
        *("sqrt", "fabs", "floor", "ceil", "trunc", "copysign", "isnan", "isinf", "isfinite"),
        *("absolute", "fmin", "fmax", "minimum", "maximum", "sign"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "bool_", "intp", "size"),
    }
)
"""Last parts of the names of functions whose results are the same on both."""
_NO_SUMS = frozenset({"sqrt", "exp", "log", "sin", "cos"})
"""Functions that do not begin with an addition to their argument; abs(x * x) is x * x."""
_PRODUCTS = {"float64": "dmul_rn", "float32": "fmul_rn"}


def inexact_calls(state: State) -> tuple[str, ...]:
    """Functions and operators used that may differ in the last digit, as written."""
    found: dict[str, None] = {}
    roots: list[ast.AST] = [state.region.loop, *state.called.values()]
    for node in (n for root in roots for n in ast.walk(root)):
        match node:
            case ast.Call(func=func):
                name = dotted(func)
                known = name is not None and name.rpartition(".")[2] in EXACT
                if not known and name not in state.called:
                    found.setdefault(ast.unparse(func))
            case ast.BinOp(op=ast.Pow()) | ast.AugAssign(op=ast.Pow()):
                found.setdefault("**")
    return tuple(found)


class Products:
    """Which multiplications must not be fused, and the edits that see to it."""

    def __init__(self, source: Source, state: State, kernels: Iterable[Launch]) -> None:
        self.source = source
        self.state = state
        self.parents = _parents([state.region.loop, *state.called.values()])
        self.loaded = {node: _loaded(k.body) for k in kernels for node in ast.walk(k.root.node)}
        self.functions: dict[str, None] = {}
        """Those of ``numba.cuda.libdevice`` that are called."""

    def edit(self) -> None:
        """Add the edits to the state. Raises Unsupported where a type is not one."""
        for node, product in self.state.products.items():
            if node in self.parents and not self._stays_apart(node):
                self._edit(node, product)

    def _edit(self, node: ast.AST, product: Product) -> None:
        kinds = product.types & set(_PRODUCTS)
        if any(t.startswith("complex") for t in product.types):
            raise Unsupported("complex products round otherwise on a GPU", _line(node))
        if not kinds:
            return
        if len(product.types) > 1:
            raise Unsupported("a product is of several types", _line(node))
        (kind,) = kinds
        function = _PRODUCTS[kind]
        self.functions.setdefault(function)
        if isinstance(node, ast.AugAssign):
            self.state.edits |= _assigned(self.source, node, function)
            return
        assert isinstance(node, ast.expr)
        called_with(self.state, node, product.left, product.right, function)

    def _stays_apart(self, node: ast.AST) -> bool:
        """Whether nothing can be added to the product before it is rounded.

        ``b[i] = 0.5 * (a[i] + a[i + 1])`` is stored, and ``b`` is not read in the kernel.
        """
        if isinstance(node, ast.AugAssign):
            return self._is_stored(node.target, node)
        parent = self.parents[node]
        while isinstance(parent, ast.UnaryOp):
            parent = self.parents[parent]
        match parent:
            case ast.BinOp(op=ast.Mult() | ast.Div() | ast.Pow()) | ast.Compare():
                return True  # // and % subtract something on the way
            case ast.Assign(targets=[target]):
                return self._is_stored(target, parent)
            case ast.AugAssign(op=ast.Mult() | ast.Div()):
                return True
            case ast.Call(func=func):
                return (dotted(func) or "").rpartition(".")[2] in _NO_SUMS
        return False

    def _is_stored(self, target: ast.expr, statement: ast.AST) -> bool:
        while isinstance(target, ast.Subscript):
            target = target.value
            array = dotted(target)
            if array is not None:
                return array not in self.loaded.get(statement, frozenset({array}))
        return False


def called_with(
    state: State, node: ast.expr, left: ast.expr, right: ast.expr, function: str
) -> None:
    """``(a + b) * c`` becomes ``function(a + b, c)``."""
    source = state.source
    start, end = source.span(left)
    opening = source.span(node)[0]
    if source.data[opening:start] == b"(" and source.data[end : end + 1] == b")":
        state.edits.add(TextEdit(opening, 2 * 10**9, start, ""))
        state.edits.add(TextEdit(end, 0, end + 1, ""))
    state.infix_call(node, left, right, function)


def _loaded(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Arrays whose elements a kernel reads."""
    return frozenset(
        load.array for s in statements(body) for top in expressions(s) for load in loads(top)
    )


def _parents(roots: Iterable[ast.AST]) -> Mapping[ast.AST, ast.AST]:
    return {
        child: node
        for root in roots
        for node in ast.walk(root)
        for child in ast.iter_child_nodes(node)
    }


def _assigned(source: Source, node: ast.AugAssign, function: str) -> set[TextEdit]:
    """``x *= y`` becomes ``x = dmul_rn(x, y)``."""
    target_end = source.span(node.target)[1]
    start = source.span(node.value)[0]
    # (y) in parentheses: they stay, around the function's second argument
    between = source.data[target_end:start].decode("utf-8")
    if "#" in between or "\\" in between:
        raise Unsupported(f"`{ast.unparse(node)}` spans lines", node.lineno)
    opening = between.partition("=")[2].lstrip()
    text = f" = {function}({source.text(node.target)}, {opening}"
    close = source.span(node)[1]
    return {
        TextEdit(target_end, 0, start, text),
        TextEdit(close, 3 * 10**9, close, ")"),
    }


def _line(node: ast.AST) -> int | None:
    return getattr(node, "lineno", None)
