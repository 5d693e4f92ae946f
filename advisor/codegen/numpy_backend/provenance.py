"""What the statement that made an array says about it."""

from __future__ import annotations

import ast

from ...loopnest.ir import ArrayInput
from .session import Session

_LIKE = frozenset(["zeros_like", "empty_like", "ones_like", "copy"])
_LITERAL_TYPES = frozenset((
    "int", "float", "bool", "float64", "float32", "int64", "int32", "int16", "int8", "uint8",
    "uint16", "uint32", "uint64", "bool_",
))  # fmt: skip


def proved_type(info: ArrayInput) -> bool:
    """Made here by ``np.zeros((n, m))`` or with a literal dtype."""
    allocation = info.allocation
    if allocation is None or not isinstance(allocation.node, ast.Assign):
        return False
    call = allocation.node.value
    makers = ("numpy.zeros", "numpy.ones", "numpy.empty")
    if not isinstance(call, ast.Call) or allocation.function not in makers or not call.args:
        return False
    shape = call.args[0]
    if not isinstance(shape, ast.Tuple) and info.ndim != 1:
        return False
    given = [k.value for k in call.keywords if k.arg == "dtype"] + call.args[1:2]
    if any(k.arg not in ("dtype", "shape") for k in call.keywords):
        return False
    if not given:
        return info.element.dtype == "float64"
    match given[0]:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name in _LITERAL_TYPES
    return False


def unshared_list(info: ArrayInput) -> bool:
    """A `proved_list` that has one name only: ``a = b = [0] * n`` has two."""
    node = info.allocation.node if info.allocation is not None else None
    return proved_list(info) and isinstance(node, ast.Assign) and len(node.targets) == 1


def proved_list(info: ArrayInput) -> bool:
    """``[0] * n`` or ``[[0] * m for _ in range(n)]``: regular, of one type, rows distinct."""
    allocation = info.allocation
    if allocation is None or allocation.fill is None or not isinstance(allocation.node, ast.Assign):
        return False
    if type(allocation.fill).__name__ != info.element.kind.value:
        return False
    match allocation.node.value:
        # [[0] * m] * n is n times one row; a name is a constant of the module, or the fill is None
        case ast.BinOp(op=ast.Mult(), left=ast.List(elts=[element])):
            return info.ndim == 1 and _is_number(element)
        case (
            ast.ListComp(
                elt=ast.BinOp(op=ast.Mult(), left=ast.List(elts=[element]), right=count) as row
            ) as rows
        ):
            return info.ndim == 2 and _is_number(element) and _equally_long(rows, row, count)
        case ast.ListComp(elt=ast.ListComp(elt=element) as row) as rows:
            inner = row.generators[0].iter
            return info.ndim == 2 and _is_number(element) and _equally_long(rows, row, inner)
        case ast.ListComp(elt=element):
            return info.ndim == 1 and _is_number(element)
    return False


def _equally_long(rows: ast.ListComp, row: ast.expr, length: ast.expr) -> bool:
    """The length is the same for all rows: not ``[[0] * len(line) for line in lines]``."""
    targets = {n.id for g in rows.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    used = {n.id for n in ast.walk(length) if isinstance(n, ast.Name)}
    plain = not isinstance(row, ast.ListComp) or (
        len(row.generators) == 1 and not row.generators[0].ifs
    )
    calls = [n for n in ast.walk(length) if isinstance(n, ast.Call)]
    known = all(isinstance(c.func, ast.Name) and c.func.id in ("range", "len") for c in calls)
    return plain and known and not targets & used


def _is_number(element: ast.expr) -> bool:
    return isinstance(element, ast.Constant | ast.Name)


def made_like(session: Session, info: ArrayInput) -> str | None:
    """The array that ``new = np.zeros_like(grid)`` was made after; its type is ``new``'s."""
    allocation = info.allocation
    if allocation is None or not isinstance(allocation.node, ast.Assign):
        return None
    match allocation.node.value:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=owner), attr=attr), args=args, keywords=[]
        ) if attr in _LIKE:
            pass
        case _:
            return None
    if args:
        if not isinstance(args[0], ast.Name):
            return None
        owner = args[0].id
    source = session.nest.arrays.get(owner)
    if source is None or source.container != "ndarray" or source is info:
        return None
    stored = [
        node
        for node in session.source.nodes
        if isinstance(node, ast.Name) and node.id == owner and isinstance(node.ctx, ast.Store)
    ]
    same = (source.element, source.ndim) == (info.element, info.ndim)
    return owner if same and not stored else None


def copied_from(session: Session, info: ArrayInput) -> str | None:
    """The array whose values ``new = grid.copy()`` still has."""
    owner = made_like(session, info)
    if owner is None or info.allocation is None or not isinstance(info.allocation.node, ast.Assign):
        return None
    call = info.allocation.node.value
    copies = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and copies
    if call.func.attr != "copy" or _touched(session, info.allocation.line, owner):
        return None
    return owner


def _touched(session: Session, line: int, owner: str) -> bool:
    """The name is mentioned between the copy and the loop: its elements may have changed."""
    return any(
        isinstance(node, ast.Name) and node.id == owner and line < node.lineno < session.root.line
        for node in session.source.nodes
    )
