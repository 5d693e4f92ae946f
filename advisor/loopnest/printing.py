"""IR expressions as Python text, for messages and for back ends that need a start."""

from __future__ import annotations

from .ir import (
    Binary,
    Bool,
    Call,
    Compare,
    Const,
    Dim,
    Expr,
    Len,
    Load,
    Select,
    Unary,
    UserCall,
    Var,
)

_LEVELS = {
    "or": 1,
    "and": 2,
    "not": 3,
    "<": 4,
    "|": 5,
    "^": 6,
    "&": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "//": 10,
    "%": 10,
    "**": 12,
}
_UNARY_LEVEL = 11


def text(expr: Expr, level: int = 0) -> str:
    """The expression in Python, with only the parentheses it needs."""
    own, spelled = _spell(expr)
    return f"({spelled})" if own < level else spelled


def _spell(expr: Expr) -> tuple[int, str]:
    match expr:
        case Const(value=value, name=name):
            spelled = name or repr(value)
            return (_UNARY_LEVEL if spelled.startswith("-") else 20), spelled
        case Var(name=name):
            return 20, name
        case Dim(array=array, axis=axis):
            return 20, f"len({array}{'[0]' * axis})"
        case Len(array=array):
            return 20, f"len({array})"
        case Load(array=array, index=index):
            return 20, f"{array}[{', '.join(text(i) for i in index)}]"
        case Unary(op="not", operand=operand):
            return 3, f"not {text(operand, 3)}"
        case Unary(op=op, operand=operand):
            return _UNARY_LEVEL, f"{op}{text(operand, _UNARY_LEVEL)}"
        case Binary(op="**", left=left, right=right):
            return 12, f"{text(left, 13)}**{text(right, _UNARY_LEVEL)}"
        case Binary(op=op, left=left, right=right):
            own = _LEVELS[op]
            return own, f"{text(left, own)} {op} {text(right, own + 1)}"
        case Compare(op=op, left=left, right=right):
            return 4, f"{text(left, 5)} {op} {text(right, 5)}"
        case Bool(op=op, operands=operands):
            own = _LEVELS[op]
            return own, f" {op} ".join(text(o, own + 1) for o in operands)
        case Select(test=test, then=then, orelse=orelse):
            return 0, f"{text(then, 1)} if {text(test, 1)} else {text(orelse)}"
        case Call(function=function, args=args):
            return 20, f"{function}({', '.join(text(a) for a in args)})"
        case UserCall(function=function, args=args):
            parts = (a if isinstance(a, str) else text(a) for a in args)
            return 20, f"{function}({', '.join(parts)})"
    return 20, repr(expr)
