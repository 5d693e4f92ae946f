"""What a statement does with an array: whether anything may keep it, or see it later."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ..model import Source
from . import ast_tools as tools
from . import rolls
from .bf_values import dotted, operation

_LOOKS = frozenset({"shape", "size", "ndim", "dtype", "nbytes", "itemsize"})
_FRESH_METHODS = frozenset(
    [
        "max",
        "min",
        "sum",
        "mean",
        "std",
        "var",
        "all",
        "any",
        "copy",
        "tolist",
        "item",
        "argmax",
        "argmin",
        "dot",
        "prod",
        "tobytes",
        "round",
        "cumsum",
        "nonzero",
    ]
)
_FRESH_NUMPY = rolls.PURE_NUMPY - {"array"} | frozenset(
    [
        "amax",
        "amin",
        "abs",
        "std",
        "var",
        "sum",
        "mean",
        "allclose",
        "array_equal",
        "isfinite",
        "isnan",
        "where",
        "roll",
        "pad",
        "gradient",
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "argmax",
        "argmin",
        "median",
        "percentile",
        "diff",
        "prod",
        "copyto",
        "maximum",
        "minimum",
        "logical_and",
        "logical_or",
        "divide",
        "true_divide",
        "count_nonzero",
    ]
)
_BUILTINS = frozenset({"float", "int", "abs", "len", "print", "sum", "round", "str", "repr"})


IsArray = Callable[[ast.expr], bool]
"""Whether an expression is certainly an ordinary array."""


def kept(source: Source, statement: ast.AST, is_array: IsArray) -> Iterator[str]:
    """Names (or chains) whose array something may hold on to after the statement.

    ``frames.append(u)``, ``w = u[0]``, ``show(u)``; not ``print(u.max())``. An assignment of
    one bare name to another is left to the caller.
    """
    above = {child: n for n in ast.walk(statement) for child in ast.iter_child_nodes(n)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            name = dotted(node)
            if name is not None and not _is_safe(source, node, above, is_array):
                yield name


def _is_safe(
    source: Source, node: ast.AST, above: dict[ast.AST, ast.AST], is_array: IsArray
) -> bool:
    holder = above.get(node)
    match holder:
        case None:
            return True
        case ast.Attribute(attr=attr):
            outer = above.get(holder)
            called = isinstance(outer, ast.Call) and outer.func is holder
            if called:
                return _is_method(outer, attr)
            return attr in _LOOKS or _is_safe(source, holder, above, is_array)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.FormattedValue():
            return not (
                isinstance(holder, ast.Compare)
                and any(isinstance(op, ast.In | ast.NotIn) for op in holder.ops)
            )
        case ast.Subscript(ctx=ctx, value=value):
            if value is not node or not isinstance(ctx, ast.Load):
                return True
            return _is_safe(source, holder, above, is_array)
        case ast.Slice() | ast.Expr() | ast.If() | ast.While():
            return True
        case ast.AugAssign(target=target):
            # rows += u  extends a list by views of the rows
            whole = target.value if isinstance(target, ast.Subscript) else target
            return holder.value is not node or is_array(whole)
        case ast.Assign(targets=targets):
            # frames[n] = u  keeps u itself where frames is a list
            return all(isinstance(t, ast.Subscript) and is_array(t.value) for t in targets)
        case ast.Call(func=func):
            if func is node or any(k.arg == "out" for k in holder.keywords):
                return True
            if operation(source, holder) is not None:
                return True
            if isinstance(func, ast.Name):
                return func.id in _BUILTINS and tools.is_builtin(source, func.id)
            return tools.numpy_function(source, holder) in _FRESH_NUMPY
    return False


def _is_method(call: ast.AST | None, attr: str) -> bool:
    return (
        attr in _FRESH_METHODS
        and isinstance(call, ast.Call)
        and all(keyword.arg in ("axis", "keepdims", "ddof", "dtype") for keyword in call.keywords)
    )


def all_calls_known(source: Source, statements: list[ast.stmt]) -> bool:
    """Whether no call might run code that rebinds an attribute of an object we look at."""
    return not any(_unknown(source, statement) for statement in statements)


def _unknown(source: Source, statement: ast.AST) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.Call) or operation(source, node) is not None:
            continue
        name = tools.numpy_function(source, node)
        if name is not None:
            continue
        match node.func:
            case ast.Name(id=called):
                safe = called in _BUILTINS | rolls.PURE_BUILTINS | {"range", "enumerate", "zip"}
                known = safe and tools.is_builtin(source, called)
            case ast.Attribute(attr=attr):
                known = attr in _FRESH_METHODS | {"append", "format", "fill"}
            case _:
                known = False
        if not known:
            return True
    return False
