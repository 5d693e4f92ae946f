"""What the operators share: their register, and looks at syntax nodes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from mutant_text import Mutant, Node, Rewritten

Operator = Callable[[Rewritten], Iterator[Mutant | None]]
OPERATORS: dict[str, Operator] = {}

COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
COMMUTATIVE_CALLS = {
    *("add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "logical_and"),
    *("logical_or", "equal", "not_equal", "shares_memory", "may_share_memory", "array_equal"),
    *("min", "max", "hypot"),
}
OTHER = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_PAIRS = (
    *(("add", "subtract"), ("subtract", "add"), ("multiply", "divide"), ("divide", "multiply")),
    *(("true_divide", "multiply"), ("minimum", "maximum"), ("maximum", "minimum")),
    *(("greater", "less"), ("less", "greater"), ("sin", "cos"), ("sqrt", "abs"), ("exp", "expm1")),
    *(("floor_divide", "divide"), ("logical_and", "logical_or"), ("power", "multiply")),
    *(("bitwise_and", "bitwise_or"), ("min", "max"), ("max", "min"), ("cumsum", "cumprod")),
    *(("argmax", "argmin"), ("square", "abs")),
)
OTHER_CALLS = dict(_PAIRS)
NEIGHBOUR = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
DTYPES = {
    "float64": ("float32",),
    "int64": ("int32", "uint8"),
    "int32": ("int16",),
    "uint8": ("bool_",),
    "bool_": ("int8",),
    "intp": ("int8",),
    "int8": ("uint8",),
}
CONVERSIONS = frozenset({"float", "int", "bool", "list", "tuple"})
ZEROED = {"zeros": "empty", "zeros_like": "empty_like", "ones": "empty", "full": "empty"}


def operator(name: str) -> Callable[[Operator], Operator]:
    """Register an operator under a name of the table."""

    def register(function: Operator) -> Operator:
        OPERATORS[name] = function
        return function

    return register


def parens(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def changed(node: ast.expr, **fields: object) -> str:
    twin = copy.copy(node)
    for name, value in fields.items():
        setattr(twin, name, value)
    return parens(twin)


def is_slice_part(code: Rewritten, node: ast.AST) -> bool:
    above = code.parents.get(node)
    if isinstance(above, ast.UnaryOp):
        above = code.parents.get(above)
    return isinstance(above, ast.Slice)


def attribute(node: ast.AST) -> str:
    """Last name of a called function: ``zeros`` of ``np.zeros(n)``."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def of_numpy(node: ast.Call) -> bool:
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in ("np", "numpy")
    )


def constant(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return None if inner is None else -inner
    return None


def whole(code: Rewritten) -> Iterator[Node]:
    """Nodes of the rewritten function, whoever wrote them; at module level, of what was added."""
    if code.function is None:
        yield from code.nodes()
        return
    kept = {node for loop in code.fallbacks for node in ast.walk(loop)}
    for node in ast.walk(code.function or code.tree):
        definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if isinstance(node, ast.expr | ast.stmt) and node not in kept and not definition:
            yield node


def arguments(function: ast.FunctionDef) -> list[str]:
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args)]


def jitted(code: Rewritten, node: ast.AST) -> bool:
    """Inside a function that a compiler gets."""
    while node in code.parents:
        node = code.parents[node]
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            return True
    return False
