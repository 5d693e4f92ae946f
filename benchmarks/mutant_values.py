"""Faults in values: arithmetic, conditions, and the types of results."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator

from mutant_parts import (
    COMMUTATIVE,
    COMMUTATIVE_CALLS,
    CONVERSIONS,
    NEIGHBOUR,
    OTHER,
    OTHER_CALLS,
    attribute,
    changed,
    constant,
    is_slice_part,
    operator,
    parens,
)
from mutant_text import Mutant, Rewritten


@operator("off by one")
def off_by_one(code: Rewritten) -> Iterator[Mutant | None]:
    """A whole number that is one too large or too small."""
    for node in code.nodes():
        whole = isinstance(node, ast.Constant) and type(node.value) is int
        if whole and not is_slice_part(code, node) and not _axis_like(code, node):
            assert isinstance(node, ast.Constant) and isinstance(node.value, int)
            for step in (1, -1):
                yield code.replaced("off by one", node, f"({node.value + step})")


def _axis_like(code: Rewritten, node: ast.AST) -> bool:
    above = code.parents.get(node)
    return isinstance(above, ast.keyword) and above.arg in ("axis", "ndmin", "mode")


@operator("wrong constant")
def wrong_constant(code: Rewritten) -> Iterator[Mutant | None]:
    """A floating-point number in its last digit, and with the other sign."""
    for node in code.nodes():
        if isinstance(node, ast.Constant) and type(node.value) is float and node.value:
            yield code.replaced("wrong constant", node, f"({-node.value!r})")
            # Compared with, a number that is off in its last digit shows for one float in 2**53.
            compared = isinstance(code.parents.get(node), ast.Compare)
            off = 1.01 if compared else 1 + 2.0**-52
            yield code.replaced("wrong constant", node, f"({node.value * off!r})")


@operator("slice bound")
def slice_bound(code: Rewritten) -> Iterator[Mutant | None]:
    """A slice that starts or stops one element off."""
    for node in code.nodes():
        if not isinstance(node, ast.Slice):
            continue
        for part in ("lower", "upper"):
            bound = getattr(node, part)
            for other in _bounds(bound, part):
                text = _slice_text(node, part, other)
                yield code.replaced("slice bound", node, text)


def _bounds(bound: ast.expr | None, part: str) -> Iterator[str]:
    if bound is None:
        yield "1" if part == "lower" else "-1"
        return
    value = constant(bound)
    if value is not None:
        for other in (value + 1, value - 1):
            if part == "upper" and other == 0 and value < 0:
                yield ""
            else:
                yield str(other)
        return
    yield f"{ast.unparse(bound)} - 1"
    yield f"{ast.unparse(bound)} + 1"


def _slice_text(node: ast.Slice, part: str, by: str) -> str:
    texts = {
        name: "" if getattr(node, name) is None else ast.unparse(getattr(node, name))
        for name in ("lower", "upper", "step")
    }
    texts[part] = by
    step = f":{texts['step']}" if node.step is not None else ""
    return f"{texts['lower']}:{texts['upper']}{step}"


@operator("wrong border")
def wrong_border(code: Rewritten) -> Iterator[Mutant | None]:
    """The first row for the last one: ``a[0]`` for ``a[-1]``, ``a[1]`` for ``a[-2]``."""
    partner = {0: -1, -1: 0, 1: -2, -2: 1}
    for node in code.nodes():
        if not isinstance(node, ast.Subscript):
            continue
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for index in indices:
            value = constant(index)
            if value in partner and not isinstance(node.value, ast.Attribute):
                assert value is not None
                yield code.replaced("wrong border", index, str(partner[value]))


@operator("wrong operator")
def wrong_operator(code: Rewritten) -> Iterator[Mutant | None]:
    """Plus for minus, times for divided by, minimum for maximum."""
    for node in code.nodes():
        if isinstance(node, ast.BinOp) and type(node.op) in OTHER:
            yield code.replaced("wrong operator", node, changed(node, op=OTHER[type(node.op)]()))
        elif isinstance(node, ast.AugAssign) and type(node.op) in OTHER:
            twin = copy.copy(node)
            twin.op = OTHER[type(node.op)]()
            yield code.replaced("wrong operator", node, ast.unparse(twin))
        elif isinstance(node, ast.Call) and attribute(node) in OTHER_CALLS:
            function = node.func
            name = OTHER_CALLS[attribute(node)]
            if isinstance(function, ast.Attribute):
                yield code.replaced(
                    "wrong operator", function, f"{ast.unparse(function.value)}.{name}"
                )
            else:
                yield code.replaced("wrong operator", function, name)


@operator("swapped operands")
def swapped_operands(code: Rewritten) -> Iterator[Mutant | None]:
    """``b - a`` for ``a - b``; two arguments of a call exchanged."""
    for node in code.nodes():
        if isinstance(node, ast.BinOp) and not isinstance(node.op, COMMUTATIVE):
            yield code.replaced(
                "swapped operands", node, changed(node, left=node.right, right=node.left)
            )
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            if attribute(node) in COMMUTATIVE_CALLS:
                continue
            for k in range(len(node.args) - 1):
                if ast.dump(node.args[k]) != ast.dump(node.args[k + 1]):
                    args = list(node.args)
                    args[k], args[k + 1] = args[k + 1], args[k]
                    yield code.replaced("swapped operands", node, changed(node, args=args))


@operator("dropped term")
def dropped_term(code: Rewritten) -> Iterator[Mutant | None]:
    """One operand of a sum, product or quotient left out."""
    for node in code.nodes():
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mod):
            yield code.replaced("dropped term", node, parens(node.left))
            if not isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.FloorDiv):
                yield code.replaced("dropped term", node, parens(node.right))
        elif (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and not isinstance(node.operand, ast.Constant)
        ):
            yield code.replaced("dropped term", node, parens(node.operand))


@operator("modulo dropped")
def modulo_dropped(code: Rewritten) -> Iterator[Mutant | None]:
    """``k`` for ``k % n``."""
    for node in code.nodes():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            yield code.replaced("modulo dropped", node, parens(node.left))


@operator("another order")
def another_order(code: Rewritten) -> Iterator[Mutant | None]:
    """``a + (b + c)`` for ``(a + b) + c``: the last digits of floats."""
    for node in code.nodes():
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Mult):
            continue
        inner = node.left
        if isinstance(inner, ast.BinOp) and type(inner.op) is type(node.op):
            factors = (inner.left, inner.right, node.right)
            if isinstance(node.op, ast.Mult) and any(map(_is_power_of_two, factors)):
                continue  # multiplying by 0.5 is exact
            right = ast.BinOp(inner.right, node.op, node.right)
            by = changed(node, left=inner.left, right=right)
            yield code.replaced("another order", node, by, digits=True)


def _is_power_of_two(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and value > 0 and math.frexp(value)[0] == 0.5


@operator("comparison")
def comparison(code: Rewritten) -> Iterator[Mutant | None]:
    """``<=`` for ``<``, ``!=`` for ``==``."""
    for node in code.nodes():
        if isinstance(node, ast.Compare):
            for k, op in enumerate(node.ops):
                if type(op) in NEIGHBOUR:
                    ops = [*node.ops[:k], NEIGHBOUR[type(op)](), *node.ops[k + 1 :]]
                    yield code.replaced("comparison", node, changed(node, ops=ops))


@operator("wrong logic")
def wrong_logic(code: Rewritten) -> Iterator[Mutant | None]:
    """``or`` for ``and``, a negation lost, the two branches of ``np.where`` exchanged."""
    for node in code.nodes():
        if isinstance(node, ast.BoolOp):
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield code.replaced("wrong logic", node, changed(node, op=other))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.Not):
            yield code.replaced("wrong logic", node, parens(node.operand))
        elif isinstance(node, ast.IfExp):
            yield code.replaced(
                "wrong logic", node, changed(node, body=node.orelse, orelse=node.body)
            )
        elif isinstance(node, ast.If) and node.test not in code.guards:
            yield code.replaced("wrong logic", node.test, f"(not {parens(node.test)})")


@operator("type of result")
def type_of_result(code: Rewritten) -> Iterator[Mutant | None]:
    """A NumPy number for a Python one, an array for a list: conversions lost, or added."""
    for node in code.nodes():
        if isinstance(node, ast.Call) and attribute(node) in CONVERSIONS and len(node.args) == 1:
            yield code.replaced("type of result", node, parens(node.args[0]))
        elif isinstance(node, ast.Call) and attribute(node) in ("item", "tolist"):
            assert isinstance(node.func, ast.Attribute)
            yield code.replaced("type of result", node, parens(node.func.value))
    for node in _returns(code):
        assert node.value is not None
        value = parens(node.value)
        if isinstance(node.value, ast.Tuple):
            yield code.replaced("type of result", node.value, f"list({value})")
            continue
        wrap = "(lambda r: r.tolist() if hasattr(r, 'tolist') else __import__('numpy').array(r))"
        yield code.replaced("type of result", node.value, f"{wrap}({value})")


def _returns(code: Rewritten) -> list[ast.Return]:
    if code.function is None:
        return []
    inner = [n for n in ast.walk(code.function) if isinstance(n, ast.FunctionDef)]
    hidden = {id(k) for f in inner if f is not code.function for k in ast.walk(f)}
    return [
        node
        for node in ast.walk(code.function)
        if isinstance(node, ast.Return) and node.value is not None and id(node) not in hidden
    ]
