"""What Python evaluates in a statement before it comes to a call.

A helper that stores into arrays runs in front of the statement that calls it. That is the same as
long as nothing that the statement evaluates earlier could see those stores.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

_RAISES_NOTHING = (ast.Add, ast.Sub, ast.Mult)


def comes_first(statement: ast.stmt, wanted: ast.Call, moved: Callable[[ast.Call], bool]) -> bool:
    """Whether a call always runs, and before all else in its statement that reads memory.

    ``moved``: whether another call runs in front of the statement, too, in its turn.
    """
    for root in _roots(statement):
        found = _reached(root, wanted, moved)
        if found is not None:
            return found
    return False


def _roots(statement: ast.stmt) -> Sequence[ast.expr]:
    """What the statement evaluates once, in order."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return (value, *targets)
        case ast.AugAssign(target=ast.Name(), value=value):
            return (value,)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return (value, target)
        case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
            return (value,)
        case ast.If(test=test):
            return (test,)
        case ast.For(iter=iterable):
            return (iterable,)
    return ()


def _reached(node: ast.expr, wanted: ast.Call, moved: Callable[[ast.Call], bool]) -> bool | None:
    """True where the call is reached with nothing read; False where not; None if it can go on."""
    if node is wanted:
        return True
    for part in _parts(node):
        found = _reached(part, wanted, moved)
        if found is not None:
            return found
    if any(inner is wanted for inner in ast.walk(node)):
        return False  # in a part that is not always evaluated
    return None if _sees_nothing(node, moved) else False


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    """Direct parts in the order in which they are evaluated, as far as they always are."""
    match node:
        case ast.BinOp(left=left, right=right):
            return (left, right)
        case ast.UnaryOp(operand=operand):
            return (operand,)
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(test=first):
            return (first,)
        case ast.Compare(left=left, comparators=[first, *_]):
            return (left, first)
        case ast.Call(func=ast.Attribute() | ast.Name(), args=args, keywords=[]):
            return args
        case ast.Tuple(elts=elts):
            return elts
        case ast.Subscript(value=value, slice=index):
            return (value, index)
    return ()


def _sees_nothing(node: ast.expr, moved: Callable[[ast.Call], bool]) -> bool:
    """Whether the value is the same if it is computed after a helper's stores."""
    match node:
        case ast.Call(args=args, keywords=[]):
            return moved(node) and all(_sees_nothing(a, moved) for a in args)
        case ast.Tuple(elts=elts, ctx=ast.Load()):
            return all(_sees_nothing(e, moved) for e in elts)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _RAISES_NOTHING):
            return _sees_nothing(left, moved) and _sees_nothing(right, moved)
        case ast.UnaryOp(operand=operand):
            return _sees_nothing(operand, moved)
        case ast.Compare(left=left, comparators=[other]):
            return _sees_nothing(left, moved) and _sees_nothing(other, moved)
        case ast.Constant() | ast.Name(ctx=ast.Load()):
            return True  # variables of the function's own, which no helper can set
    return False
