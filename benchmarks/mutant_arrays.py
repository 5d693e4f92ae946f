"""Faults in arrays, guards and compiled code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mutant_parts import (
    DTYPES,
    ZEROED,
    arguments,
    attribute,
    changed,
    constant,
    of_numpy,
    operator,
    parens,
    whole,
)
from mutant_text import Mutant, Rewritten


@operator("wrong axis")
def wrong_axis(code: Rewritten) -> Iterator[Mutant | None]:
    """Rows for columns."""
    for node in code.nodes():
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            value = constant(keyword.value) if keyword.arg == "axis" else None
            if value is not None:
                yield code.replaced("wrong axis", keyword.value, str(1 if value == 0 else 0))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "transpose":
            yield code.replaced("wrong axis", node, parens(node.func.value))
    for node in code.nodes():
        if isinstance(node, ast.Attribute) and node.attr == "T":
            yield code.replaced("wrong axis", node, parens(node.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            value = constant(node.slice) if node.value.attr == "shape" else None
            if value is not None:
                yield code.replaced("wrong axis", node.slice, str(1 if value == 0 else 0))


@operator("wrong dtype")
def wrong_dtype(code: Rewritten) -> Iterator[Mutant | None]:
    """A narrower type for a buffer or a conversion; a conversion left out."""
    for node in code.nodes():
        if isinstance(node, ast.Attribute) and node.attr in DTYPES:
            for name in DTYPES[node.attr]:
                yield code.replaced("wrong dtype", node, f"{ast.unparse(node.value)}.{name}")
        elif isinstance(node, ast.Call) and attribute(node) == "astype":
            assert isinstance(node.func, ast.Attribute)
            yield code.replaced("wrong dtype", node, parens(node.func.value))
        elif isinstance(node, ast.Call) and of_numpy(node) and attribute(node) in _MAKERS:
            if not any(keyword.arg == "dtype" for keyword in node.keywords):
                extra = ast.keyword("dtype", ast.parse("np.float32", mode="eval").body)
                yield code.replaced(
                    "wrong dtype", node, changed(node, keywords=[*node.keywords, extra])
                )
            elif "float64" not in ast.unparse(node) or attribute(node) in _FROM_DATA:
                # np.empty(n, dtype=np.float64) is np.empty(n).
                kept = [keyword for keyword in node.keywords if keyword.arg != "dtype"]
                yield code.replaced("wrong dtype", node, changed(node, keywords=kept))


_FROM_DATA = frozenset({"zeros_like", "empty_like", "array", "asarray", "full"})
_MAKERS = frozenset({"zeros", "empty", "zeros_like", "empty_like", "array", "asarray", "full"})


@operator("rounded")
def rounded(code: Rewritten) -> Iterator[Mutant | None]:
    """What is stored goes through float32, or loses its last digit."""
    for statement in code.statements():
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            value = parens(statement.value)
            yield code.replaced("rounded", statement.value, f"np.float32({value})")
            by = f"{value} * (1.0 + 2.0**-52)"
            yield code.replaced("rounded", statement.value, by, digits=True)


@operator("uninitialised")
def uninitialised(code: Rewritten) -> Iterator[Mutant | None]:
    """``np.empty`` where the zeros were needed."""
    for node in (*whole(code), *code.nodes()):
        if isinstance(node, ast.Call) and of_numpy(node) and attribute(node) in ZEROED:
            yield _emptied(code, node)


def _emptied(code: Rewritten, node: ast.Call) -> Mutant | None:
    assert isinstance(node.func, ast.Attribute)
    name = attribute(node)
    args = node.args[:1] if name == "full" else node.args
    by = ast.Call(ast.Attribute(node.func.value, ZEROED[name], ast.Load()), args, node.keywords)
    return code.replaced("uninitialised", node, ast.unparse(by))


@operator("out= lost")
def out_lost(code: Rewritten) -> Iterator[Mutant | None]:
    """The buffer that a function was to write into: left out, or the input instead."""
    for node in code.nodes():
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg != "out":
                continue
            kept = [k for k in node.keywords if k is not keyword]
            statement = code.parents.get(node)
            if isinstance(statement, ast.Expr):
                yield code.replaced("out= lost", node, changed(node, keywords=kept))
            for argument in node.args:
                plain = isinstance(argument, ast.Name | ast.Subscript | ast.Attribute)
                if plain and ast.dump(argument) != ast.dump(keyword.value):
                    yield code.replaced("out= lost", keyword.value, ast.unparse(argument))


@operator("aliasing")
def aliasing(code: Rewritten) -> Iterator[Mutant | None]:
    """A copy left out; a name bound to an array in place of a copy of its content."""
    for node in whole(code):
        if isinstance(node, ast.Call) and attribute(node) in ("copy", "array", "list", "tolist"):
            if isinstance(node.func, ast.Attribute) and not of_numpy(node):
                yield code.replaced("aliasing", node, parens(node.func.value))
            elif node.args and attribute(node) != "tolist":
                yield code.replaced("aliasing", node, parens(node.args[0]))
    for statement in code.statements():
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            target = statement.targets[0]
            full = isinstance(target.slice, ast.Slice) and target.slice.lower is None
            if full and isinstance(target.value, ast.Name) and _shared(code, statement):
                by = f"{target.value.id} = {ast.unparse(statement.value)}"
                yield code.replaced("aliasing", statement, by)
        if isinstance(statement, ast.Expr) and attribute(statement.value) == "copyto":
            assert isinstance(statement.value, ast.Call)
            place, value = statement.value.args[:2]
            yield code.replaced(
                "aliasing", statement, f"{ast.unparse(place)} = {ast.unparse(value)}"
            )


def _shared(code: Rewritten, store: ast.Assign) -> bool:
    """``out[:] = x``: of an argument, or from an array that somebody else has.

    A fresh local array is the same in place of another fresh local array.
    """
    assert isinstance(store.targets[0], ast.Subscript)
    place = ast.unparse(store.targets[0].value)
    given = code.function is not None and place in arguments(code.function)
    return given or isinstance(store.value, ast.Name | ast.Subscript | ast.Attribute)


@operator("in place lost")
def in_place_lost(code: Rewritten) -> Iterator[Mutant | None]:
    """An argument is copied first: what the caller should see changes in the copy."""
    anchor = code.first_added()
    if anchor is None or code.function is None:
        return
    for name in arguments(code.function):
        if name != "self" and _stored_into(code.function_before or code.before, name):
            by = f"{name} = {name}.copy()"
            yield code.inserted("in place lost", anchor, by)


def _stored_into(tree: ast.AST, name: str) -> bool:
    """The original stores into the elements of a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            inner: ast.expr = node
            while isinstance(inner, ast.Subscript | ast.Attribute):
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id == name:
                return True
    return False


@operator("guard dropped")
def guard_dropped(code: Rewritten) -> Iterator[Mutant | None]:
    """One condition of a guard left out, or all of them."""
    for guard in code.guards:
        for part, by in _parts(guard):
            yield code.replaced("guard dropped", part, by)


def _parts(test: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The conditions that are asked together, and what stands for one that is not asked.

    ``a`` and ``b`` of ``not (a and b)`` too; of ``if a or b: return`` each is a reason to refuse.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            yield from ((value, "False") for value in values)
        case ast.BoolOp(values=values):
            yield from ((value, "True") for value in values)
        case _:
            yield test, "True"


@operator("guard too wide")
def guard_too_wide(code: Rewritten) -> Iterator[Mutant | None]:
    """A bound of a guard one off, on the side that lets wrong inputs in."""
    for guard in code.guards:
        for node in ast.walk(guard):
            if not isinstance(node, ast.Compare) or len(node.ops) != 1:
                continue
            left, op, right = node.left, node.ops[0], node.comparators[0]
            if isinstance(op, ast.Gt | ast.GtE):
                by = f"({ast.unparse(left)} + 1 {_sign(op)} {ast.unparse(right)})"
                yield code.replaced("guard too wide", node, by)
            elif isinstance(op, ast.Lt | ast.LtE):
                by = f"({ast.unparse(left)} - 1 {_sign(op)} {ast.unparse(right)})"
                yield code.replaced("guard too wide", node, by)


def _sign(op: ast.cmpop) -> str:
    return {ast.Gt: ">", ast.GtE: ">=", ast.Lt: "<", ast.LtE: "<="}[type(op)]


@operator("guard negated")
def guard_negated(code: Rewritten) -> Iterator[Mutant | None]:
    """The new code runs where it must not, and the original loop where it need not."""
    for guard in code.guards:
        yield code.replaced("guard negated", guard, f"(not {parens(guard)})", slow=True)


@operator("kept loop damaged")
def kept_loop_damaged(code: Rewritten) -> Iterator[Mutant | None]:
    """The original code behind a guard is no longer the original."""
    for statement in code.fallbacks:
        by = "return None" if isinstance(statement, ast.Return) else "pass"
        yield code.replaced("kept loop damaged", statement, by)
