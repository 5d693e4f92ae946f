"""Rows that change hands: ``previous = current``, ``previous = current[:]``.

The nest has a loop that copies the elements, so that the dependence shows. Where the list itself is
handed on, its old name must not be used before it gets another list.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from .bindings import Gone, Private, Stop, View
from .ir import PY_INT, Const, For, Len, Load, Stmt, Var
from .lower_lists import ListLowering, is_list


class RowLowering(ListLowering):
    """Assignments of whole lists to the names of others."""

    def replaced_lists(self, nodes: Sequence[ast.AST]) -> frozenset[str]:
        """Lists from before the loop that it only replaces by other lists."""
        sources = {
            node.targets[0].id: source_of(node.value)
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        found = set()
        for name, source in sources.items():
            info = self.observation.values.get(name)
            if source is None or info is None or info.kind != "list" or stored.count(name) != 1:
                continue
            handed, copied = source
            local = name in self.local or self.frame.function is None
            if local and handed != name and (copied or handed in self.makes):
                found.add(name)
        return frozenset(found)

    def assignment(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> list[Stmt]:
        """``previous = current``; all else as before."""
        match targets:
            case [ast.Name(id=name)] if name in self.replaced:
                return self.hand_on(name, value, node)
        return super().assignment(targets, value, node)

    def hand_on(self, name: str, value: ast.expr, node: ast.stmt) -> list[Stmt]:
        """The loop that copies the elements of one list to another."""
        line = node.lineno
        source = source_of(value)
        assert source is not None and self.env is not None
        other, copied = source
        if not self.known_by_one_name(name):
            raise Stop(f"the list {name} may have another name, too", line, "make it anew before")
        view = self.view(ast.copy_location(ast.Name(other, ast.Load()), value))
        mine = self.view(ast.copy_location(ast.Name(name, ast.Load()), value))
        if view is None or mine is None or view.prefix or self.rank(view) != 1:
            raise Stop(f"{name} is replaced by other than a list of numbers", line)
        if not self.frame.is_root or name in self.walked:
            raise Stop(f"{name} is replaced while it is looped over", line)
        index = self.invent("k")
        self.env[index] = Private(frozenset((PY_INT,)))
        self.all_types.setdefault(index, set()).add(PY_INT)
        place = Var(PY_INT, line, index)
        element = self.element_of(self.used_arrays[view.array])
        assert element is not None
        load = Load(element, line, view.array, (place,))
        self.note_type(name, element, line)
        body = self.store_at(View(name, (place,)), load, node, name)
        if not copied:
            for known, bound in self.env.items():
                if isinstance(bound, View) and bound.array == view.array:
                    self.env[known] = Gone(f"was handed on to {name}")
        length = self.length_of(view, 0, line)
        assert isinstance(length, Len) or copied
        return [For(line, node, index, Const(PY_INT, line, 0), length, 1, tuple(body))]

    def known_by_one_name(self, name: str) -> bool:
        """Whether the list is made in the function, and only its elements are used before the loop.

        Behind a loop that does not run it is the same object, and else another one: whoever else
        has it could tell.
        """
        found = self.known_text.provenance.definition(name)
        if found is None or found.position is not None or not _makes_list(found.value):
            return False
        return not any(map(partial(_used_whole, name=name), found.between))


def _makes_list(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _makes_list(node.left) and _makes_list(node.right)
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list"
    return made or is_list(node)


def _used_whole(node: ast.AST, name: str) -> bool:
    """Whether more than an element or the length of the list is used."""
    match node:
        case ast.Subscript(value=ast.Name(id=found), slice=index) if found == name:
            return isinstance(index, ast.Slice) or _used_whole(index, name)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=found)]) if found == name:
            return False
        case ast.Name(id=found):
            return found == name
    return any(_used_whole(child, name) for child in ast.iter_child_nodes(node))


def source_of(node: ast.expr) -> tuple[str, bool] | None:
    """The list that is assigned, and whether it is copied; None for anything else."""
    match node:
        case ast.Name(id=name):
            return name, False
        case ast.Subscript(
            value=ast.Name(id=name), slice=ast.Slice(lower=None, upper=None, step=None)
        ):
            return name, True
        case ast.Call(func=ast.Name(id="list"), args=[ast.Name(id=name)], keywords=[]):
            return name, True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[]):
            return name, True
    return None
