"""``for x, y in points`` over the rows of an array as a loop over its columns.

Compiled code does not take rows of arrays apart: their length is no part of their type. The
columns are views made above the loop, of the same elements.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ...loopnest.scope import own_nodes
from ...model import Basis, Condition, Edit, ValueInfo
from ...names import import_edit
from .draft import Draft


def with_unpacked_rows(draft: Draft) -> Draft:
    """The draft with columns in place of the rows of arrays that the loop takes apart."""
    for name, info in dict(draft.values).items():
        two = info.kind == "ndarray" and info.ndim == 2 and info.shape is not None
        if two and name.isidentifier() and name not in draft.names:
            draft = _Rows(draft, name, info).written()
    return draft


@dataclass
class _Rows:
    """One array."""

    draft: Draft
    name: str
    info: ValueInfo
    columns: tuple[str, ...] = ()
    edits: list[Edit] = field(default_factory=list)

    def written(self) -> Draft:
        """The draft behind the change; the same one where no row is taken apart."""
        draft, name = self.draft, self.name
        width = self.info.shape[1] if self.info.shape else None
        stored = {
            n.id
            for n in ast.walk(draft.loop)
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        if width is None or name in stored or self._is_written():
            return draft
        self.columns = tuple(draft.free(f"{name}_{k}") for k in range(width))
        for node in (draft.loop, *own_nodes(draft.loop)):
            match node:
                case ast.For(target=target, iter=iterable):
                    self._walked(target, iterable)
                case ast.Assign(targets=[ast.Tuple(elts=elts)], value=ast.Subscript() as value):
                    self._row(elts, value)
        if not self.edits or len(set(self.columns)) < width:
            return draft
        above = [f"{column} = {name}[:, {k}]" for k, column in enumerate(self.columns)]
        seen = replace(
            self.info,
            ndim=1,
            shape=(self.info.shape[0] if self.info.shape else None,),
            min_shape=self.info.min_shape and self.info.min_shape[:1],
            max_shape=self.info.max_shape and self.info.max_shape[:1],
            c_contiguous=False,
        )
        values = dict.fromkeys(self.columns, seen)
        new = draft.advanced([*draft.above(draft.loop, above), *self.edits], values)
        new = replace(new, names=new.names | frozenset(self.columns))
        numpy, import_ = import_edit(draft.source, "numpy", "np")
        new = new.importing(import_)
        tests = (f"type({name}) is {numpy}.ndarray", f"{name}.ndim == 2")
        for test in (*tests, f"{name}.shape[1] == {width}"):
            new = new.asking(test, Condition(test, Basis.OBSERVED, guarded=True, test=test))
        return new

    def _is_written(self) -> bool:
        """Whether the loop changes the array: columns of it would be the same memory."""
        for node in ast.walk(self.draft.loop):
            if not isinstance(node, ast.Subscript) or isinstance(node.ctx, ast.Load):
                continue
            base: ast.expr = node
            while isinstance(base, ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name) and base.id == self.name:
                return True
        return False

    def _walked(self, target: ast.expr, iterable: ast.expr) -> None:
        """Where the rows are gone through: by themselves, in ``enumerate`` and in ``zip``."""
        match target, iterable:
            case ast.Tuple(elts=elts), ast.Name(id=name):
                if name == self.name and self._fits(elts):
                    self._put(iterable, f"zip({', '.join(self.columns)})")
            case ast.Tuple(elts=[_, inner]), ast.Call(
                func=ast.Name(id="enumerate"), args=[over, *_]
            ):
                self._walked(inner, over)
            case ast.Tuple(elts=left), ast.Call(func=ast.Name(id="zip"), args=right, keywords=[]):
                if len(left) == len(right):
                    for one, other in zip(left, right, strict=True):
                        self._walked(one, other)

    def _row(self, elts: list[ast.expr], value: ast.Subscript) -> None:
        """``x, y = points[i]``; the index is read once for each."""
        match value:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Name() | ast.Constant() as index):
                if name == self.name and self._fits(elts):
                    texts = [f"{column}[{ast.unparse(index)}]" for column in self.columns]
                    self._put(value, ", ".join(texts))

    def _fits(self, elts: list[ast.expr]) -> bool:
        names = [e.id for e in elts if isinstance(e, ast.Name)]
        return len(names) == len(elts) == len(self.columns) > 1

    def _put(self, node: ast.expr, text: str) -> None:
        self.edits.append(Edit(*self.draft.source.span(node), text))
