"""Lists of floats in which some numbers are ints: ``[max(K - s, 0) for s in prices]``.

A compiled loop has floats for all of them. Where the loop only multiplies, adds and compares them
with floats, no one can tell; and what it does not write gets its int back behind it.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ...loopnest.ir import (
    Assign,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    Kind,
    Load,
    Nest,
    Select,
    Unary,
    Var,
    children,
    expressions,
    statements,
    walk,
)
from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, ValueInfo
from ..nb_values import Unsupported
from .appends import EMPTY
from .draft import Draft
from .typed import on_seen_types

_MIXED = "builtins.float | builtins.int"
_ARITHMETIC = ("+", "-", "*", "/")


def without_ints_among_floats(draft: Draft) -> Draft:
    """The draft in which such lists hold floats only."""
    for name, info in dict(draft.values).items():
        if _is_mixed(info) and name.isidentifier() and _is_used_by_element(draft, name):
            draft = _with_floats(draft, name)
    return draft


def _is_mixed(info: ValueInfo) -> bool:
    inner = info.element
    return (
        info.kind == "list" and info.ndim == 1 and inner is not None and inner.type_name == _MIXED
    )


def _is_used_by_element(draft: Draft, name: str) -> bool:
    """Whether the loop uses single elements of the list, and ``len`` of it, and nothing else."""
    known = set()
    for node in own_nodes(draft.loop):
        match node:
            case ast.Subscript(value=ast.Name(id=found) as value, slice=index) if found == name:
                if isinstance(index, ast.Slice):
                    return False
                known.add(id(value))
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=found) as value]):
                known.add(id(value))
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=found))) if found == name:
                return False
    names = [n for n in own_nodes(draft.loop) if isinstance(n, ast.Name) and n.id == name]
    return bool(names) and all(id(n) in known for n in names)


def _with_floats(draft: Draft, name: str) -> Draft:
    """The list as one of floats, and its ints back behind the loop where nothing was written."""
    before, written = draft.free(f"{name}_before"), draft.free(f"{name}_written")
    k, old = draft.free("k", before), draft.free("old", before)
    edits = []
    for node in own_nodes(draft.loop):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=found), slice=index)]) if (
                found == name
            ):
                edits += draft.below(node, [f"{written}[{draft.source.text(index)}] = True"])
            case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store()) if found == name:
                if not _is_whole_target(draft, node):
                    raise Unsupported(f"{name} is written along with others", node.lineno)
    above = [
        f"{before} = {name}[:]",
        f"{written} = [False] * len({name})",
        f"{name}[:] = map(float, {name})",
    ]
    info = draft.values[name]
    number = ValueInfo("float", "builtins.float")
    flags = replace(info, element=ValueInfo("bool", "builtins.bool", minimum=0, maximum=0))
    values = {name: replace(info, element=number), written: flags if edits else EMPTY}
    new = draft.advanced([*draft.above(draft.loop, above), *edits], values)
    last = [f"for {k}, {old} in enumerate({before}):"]
    last += [f"    if not {written}[{k}]:", f"        {name}[{k}] = {old}"]
    new = new.finally_(last)
    text = f"{name} holds floats, and ints that are floats without loss"
    test = f"all(type({k}) is float or type({k}) is int and abs({k}) <= 2**53 for {k} in {name})"
    new = new.asking(
        f"type({name}) is list and {test}",
        Condition(text, Basis.OBSERVED, guarded=True, test=f"type({name}) is list and {test}"),
    )
    # New lists are nobody else's; of a list that was changed before, the same was asked then.
    known = {name} | draft.names | draft.mixed
    others = {n.id for n in own_nodes(draft.loop) if isinstance(n, ast.Name)} - known
    for other in sorted(o for o in others if o in draft.values and draft.values[o].kind == "list"):
        apart = f"{other} is not {name}"  # it would hold floats as well
        new = new.asking(apart, Condition(apart, Basis.OBSERVED, guarded=True, test=apart))
    kept = frozenset({before, written, k, old})
    return replace(on_seen_types(new), names=new.names | kept, mixed=new.mixed | {name})


def _is_whole_target(draft: Draft, node: ast.Subscript) -> bool:
    return any(
        isinstance(n, ast.Assign) and len(n.targets) == 1 and n.targets[0] is node
        for n in own_nodes(draft.loop)
    )


# ---------------------------------------------------------------------- reads
def check_mixed(draft: Draft, nest: Nest) -> None:
    """Every element of such a list meets a float where it is read. Raises Unsupported."""
    if not draft.mixed:
        return
    floats = _Floats(nest)
    for statement in statements((nest.root,)):
        for top in expressions(statement):
            for parent in (None, *walk(top)):
                below = (top,) if parent is None else children(parent)
                read = (n for n in below if isinstance(n, Load) and n.array in draft.mixed)
                for node in read:
                    if not floats.meets(node, parent):
                        text = f"an int of {node.array} may be seen to be one"
                        raise Unsupported(text, node.line, "store floats only: 0.0 for 0")


class _Floats:
    """Which expressions are floats whatever the lists hold."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.sure = {n for n, s in nest.scalars.items() if _is_float(s.type)} - set(nest.privates)
        given: dict[str, list[Expr]] = {}
        for statement in statements((nest.root,)):
            if isinstance(statement, Assign):
                given.setdefault(statement.name, []).append(statement.value)
        while True:
            more = {
                name
                for name, values in given.items()
                if name not in self.sure
                and name not in nest.scalars
                and all(map(self.is_float, values))
            }
            if not more:
                return
            self.sure |= more

    def is_float(self, expr: Expr) -> bool:
        """Whether the expression is a float of Python's in every case."""
        match expr:
            case Const(type=kind):
                return _is_float(kind)
            case Var(name=name):
                return name in self.sure
            case Unary(op="-" | "+", operand=operand):
                return self.is_float(operand)
            case Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                return self.is_float(left) or self.is_float(right)
            case Binary(op="**", left=left):
                return self.is_float(left) and _is_float(expr.type)
            case Call(function=function):
                return function.startswith("math.") and _is_float(expr.type)
            case Select(then=then, orelse=orelse):
                return self.is_float(then) and self.is_float(orelse)
        return False

    def meets(self, node: Load, parent: Expr | None) -> bool:
        """Whether what is made of the element is the same for an int and its float."""
        match parent:
            case Compare():
                return True
            case Binary(op="/"):
                return True
            case Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                other = right if left is node else left
                return other is not node and self.is_float(other)
        return False


def _is_float(kind: object) -> bool:
    return getattr(kind, "kind", None) is Kind.FLOAT and getattr(kind, "dtype", "") is None
