"""Which statements on CuPy arrays are one element-wise kernel, and of what."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..codegen import ast_tools as tools
from ..model import Source
from .basics import meaning
from .cupy import Types
from .cupy_names import own_function
from .cupy_tables import ELEMENTWISE, words

LEAST = 3
"""Kernels that a chain must save at least: a fused call costs about two launches on the host."""
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.BitXor)
_STEPS = words(
    "floor ceil rint trunc sign mod remainder floor_divide isnan isinf isfinite signbit equal "
    "not_equal less less_equal greater greater_equal left_shift right_shift power negative"
)
"""Functions that a last digit can make jump: not of what was computed in the chain."""
_EXACT = words("logical_and logical_or logical_xor logical_not maximum minimum abs absolute")


@dataclass(frozen=True)
class Chain:
    """Statements that one fused function replaces; the last one makes what is used further."""

    statements: tuple[ast.Assign | ast.Return, ...]
    arrays: tuple[str, ...]
    numbers: tuple[str, ...]
    """Names that are Python floats."""
    kernels: int
    """Operations, each of which is a kernel of its own now."""
    exact: bool
    """No arithmetic whose rounding a fused multiply-add could change."""
    inner: bool
    """In a function that the loop calls: its arguments are known for that call only."""
    scope: ast.Module | ast.FunctionDef


@dataclass
class _Found:
    arrays: dict[str, None]
    numbers: dict[str, None]
    kernels: int = 0
    exact: bool = True


def chains(types: Types, loop: ast.For | ast.While) -> Iterator[Chain]:
    """The longest chains in a loop, and in the functions of the file that it calls."""
    for block in _blocks(loop):
        yield from _in_block(types, block, inner=False)
    done: set[str] = set()
    yield from _in_functions(types, loop, done)


def _in_functions(types: Types, node: ast.AST, done: set[str]) -> Iterator[Chain]:
    for call in tools.own_nodes(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        function = own_function(types.source, call.func.id)
        inside = types.inside(call, function) if function is not None else None
        if function is None or inside is None or function.name in done:
            continue
        done.add(function.name)
        for block in _blocks(function):
            yield from _in_block(inside, block, inner=True)
        yield from _in_functions(inside, function, done)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """All blocks of statements at and below a node, not those of functions in it."""
    for inner in (node, *tools.own_nodes(node)):
        if isinstance(inner, tools.SCOPES) and inner is not node:
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(inner, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _in_block(types: Types, block: list[ast.stmt], *, inner: bool) -> Iterator[Chain]:
    start = 0
    while start < len(block):
        best: Chain | None = None
        for end in range(start + 1, len(block) + 1):
            found = _chain(types, block[start:end], inner=inner)
            if isinstance(found, Chain):
                best = found
            elif found is None:
                break  # not even the start of a chain
        if best is not None and best.kernels >= LEAST:
            yield best
            start += len(best.statements)
        else:
            start += 1


def _chain(types: Types, statements: Sequence[ast.stmt], *, inner: bool) -> Chain | bool | None:
    """The chain; True where it could become one with more statements; None where it cannot."""
    found = _Found({}, {})
    made: dict[str, bool] = {}
    parts: list[ast.Assign | ast.Return] = []
    for statement in statements:
        value = _value(types.source, statement)
        if value is None or not isinstance(statement, ast.Assign | ast.Return):
            return None
        before = found.kernels
        if not _fusible(types, value, found, made) or found.kernels == before:
            return None
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            assert isinstance(target, ast.Name)
            made[target.id] = _is_boolean(types, value, made)
        parts.append(statement)
    if not _one_result(types, statements, made, {*found.arrays, *found.numbers}):
        return True
    return Chain(
        statements=tuple(parts),
        arrays=tuple(found.arrays),
        numbers=tuple(found.numbers),
        kernels=found.kernels,
        exact=found.exact,
        inner=inner,
        scope=types.scope,
    )


def _value(source: Source, statement: ast.stmt) -> ast.expr | None:
    if not tools.stands_alone(source, statement):
        return None
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            return value
        case ast.Return(value=ast.expr() as value):
            return value
    return None


def _one_result(
    types: Types, statements: Sequence[ast.stmt], made: dict[str, bool], read: set[str]
) -> bool:
    """Whether nothing but the last statement's value is used behind the chain."""
    last = statements[-1]
    result = ""
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        result = last.targets[0].id
    inside = {node for part in statements for node in ast.walk(part)}
    for name in made:
        if name == result:
            continue
        # speed = speed * 0.9 is read again in the next step; del speed would not find it
        deleted = any(isinstance(n.ctx, ast.Del) for n in tools.stores(types.scope, name))
        if name in read or deleted:
            return False
        if tools.deferred_uses(types.source, types.scope, name) is not None:
            return False
        if any(node not in inside for node in tools.loads(types.scope, name)):
            return False
        # a value that nothing uses still decides the shape of the result, and what is raised
        if not any(node in inside for node in tools.loads(types.scope, name)):
            return False
    return True


# ----------------------------------------------------------------- expressions
def _fusible(types: Types, node: ast.expr, found: _Found, made: dict[str, bool]) -> bool:
    """Whether an expression is element-wise work on arrays; what it reads goes to ``found``."""
    match node:
        case ast.Name(id=name):
            return name in made or _leaf(types, node, found)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)):
            found.exact = False
            return power in (2, 3) and _all(types, [left], found, made)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
            # multiply and add may become one operation that rounds once
            exact = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
            found.exact = found.exact and exact
            return _all(types, [left, right], found, made)
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            return _all(types, [operand], found, made)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            # a last digit can turn the answer: only what comes from outside is compared
            known = not isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn)
            outside = all(_outside(part, made) for part in (left, right))
            return known and outside and _all(types, [left, right], found, made)
        case ast.Call():
            return _call(types, node, found, made)
    return False


def _all(types: Types, parts: list[ast.expr], found: _Found, made: dict[str, bool]) -> bool:
    """Operands of one operation: at least one array, the others arrays or small constants."""
    found.kernels += 1
    arrays = 0
    for part in parts:
        if _is_constant(part):
            continue
        if not _fusible(types, part, found, made):
            return False
        arrays += not (isinstance(part, ast.Name) and part.id in found.numbers)
    # 0.5 * dt of two Python numbers would be an operation of the kernel, in double precision
    return arrays > 0


def _leaf(types: Types, node: ast.Name, found: _Found) -> bool:
    value = types.of(node)
    if value.what == "device":
        found.arrays[node.id] = None
        return True
    if value.what == "number" and value.kind == "f":
        found.numbers[node.id] = None
        return True
    return False


def _is_constant(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() as number):
            # 300 does not fit a byte: outside a kernel that raises, in one it wraps
            return 0 <= number <= 127
        case (
            ast.Constant(value=float())
            | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float()))
        ):
            return True
    return False


def _outside(node: ast.expr, made: dict[str, bool]) -> bool:
    return _is_constant(node) or (isinstance(node, ast.Name) and node.id not in made)


def _call(types: Types, node: ast.Call, found: _Found, made: dict[str, bool]) -> bool:
    if node.keywords:
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" and len(node.args) == 1:
        # of rounded values only to a float: int(2.9999999) and int(3.0) are different
        truth = _is_boolean(types, node.func.value, made)
        kind = types.dtype_of(node.args[0])
        # x.dtype of a parameter is known for one call only
        known = types.depth == 0 or meaning(types.source, node.args[0]) is not None
        return (truth or (kind == "f" and known)) and _all(types, [node.func.value], found, made)
    called = meaning(types.source, node.func) or ""
    name = called.removeprefix("cupy.")
    if called == "cupy.where" and len(node.args) == 3:
        return _is_boolean(types, node.args[0], made) and _all(types, node.args, found, made)
    if name == called or name not in ELEMENTWISE or len(node.args) != ELEMENTWISE[name][0]:
        return False
    if name in _STEPS and not all(_outside(argument, made) for argument in node.args):
        return False
    if name not in _EXACT and name not in _STEPS:
        found.exact = False
    return _all(types, node.args, found, made)


def _is_boolean(types: Types, node: ast.expr, made: dict[str, bool]) -> bool:
    """Whether an expression is certainly made of comparisons."""
    match node:
        case ast.Name(id=name):
            return made.get(name, False)
        case ast.Compare():
            return True
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), right=right):
            return _is_boolean(types, left, made) and _is_boolean(types, right, made)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return _is_boolean(types, operand, made)
        case ast.Call():
            name = (meaning(types.source, node.func) or "").removeprefix("cupy.")
            return ELEMENTWISE.get(name, (0, ""))[1] == "b"
    return False
