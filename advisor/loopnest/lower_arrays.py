"""Subscripts: rows, elements, extents, and tuples known from the text."""

from __future__ import annotations

import ast

from . import typing_rules as typing
from .bindings import Gone, Stop, Table, View
from .ir import (
    PY_INT,
    Binary,
    Const,
    Dim,
    Expr,
    Kind,
    Load,
)
from .lower_names import CONTAINERS, NameLowering, described


class ArrayLowering(NameLowering):
    """Arrays, lists and constant tuples in expressions."""

    def expr(self, node: ast.expr) -> Expr:
        """A scalar expression."""
        raise NotImplementedError

    def rank(self, view: View) -> int:
        """Axes that are left."""
        info = self.used_arrays[view.array]
        assert info.ndim is not None
        return info.ndim - len(view.prefix)

    def view(self, node: ast.expr) -> View | None:
        """The array or row an expression stands for; None if it is no array."""
        match node:
            case ast.Name() | ast.Attribute():
                path = self.path(node)
                if path is None:
                    return None
                env = self.env if self.env is not None else {}
                found = env.get(path)
                if found is None and path in self.observation.values:
                    info = self.observation.values[path]
                    if info.kind in CONTAINERS:
                        if self._is_table(path):
                            return None
                        self.check_array(path, info, node.lineno)
                        return View(path)
                if isinstance(found, Gone):
                    raise Stop(f"{ast.unparse(node)} {found.why}", node.lineno)
                return found if isinstance(found, View) else None
            case ast.Subscript(value=value):
                base = self.view(value)
                if base is None:
                    return None
                indices = self.indices(base, node)
                prefix = (*base.prefix, *indices)
                info = self.used_arrays[base.array]
                assert info.ndim is not None
                if len(prefix) > info.ndim:
                    raise Stop(f"{ast.unparse(node)} has too many indices", node.lineno)
                return View(base.array, prefix)
        return None

    def _is_table(self, path: str) -> bool:
        if "." in path or path in self.local:
            return False
        return self.module.constant_table(path) is not None

    def table(self, node: ast.expr) -> Table | None:
        """A tuple of numbers known from the text."""
        from .scope import table as literal_table

        rows = literal_table(node)
        if rows is not None:
            return Table(rows)
        if isinstance(node, ast.Name):
            path = self.key(node.id)
            env = self.env if self.env is not None else {}
            if path in env:
                found = env[path]
                return found if isinstance(found, Table) else None
            if self._is_table(path):
                rows = self.module.constant_table(path)
                return None if rows is None else Table(rows)
        return None

    def indices(self, base: View, node: ast.Subscript) -> tuple[Expr, ...]:
        """The index expressions of one subscript, negative constants made positive."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        info = self.used_arrays[base.array]
        if isinstance(node.slice, ast.Tuple) and info.kind != "ndarray":
            raise Stop(f"{ast.unparse(node)} indexes a {info.kind} with a tuple", node.lineno)
        result: list[Expr] = []
        while info.kind == "ndarray" and len(parts) > 1 and _is_whole(parts[-1]):
            parts = parts[:-1]  # a[i, :] is the row a[i], a view of the same memory
        for offset, part in enumerate(parts):
            if isinstance(part, ast.Slice):
                raise Stop(
                    f"the slice {ast.unparse(node)} inside the loop", node.lineno, "loop over it"
                )
            if isinstance(part, ast.Constant) and part.value in (None, ...):
                raise Stop(f"the index {ast.unparse(node)} makes an array", node.lineno)
            index = self.settled(self.expr(part))
            if index.type.kind is not Kind.INT:
                raise Stop(f"index of type {index.type} in {ast.unparse(node)}", node.lineno)
            axis = len(base.prefix) + offset
            if isinstance(index, Const) and isinstance(index.value, int) and index.value < 0:
                # a[-1] and a[n - 1] are one place: only one spelling may reach the analysis
                dim = self.length_of(base, axis, index.line)
                index = Binary(
                    PY_INT, index.line, "-", dim, Const(PY_INT, index.line, -index.value)
                )
            result.append(index)
        return tuple(result)

    def length_of(self, view: View, axis: int, line: int) -> Expr:
        """``len`` along an axis of the view's array."""
        return Dim(PY_INT, line, view.array, axis)

    def element(self, node: ast.Subscript) -> Expr:
        """One element, or an extent (``a.shape[0]``)."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner = self.view(node.value.value)
            if owner is not None:
                return self.extent(owner, node)
        constant = self.table_item(node)
        if constant is not None:
            return constant
        view = self.view(node)
        if view is None:
            text = ast.unparse(node)
            path = self.path(node.value)
            info = self.observation.values.get(path) if path is not None else None
            if info is not None and info.kind not in CONTAINERS:
                text += f", {ast.unparse(node.value)} being a {described(info)}"
            raise Stop(f"{text}: not an array or list of numbers", node.lineno)
        return self.load(view, node.lineno, ast.unparse(node))

    def load(self, view: View, line: int, text: str) -> Expr:
        """The element under a complete index."""
        left = self.rank(view)
        if left:
            raise Stop(f"{text} is a whole row used as a value", line, "loop over its elements")
        kind = self.element_of(self.used_arrays[view.array])
        assert kind is not None
        return Load(kind, line, view.array, view.prefix)

    def table_item(self, node: ast.Subscript) -> Expr | None:
        """``OFFSETS[2]`` of a tuple known from the text, with a constant index."""
        rows = self.table(node.value)
        if rows is None:
            return None
        index = self.expr(node.slice)
        if not (isinstance(index, Const) and isinstance(index.value, int)):
            path = self.path(node.value) if isinstance(node.value, ast.Name) else None
            if path is not None and path in self.observation.values:
                info = self.observation.values[path]
                if info.kind in CONTAINERS:
                    self.check_array(path, info, node.lineno)
                    return self.load(
                        View(path, self.indices(View(path), node)), node.lineno, ast.unparse(node)
                    )
            raise Stop(f"{ast.unparse(node)}: a tuple with a varying index", node.lineno)
        try:
            value = rows.rows[index.value]
        except IndexError:
            raise Stop(f"{ast.unparse(node)} is out of range", node.lineno) from None
        if isinstance(value, tuple):
            raise Stop(f"{ast.unparse(node)} is a tuple used as a value", node.lineno)
        kind = typing.type_of_value(value)
        assert kind is not None
        return Const(kind, node.lineno, value)

    def extent(self, owner: View, node: ast.Subscript) -> Expr:
        """``a.shape[k]`` for a constant k."""
        if self.used_arrays[owner.array].kind != "ndarray":
            raise Stop(f"{ast.unparse(node)}: a list has no shape", node.lineno)
        index = self.expr(node.slice)
        if not (isinstance(index, Const) and isinstance(index.value, int)):
            raise Stop(f"{ast.unparse(node)} with a varying axis", node.lineno)
        rank = self.rank(owner)
        axis = index.value + rank if index.value < 0 else index.value
        if not 0 <= axis < rank:
            raise Stop(f"{ast.unparse(node)}: no such axis", node.lineno)
        return Dim(PY_INT, node.lineno, owner.array, len(owner.prefix) + axis)


def _is_whole(node: ast.expr) -> bool:
    """``:`` as an index."""
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None
