"""How a list is used, as the text proves it: made here, and never handed to anyone else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..model import Source
from . import ast_tools as tools

EAGER = frozenset(
    "len sum max min sorted any all set tuple list str repr frozenset print".split()  # noqa: SIM905
)
"""Built-ins that are done with a list when they return."""
METHODS = frozenset(
    "append clear copy count extend index insert pop remove reverse sort".split()  # noqa: SIM905
)


def values_bound(source: Source, scope: tools.Scope, name: str) -> list[ast.expr | None]:
    """What each assignment of the scope gives ``name``; None for loops, parameters, ``with`` .."""
    found: list[ast.expr | None] = []
    for store in tools.stores(scope, name):
        found.append(_value_of(source, store))
    if isinstance(scope, ast.FunctionDef) and _is_parameter(scope, name):
        found.append(None)
    return found


def _is_parameter(scope: ast.FunctionDef, name: str) -> bool:
    arguments = scope.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return any(argument.arg == name for argument in every)


def _value_of(source: Source, store: ast.Name) -> ast.expr | None:
    above = tools.parents(source)
    holder = above[store]
    match holder:
        case ast.Assign(value=value) if store in holder.targets:
            return value
        case ast.AnnAssign(value=value):
            return value
        # queue, seen = [start], set()
        case ast.Tuple(elts=targets):
            whole = above[holder]
            if isinstance(whole, ast.Assign) and isinstance(whole.value, ast.Tuple):
                values = whole.value.elts
                plain = not any(isinstance(e, ast.Starred) for e in [*targets, *values])
                if holder in whole.targets and plain and len(values) == len(targets):
                    return values[targets.index(store)]
    return None


def makes_list(source: Source, value: ast.expr | None) -> bool:
    """Whether an expression certainly gives a new list: ``[..]``, ``[0] * n``, ``list(..)``."""
    match value:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(left=ast.List(), op=ast.Mult()):
            return True
        case ast.Call(func=ast.Name(id="list" | "sorted" as name)):
            return tools.is_builtin(source, name)
    return False


def fresh_before(source: Source, loop: ast.stmt, name: str) -> ast.stmt | None:
    """The statement, in the loop's own block, that makes the list; None if there is none.

    It binds the name once: ``a = b = []`` makes two names for one list.
    """
    block = tools.block_of(source, loop)
    for statement in reversed(block[: block.index(loop)]):
        if not tools.stores(statement, name):
            continue
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            single = isinstance(statement, ast.AnnAssign) or len(statement.targets) == 1
            store = tools.stores(statement, name)
            value = _value_of(source, store[0])
            if single and len(store) == 1 and makes_list(source, value):
                return statement
        return None
    return None


def uses_between(source: Source, first: ast.stmt, last: ast.stmt, name: str) -> Iterator[ast.Name]:
    """The reads of ``name`` after ``first`` up to the end of ``last`` in their common block."""
    block = tools.block_of(source, last)
    for statement in block[block.index(first) + 1 : block.index(last) + 1]:
        yield from tools.loads(statement, name)


def keeps_no_reference(source: Source, use: ast.Name) -> bool:
    """Whether nobody can hold the list after this use of its name: ``xs[i]``, ``len(xs)`` .."""
    holder = tools.parents(source)[use]
    match holder:
        case ast.Subscript(value=value):
            return value is use
        case ast.FormattedValue() | ast.Starred() | ast.Return():
            return True
        case ast.Compare(ops=operators):
            # items is before: a new list each time, or one list all the time
            return not any(isinstance(operator, ast.Is | ast.IsNot) for operator in operators)
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.If() | ast.While():
            return holder.test is use
        case ast.For(iter=value) | ast.comprehension(iter=value):
            return value is use
        case ast.BinOp(left=left, right=right):
            return isinstance(right if left is use else left, ast.List | ast.ListComp)
        case ast.Call(func=ast.Name(id=function)):
            return function in EAGER and tools.is_builtin(source, function)
        case ast.Attribute(attr=attr):
            call = tools.parents(source)[holder]
            return attr in METHODS and isinstance(call, ast.Call) and call.func is holder
    return False


def iterates_over(loop: ast.AST, name: str) -> Iterator[ast.For]:
    """The ``for`` statements at or below ``loop`` that walk along the list."""
    for node in ast.walk(loop):
        if isinstance(node, ast.For) and tools.loads(node.iter, name):
            yield node
