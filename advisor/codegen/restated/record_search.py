"""How a loop goes through a list of records: which variables stand for one, and which for where."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...loopnest.liveness import live_after, read_before_assigned
from ...loopnest.scope import dotted, own_nodes
from ...model import Edit, ValueInfo
from ..nb_values import Unsupported
from .draft import Draft
from .records import NUMBERS, Table


@dataclass
class RecordSearch:
    """One list of records, and what the loop does with it."""

    draft: Draft
    table: Table
    edits: list[Edit] = field(default_factory=list)
    used: dict[str, str] = field(default_factory=dict)
    """Member -> its column."""
    stored: dict[str, None] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)
    """Variable that stands for a record -> the variable for its position."""
    done: set[int] = field(default_factory=set)
    """Nodes that are taken care of."""
    unpacked: bool = False
    """Records were taken apart: ``x, y = points[i]``."""

    # ------------------------------------------------------------- elements
    def find_elements(self) -> None:
        """Variables of the loop that stand for one record each."""
        loop = self.draft.loop
        nodes = [loop, *own_nodes(loop)]
        stores = Counter(
            n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        )
        for node in nodes:
            number = None
            targets: list[ast.expr] = []
            if isinstance(node, ast.For):
                targets = list(self._element_targets(node.target, node.iter))
                number = self.numbered(node.target, node.iter, stores)
            elif isinstance(node, ast.Assign):
                targets = [one for one, value in pairs_of(node) if self.is_record(value)]
            for target in targets:
                if isinstance(target, ast.Name) and target.id not in self.elements:
                    new = self.draft.free(f"{target.id}_at", *self.elements.values())
                    self.elements[target.id] = number or new
        read = live_after(self.draft.source, self.draft.function, loop)
        first = read_before_assigned(loop)
        for name in self.elements:
            if read is None or name in read or name in first:
                text = f"{name}, a record, is read outside the loop"
                raise Unsupported(text, loop.lineno)

    def _element_targets(self, target: ast.expr, iterable: ast.expr) -> Iterator[ast.expr]:
        """The parts of a loop's target that get the records."""
        if self.is_walked(iterable):
            yield target
        for part, inner in walked_along(target, iterable):
            yield from self._element_targets(part, inner)

    def numbered(
        self, target: ast.expr, iterable: ast.expr, stores: Counter[str] | None = None
    ) -> str | None:
        """``i`` of ``for i, b in enumerate(bodies)``, where nothing else assigns ``i`` or ``b``."""
        match target, iterable:
            case (
                ast.Tuple(elts=[ast.Name(id=index), ast.Name(id=name)]),
                ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]),
            ) if self.is_table(inner):
                if stores is None:
                    return index if self.elements.get(name) == index else None
                return index if stores[index] == stores[name] == 1 else None
        return None

    def is_table(self, node: ast.AST) -> bool:
        """The list itself."""
        return path_of(node) == self.table.path

    def is_walked(self, node: ast.expr) -> bool:
        """The list, or a slice of it from or to a position."""
        match node:
            case ast.Subscript(value=value, slice=ast.Slice(step=None)):
                return self.is_table(value)
        return self.is_table(node)

    def is_record(self, node: ast.expr) -> bool:
        """``bodies[i]``."""
        match node:
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
                return self.is_table(value)
            case ast.Name(id=name):
                return name in self.elements
        return False

    def position(self, node: ast.expr, *, is_start: bool) -> str:
        """A bound of a slice that surely is a position, not counted from the end nor beyond it."""
        match node:
            case ast.Name(id=name) if name in self._counters():
                return name
            case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant(value=1)) if (
                name in self._counters()
            ):
                return f"{name} + 1"
            case ast.Constant(value=int() as value) if is_start and value >= 0:
                return str(value)
        raise Unsupported(f"a slice of {self.table.path} to {ast.unparse(node)}", node.lineno)

    def _counters(self) -> set[str]:
        """Variables that only go through the positions of the list."""
        loop = self.draft.loop
        found: set[str] = set()
        stores: list[str] = []
        for node in (loop, *own_nodes(loop)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stores.append(node.id)
            match node:
                case ast.For(
                    target=ast.Tuple(elts=[ast.Name(id=name), _]),
                    iter=ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]),
                ) if self.is_table(inner):
                    found.add(name)
                case ast.For(
                    target=ast.Name(id=name),
                    iter=ast.Call(
                        func=ast.Name(id="range"),
                        args=[ast.Call(func=ast.Name(id="len"), args=[inner])],
                    ),
                ) if self.is_table(inner):
                    found.add(name)
        return {name for name in found if stores.count(name) == 1}


def path_of(node: ast.AST) -> str | None:
    """The name or the chain of attributes that an expression is."""
    return dotted(node) if isinstance(node, ast.Name | ast.Attribute) else None


def pairs_of(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """Targets with their values: ``p, q = bodies[i], bodies[j]`` are two."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=left)], value=ast.Tuple(elts=right)) if len(
            left
        ) == len(right):
            return list(zip(left, right, strict=True))
        case ast.Assign(targets=[target], value=value):
            return [(target, value)]
    return []


def walked_along(target: ast.expr, iterable: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Parts of a loop's target with what they go through: of ``enumerate``, ``zip`` .."""
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            if isinstance(target, ast.Tuple) and len(target.elts) > 1:
                yield target.elts[1], inner
        case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
            yield target, inner
        case ast.Call(func=ast.Name(id="zip"), args=args):
            if isinstance(target, ast.Tuple) and len(target.elts) == len(args):
                yield from zip(target.elts, args, strict=True)


def is_numeric(seen: ValueInfo) -> bool:
    """A column of Python numbers."""
    return seen.ndim == 1 and seen.element is not None and seen.element.kind in NUMBERS
