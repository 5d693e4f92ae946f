"""A scratch row that every iteration fills anew, as one row for each iteration.

``row[p] = sum``, then ``A[r, q, p] = row[p]`` has one row for all ``r`` and ``q``, which keeps
these loops in order; ``rows[r, q, p]`` has one for each (array expansion, the counterpart of scalar
expansion; where nothing reads the row once the loops have ended, no one can tell).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ...loopnest.affine import affine
from ...loopnest.fold import map_children
from ...loopnest.ir import (
    PY_INT,
    Allocation,
    ArrayInput,
    Assign,
    Const,
    Expr,
    For,
    If,
    Load,
    Nest,
    Stmt,
    Store,
    Var,
    expressions,
    statements,
    walk,
)
from ...model import Region
from ...names import free_name
from .provenance import proved_type


@dataclass(frozen=True)
class Expansion(Allocation):
    """Of an array that the new code makes, where it first fills it or in front of the loops."""


def expanded(root: For, nest: Nest, region: Region) -> tuple[For, Nest] | None:
    """The nest with a row for each iteration; None if there is no scratch row."""
    chain = _chain(root, nest)
    if chain is None:
        return None
    for name, info in nest.arrays.items():
        if not _is_scratch(name, info, region):
            continue
        header = _filled_first(chain[-1].body, name)
        if header is None:
            continue
        new = free_name(region.source, f"all_{name}" if name.endswith("s") else f"{name}s")
        extents = (*(loop.stop for loop in chain), header.stop)
        made = Expansion("numpy.empty", root.line, _making(new, len(extents)))
        array = replace(
            info,
            name=new,
            ndim=len(extents),
            shape=(None,) * len(extents),
            allocation=made,
            extents=extents,
        )
        indices = tuple(Var(PY_INT, loop.line, loop.index) for loop in chain)
        result = _with_rows(root, name, new, indices)
        assert isinstance(result, For)
        return result, replace(nest, arrays={**nest.arrays, new: array})
    return None


def _chain(root: For, nest: Nest) -> tuple[For, ...] | None:
    """The loops from 0 upwards around several statements; None if that is not how it starts."""
    assigned = {s.name for s in statements((root,)) if isinstance(s, Assign)}
    found = [root]
    while len(found[-1].body) == 1 and isinstance(found[-1].body[0], For):
        found.append(found[-1].body[0])
    for loop in found:
        form = affine(loop.stop)
        if not _from_zero(loop) or form is None or loop.index in assigned | nest.live_out:
            return None
        if form.symbols & nest.privates.keys():
            return None
    return tuple(found) if len({loop.index for loop in found}) == len(found) else None


def _from_zero(loop: For) -> bool:
    return loop.start == Const(PY_INT, 0, 0) and loop.step == 1 and loop.values is None


def _is_scratch(name: str, info: ArrayInput, region: Region) -> bool:
    """A row of floats that the function makes for this loop and mentions nowhere else."""
    made = info.allocation
    if region.function is None or made is None or info.ndim != 1 or info.container != "ndarray":
        return False
    if info.aliases or not proved_type(info) or info.element.dtype != "float64":
        return False
    inside = {id(n) for part in (made.node, region.loop) for n in ast.walk(part)}
    mentions = (n for n in ast.walk(region.function) if isinstance(n, ast.Name) and n.id == name)
    return all(id(node) in inside for node in mentions)


def _filled_first(body: tuple[Stmt, ...], name: str) -> For | None:
    """The loop that stores every element of the row before any is read; None if none does.

    Each loop over the row must touch the element of its own index only.
    """
    header: For | None = None
    for statement in body:
        if not _touches(statement, name):
            continue
        if not isinstance(statement, For) or not _from_zero(statement):
            return None
        if header is None:
            first = statement.body[0]
            if not isinstance(first, Store) or first.array != name or _reads_row(first, name):
                return None
            header = statement
        own = (Var(PY_INT, 0, statement.index),)
        if statement.stop != header.stop or not _only_at(statement, name, own):
            return None
    return header


def _only_at(loop: For, name: str, own: tuple[Expr, ...]) -> bool:
    """Every access to the row is to this element, and the index keeps its value."""
    for statement in statements(loop.body):
        if isinstance(statement, For | Assign):
            inner = statement.index if isinstance(statement, For) else statement.name
            if inner == loop.index:
                return False
        if isinstance(statement, Store) and statement.array == name and statement.index != own:
            return False
        parts = (part for expr in expressions(statement) for part in walk(expr))
        if any(isinstance(p, Load) and p.array == name and p.index != own for p in parts):
            return False
    return True


def _touches(statement: Stmt, name: str) -> bool:
    return any(
        (isinstance(inner, Store) and inner.array == name) or _reads_row(inner, name)
        for inner in statements((statement,))
    )


def _reads_row(statement: Stmt, name: str) -> bool:
    parts = (part for expr in expressions(statement) for part in walk(expr))
    return any(isinstance(part, Load) and part.array == name for part in parts)


def _making(name: str, ndim: int) -> ast.stmt:
    """A statement of the form that `provenance` knows the type of."""
    (node,) = ast.parse(f"{name} = np.empty(({'0, ' * ndim}))").body
    return node


# ------------------------------------------------------------------- the rows
def _with_rows(place: Stmt, name: str, new: str, indices: tuple[Expr, ...]) -> Stmt:
    """The statement with elements of the expanded array."""

    def change(expr: Expr) -> Expr:
        expr = map_children(expr, change)
        if isinstance(expr, Load) and expr.array == name:
            return replace(expr, array=new, index=(*indices, *expr.index))
        return expr

    def body(parts: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_with_rows(part, name, new, indices) for part in parts)

    match place:
        case Assign(value=value):
            return replace(place, value=change(value))
        case Store(array=array, index=index, value=value):
            place = replace(place, index=tuple(map(change, index)), value=change(value))
            return replace(place, array=new, index=(*indices, *index)) if array == name else place
        case If(test=test, then=then, orelse=orelse):
            return replace(place, test=change(test), then=body(then), orelse=body(orelse))
        case For(body=inner):
            return replace(place, body=body(inner))
    return place
