"""Images and tables kept as one flat array: ``out[y * width + x]`` as ``out_rows[y, x]``.

Where every subscript of an array is so many whole rows and a place within one, the array is looked
at as rows. Then the dependence test sees that no two pixels share a place, and what it takes to
read the neighbours of all of them are slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from ...loopnest.affine import affine, to_expr
from ...loopnest.fold import fold, map_children
from ...loopnest.ir import (
    PY_INT,
    ArrayInput,
    Assign,
    Binary,
    Call,
    Const,
    Dim,
    Expr,
    For,
    If,
    Load,
    Nest,
    Stmt,
    Store,
    Unary,
    Var,
    expressions,
    statements,
    walk,
)
from .flat import Folded
from .legality import accesses, extremes
from .normal import NotVectorisable
from .session import Session

CONTAINERS = ("ndarray", "list", "bytearray")


def folded(root: For, nest: Nest) -> tuple[For, Nest] | None:
    """The nest with such arrays as rows; None if there is none."""
    rows: dict[str, Expr] = {}
    for name, info in nest.arrays.items():
        if _may_be_folded(root, nest, name, info):
            row = _row_of(root, nest, name)
            if row is not None:
                rows[name] = row
    if not rows:
        return None
    result = _with_rows(root, rows)
    assert isinstance(result, For)
    arrays = {n: _as_rows(nest, i, rows[n]) if n in rows else i for n, i in nest.arrays.items()}
    return result, replace(nest, arrays=arrays)


def _may_be_folded(root: For, nest: Nest, name: str, info: ArrayInput) -> bool:
    """One dimension, no other name for it, and nothing in the nest asks how long it is."""
    if info.ndim != 1 or info.container not in CONTAINERS or info.aliases:
        return False
    if name in nest.made | nest.grown | nest.text | nest.replaced:
        return False
    asked = [*nest.relies_on, *(e for s in statements((root,)) for e in expressions(s))]
    parts = (part for expr in asked for part in walk(expr))
    return not any(isinstance(part, Dim) and part.array == name for part in parts)


def _row_of(root: For, nest: Nest, name: str) -> Expr | None:
    """The one row length that all subscripts have."""
    found = [access for access in accesses(root) if access.array == name]
    subscripts = [access.index[0] for access in found]
    assigned = {s.name for s in statements((root,)) if isinstance(s, Assign)}
    for row in dict.fromkeys(r for s in subscripts for r in _factors(s)):
        if isinstance(row, Var) and (
            row.name in assigned or row.name not in nest.scalars or row.type != PY_INT
        ):
            continue
        parts = [_split(subscript, row) for subscript in subscripts]
        if all(p is not None and _within(p[1], row) for p in parts):
            return row
    return None


def _factors(subscript: Expr) -> Iterator[Expr]:
    """What the terms of a subscript are multiples of, next to something that varies."""
    for _, term in _terms(subscript):
        match term:
            case Binary(op="*", left=left, right=right):
                for one, other in ((right, left), (left, right)):
                    number = isinstance(one, Const) and type(one.value) is int and one.value > 1
                    if (number or isinstance(one, Var)) and not isinstance(other, Const):
                        yield one


def _terms(expr: Expr, sign: int = 1) -> Iterator[tuple[int, Expr]]:
    match expr:
        case Binary(op="+" | "-" as op, left=left, right=right):
            yield from _terms(left, sign)
            yield from _terms(right, sign if op == "+" else -sign)
        case Unary(op="-", operand=operand):
            yield from _terms(operand, -sign)
        case _:
            yield sign, expr


def _split(subscript: Expr, row: Expr) -> tuple[Expr, Expr] | None:
    """Whole rows, and the place within one."""
    if any(part.type != PY_INT for part in walk(subscript) if not isinstance(part, Load)):
        return None
    whole: list[tuple[int, Expr]] = []
    rest: list[tuple[int, Expr]] = []
    for sign, term in _terms(subscript):
        match term:
            case Binary(op="*", left=left, right=right) if right == row:
                whole.append((sign, left))
            case Binary(op="*", left=left, right=right) if left == row:
                whole.append((sign, right))
            case _ if term == row:
                whole.append((sign, Const(PY_INT, term.line, 1)))
            case _:
                rest.append((sign, term))
    return _added(whole, subscript.line), _added(rest, subscript.line)


def _added(terms: list[tuple[int, Expr]], line: int) -> Expr:
    zero: Expr = Const(PY_INT, line, 0)

    def add(total: Expr, term: tuple[int, Expr]) -> Expr:
        return Binary(PY_INT, line, "+" if term[0] > 0 else "-", total, term[1])

    total = fold(reduce(add, terms, zero))
    form = affine(total)
    return total if form is None else to_expr(form, line)


def _within(place: Expr, row: Expr) -> bool:
    """Affine, which is proved or tested later; or bent back into the row whatever it is."""
    if affine(place) is not None:
        return True
    match place:
        case Binary(op="%", right=right):
            return right == row
        case Call(function="min", args=(one, two)):
            return any(
                _is_last(a, row) and isinstance(b, Call) and _clamps_at_zero(b)
                for a, b in ((one, two), (two, one))
            )
        case Call(function="max", args=(one, two)):
            return any(
                _is_zero(a)
                and isinstance(b, Call)
                and b.function == "min"
                and any(_is_last(c, row) for c in b.args)
                for a, b in ((one, two), (two, one))
            )
    return False


def _clamps_at_zero(call: Call) -> bool:
    return call.function == "max" and len(call.args) == 2 and any(map(_is_zero, call.args))


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


def _is_last(expr: Expr, row: Expr) -> bool:
    """``width - 1``."""
    form, whole = affine(expr), affine(row)
    return form is not None and whole is not None and form == whole - 1


# --------------------------------------------------------------------- rewriting
def _with_rows(place: Stmt, rows: dict[str, Expr]) -> Stmt:
    """The statement with two subscripts for each of these arrays."""

    def index(array: str, old: tuple[Expr, ...]) -> tuple[Expr, ...]:
        changed = tuple(map(change, old))
        if array not in rows:
            return changed
        found = _split(changed[0], rows[array])
        assert found is not None
        return found

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Load):
            return replace(expr, index=index(expr.array, expr.index))
        return map_children(expr, change)

    def body(parts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_with_rows(part, rows) for part in parts)

    match place:
        case Assign(value=value):
            return replace(place, value=change(value))
        case Store(array=array, index=old, value=value):
            return replace(place, index=index(array, old), value=change(value))
        case If(test=test, then=then, orelse=orelse):
            return replace(place, test=change(test), then=body(then), orelse=body(orelse))
        case For(start=start, stop=stop, body=inner):
            return replace(place, start=change(start), stop=change(stop), body=body(inner))
    return place


def _as_rows(nest: Nest, info: ArrayInput, row: Expr) -> Folded:
    size = None
    if isinstance(row, Const):
        size = int(row.value.real)
    elif isinstance(row, Var) and nest.scalars[row.name].constant:
        low = nest.scalars[row.name].interval.low
        size = None if low is None else int(low)
    length = info.shape[0]
    number = length // size if length is not None and size else None
    known = {f: getattr(info, f) for f in ArrayInput.__dataclass_fields__}
    known |= {"ndim": 2, "shape": (number, size), "extents": (None, row), "allocation": None}
    return Folded(**known, flat=info, row=row)


def check_places(session: Session) -> None:
    """Every place within a row is proved, or tested, to be in it, or its array is noted.

    ``a[y * width + x - 1]`` at ``x == 0`` is the end of the row above, which no slice is. Under a
    condition such as ``x > 0`` each slice must show it by itself. Raises NotVectorisable.
    """
    for access in accesses(session.root):
        info = session.nest.arrays[access.array]
        place = affine(access.index[1]) if isinstance(info, Folded) else None
        if not isinstance(info, Folded) or place is None:
            continue
        row = affine(info.row)
        assert row is not None
        low, high = extremes(place, access, frozenset())
        facts = session.facts
        known = not place.symbols & facts.assigned
        if low is None or high is None:
            known = False
        elif known:
            known = facts.require(low) and facts.require(row - 1 - high)
        if known:
            continue
        if access.origin in session.scatters:
            raise NotVectorisable(f"a subscript of {access.array} may leave its row", access.line)
        session.loose.add(access.array)
