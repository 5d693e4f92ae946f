"""Which scalars a block accumulates over all its iterations, and how: sums, extremes, flags."""

from __future__ import annotations

from ...loopnest.fold import reads, substitute
from ...loopnest.ir import (
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    For,
    If,
    Kind,
    Load,
    Stmt,
    Var,
    expressions,
    statements,
    walk,
)
from .normal import exposed


def sums_of_rows(loop: For) -> frozenset[str]:
    """Floats that a loop adds terms to, if it does nothing else; else none at all."""
    assigned: dict[str, list[Assign]] = {}
    for statement in statements(loop.body):
        match statement:
            case Assign(name=name) if type(statement) is Assign:
                assigned.setdefault(name, []).append(statement)
            case If(orelse=()):
                pass
            case _:
                return frozenset()
    sums = exposed(loop.body) & assigned.keys()
    for name in sums:
        (first, *others) = assigned[name]
        plain = first.value.type.kind is Kind.FLOAT and first.value.type.dtype in (None, "float64")
        if others or not plain or term(first.value, name) is None or _reads(loop, name) != 1:
            return frozenset()
    return sums


def find(block: For, axes: frozenset[int], needed: frozenset[str]) -> dict[str, str]:
    """Scalars that are reduced by the block: name -> ``sum``, ``extreme``, ``flag``.

    ``needed``: scalars someone reads after the block.
    """
    assigned = {s.name for s in statements(block.body) if isinstance(s, Assign)}
    carried = exposed(block.body) & assigned
    found: dict[str, str] = {}
    places = _extreme_places(block)
    for name in sorted(carried | (needed & assigned)):
        updates = _updates(block, name, axes)
        if updates is None:
            continue
        if name in places and len(updates) == 1:
            found[name] = "extreme"
        elif all(_is_sum(u, name) for u in updates) and _reads(block, name) == len(updates):
            exact = all(u.value.type.kind is Kind.INT for u in updates)
            if exact or len(updates) == 1:
                found[name] = "sum"
        elif all(_is_extreme_call(u, name) for u in updates) and len(updates) == 1:
            if _reads(block, name) == 1:
                found[name] = "extreme"
        elif name not in carried and _is_flag(updates):
            found[name] = "flag"
    for main, companions in places.items():
        if found.get(main) == "extreme":
            found.update(dict.fromkeys(companions, "extreme"))
    return found


def _updates(block: For, name: str, axes: frozenset[int]) -> list[Assign] | None:
    """The assignments of a scalar, None if one stands in a loop that stays a loop."""
    result: list[Assign] = []

    def visit(body: tuple[Stmt, ...]) -> bool:
        for statement in body:
            match statement:
                case Assign() if statement.name == name:
                    result.append(statement)
                case If(then=then, orelse=orelse):
                    if not (visit(then) and visit(orelse)):
                        return False
                case For(body=inner):
                    inside = any(
                        isinstance(s, Assign) and s.name == name for s in statements(inner)
                    )
                    if inside and id(statement) not in axes:
                        return False
                    if not visit(inner):
                        return False
        return True

    return result if visit(block.body) else None


def _reads(block: For, name: str) -> int:
    return sum(
        1
        for statement in statements(block.body)
        for expr in expressions(statement)
        for part in walk(expr)
        if isinstance(part, Var) and part.name == name
    )


def _is_sum(update: Assign, name: str) -> bool:
    return term(update.value, name) is not None


def term(value: Expr, name: str) -> tuple[str, Expr] | None:
    """``("+", e)`` of ``s + e``."""
    match value:
        case Binary(op="+" | "-" as op, left=Var(name=left), right=right) if left == name:
            return op, right
        case Binary(op="+", left=left_, right=Var(name=right_)) if right_ == name:
            return "+", left_
    return None


def _is_extreme_call(update: Assign, name: str) -> bool:
    match update.value:
        case Call(function="min" | "max", args=(Var(name=first), _)) if first == name:
            return True
    return False


def _is_flag(updates: list[Assign]) -> bool:
    values = [u.value for u in updates]
    return all(isinstance(v, Const) for v in values) and len({repr(v) for v in values}) == 1


def _extreme_places(block: For) -> dict[str, list[str]]:
    """``if e < best: best = e; where = i``: best -> the scalars set along with it."""
    found: dict[str, list[str]] = {}
    for statement in statements(block.body):
        index = index_parts(statement)
        if index is not None and _reads(block, index[0]) == 1:
            found[index[0]] = []
        match = extreme_parts(statement)
        if match is None:
            continue
        name, _, _, others = match
        companions = [o.name for o in others]
        reads = _reads(block, name)
        if reads == 1 and all(_reads(block, c) == 0 for c in companions):
            found[name] = companions
    return found


def extreme_parts(statement: Stmt) -> tuple[str, str, Expr, list[Assign]] | None:
    """``(best, op, e, other assignments)`` of ``if e op best: best = e; ..``."""
    if not isinstance(statement, If) or statement.orelse:
        return None
    test = statement.test
    if not isinstance(test, Compare) or test.op not in ("<", ">"):
        return None
    for value, best, op in (
        (test.left, test.right, test.op),
        (test.right, test.left, "<" if test.op == ">" else ">"),
    ):
        if not isinstance(best, Var):
            continue
        own = [s for s in statement.then if isinstance(s, Assign) and s.name == best.name]
        others = [s for s in statement.then if isinstance(s, Assign) and s.name != best.name]
        if len(own) != 1 or len(own) + len(others) != len(statement.then):
            continue
        if own[0].value == value:
            return best.name, op, value, others
    return None


def index_parts(statement: Stmt) -> tuple[str, str, Load, Load, Expr] | None:
    """``(best, op, x[i], x[best], i)`` of ``if x[i] op x[best]: best = i``."""
    match statement:
        case If(
            test=Compare(op="<" | ">" as op, left=Load() as left, right=Load() as right),
            then=(Assign(name=best, value=index),),
            orelse=(),
        ):
            pass
        case _:
            return None
    for element, old, sign in ((left, right, op), (right, left, "<" if op == ">" else ">")):
        moved = best in reads(old) and best not in reads(element)
        if moved and substitute(old, {best: index}) == element:
            return best, sign, element, old, index
    return None
